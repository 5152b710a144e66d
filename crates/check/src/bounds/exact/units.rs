//! Bounds of units, pulls and lines, exactly.

use super::*;
use crate::bounds::backward::{LANES, Pull, UnitLines};
use crate::bounds::box_bounds::{BoxBounds, Layouts};
use crate::bounds::lines::range;

#[test]
fn bounds_of_units_hold_exactly() {
    let mut tight = 0;
    for seed in 0..CASES {
        let case = case(seed);
        let mut random = Random::new(seed);
        let context = case.context();
        let bounds = case.bounds(&context);
        let reach = case.reach(&bounds);
        let ends = case.ends();
        for point in Case::points(&mut random, &ends) {
            let values = case.values(&point);
            for (variable, value) in values.iter().enumerate() {
                assert!(is_above(reach.size[variable], value), "case {seed}");
                assert!(is_below(-reach.size[variable], value), "case {seed}");
            }
            for (_, curves) in case.curves() {
                for (k, &input) in curves.inputs.iter().enumerate() {
                    let [l, u] = bounds[curves.first_unit + k];
                    let x = &values[input as usize];
                    assert!(is_below(l, x) && is_above(u, x), "case {seed}");
                    tight += usize::from(u - l < 10.0 && u > l);
                }
            }
        }
    }
    assert!(tight > 500, "{tight}");
}

/// The exact ends of every variable by interval arithmetic, given bounds of the units.
fn intervals(case: &Case, bounds: &[[f64; 2]]) -> Vec<[Exact; 2]> {
    let mut all: Vec<[Exact; 2]> = case.ends().iter().map(|e| e.map(exact)).collect();
    for step in &case.cone.steps {
        match step {
            Step::Sums(sums) => {
                for k in 0..sums.len() {
                    let mut both = [exact(sums.constants[k]), exact(sums.constants[k])];
                    for (v, w) in sums.terms(k) {
                        let turned = usize::from(w < 0.0);
                        both[0] += exact(w) * &all[v][turned];
                        both[1] += exact(w) * &all[v][1 - turned];
                    }
                    all.push(both);
                }
            }
            Step::Curves(curves) => {
                for k in 0..curves.inputs.len() {
                    let [l, u] = bounds[curves.first_unit + k];
                    all.push(range(&curves.parts, l, u).map(exact));
                }
            }
        }
    }
    all
}

#[test]
fn bounds_of_units_are_no_better_than_the_same_argument_without_rounding() {
    for seed in 0..CASES {
        let case = case(seed);
        let context = case.context();
        let bounds = case.bounds(&context);
        let (lines, ends) = (case.all_lines(&bounds), case.ends());
        let intervals = intervals(&case, &bounds);
        for (at, curves) in case.curves() {
            for (k, &input) in curves.inputs.iter().enumerate() {
                let input = input as usize;
                let [l, u] = bounds[curves.first_unit + k];
                let low = case.pulled_variable(at, (input, 1.0), &lines, &ends);
                let high = -case.pulled_variable(at, (input, -1.0), &lines, &ends);
                let [least, maximum] = &intervals[input];
                assert!(is_below(l, &low.max(least.clone())), "case {seed}");
                assert!(is_above(u, &high.min(maximum.clone())), "case {seed}");
            }
        }
    }
}

