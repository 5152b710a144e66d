//! Rows and regions as a problem over the input elements that matter, and its solution as inputs.

use crate::observed::{Affine, Observed};
use crate::region::Region;
use crate::solver::Problem;

/// An affine row and how large it must become.
pub(crate) struct Target<'a> {
    pub row: &'a Affine,
    pub least: f64,
}

/// A step from a centre: unknowns are the elements that some row depends on and that can move.
pub(crate) struct Step<'a> {
    pub problem: Problem,
    centre: &'a [Vec<f32>],
    regions: &'a [Region<'a>],
    /// Which moving input, and which element of it, each unknown is.
    columns: Vec<(usize, usize)>,
}

impl<'a> Step<'a> {
    /// `centre` and `regions` are those of the moving inputs.
    pub fn new(centre: &'a [Vec<f32>], regions: &'a [Region<'a>], targets: &[Target<'_>]) -> Self {
        let each = centre.first().map_or(0, Vec::len);
        let columns: Vec<(usize, usize)> = (0..centre.len() * each)
            .filter(|&c| targets.iter().any(|t| t.row.gradient[c] != 0.0))
            .map(|c| (c / each, c % each))
            .filter(|&(input, e)| regions[input].moves(e))
            .collect();
        let end = |input: usize, e: usize, end: f32| {
            (f64::from(end) - f64::from(centre[input][e])) / regions[input].width(e)
        };
        let mut problem = Problem::new(
            columns
                .iter()
                .map(|&(i, e)| end(i, e, regions[i].lower[e]))
                .collect(),
            columns
                .iter()
                .map(|&(i, e)| end(i, e, regions[i].upper[e]))
                .collect(),
        );
        for target in targets {
            let coefficients = columns
                .iter()
                .map(|&(i, e)| f64::from(target.row.gradient[i * each + e]) * regions[i].width(e))
                .collect();
            let value = target.row.at(centre.iter().map(Vec::as_slice));
            problem.push(coefficients, target.least - value);
        }
        Self {
            problem,
            centre,
            regions,
            columns,
        }
    }

    /// Keeps every element within this distance of where it is at some inputs.
    pub fn keep_near(&mut self, inputs: &[Vec<f32>], distance: f64) {
        for (column, &(input, e)) in self.columns.iter().enumerate() {
            let away = f64::from(inputs[input][e]) - f64::from(self.centre[input][e]);
            let away = away / self.regions[input].width(e);
            let (lower, upper) = (&mut self.problem.lower, &mut self.problem.upper);
            lower[column] = lower[column].max(away - distance);
            upper[column] = upper[column].min(away + distance);
        }
    }

    /// All inputs of `observed`, the moving ones displaced from the centre. A moving element that no
    /// row depends on has the centre's value.
    pub fn inputs(&self, observed: &Observed, displacement: &[f64]) -> Vec<Vec<f32>> {
        let mut moved = self.moved(displacement, Region::settle).into_iter();
        let each = observed.inputs.iter().zip(&observed.moving);
        each.map(|(x, moves)| {
            let next = if *moves { moved.next() } else { None };
            next.unwrap_or_else(|| x.clone())
        })
        .collect()
    }

    /// The only moving input, displaced from the centre and wherever the grid is.
    pub fn off_grid(&self, displacement: &[f64]) -> Vec<f32> {
        let mut moved = self.moved(displacement, Region::clip).into_iter();
        moved.next().unwrap_or_default()
    }

    /// The moving inputs, displaced from the centre; the number that stands for a value is given.
    fn moved(
        &self,
        displacement: &[f64],
        place: impl Fn(&Region<'a>, usize, f64) -> f32,
    ) -> Vec<Vec<f32>> {
        let mut moved = self.centre.to_vec();
        for (&(input, e), &d) in self.columns.iter().zip(displacement) {
            let region = &self.regions[input];
            let value = f64::from(self.centre[input][e]) + d * region.width(e);
            moved[input][e] = place(region, e, value);
        }
        moved
    }

    /// By how much a target's row can fall short when every element is rounded to the grid.
    pub fn grid_loss(regions: &[Region<'_>], row: &Affine) -> f64 {
        if !regions.iter().any(|region| region.space.has_grid()) {
            return 0.0;
        }
        let each = row.gradient.len() / regions.len().max(1);
        let loss = |(c, a): (usize, &f32)| {
            let step = regions[c / each].space.grid_step(c % each);
            f64::from(a.abs()) * step.unwrap_or(0.0)
        };
        let sum: f64 = row.gradient.iter().enumerate().map(loss).sum();
        sum / 2.0
    }
}
