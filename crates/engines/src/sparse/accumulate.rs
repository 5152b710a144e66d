//! Adding up the most useful pixels until the goal is met.
//!
//! A gradient says which end each pixel should go to and what that brings. The first, the first two, the first
//! three, ... of them are changed in one batch of runs. Where no such prefix meets the goal, the best is where the
//! network is linearised again; pixels that are worth less are then given up for better ones.

use deepconcolic_geometry::Ball;

use super::support::{descending, gains, steepest};
use super::trial::{Sparse, State, Tried, best};
use crate::attempt::Attempt;
use crate::budget::Effort;
use crate::observed::Observed;
use crate::region::Region;
use crate::some_witness::some_witness;
use crate::walk::ROWS;

/// Linearisations.
const ROUNDS: usize = 8;
/// Passes of a search inside the box of the chosen pixels.
const IN_BOX: usize = 160;

impl Sparse<'_> {
    /// A witness from a start, for one way of meeting the goal on one input.
    pub fn accumulate(&self, start: &[f32], variant: usize, effort: &mut Effort) -> Option<Tried> {
        let mut start = start.to_vec();
        self.task
            .region
            .space
            .norm
            .project(&self.ball(), &mut start);
        let mut here = self.look(&start, effort);
        let mut value = f64::NEG_INFINITY;
        for _ in 0..ROUNDS {
            let tried = self.judge(here.clone());
            if tried.met.is_some() {
                return Some(tried);
            }
            if tried.value <= value || self.task.is_over(*effort) {
                break;
            }
            value = tried.value;
            let Some((region, gradient)) = self.direction(&here, variant, effort) else {
                break;
            };
            let tried = self.run(self.prefixes(&region, &here.inputs[0], &gradient), effort);
            if let Some(met) = tried.iter().find(|tried| tried.met.is_some()) {
                return Some(met.clone());
            }
            let Some(next) = best(tried).filter(|next| next.value > value) else {
                break;
            };
            if self.task.is_over(*effort) {
                return None;
            }
            here = self.look(&next.state[0], effort);
        }
        self.in_box(&here, variant, effort)
    }

    fn ball(&self) -> Ball<'_> {
        Ball {
            root: self.root(),
            radius: self.allowed as f64,
            units: &self.task.region.space.units,
        }
    }

    /// Where the input may lie, and the slope of what is missing; none when the way is barred or flat.
    pub fn direction<'a>(
        &'a self,
        here: &Observed,
        variant: usize,
        effort: &mut Effort,
    ) -> Option<(Region<'a>, Vec<f32>)> {
        let demands = self.task.demands(here, here, variant)?;
        let region = self.task.regions(here, &demands)?.pop()?;
        let unmet = here.furthest(demands.unmet.iter(), ROWS);
        let rows = here.affine(self.task.network, &unmet, effort);
        let mut gradient = vec![0f32; self.root().len()];
        for (row, atom) in rows.iter().zip(&unmet) {
            for (sum, &slope) in gradient.iter_mut().zip(&row.gradient) {
                *sum += (f64::from(slope) / atom.scale) as f32;
            }
        }
        Some((region, gradient))
    }

    /// The inputs that the first pixels lead to, one more at a time, each pixel at the end that the gradient points
    /// to. Where that would be too many changes, those that are worth least are taken back.
    fn prefixes(&self, region: &Region<'_>, here: &[f32], gradient: &[f32]) -> Vec<State> {
        let gains = gains(region, &self.pixels, here, gradient);
        let order = descending(&gains);
        let order = order.into_iter().filter(|&pixel| gains[pixel] > 0.0);
        let mut point = here.to_vec();
        let mut spare = self.least_worth(here, gradient);
        let mut changed = spare.len();
        let mut states: Vec<State> = Vec::new();
        for pixel in order.take(self.allowed) {
            let before = spare.len();
            spare.retain(|&other| other != pixel);
            changed += usize::from(spare.len() == before);
            if changed > self.allowed {
                let Some(least) = spare.pop() else { break };
                self.pixels
                    .take_back(std::slice::from_mut(&mut point), self.root(), least);
                changed -= 1;
            }
            for &e in self.pixels.elements(pixel) {
                point[e] = match gradient[e] {
                    slope if slope > 0.0 => region.settle(e, f64::from(region.upper[e])),
                    slope if slope < 0.0 => region.settle(e, f64::from(region.lower[e])),
                    _ => point[e],
                };
            }
            states.push(vec![point.clone()]);
        }
        states
    }

    /// The pixels that an input changes, what adds least at the end.
    fn least_worth(&self, here: &[f32], gradient: &[f32]) -> Vec<usize> {
        let worth = |&pixel: &usize| -> f64 {
            let elements = self.pixels.elements(pixel).iter();
            let rise = |&e: &usize| {
                f64::from(gradient[e]) * (f64::from(here[e]) - f64::from(self.root()[e]))
            };
            elements.map(rise).sum()
        };
        let mut changed = self.changed(&vec![here.to_vec()]);
        changed.sort_by(|a, b| worth(b).total_cmp(&worth(a)).then(a.cmp(b)));
        changed
    }

    /// A witness in the box of the pixels changed so far and of the steepest beside them, at any values.
    pub fn in_box(&self, here: &Observed, variant: usize, effort: &mut Effort) -> Option<Tried> {
        let demands = self.task.demands(here, here, variant)?;
        let asked = demands.unmet.iter().chain(&demands.signs);
        let atoms = here.furthest(asked, ROWS);
        let rows = here.affine(self.task.network, &atoms, effort);
        let each = self.root().len();
        let inputs = || here.moving_inputs();
        let gradients: Vec<Vec<f32>> = rows
            .iter()
            .flat_map(|row| row.gradient.chunks_exact(each.max(1)))
            .map(<[f32]>::to_vec)
            .collect();
        let start = inputs().next()?.to_vec();
        let free = steepest(&self.task.region, &self.pixels, &start, &gradients);
        self.search_box(|pixel| free[pixel], &start, IN_BOX, effort)
    }

    /// A witness in the box of some pixels, from a start in it.
    pub fn search_box(
        &self,
        free: impl Fn(usize) -> bool,
        start: &[f32],
        passes: usize,
        effort: &mut Effort,
    ) -> Option<Tried> {
        let task = self.boxed(free, passes.min(self.left(*effort)));
        let mut spent = Effort::default();
        let found = some_witness(&task, &[start], &mut spent);
        *effort += spent;
        match found {
            Attempt::Met(met) => Some(Tried {
                state: met.inputs.clone(),
                value: 0.0,
                met: Some(met),
            }),
            Attempt::Nothing { .. } => None,
        }
    }
}
