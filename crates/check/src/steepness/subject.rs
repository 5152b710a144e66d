//! Which outputs' changes are compared with those of the inputs, and how both are measured.
//!
//! With f the outputs and g the derivative of one of them, along a segment from x1 to x2 of the box
//! f(x2) - f(x1) is a mean of derivatives times x2 - x1. An element's change counts in units of its width w,
//! so derivatives count times w.
//!
//! - L2: |c . (f(x2) - f(x1))| for a unit vector c is at most the L2 length of the derivative of c . f.
//! - L-infinity: one case for each output; a change of at most 1 in every element changes it by at most
//!   sum of |w g|, which for any positive k is at most sqrt(sum of 1/k) sqrt(sum of k (w g)^2).
//! - L1: a change in one element changes all outputs together by at most sqrt(count of outputs) times the L2
//!   length of what it does to each.
//!
//! So each case is a sum of weighted squares of derivatives, largest over unit combinations of its outputs,
//! times a factor.

use deepconcolic_geometry::Norm;

use crate::steepness::ranges::{sum_up, up};

/// Which outputs, and how changes are measured.
#[derive(Debug, Clone, PartialEq)]
pub struct SlopeSubject {
    /// The logits that are f, by number.
    pub outputs: Vec<u32>,
    /// The norm of both changes.
    pub norm: Norm,
    /// The width of each input element, in the order of the model file: changes count in these units.
    pub widths: Vec<f64>,
}

/// A weight for each input's squared derivative, and what the largest weighted sum is multiplied with to be
/// the square of a bound.
pub(crate) struct Weights {
    pub inputs: Vec<f64>,
    pub factor: f64,
}

impl SlopeSubject {
    /// The outputs of each case, by place: cases are bounded apart, and the largest bound counts.
    pub fn cases(&self) -> Vec<Vec<usize>> {
        let all = 0..self.outputs.len();
        if self.norm == Norm::LINF {
            all.map(|output| vec![output]).collect()
        } else {
            vec![all.collect()]
        }
    }

    /// Whether bounds in this norm are known.
    pub fn is_supported(&self) -> bool {
        [Norm::L1, Norm::L2, Norm::LINF].contains(&self.norm)
    }

    /// The weights of a case with so many outputs, given the largest magnitudes of derivatives by `inputs`.
    /// Weights of elements that cannot change, or that nothing depends on, are 0.
    pub(crate) fn weights(&self, outputs: usize, inputs: &[usize], magnitudes: &[f64]) -> Weights {
        let widths = inputs.iter().map(|&element| self.widths[element]);
        if self.norm != Norm::LINF {
            let factor = if self.norm == Norm::L1 {
                outputs as f64
            } else {
                1.0
            };
            return Weights {
                inputs: widths.map(square).collect(),
                factor,
            };
        }
        let (inputs, shares): (Vec<f64>, Vec<f64>) = widths
            .zip(magnitudes)
            .map(|(width, &size)| by_size(width, size))
            .unzip();
        Weights {
            factor: sum_up(shares.into_iter().filter(|share| *share != 0.0)),
            inputs,
        }
    }
}

/// With k the inverse of width times size: the weight `k width^2` of an element's squared derivative, and 1/k. Both are
/// 0 for elements that do not count.
fn by_size(width: f64, size: f64) -> (f64, f64) {
    if width == 0.0 || size == 0.0 {
        return (0.0, 0.0);
    }
    // Whatever the weight was rounded to, k is what it says; of one that is 0, as infinite sizes have it, 1/k is infinite.
    let weight = width / size;
    (weight, up(width * up(width / weight)))
}

fn square(width: f64) -> f64 {
    if width == 0.0 { 0.0 } else { up(width * width) }
}
