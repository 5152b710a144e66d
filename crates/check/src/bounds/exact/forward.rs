//! Bounds by lines that go forward, against exact values of points of the part.

use deepconcolic_testing::Random;

use super::{CASES, Case, Exact, case, exact, is_above};
use crate::bounds::change_bounds::AtCentre;
use crate::bounds::forward::{ForwardBounds, Moving, magnitudes};
use crate::bounds::spelled::Spelled;

/// A centre in the box, and some inputs that move in a part of their range; the others stand at the centre.
fn part(case: &Case, random: &mut Random) -> (Vec<f64>, Vec<Moving>) {
    let (mut centre, mut moving) = (Vec::new(), Vec::new());
    for (input, [l, u]) in case.ends().into_iter().enumerate() {
        let mut inside = || (l + random.between(0.0, 1.0) * (u - l)).clamp(l, u);
        let (a, b, c) = (inside(), inside(), inside());
        centre.push(c);
        if random.below(3) > 0 {
            let ends = [[l, u], [a.min(b), a.max(b)]][random.below(2)];
            moving.push((input as u32, ends));
        }
    }
    (centre, moving)
}

#[test]
fn lines_that_go_forward_hold_exactly() {
    let (mut finite, mut moved) = (0, 0);
    for seed in 0..4 * CASES {
        let case = case(seed);
        let mut random = Random::new(seed);
        let reach = magnitudes(&case.cone, &case.region);
        let (centre, moving) = part(&case, &mut random);
        let at_centre = AtCentre::of(&case.cone, &centre, &reach);
        let mut bounds = ForwardBounds::new(&case.cone, &at_centre);
        // A part that was looked at before leaves nothing behind.
        bounds.enter(&moving[..moving.len().min(1)]);
        bounds.enter(&moving);
        moved += moving.len();
        let ends: Vec<[f64; 2]> = moving.iter().map(|(_, ends)| *ends).collect();
        for point in Case::points(&mut random, &ends) {
            let mut input: Vec<Exact> = centre.iter().map(|&c| exact(c)).collect();
            for ((at, _), x) in moving.iter().zip(point) {
                input[*at as usize] = x;
            }
            let values = case.values(&input);
            for (variable, value) in values.iter().enumerate() {
                for sign in [1.0, -1.0] {
                    let (upper, _) =
                        bounds.upper(&Spelled::of(&case.cone, &[(variable, sign)], 0.0));
                    assert!(
                        is_above(upper, &(exact(sign) * value)),
                        "case {seed}, variable {variable}"
                    );
                    finite += usize::from(upper.is_finite());
                }
            }
            let [a, b] = [case.cone.targets[0], case.cone.targets[1]];
            let (upper, _) = bounds.upper(&Spelled::of(&case.cone, &[(a, 0.75), (b, -1.25)], 0.1));
            let value = exact(0.75) * &values[a] - exact(1.25) * &values[b] + exact(0.1);
            assert!(is_above(upper, &value), "case {seed}");
        }
    }
    assert!(finite > 10_000 && moved > 200, "{finite} {moved}");
}

#[test]
fn lines_that_go_forward_close_in_on_the_network_where_parts_are_small() {
    let mut narrow = 0;
    for seed in 0..CASES {
        let case = case(seed);
        let mut random = Random::new(seed);
        let reach = magnitudes(&case.cone, &case.region);
        let (centre, moving) = part(&case, &mut random);
        let at_centre = AtCentre::of(&case.cone, &centre, &reach);
        let mut bounds = ForwardBounds::new(&case.cone, &at_centre);
        let point: Vec<Moving> = moving.iter().map(|&(i, [l, _])| (i, [l, l])).collect();
        bounds.enter(&point);
        let mut input: Vec<Exact> = centre.iter().map(|&c| exact(c)).collect();
        for &(at, [x, _]) in &point {
            input[at as usize] = exact(x);
        }
        let value = &case.values(&input)[case.cone.targets[0]];
        let (upper, _) = bounds.upper(&Spelled::of(
            &case.cone,
            &[(case.cone.targets[0], 1.0)],
            0.0,
        ));
        let size = reach.size[case.cone.targets[0]];
        narrow += usize::from(exact(upper - 1e-9 * size) <= *value);
    }
    assert!(narrow > CASES as usize / 2, "{narrow}");
}
