//! Against all corners: in the plane the cheapest point is where two lines cross.

use deepconcolic_simplex::{Ending, Tableau};
use deepconcolic_testing::Random;

/// A half plane: `a . x >= b`.
type Row = ([f64; 2], f64);

/// The least cost over the unit square and some rows, if anything is left of it.
fn cheapest(rows: &[Row], cost: [f64; 2]) -> Option<f64> {
    let square = [
        ([1.0, 0.0], 0.0),
        ([0.0, 1.0], 0.0),
        ([-1.0, 0.0], -1.0),
        ([0.0, -1.0], -1.0),
    ];
    let all: Vec<Row> = rows.iter().chain(&square).copied().collect();
    let meets = |x: [f64; 2]| {
        let mut rows = all.iter();
        rows.all(|(a, b)| a[0] * x[0] + a[1] * x[1] >= b - 1e-9)
    };
    let mut best: Option<f64> = None;
    for (number, (a, b)) in all.iter().enumerate() {
        for (c, d) in &all[..number] {
            let det = a[0] * c[1] - a[1] * c[0];
            let x = [(b * c[1] - a[1] * d) / det, (a[0] * d - b * c[0]) / det];
            if det.abs() > 1e-9 && meets(x) {
                let value = cost[0] * x[0] + cost[1] * x[1];
                best = Some(best.map_or(value, |best| best.min(value)));
            }
        }
    }
    best
}

#[test]
fn programs_in_the_plane_end_at_the_cheapest_corner() {
    let mut random = Random::new(11);
    let mut counts = [0, 0];
    for _ in 0..3000 {
        let numbers = random.list(2 + 3 * 5, -1.0, 1.0);
        let cost = [numbers[0], numbers[1]];
        let rows: Vec<Row> = numbers[2..]
            .chunks(3)
            .map(|n| ([n[0], n[1]], 0.7 * n[2]))
            .collect();
        let mut tableau = Tableau::new(vec![0.0; 2], vec![1.0; 2], cost.to_vec());
        // Rows that join a solved program, one after the other.
        for (number, (a, b)) in rows.iter().enumerate() {
            tableau.add(a, *b);
            let known = &rows[..=number];
            let expected = cheapest(known, cost);
            match tableau.solve() {
                Ending::Optimal => {
                    let x = tableau.point();
                    let value = cost[0] * x[0] + cost[1] * x[1];
                    assert!((value - expected.unwrap()).abs() < 1e-7, "{rows:?}");
                    // Moving the rows by what they are worth gives the cost: nothing cheaper is left.
                    let factors = tableau.multipliers();
                    let worth = bound(known, &factors, cost);
                    assert!((worth - value).abs() < 1e-7, "{rows:?}");
                    counts[0] += 1;
                }
                Ending::Infeasible(factors) => {
                    assert_eq!(expected, None, "{rows:?}");
                    assert!(factors.iter().all(|&factor| factor >= 0.0));
                    assert!(bound(known, &factors, [0.0; 2]) > 0.0, "{rows:?}");
                    counts[1] += 1;
                    break;
                }
                Ending::Stalled => panic!("{rows:?}"),
            }
        }
    }
    assert!(counts.iter().all(|&count| count > 300), "{counts:?}");
}

/// What a cost is at least where rows hold, as these factors of the rows show it.
fn bound(rows: &[Row], factors: &[f64], cost: [f64; 2]) -> f64 {
    let mut left = cost;
    let mut sum = 0.0;
    for ((a, b), factor) in rows.iter().zip(factors) {
        left = [left[0] - factor * a[0], left[1] - factor * a[1]];
        sum += factor * b;
    }
    sum + left[0].min(0.0) + left[1].min(0.0)
}
