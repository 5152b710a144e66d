//! Leaves against rational arithmetic: what is accepted has no negative value, with no rounding anywhere.

use deepconcolic_geometry::Norm;
use deepconcolic_testing::{Family, Random, network};
use num_bigint::BigInt;
use num_rational::BigRational;

use super::problem::{SlopePart, SlopeProblem};
use super::subject::SlopeSubject;
use crate::bounds::cone::{Cone, Step};
use crate::certificate::Region;
use crate::until::Until;

type Exact = BigRational;
type Form = Vec<Exact>;

fn exact(x: f64) -> Exact {
    BigRational::from_float(x).expect("finite")
}

fn zero() -> Exact {
    BigRational::from_integer(BigInt::from(0))
}

/// Adds a multiple of a form.
fn add(into: &mut Form, form: &Form, factor: &Exact) {
    for (to, part) in into.iter_mut().zip(form) {
        *to += factor * part;
    }
}

/// What is left of `square` and the derivatives by the inputs, less what is known of the units: a matrix.
fn left(cone: &Cone, part: &SlopePart<'_>, square: f64, multipliers: &[f32]) -> Vec<Form> {
    let slopes = part.slopes();
    let size = 1 + multipliers.len();
    let mut derivatives: Vec<Form> = vec![vec![zero(); size]; cone.variables];
    derivatives[cone.targets[0]][0] += exact(1.0);
    let mut matrix = vec![vec![zero(); size]; size];
    matrix[0][0] += exact(square);
    let subtract = |matrix: &mut Vec<Form>, a: &Form, b: &Form, factor: &Exact| {
        let half = factor * exact(0.5);
        for (i, row) in matrix.iter_mut().enumerate() {
            for (j, entry) in row.iter_mut().enumerate() {
                *entry -= &half * (&a[i] * &b[j] + &b[i] * &a[j]);
            }
        }
    };
    let mut number = 0;
    for step in cone.steps.iter().rev() {
        match step {
            Step::Sums(sums) => {
                for k in 0..sums.len() {
                    let form = derivatives[sums.first + k].clone();
                    for (from, weight) in sums.terms(k) {
                        add(&mut derivatives[from], &form, &exact(weight));
                    }
                }
            }
            Step::Curves(curves) => {
                for (k, &input) in curves.inputs.iter().enumerate() {
                    let form = derivatives[curves.first + k].clone();
                    let [low, high] = slopes[curves.first_unit + k];
                    if low.to_bits() == high.to_bits() || part.is_dead(curves.first + k) {
                        add(&mut derivatives[input as usize], &form, &exact(low));
                        continue;
                    }
                    let mut own = vec![zero(); size];
                    own[1 + number] += exact(1.0);
                    let (mut above, mut below) = (own.clone(), vec![zero(); size]);
                    add(&mut above, &form, &exact(-low));
                    add(&mut below, &form, &exact(high));
                    add(&mut below, &own, &exact(-1.0));
                    let multiplier = exact(f64::from(multipliers[number]));
                    subtract(&mut matrix, &above, &below, &multiplier);
                    add(&mut derivatives[input as usize], &own, &exact(1.0));
                    number += 1;
                }
            }
        }
    }
    assert_eq!(number, multipliers.len());
    for form in &derivatives[..cone.inputs.len()] {
        subtract(&mut matrix, form, form, &exact(1.0));
    }
    matrix
}

/// Whether all pivots of a symmetric matrix are positive.
fn is_definite(mut rows: Vec<Form>) -> bool {
    for k in 0..rows.len() {
        if rows[k][k] <= zero() {
            return false;
        }
        let pivot = rows[k].clone();
        for row in rows.iter_mut().skip(k + 1) {
            let factor = &row[k] / &pivot[k];
            for (entry, part) in row.iter_mut().zip(&pivot).skip(k) {
                *entry -= &factor * part;
            }
        }
    }
    true
}

#[test]
fn what_is_accepted_has_no_negative_value_in_rational_numbers() {
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..12 {
        let family = [Family::Relu, Family::PiecewiseLinear][seed % 2];
        let network = network(family, seed as u64);
        let elements = network.input_elements();
        let region = Region {
            lower: vec![-0.4; elements],
            upper: vec![0.4; elements],
            ..Region::default()
        };
        let subject = SlopeSubject {
            outputs: vec![0],
            norm: Norm::L2,
            widths: vec![1.0; elements],
        };
        let problem = SlopeProblem::new(&network, &region, &subject, Until::NEVER);
        let problem = problem.unwrap().expect("bounded");
        let part = problem.part(0, &[], Until::NEVER).unwrap();
        let quadratic = part.quadratic(Until::NEVER).unwrap();
        let mut random = Random::new(seed as u64);
        for _ in 0..12 {
            // Multipliers must grow from the input on: so the ends are drawn apart.
            let nodes = quadratic.units().iter().map(|unit| f64::from(unit.node));
            let (base, growth) = (random.between(0.0, 4.0), random.between(-0.5, 1.0));
            let multipliers: Vec<f32> = nodes
                .map(|node| (base + growth * node + random.between(-0.3, 0.3)).exp() as f32)
                .collect();
            // The least square that is accepted is the one to doubt.
            let mut ends = [0.0, 1e9];
            if !quadratic.is_bounded(ends[1], &multipliers, Until::NEVER) {
                refused += 1;
                continue;
            }
            while ends[1] - ends[0] > 1e-12 * ends[1] {
                let middle = 0.5 * (ends[0] + ends[1]);
                let holds = quadratic.is_bounded(middle, &multipliers, Until::NEVER);
                ends[usize::from(holds)] = middle;
            }
            accepted += 1;
            let [_, square] = ends;
            let matrix = left(problem.cone(), &part, square, &multipliers);
            assert!(is_definite(matrix), "{seed}: {square} {multipliers:?}");
            // Not much is given away either.
            let lower = left(problem.cone(), &part, square * (1.0 - 1e-6), &multipliers);
            assert!(!is_definite(lower), "{seed}: {square} {multipliers:?}");
        }
    }
    assert!(accepted > 10 && refused > 10, "{accepted} {refused}");
}
