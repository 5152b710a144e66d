//! How far executions are from exact values.

use super::*;
use crate::bounds::float::margins;
use crate::question::{Atom, Term};

/// An execution in single precision with sums in a random order, fused or not, and with subnormal numbers
/// kept or taken as 0.
fn executed(case: &Case, random: &mut Random, point: &[f32]) -> Vec<f32> {
    let flushes = random.below(2) == 0;
    let fuses = random.below(2) == 0;
    let flush = |x: f32| if flushes && x.is_subnormal() { 0.0 } else { x };
    let mut values: Vec<f32> = point.iter().map(|&x| flush(x)).collect();
    for step in &case.cone.steps {
        match step {
            Step::Sums(sums) => {
                for k in 0..sums.len() {
                    let mut terms: Vec<(usize, f64)> = sums.terms(k).collect();
                    for place in (1..terms.len()).rev() {
                        terms.swap(place, random.below(place + 1));
                    }
                    let constant = flush(sums.constants[k] as f32);
                    let first = random.below(2) == 0;
                    let mut sum = if first { constant } else { 0.0 };
                    for (v, w) in terms {
                        let w = flush(w as f32);
                        sum = if fuses {
                            flush(w.mul_add(values[v], sum))
                        } else {
                            flush(flush(w * values[v]) + sum)
                        };
                    }
                    values.push(if first { sum } else { flush(sum + constant) });
                }
            }
            Step::Curves(curves) => {
                for &input in &curves.inputs {
                    let x = values[input as usize];
                    let part = curves.parts.iter().rfind(|p| p.from <= f64::from(x));
                    let part = part.unwrap_or(&curves.parts[0]);
                    let rise = flush(flush(part.slope as f32) * x);
                    values.push(flush(rise + flush(part.intercept as f32)));
                }
            }
        }
    }
    values
}

/// How many executions were compared with the margins of the logits; all are within them.
fn compared(case: &Case, random: &mut Random) -> usize {
    let atoms = [0, 1].map(|element| Atom {
        terms: vec![Term {
            point: Point::Logits,
            element,
            weight: 1.0,
        }],
        constant: 0.0,
        strict: false,
    });
    let context = case.context();
    let reach = case.reach(&case.bounds(&context));
    let margins = margins(&case.cone, &reach, &atoms);
    let mut known = 0;
    for _ in 0..10 {
        let point = case.ends().into_iter().map(|ends| ends[random.below(2)]);
        let point: Vec<f64> = point.collect();
        let single: Vec<f32> = point.iter().map(|&x| x as f32).collect();
        let run = executed(case, random, &single);
        let values = case.values(&point.iter().map(|&x| exact(x)).collect::<Vec<Exact>>());
        for (&target, &margin) in case.cone.targets.iter().zip(&margins) {
            if !margin.is_finite() {
                continue;
            }
            known += 1;
            let off = exact(f64::from(run[target])) - &values[target];
            assert!(is_above(margin, &off) && is_above(margin, &-off));
        }
    }
    known
}

#[test]
fn executions_in_any_order_stay_within_the_margin() {
    let mut known = 0;
    for seed in 0..CASES {
        let mut case = case(seed);
        let mut random = Random::new(seed ^ 0x77);
        // An execution has single-precision inputs.
        let to_single = |ends: &mut Vec<f64>| {
            for end in ends {
                *end = f64::from(*end as f32);
            }
        };
        to_single(&mut case.region.lower);
        to_single(&mut case.region.upper);
        known += compared(&case, &mut random);
    }
    assert!(known > 500, "{known}");
}

/// A difference of large numbers, small itself, goes through a Relu: behind it nothing but the error that is
/// carried along tells how far off it can be.
#[test]
fn executions_in_any_order_carry_errors_along() {
    let mut random = Random::new(12);
    let mut known = 0;
    for _ in 0..30 {
        let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, 2]).unwrap());
        let weight = f64::from(random.between(1e7, 2e7) as f32);
        let apart = Dense::new(2, 1, vec![weight, -weight], vec![0.0]).unwrap();
        let x = builder.add(apart, &[x], "").unwrap();
        let x = builder.add(Elementwise::new(Relu), &[x], "").unwrap();
        let last = Dense::new(1, 2, vec![1.0, -1.0], vec![0.0; 2]).unwrap();
        let x = builder.add(last, &[x], "").unwrap();
        let network = builder.finish(&[("y", x)], 0).unwrap();
        let low = random.between(0.5, 1.0) as f32;
        let point = vec![f64::from(low.next_up()), f64::from(low)];
        let region = Region {
            lower: point.clone(),
            upper: point,
            ..Region::default()
        };
        known += compared(&Case::of(network, region), &mut random);
    }
    assert!(known > 500, "{known}");
}