#[test]
fn a_pull_is_no_better_than_the_same_argument_without_rounding() {
    let mut finite = 0;
    for seed in 0..CASES {
        let case = case(seed);
        let mut random = Random::new(seed);
        let context = case.context();
        let bounds = case.bounds(&context);
        let (reach, ends) = (case.reach(&bounds), case.ends());
        let steps = case.cone.steps.len();
        let mut base: Vec<[RelaxationLine; 2]> = Vec::new();
        for (_, curves) in case.curves() {
            for k in 0..curves.inputs.len() {
                let [l, u] = bounds[curves.first_unit + k];
                let share = Some(random.between(0.0, 1.0));
                base.push(lines(&curves.parts, l, u, share));
            }
        }
        let unit_lines: Vec<UnitLines> = base.iter().map(|&l| UnitLines::all(l)).collect();
        let conditions: Vec<[f64; 2]> = base
            .iter()
            .map(|_| match random.below(3) {
                0 => [nasty(&mut random), nasty(&mut random)],
                _ => [0.0; 2],
            })
            .collect();
        let mut pull = Pull::new(&case.cone, None);
        let mut sums = Vec::new();
        for lane in 0..LANES {
            let mut sum = vec![zero(); case.cone.variables];
            for &target in &case.cone.targets {
                let weight = nasty(&mut random);
                pull.seed(target, lane, weight, &reach);
                sum[target] += exact(weight);
            }
            let constant = nasty(&mut random);
            pull.constant(lane, constant);
            sums.push((sum, exact(constant)));
        }
        let of = |unit: usize| Some(conditions[unit].map(|number| [number; LANES]));
        let box_ends = |input: usize| ends[input].map(|end| [end; LANES]);
        let found = pull.run(&case.cone, steps, &unit_lines, &reach, &of, box_ends);
        for (lane, (sum, constant)) in sums.into_iter().enumerate() {
            let without = case.pulled(steps, sum, constant, &base, &conditions, &ends);
            assert!(is_below(found[lane], &without), "case {seed}, lane {lane}");
            finite += usize::from(found[lane].is_finite());
        }
    }
    assert!(finite > 500, "{finite}");
}

#[test]
fn bounds_of_small_boxes_hold_exactly() {
    for seed in 0..CASES {
        let case = case(seed);
        let mut random = Random::new(seed);
        let context = case.context();
        let known = case.bounds(&context);
        let reach = case.reach(&known);
        let layouts = Layouts::of(&case.cone);
        let mut narrow = BoxBounds::new(&case.cone, &layouts, &reach);
        let part = |&[l, u]: &[f64; 2]| {
            let middle = l + random.between(0.0, 1.0) * (u - l);
            let middle = middle.clamp(l, u);
            [[l, middle], [middle, u]][random.below(2)]
        };
        let ends: Vec<[f64; 2]> = case.ends().iter().map(part).collect();
        // From nothing, so that each bound is that of one pull.
        let open = known.iter().map(|&[l, u]| {
            let size = l.abs().max(u.abs());
            [-size, size]
        });
        let mut bounds: Vec<[f64; 2]> = open.collect();
        let start = bounds.clone();
        assert!(narrow.settle(&ends, &mut bounds), "case {seed}");
        let lines = case.all_lines(&bounds);
        for (at, curves) in case.curves() {
            for (k, &input) in curves.inputs.iter().enumerate() {
                let unit = curves.first_unit + k;
                let low = case.pulled_variable(at, (input as usize, 1.0), &lines, &ends);
                let high = -case.pulled_variable(at, (input as usize, -1.0), &lines, &ends);
                let [l, u] = bounds[unit];
                assert!(is_below(l, &low.max(exact(start[unit][0]))), "case {seed}");
                assert!(is_above(u, &high.min(exact(start[unit][1]))), "case {seed}");
            }
        }
        for point in Case::points(&mut random, &ends) {
            let values = case.values(&point);
            for (_, curves) in case.curves() {
                for (k, &input) in curves.inputs.iter().enumerate() {
                    let [l, u] = bounds[curves.first_unit + k];
                    let x = &values[input as usize];
                    assert!(is_below(l, x) && is_above(u, x), "case {seed}");
                }
            }
        }
    }
}

