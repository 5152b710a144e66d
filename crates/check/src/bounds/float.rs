//! How far an execution in single precision can be from the real value of a condition.
//!
//! Certificates speak of real numbers. An execution rounds after every operation; by the usual
//! analysis a sum of n products errs by at most (n + 2) epsilon times the sum of magnitudes, in
//! whatever order it is added up, and an error that comes in is scaled by the weights. A bound that
//! clears zero by more than the result also rules out executions.

use crate::bounds::backward::Reach;
use crate::bounds::cone::{Cone, Step};
use crate::question::Atom;

/// Half the distance from 1 to the next single-precision number, doubled for safety.
const UNIT: f64 = f32::EPSILON as f64;
/// More than what underflow takes from one number.
const TINY: f64 = 1e-36;

/// For each variable of a cone, how far its executed value can be from the real one.
pub(crate) fn errors(cone: &Cone, reach: &Reach) -> Vec<f64> {
    let mut errors = vec![0.0; cone.variables];
    for step in &cone.steps {
        match step {
            Step::Sums(sums) => {
                for k in 0..sums.len() {
                    let mut carried = 0.0;
                    let mut mass = sums.constants[k].abs();
                    let mut count = 2.0;
                    for (variable, weight) in sums.terms(k) {
                        carried += weight.abs() * errors[variable];
                        mass += weight.abs() * (reach.size[variable] + errors[variable]);
                        count += 1.0;
                    }
                    // Weights and constants are themselves rounded to single precision.
                    errors[sums.first + k] = carried + (count + 2.0) * UNIT * mass + TINY;
                }
            }
            Step::Curves(curves) => {
                let steepest = curves.parts.iter().map(|part| part.slope.abs());
                let steepest = steepest.fold(0.0, f64::max);
                let constants = curves.parts.iter().map(|part| part.intercept.abs());
                let constant = constants.fold(0.0, f64::max);
                for (k, &input) in curves.inputs.iter().enumerate() {
                    let (error, size) = (errors[input as usize], reach.size[input as usize]);
                    let mass = steepest * (size + error) + constant;
                    errors[curves.first + k] = steepest * error + 4.0 * UNIT * mass + TINY;
                }
            }
        }
    }
    errors
}

/// The same for conditions whose terms are the targets of a cone, in order: the largest.
pub(crate) fn margin(cone: &Cone, reach: &Reach, atoms: &[Atom]) -> f64 {
    let errors = errors(cone, reach);
    let mut targets = cone.targets.iter();
    let each = atoms.iter().map(|atom| {
        let terms = atom.terms.iter().zip(targets.by_ref());
        terms
            .map(|(term, &variable)| term.weight.abs() * errors[variable])
            .sum::<f64>()
    });
    each.fold(0.0, f64::max)
}
