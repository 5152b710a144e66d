//! The bound of one part of the region: a quadratic form that must have no negative value.
//!
//! With y the shares of the outputs and the unknowns of [`super::forms`], every derivative is a linear form of
//! y. For each unknown the product of `v - low a` and `high a - v` is at least 0. If multiples of these products,
//! none negative, can be taken off
//!
//! > square * (sum of squared shares) - sum of weight * derivative^2
//!
//! so that nothing negative is left for any y whatsoever, then no weighted sum of squared derivatives of a unit
//! combination of the outputs is above `square`.

use crate::certificate::Unit;
use crate::steepness::definite::is_semidefinite;
use crate::steepness::forms::{Forms, Rows};
use crate::steepness::ranges::inflated;
use crate::until::Until;

/// The question about one part of the region, ready for any multipliers.
pub struct Quadratic {
    /// Unknowns and shares of outputs, shares first.
    size: usize,
    outputs: usize,
    /// The units that the unknowns are of.
    units: Vec<Unit>,
    forms: Forms,
    /// The weight of each derivative that counts, with the row of its form.
    weights: Vec<(usize, f64)>,
    /// The sum of weight * derivative^2, as rows right of the diagonal.
    objective: Vec<f64>,
}

impl Quadratic {
    /// None if time is up before it is made.
    pub(super) fn new(
        outputs: usize,
        units: Vec<Unit>,
        forms: Forms,
        weights: &[f64],
        until: Until<'_>,
    ) -> Option<Self> {
        let size = outputs + units.len();
        let rows = weights.iter().skip(forms.first).enumerate();
        let weights: Vec<(usize, f64)> = rows
            .filter(|(_, weight)| **weight != 0.0)
            .map(|(row, &weight)| (row, weight))
            .collect();
        let mut objective = vec![0.0; size * size];
        deepconcolic_network::vectorised(|| {
            for &(row, weight) in &weights {
                if until.is_over() {
                    return None;
                }
                let form = forms.derivatives.row(row).0;
                subtract_product(&mut objective, size, form, form, -weight);
            }
            Some(())
        })?;
        Some(Self {
            size,
            outputs,
            units,
            forms,
            weights,
            objective,
        })
    }

    /// How many outputs have a share.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The units whose slope is open: unknowns in this order come after the shares.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// The sum of weighted squares, for who looks for multipliers: rows, right of the diagonal alone.
    pub fn objective(&self) -> &[f64] {
        &self.objective
    }

    /// The two forms whose product is not negative, for a unit by place.
    pub fn known(&self, unit: usize) -> [&[f64]; 2] {
        [
            self.forms.above_low.row(unit).0,
            self.forms.below_high.row(unit).0,
        ]
    }

    /// Whether nothing negative is seen to be left in time, with a multiplier for each unit.
    pub fn is_bounded(&self, square: f64, multipliers: &[f32], until: Until<'_>) -> bool {
        let fit = multipliers.len() == self.units.len();
        let sound = multipliers.iter().all(|&m| m >= 0.0 && m.is_finite());
        if !(fit && sound && square.is_finite() && square >= 0.0) {
            return false;
        }
        let n = self.size;
        let mut matrix: Vec<f64> = self.objective.iter().map(|entry| -entry).collect();
        let in_time = deepconcolic_network::vectorised(|| {
            for (unit, &multiplier) in multipliers.iter().enumerate() {
                if until.is_over() {
                    return false;
                }
                let [low, high] = self.known(unit);
                let half = 0.5 * f64::from(multiplier);
                subtract_product(&mut matrix, n, low, high, half);
                subtract_product(&mut matrix, n, high, low, half);
            }
            true
        });
        if !in_time {
            return false;
        }
        for output in 0..self.outputs {
            matrix[output * n + output] += square;
        }
        let errors = |scales: &[f64]| self.errors(square, multipliers, scales);
        is_semidefinite(n, matrix, errors, until)
    }

    /// For each row of the scaled matrix, how far its entries together can be from their real values.
    fn errors(&self, square: f64, multipliers: &[f32], scales: &[f64]) -> Vec<f64> {
        // Every entry is a sum of this many products of three numbers.
        let terms = self.weights.len() + 2 * multipliers.len() + 16;
        let rounding = 2.0 * terms as f64 * f64::EPSILON;
        let mut errors = vec![0.0; self.size];
        for (output, error) in errors.iter_mut().enumerate().take(self.outputs) {
            *error = rounding * square * scales[output];
        }
        for &(row, weight) in &self.weights {
            let form = Measured::new(&self.forms.derivatives, row, scales);
            form.product(&form, weight, rounding, &mut errors);
        }
        for (unit, &multiplier) in multipliers.iter().enumerate() {
            let low = Measured::new(&self.forms.above_low, unit, scales);
            let high = Measured::new(&self.forms.below_high, unit, scales);
            let half = 0.5 * f64::from(multiplier);
            low.product(&high, half, rounding, &mut errors);
            high.product(&low, half, rounding, &mut errors);
        }
        let scaled = errors.iter().zip(scales);
        scaled
            .map(|(error, scale)| inflated(error * scale))
            .collect()
    }
}

/// Takes a multiple of the product of two forms off a matrix, right of the diagonal.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "inlined into the function compiled for wide vectors"
)]
fn subtract_product(matrix: &mut [f64], n: usize, left: &[f64], right: &[f64], factor: f64) {
    for (row, &entry) in left.iter().enumerate() {
        if entry != 0.0 {
            let share = factor * entry;
            let into = &mut matrix[row * n + row..(row + 1) * n];
            for (to, &part) in into.iter_mut().zip(&right[row..]) {
                *to -= share * part;
            }
        }
    }
}

/// A form with the scaled sums of its coefficients' magnitudes and of their errors.
struct Measured<'a> {
    value: &'a [f64],
    error: &'a [f64],
    size: f64,
    doubt: f64,
}

impl<'a> Measured<'a> {
    fn new(rows: &'a Rows, row: usize, scales: &[f64]) -> Self {
        let (value, error) = rows.row(row);
        let total = |list: &[f64]| {
            let parts = list.iter().zip(scales).map(|(x, scale)| x.abs() * scale);
            parts.sum::<f64>()
        };
        Self {
            value,
            error,
            size: total(value),
            doubt: inflated(total(error)),
        }
    }

    /// Adds what a multiple of a product of two forms, with this one left, can be wrong by in each row.
    fn product(&self, right: &Self, factor: f64, rounding: f64, errors: &mut [f64]) {
        // The factor first: forms may be so small that their products are none, and factors so large that these count.
        let ours = factor * (right.doubt + rounding * right.size);
        let theirs = factor * inflated(right.size + right.doubt);
        let rows = self.value.iter().zip(self.error);
        for (into, (value, error)) in errors.iter_mut().zip(rows) {
            *into += value.abs() * ours + inflated(*error) * theirs;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_forms_whose_products_are_no_doubles_count() {
        let form = Measured {
            value: &[1e-160],
            error: &[0.0],
            size: 1e-160,
            doubt: 0.0,
        };
        let mut errors = vec![0.0];
        form.product(&form, 1e300, 1e-14, &mut errors);
        // 1e300 times 1e-320 is 1e-20, and rounding takes 1e-14 of that.
        assert!(errors[0] > 0.9e-34, "{errors:?}");
    }
}