/// y0 = W x and y1 = (W and a bit) x; t, a multiple of their difference, is small where they are huge. No curve
/// lies between the two sums, so that nothing but the magnitudes behind t tells how much was lost.
#[test]
fn coefficients_that_cancel_keep_their_errors() {
    let (big, more) = (1e9f32, 1e9f32.next_up());
    let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, 1]).unwrap());
    // Units behind a curve are bounded by pulling back, those before it by intervals alone.
    let same = Dense::new(1, 1, vec![1.0], vec![0.0]).unwrap();
    let x = builder.add(same, &[x], "").unwrap();
    let x = builder.add(Elementwise::new(Relu), &[x], "").unwrap();
    let huge = Dense::new(1, 2, vec![big.into(), more.into()], vec![0.0; 2]).unwrap();
    let x = builder.add(huge, &[x], "").unwrap();
    let tenth = f64::from(0.1f32);
    let apart = Dense::new(2, 1, vec![-tenth, tenth], vec![0.0]).unwrap();
    let x = builder.add(apart, &[x], "").unwrap();
    let x = builder.add(Elementwise::new(Relu), &[x], "").unwrap();
    let last = Dense::new(1, 2, vec![1.0, -1.0], vec![0.0; 2]).unwrap();
    let x = builder.add(last, &[x], "").unwrap();
    let network = builder.finish(&[("y", x)], 0).unwrap();
    let region = Region {
        lower: vec![1.0],
        upper: vec![2.0],
        ..Region::default()
    };
    let case = Case::of(network, region);
    let context = case.context();
    let bounds = case.bounds(&context);
    let (reach, ends) = (case.reach(&bounds), case.ends());
    let lines = case.all_lines(&bounds);
    let unit_lines: Vec<UnitLines> = lines.iter().map(|&l| UnitLines::all(l)).collect();
    let none = vec![[0.0; 2]; case.cone.units.len()];
    let steps = case.cone.steps.len();
    let mut pull = Pull::new(&case.cone, None);
    let weights: Vec<f64> = (0..LANES).map(|lane| 1.0 / (3.0 + lane as f64)).collect();
    for (lane, &weight) in weights.iter().enumerate() {
        pull.seed(case.cone.targets[lane % 2], lane, weight, &reach);
    }
    let box_ends = |input: usize| ends[input].map(|end| [end; LANES]);
    let found = pull.run(&case.cone, steps, &unit_lines, &reach, &|_| None, box_ends);
    for (lane, &weight) in weights.iter().enumerate() {
        let mut sum = vec![zero(); case.cone.variables];
        sum[case.cone.targets[lane % 2]] = exact(weight);
        let without = case.pulled(steps, sum, zero(), &lines, &none, &ends);
        assert!(is_below(found[lane], &without), "lane {lane}");
    }
}

#[test]
fn lines_lie_below_and_above_exactly() {
    let relu = [(f64::NEG_INFINITY, 0.0, 0.0), (0.0, 1.0, 0.0)];
    let leaky = [(f64::NEG_INFINITY, f64::from(0.1f32), 0.0), (0.0, 1.0, 0.0)];
    let clip = [
        (f64::NEG_INFINITY, 0.0, -0.4),
        (-0.4, 1.0, 0.0),
        (0.6, 0.0, 0.6),
    ];
    // The kinks of a clipped line as doubles.
    let (a, b) = (f64::from(0.2f32), f64::from(0.5f32) + 1e-9);
    let hard = [
        (f64::NEG_INFINITY, 0.0, 0.0),
        (-b / a, a, b),
        ((1.0 - b) / a, 0.0, 1.0),
    ];
    let part = |&(from, slope, intercept): &(f64, f64, f64)| StraightPart {
        from,
        slope,
        intercept,
    };
    let clipped = |x: &Exact| (exact(a) * x + exact(b)).max(zero()).min(exact(1.0));
    let mut random = Random::new(11);
    for number in 0..4000 {
        let of = [&relu[..], &leaky, &clip, &hard][number % 4];
        let parts: Vec<StraightPart> = of.iter().map(part).collect();
        let mut near = || {
            let kink = parts[1 + random.below(parts.len() - 1)].from;
            match random.below(4) {
                0 => kink,
                1 => kink + nasty(&mut random) * 1e-9,
                2 => [kink.next_up(), kink.next_down()][random.below(2)],
                _ => kink + random.between(-3.0, 3.0),
            }
        };
        let (a, b) = (near(), near());
        let (l, u) = (a.min(b), a.max(b));
        let share = [None, Some(random.between(0.0, 1.0))][random.below(2)];
        let [low, high] = lines(&parts, l, u, share);
        let [least, maximum] = range(&parts, l, u);
        let kinks = parts[1..]
            .iter()
            .map(|p| p.from)
            .filter(|&k| l < k && k < u);
        for x in kinks.chain([l, u]) {
            let x = exact(x);
            let mut values = vec![curve_at(&parts, &x)];
            if number % 4 == 3 {
                values.push(clipped(&x));
            }
            for y in values {
                assert!(
                    exact(low.slope) * &x + exact(low.cut) <= y,
                    "{number} {l} {u}"
                );
                assert!(
                    exact(high.slope) * &x + exact(high.cut) >= y,
                    "{number} {l} {u}"
                );
                assert!(
                    is_below(least, &y) && is_above(maximum, &y),
                    "{number} {l} {u}"
                );
            }
        }
    }
}
