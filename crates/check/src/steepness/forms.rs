//! Derivatives as linear forms: of the outputs' shares and of one unknown for every unit whose slope is open.
//!
//! Where the slope d of a unit is open, its part d a in the derivative by its input is an unknown v of its own,
//! a being the derivative by what the unit puts out. All derivatives are then sums of multiples of the unknowns
//! and of the shares that outputs have. What is known of v: with d between low and high, v - low a and
//! high a - v never have opposite signs, whatever the sign of a.
//!
//! Rounding: each coefficient carries a bound of its error, to which every operation adds what it can err by.

use crate::bounds::cone::{Cone, Step};
use crate::steepness::frontier::group;
use crate::steepness::ranges::TINY;

/// Most coefficients of all forms together.
const MOST: usize = 1 << 24;

/// Linear forms of equal length, one after the other, each coefficient with a bound of its error.
pub(super) struct Rows {
    pub length: usize,
    pub value: Vec<f64>,
    pub error: Vec<f64>,
}

impl Rows {
    fn new(rows: usize, length: usize) -> Self {
        Self {
            length,
            value: vec![0.0; rows * length],
            error: vec![0.0; rows * length],
        }
    }

    /// One form: coefficients and errors.
    pub fn row(&self, row: usize) -> (&[f64], &[f64]) {
        let range = row * self.length..(row + 1) * self.length;
        (&self.value[range.clone()], &self.error[range])
    }

    fn row_mut(&mut self, row: usize) -> (&mut [f64], &mut [f64]) {
        let range = row * self.length..(row + 1) * self.length;
        (&mut self.value[range.clone()], &mut self.error[range])
    }

    /// Adds a multiple of a later form to an earlier one.
    fn carry(&mut self, from: usize, to: usize, weight: f64) {
        debug_assert!(to < from, "variables read earlier ones");
        let middle = from * self.length;
        let length = self.length;
        let (values, value) = self.value.split_at_mut(middle);
        let (errors, error) = self.error.split_at_mut(middle);
        let start = to * length;
        let range = start..start + length;
        let into = values[range.clone()].iter_mut().zip(&mut errors[range]);
        add(into, (&value[..length], &error[..length]), weight);
    }
}

/// Adds a multiple of a form to another, given as its coefficients and their errors.
fn add<'a>(
    into: impl Iterator<Item = (&'a mut f64, &'a mut f64)>,
    form: (&[f64], &[f64]),
    weight: f64,
) {
    let size = weight.abs();
    for ((to, to_error), (&from, &error)) in into.zip(form.0.iter().zip(form.1)) {
        let part = weight * from;
        *to += part;
        *to_error += size * error + f64::EPSILON * (part.abs() + to.abs()) + TINY;
    }
}

/// All forms that a bound of a part of the region needs.
pub(super) struct Forms {
    /// Derivatives by the variables from `first` on.
    pub derivatives: Rows,
    pub first: usize,
    /// Units whose slope is open: the one with number k is unknown `outputs + k`.
    pub units: Vec<usize>,
    /// For each of them v - low a, and high a - v.
    pub above_low: Rows,
    pub below_high: Rows,
}

impl Forms {
    /// Derivatives of the targets by everything that is left once `cut` groups are eliminated; none if that
    /// is too much. Units whose output has no influence are left out.
    pub fn new(
        cone: &Cone,
        slopes: &[[f64; 2]],
        magnitudes: &[f64],
        targets: &[usize],
        cut: usize,
    ) -> Option<Self> {
        let units = open_units(cone, slopes, magnitudes, cut);
        let first = group(cone, cut).start;
        let length = targets.len() + units.len();
        let rows = cone.variables - first;
        rows.checked_mul(length).filter(|&size| size <= MOST)?;
        let mut forms = Self {
            derivatives: Rows::new(rows, length),
            first,
            above_low: Rows::new(units.len(), length),
            below_high: Rows::new(units.len(), length),
            units,
        };
        for (output, &target) in targets.iter().enumerate() {
            if let Some(row) = target.checked_sub(first) {
                forms.derivatives.row_mut(row).0[output] += 1.0;
            }
        }
        forms.pull(cone, slopes, magnitudes, targets.len(), cut);
        Some(forms)
    }

    fn pull(
        &mut self,
        cone: &Cone,
        slopes: &[[f64; 2]],
        magnitudes: &[f64],
        outputs: usize,
        cut: usize,
    ) {
        let mut number = 0;
        for step in cone.steps[cut..].iter().rev() {
            match step {
                Step::Sums(sums) => {
                    for k in (0..sums.len()).filter(|k| magnitudes[sums.first + k] != 0.0) {
                        for (from, weight) in sums.terms(k).filter(|(v, _)| *v >= self.first) {
                            let (row, to) = (sums.first + k - self.first, from - self.first);
                            self.derivatives.carry(row, to, weight);
                        }
                    }
                }
                Step::Curves(curves) => {
                    for (k, &input) in curves.inputs.iter().enumerate() {
                        let [low, high] = slopes[curves.first_unit + k];
                        if magnitudes[curves.first + k] == 0.0 {
                            continue;
                        }
                        let row = curves.first + k - self.first;
                        let to = (input as usize).checked_sub(self.first);
                        if low < high {
                            self.unknown(number, row, [low, high], outputs + number);
                            if let Some(to) = to {
                                let (value, error) = self.derivatives.row_mut(to);
                                let into = &mut value[outputs + number];
                                *into += 1.0;
                                error[outputs + number] += f64::EPSILON * into.abs();
                            }
                            number += 1;
                        } else if let Some(to) = to {
                            self.derivatives.carry(row, to, low);
                        }
                    }
                }
            }
        }
    }

    /// Enters what is known of an unknown.
    fn unknown(&mut self, number: usize, row: usize, [low, high]: [f64; 2], place: usize) {
        let form = self.derivatives.row(row);
        for (rows, sign, slope) in [
            (&mut self.above_low, 1.0, -low),
            (&mut self.below_high, -1.0, high),
        ] {
            let (value, error) = rows.row_mut(number);
            value[place] = sign;
            if slope != 0.0 {
                add(value.iter_mut().zip(error), form, slope);
            }
        }
    }
}

/// The units after so many eliminated groups whose slope is open and whose output has influence, the last
/// steps first.
pub(super) fn open_units(
    cone: &Cone,
    slopes: &[[f64; 2]],
    magnitudes: &[f64],
    cut: usize,
) -> Vec<usize> {
    let mut units = Vec::new();
    for step in cone.steps[cut..].iter().rev() {
        if let Step::Curves(curves) = step {
            for k in 0..curves.inputs.len() {
                let [low, high] = slopes[curves.first_unit + k];
                if low < high && magnitudes[curves.first + k] != 0.0 {
                    units.push(curves.first_unit + k);
                }
            }
        }
    }
    units
}
