//! Bounds by interpolation along one input, against exact values of points of the part.

use deepconcolic_testing::Random;

use super::{CASES, Case, Exact, case, exact, is_above};
use crate::bounds::change_bounds::at_centre;
use crate::bounds::forward::magnitudes;
use crate::bounds::interpolation::{Interpolation, PARTS, StandingStill};
use crate::bounds::spelled::Spelled;

/// A centre in the box, an input that moves, and parts of its range.
struct Parts {
    centre: Vec<f64>,
    input: usize,
    ends: Vec<[f64; 2]>,
}

fn parts(case: &Case, random: &mut Random) -> Parts {
    let all = case.ends();
    let mut inside = |[l, u]: [f64; 2]| (l + random.between(0.0, 1.0) * (u - l)).clamp(l, u);
    let centre = all.iter().map(|&ends| inside(ends)).collect();
    let middles: Vec<[f64; 2]> = all
        .iter()
        .map(|&ends| [inside(ends), inside(ends)])
        .collect();
    let input = random.below(all.len());
    let ([l, u], [a, b]) = (all[input], middles[input]);
    let (a, b) = (a.min(b), a.max(b));
    Parts {
        centre,
        input,
        ends: vec![[l, u], [l, a], [a, b], [b, u], [a, a]],
    }
}

fn still(case: &Case, parts: &Parts) -> StandingStill {
    let reach = magnitudes(&case.cone, &case.region);
    let values = at_centre(&case.cone, &parts.centre, &reach);
    StandingStill::of(&case.cone, &case.region, &values)
}

/// Every variable at a point of the input that moves.
fn values(case: &Case, parts: &Parts, x: Exact) -> Vec<Exact> {
    let mut input: Vec<Exact> = parts.centre.iter().map(|&c| exact(c)).collect();
    input[parts.input] = x;
    case.values(&input)
}

/// Whether a variable is what comparisons let through, which is not bounded by itself.
fn in_chain(case: &Case, variable: usize) -> bool {
    case.cone.extremes.iter().any(|extremes| {
        let first = |at: usize| match &case.cone.steps[at] {
            crate::bounds::cone::Step::Sums(sums) => sums.first,
            crate::bounds::cone::Step::Curves(curves) => curves.first,
        };
        let [from, to] = [extremes.steps.start, extremes.steps.end - 1].map(first);
        (from..to).contains(&variable)
    })
}

#[test]
fn interpolation_holds_exactly() {
    let (mut finite, mut bent) = (0, 0);
    for seed in 0..2 * CASES {
        let case = case(seed);
        let mut random = Random::new(seed);
        let parts = parts(&case, &mut random);
        let still = still(&case, &parts);
        let mut bounds = Interpolation::new(&case.cone, &still);
        // Parts that were looked at before leave nothing behind.
        bounds.enter((parts.input + 1) % parts.centre.len(), &[[0.0, 1.0]; PARTS]);
        bounds.enter(parts.input, &parts.ends);
        let targets = [case.cone.targets[0], case.cone.targets[1]];
        for (lane, &ends) in parts.ends.iter().enumerate() {
            let points = Case::points(&mut random, &[ends]);
            let points = points.into_iter().map(|mut point| point.remove(0));
            let values: Vec<Vec<Exact>> = points.map(|x| values(&case, &parts, x)).collect();
            for variable in (0..case.cone.variables).filter(|&v| !in_chain(&case, v)) {
                for sign in [1.0, -1.0] {
                    let sum = Spelled::of(&case.cone, &[(variable, sign)], 0.0);
                    let (upper, reached) = bounds.upper(lane, &sum);
                    let holds =
                        |values: &Vec<Exact>| is_above(upper, &(exact(sign) * &values[variable]));
                    assert!(
                        values.iter().all(holds),
                        "case {seed}, variable {variable}, part {lane}"
                    );
                    finite += usize::from(upper.is_finite());
                    bent += usize::from(upper > reached[0].max(reached[1]) + 1e-3);
                }
            }
            let terms = [(targets[0], 0.75), (targets[1], -1.25)];
            let (upper, _) = bounds.upper(lane, &Spelled::of(&case.cone, &terms, 0.1));
            for values in values {
                let value = exact(0.75) * &values[targets[0]] - exact(1.25) * &values[targets[1]];
                assert!(is_above(upper, &(value + exact(0.1))), "case {seed}");
            }
        }
    }
    assert!(finite > 5000 && bent > 200, "{finite} {bent}");
}

#[test]
fn a_part_has_the_same_bounds_whatever_is_bounded_beside_it() {
    for seed in 0..2 * CASES {
        let case = case(seed);
        let mut random = Random::new(seed);
        let parts = parts(&case, &mut random);
        let still = still(&case, &parts);
        let sum = Spelled::of(&case.cone, &[(case.cone.targets[0], 1.0)], 0.0);
        let mut together = Interpolation::new(&case.cone, &still);
        together.enter(parts.input, &parts.ends);
        let mut alone = Interpolation::new(&case.cone, &still);
        for (lane, &ends) in parts.ends.iter().enumerate() {
            alone.enter(parts.input, &[ends]);
            let (a, b) = (together.upper(lane, &sum).0, alone.upper(0, &sum).0);
            assert_eq!(a.to_bits(), b.to_bits(), "case {seed}, part {lane}");
        }
    }
}

#[test]
fn interpolation_closes_in_on_the_network_where_parts_are_small() {
    let mut narrow = 0;
    for seed in 0..CASES {
        let case = case(seed);
        let mut random = Random::new(seed);
        let parts = parts(&case, &mut random);
        let still = still(&case, &parts);
        let mut bounds = Interpolation::new(&case.cone, &still);
        let [x, _] = parts.ends[2];
        bounds.enter(parts.input, &[[x, x]]);
        let target = case.cone.targets[0];
        let value = &values(&case, &parts, exact(x))[target];
        let (upper, _) = bounds.upper(0, &Spelled::of(&case.cone, &[(target, 1.0)], 0.0));
        let size = magnitudes(&case.cone, &case.region).size[target];
        narrow += usize::from(exact(upper - 1e-9 * size) <= *value);
    }
    assert!(narrow > CASES as usize / 2, "{narrow}");
}
