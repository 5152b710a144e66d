//! What a requirement of the Lipschitz criterion means, as plain data: two inputs of a region whose outputs
//! differ more than a constant times as much as they do themselves.

use std::fmt;

use deepconcolic_geometry::{InputSpace, Norm, Pixels};
use deepconcolic_language::Observations;

use super::region::Region;

/// |f(x1) - f(x2)| > c |x1 - x2|, for `x1` and `x2` of a region.
#[derive(Clone, Debug)]
pub struct Ratio {
    /// Where both inputs lie.
    pub region: Region,
    /// The logits that are f, by number.
    pub outputs: Vec<usize>,
    /// The number of the logits' layer.
    pub layer: usize,
    /// The norm of both differences.
    pub norm: Norm,
    /// c; none where the largest ratio is wanted, whatever it is.
    pub constant: Option<f64>,
}

impl Ratio {
    /// Whether inputs differ so, given with their values of f; without a constant, whether f differs at all.
    pub fn is_exceeded(
        &self,
        first: (&[f32], &[f32]),
        second: (&[f32], &[f32]),
        space: &InputSpace,
    ) -> bool {
        let constant = self.constant.unwrap_or(0.0);
        let unit = InputSpace {
            widths: vec![1.0; self.outputs.len()],
            pixels: Pixels::Single,
        };
        let change = self.norm.distance(first.1, second.1, &unit);
        // Cheap to refute: no distance is below 0.
        change > 0.0 && change > constant * self.norm.distance(first.0, second.0, space)
    }

    /// Whether the first two tests meet it, as `x1` and `x2`.
    pub fn judge<O: Observations + ?Sized>(&self, tests: &O, space: &InputSpace) -> bool {
        let values = [0, 1].map(|test| -> Vec<f32> {
            let of = |&output: &usize| tests.v(test, self.layer, output);
            self.outputs.iter().map(of).collect()
        });
        let inputs = [0, 1].map(|test| tests.input(test));
        let inside = |input: &&[f32]| self.region.contains(input, space);
        inputs.iter().all(inside)
            && self.is_exceeded((inputs[0], &values[0]), (inputs[1], &values[1]), space)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.constant {
            Some(constant) => write!(f, "|f(x1) - f(x2)| > {constant} |x1 - x2|"),
            None => write!(f, "the largest |f(x1) - f(x2)| / |x1 - x2|"),
        }
    }
}
