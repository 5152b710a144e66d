//! A program without what is zero all over a box: for one box whose parts are bounded again and again.

use std::sync::Arc;

use crate::lines::lines;
use crate::program::{Curves, Matrix, Program, Step, Sums, transposed};
use crate::sparse_box_bounds::Readers;

impl Program {
    /// The same variables with fewer terms, given bounds of the units over a box: terms that are zero
    /// there are left out, and sums that only a curve at zero reads have none.
    pub fn without_zero_terms(&self, bounds: &[[f64; 2]]) -> Self {
        let readers = Readers::of(self);
        let mut zero = vec![false; self.variables];
        for curves in self.curves() {
            for k in 0..curves.inputs.len() {
                let [l, u] = bounds[curves.first_unit + k];
                let (low, high) = lines(&curves.parts, l, u, None);
                zero[curves.first + k] = low == (0.0, 0.0) && high == low;
            }
        }
        let step = |(at, step): (usize, &Step)| match step {
            Step::Sums(sums) => {
                let idle = |k: usize| readers.of_sum(at, k).is_some_and(|curve| zero[curve]);
                Step::Sums(sums.without_zero_terms(&zero, idle))
            }
            Step::Curves(curves) => Step::Curves(Curves {
                first: curves.first,
                first_unit: curves.first_unit,
                inputs: curves.inputs.clone(),
                parts: Arc::clone(&curves.parts),
            }),
        };
        Self {
            inputs: self.inputs.clone(),
            variables: self.variables,
            steps: self.steps.iter().enumerate().map(step).collect(),
            units: self.units.clone(),
            targets: self.targets.clone(),
        }
    }
}

impl Sums {
    fn without_zero_terms(&self, zero: &[bool], idle: impl Fn(usize) -> bool) -> Self {
        let mut rows = Matrix {
            starts: vec![0],
            ..Matrix::default()
        };
        for k in 0..self.constants.len() {
            if !idle(k) {
                let (variables, weights) = self.rows.row(k);
                for (&variable, &weight) in variables.iter().zip(weights) {
                    if !zero[variable as usize] {
                        rows.index.push(variable);
                        rows.weight.push(weight);
                    }
                }
            }
            rows.starts.push(rows.index.len() as u32);
        }
        let (inputs, columns) = transposed(&rows, self.first);
        Self {
            first: self.first,
            constants: self.constants.clone(),
            rows,
            inputs,
            columns,
        }
    }
}
