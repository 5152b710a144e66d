//! How far an execution in single precision can be from the real value of a condition.
//!
//! Certificates speak of real numbers. An execution rounds after every operation; by the usual
//! analysis a sum of n products errs by at most (n + 2) epsilon times the sum of magnitudes, in
//! whatever order it is added up and with products fused or not, and an error that comes in is scaled by
//! the weights. A bound that clears zero by more than the result also rules out executions.
//!
//! That analysis holds where nothing overflows and nothing underflows. What underflows is less than the
//! least normal number, whether it is kept as a subnormal number or taken as 0: once for each product, sum,
//! operand and weight. What might overflow in some order of summation has no margin at all: execution
//! could give an infinity or no number.

use crate::bounds::backward::Magnitudes;
use crate::bounds::cone::{Cone, Step, Sums};
use crate::question::Atom;

/// Half the distance from 1 to the next single-precision number, doubled: the usual bound for n
/// roundings, n u / (1 - n u), is below twice n u as long as n u is below a half.
const UNIT: f64 = f32::EPSILON as f64;
/// Sums of more terms are not reasoned about.
const MAX_TERMS: f64 = 1e6;
/// The least normal number: nothing that underflows is larger.
const TINY: f64 = f32::MIN_POSITIVE as f64;
/// Executions in which a number might exceed this are not reasoned about. Single precision ends a little
/// above 3.4e38.
const LARGEST: f64 = 1e38;

/// More than a sum of positive numbers that was rounded in double precision.
pub(crate) fn up(sum: f64) -> f64 {
    sum * (1.0 + 1e-6)
}

/// For each variable of a cone, how far its executed value can be from the real one; infinite where that
/// is not known.
fn errors(cone: &Cone, reach: &Magnitudes) -> Vec<f64> {
    let mut errors = vec![0.0; cone.variables];
    for step in &cone.steps {
        match step {
            Step::Sums(sums) => {
                for k in 0..sums.len() {
                    errors[sums.first + k] = sum_error(sums, k, &reach.size, &errors);
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
                    let lost = TINY * (4.0 + size + error + steepest);
                    let error = steepest * error + 4.0 * UNIT * mass + lost;
                    errors[curves.first + k] = known(error, mass.max(size));
                }
            }
        }
    }
    errors
}

/// How far an executed sum can be from the real one, given sizes and errors of the variables before.
fn sum_error(sums: &Sums, k: usize, sizes: &[f64], errors: &[f64]) -> f64 {
    let constant = sums.constants[k].abs();
    let (mut carried, mut mass, mut lost) = (0.0, constant, 2.0 * TINY);
    // What partial sums can reach. Averages may be added up before they are divided.
    let (mut partial, mut count, mut fits) = (constant, 2.0, true);
    for (variable, weight) in sums.terms(k) {
        let (weight, error) = (weight.abs(), errors[variable]);
        let size = sizes[variable] + error;
        carried += weight * error;
        mass += weight * size;
        partial += weight.max(1.0) * size;
        fits &= weight <= f64::from(f32::MAX);
        lost += TINY * (2.0 + size + weight);
        count += 1.0;
    }
    if count > MAX_TERMS || !fits {
        return f64::INFINITY;
    }
    // Weights and constants are themselves rounded to single precision.
    let error = carried + (count + 2.0) * UNIT * mass + lost;
    known(error, partial)
}

/// An error, if the numbers behind it cannot overflow.
fn known(error: f64, largest: f64) -> f64 {
    let error = up(error);
    // Written so that anything that is no number becomes infinite.
    if up(largest) + error <= LARGEST {
        error
    } else {
        f64::INFINITY
    }
}

/// For each of some conditions whose terms are the targets of a cone, in order: how far its value can be
/// from the real one when the neurons are those of an execution. The condition itself is evaluated in
/// double precision.
pub(crate) fn margins(cone: &Cone, reach: &Magnitudes, atoms: &[Atom]) -> Vec<f64> {
    let errors = errors(cone, reach);
    let mut targets = cone.targets.iter();
    let margin = |atom: &Atom| {
        let (mut carried, mut mass) = (0.0, atom.constant.abs());
        for (term, &variable) in atom.terms.iter().zip(targets.by_ref()) {
            let weight = term.weight.abs();
            carried += weight * errors[variable];
            mass += weight * (reach.size[variable] + errors[variable]);
        }
        let count = 4.0 + atom.terms.len() as f64;
        let margin = up(carried + count * f64::EPSILON * mass + f64::MIN_POSITIVE);
        if margin.is_nan() {
            f64::INFINITY
        } else {
            margin
        }
    };
    atoms.iter().map(margin).collect()
}
