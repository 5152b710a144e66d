//! A sum of weighted squares of derivatives, carried from the inputs towards the outputs.
//!
//! The derivative by a variable is the sum, over the variables that read it, of weight times the derivative by
//! the reader (of slope times it, where the reader is a curve). So the weighted squares of the derivatives by a
//! group of variables are a quadratic form of their readers' parts, and at most a sum of weighted squares of these:
//! [`super::reading`] has two ways to such weights. Where maxima alone read a group, [`super::maxima`] has a third.

use std::ops::Range;

use crate::bounds::cone::{Cone, Step};
use crate::steepness::maxima::through_maxima;
use crate::steepness::ranges::{sum_up, up};
use crate::steepness::reading::{Share, SlopeReading};
use crate::until::Until;

/// Weights of squared derivatives.
pub(super) struct Frontier {
    /// One for each variable.
    pub weights: Vec<f64>,
    /// Groups eliminated.
    pub cut: usize,
}

/// The variables of a group: the inputs, or what a step defines.
pub(super) fn group(cone: &Cone, number: usize) -> Range<usize> {
    let Some(step) = number.checked_sub(1) else {
        return 0..cone.inputs.len();
    };
    match &cone.steps[step] {
        Step::Sums(sums) => sums.first..sums.first + sums.len(),
        Step::Curves(curves) => curves.first..curves.first + curves.inputs.len(),
    }
}

impl Frontier {
    pub fn new(cone: &Cone, inputs: &[f64]) -> Self {
        let mut weights = vec![0.0; cone.variables];
        weights[..inputs.len()].copy_from_slice(inputs);
        Self { weights, cut: 0 }
    }

    /// The largest value of the sum by the magnitudes of derivatives alone.
    pub fn value(&self, cone: &Cone, magnitudes: &[f64]) -> f64 {
        let first = group(cone, self.cut).start;
        let pairs = self.weights.iter().zip(magnitudes).skip(first);
        let parts = pairs.filter(|(weight, size)| **weight != 0.0 && **size != 0.0);
        sum_up(parts.map(|(&weight, &size)| up(weight * size) * size))
    }

    /// Who reads the next group.
    pub fn reading(&self, cone: &Cone, slopes: &[[f64; 2]], magnitudes: &[f64]) -> SlopeReading {
        let range = group(cone, self.cut);
        SlopeReading::of(cone, self.cut, range, &self.weights, slopes, magnitudes)
    }

    /// Eliminates the next group: through the maxima that alone read it, or by sizes. Weights are infinite if time is up.
    pub fn advance(
        &mut self,
        cone: &Cone,
        slopes: &[[f64; 2]],
        magnitudes: &[f64],
        until: Until<'_>,
    ) {
        let shares = self.through_maxima(cone, magnitudes);
        let by_sizes = || self.reading(cone, slopes, magnitudes).by_sizes(until);
        self.hand_on(shares.unwrap_or_else(by_sizes));
    }

    /// The shares of the maxima that alone read the next group, if it is read so.
    pub fn through_maxima(&self, cone: &Cone, magnitudes: &[f64]) -> Option<Vec<Share>> {
        let range = group(cone, self.cut);
        let counts =
            |&variable: &usize| self.weights[variable] != 0.0 && magnitudes[variable] != 0.0;
        let mut squares = vec![0.0; range.len()];
        for variable in range.clone().filter(counts) {
            squares[variable - range.start] = self.weights[variable];
        }
        through_maxima(cone, self.cut, range, &squares)
    }

    /// Eliminates the next group by a factor; nothing happens if that is not seen to be large enough.
    pub fn advance_within(
        &mut self,
        reading: &SlopeReading,
        factor: f64,
        until: Until<'_>,
    ) -> bool {
        let shares = reading.by_factor(factor, until);
        let follows = shares.is_some();
        if let Some(shares) = shares {
            self.hand_on(shares);
        }
        follows
    }

    fn hand_on(&mut self, shares: Vec<Share>) {
        for share in shares {
            let weight = &mut self.weights[share.variable];
            *weight = up(*weight + up(share.weight * up(share.slope * share.slope)));
        }
        self.cut += 1;
    }
}
