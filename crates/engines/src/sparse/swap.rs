//! Swaps: one pixel for two. And single pixels, all of them looked at.

use super::support::{descending, gains};
use super::trial::{Sparse, State, Tried, best};
use crate::budget::Effort;

/// Pixels that are tried in place of two.
const NEW: usize = 24;
/// Pixels among them whose lines are searched.
const LINES: usize = 2;
/// Pixels whose lines are searched when single pixels are looked for.
const SINGLES: usize = 16;
/// Pairs of pixels that are taken back.
const PAIRS: usize = 66;
/// Pairs among them that another pixel is looked for.
const BEST_PAIRS: usize = 4;
/// Most channels of which all corners are tried.
const CHANNELS: usize = 3;

impl Sparse<'_> {
    /// Some change of a pixel that leads furthest from an input: first all pixels at the ends of their rooms, then
    /// the lines of the best.
    pub fn best_pixel(
        &self,
        from: &[f32],
        pixels: &[usize],
        lines: usize,
        effort: &mut Effort,
    ) -> Option<Tried> {
        let (mut states, mut owners): (Vec<State>, Vec<usize>) = (Vec::new(), Vec::new());
        for &pixel in pixels {
            for corner in self.corners(from, pixel) {
                states.push(vec![corner]);
                owners.push(pixel);
            }
        }
        let tried = self.run(states, effort);
        if let Some(met) = tried.iter().find(|tried| tried.met.is_some()) {
            return Some(met.clone());
        }
        let values: Vec<f64> = tried.iter().map(|tried| tried.value).collect();
        let mut found: Vec<Tried> = Vec::new();
        let mut seen: Vec<usize> = Vec::new();
        for at in descending(&values) {
            if seen.len() >= lines {
                break;
            }
            if seen.contains(&owners[at]) {
                continue;
            }
            seen.push(owners[at]);
            let line = self.best_values(&tried[at].state[0], owners[at], effort);
            if line.as_ref().is_some_and(|tried| tried.met.is_some()) {
                return line;
            }
            found.extend(line);
        }
        found.extend(tried);
        best(found)
    }

    /// The best values of one pixel, channel by channel.
    fn best_values(&self, from: &[f32], pixel: usize, effort: &mut Effort) -> Option<Tried> {
        let mut at: Option<Tried> = None;
        for &element in self.pixels.elements(pixel) {
            let here = at.as_ref().map_or(from, |tried| &tried.state[0]).to_vec();
            if let Some(better) = self.along(&here, element, effort) {
                let met = better.met.is_some();
                at = Some(better);
                if met {
                    break;
                }
            }
        }
        at
    }

    /// An input with a pixel at the corners of its room: all of them where channels are few.
    fn corners(&self, from: &[f32], pixel: usize) -> Vec<Vec<f32>> {
        let region = &self.task.region;
        let elements = self.pixels.elements(pixel);
        let count = if elements.len() <= CHANNELS {
            1usize << elements.len()
        } else {
            2
        };
        let corner = |number: usize| {
            let mut input = from.to_vec();
            for (channel, &e) in elements.iter().enumerate() {
                let bit = if elements.len() <= CHANNELS {
                    channel
                } else {
                    0
                };
                let end = if number >> bit & 1 == 1 {
                    region.upper[e]
                } else {
                    region.lower[e]
                };
                input[e] = region.settle(e, f64::from(end));
            }
            input
        };
        let mut corners: Vec<Vec<f32>> = (0..count).map(corner).collect();
        corners.retain(|corner| corner != from);
        corners
    }

    /// Pixels by what the gradient says that they bring, the best first.
    fn steepest_pixels(&self, from: &[f32], effort: &mut Effort) -> Vec<usize> {
        let here = self.look(from, effort);
        match self.direction(&here, 0, effort) {
            Some((region, gradient)) => descending(&gains(&region, &self.pixels, from, &gradient)),
            None => Vec::new(),
        }
    }

    /// A single pixel that meets the goal, all pixels being tried, where there are passes for it.
    pub fn single(&self, effort: &mut Effort) -> Option<Tried> {
        let root = self.root().to_vec();
        let all: Vec<usize> = (0..self.pixels.count()).collect();
        let each = self.corners(&root, 0).len().max(1);
        if self.left(*effort) < all.len() * each {
            return None;
        }
        self.best_pixel(&root, &all, SINGLES, effort)
            .filter(|tried| tried.met.is_some())
    }

    /// A witness with one pixel in place of two.
    pub fn swapped(&self, witness: &Tried, effort: &mut Effort) -> Option<Tried> {
        let changed = self.changed(&witness.state);
        if changed.len() < 2 {
            return None;
        }
        let mut pairs: Vec<[usize; 2]> = Vec::new();
        for (i, &a) in changed.iter().enumerate() {
            pairs.extend(changed[i + 1..].iter().map(|&b| [a, b]));
        }
        // Spread over all of them where they are too many.
        let every = pairs.len().div_ceil(PAIRS);
        let pairs: Vec<[usize; 2]> = pairs.into_iter().step_by(every.max(1)).collect();
        let states = pairs.iter().map(|pair| self.without(&witness.state, pair));
        let tried = self.run(states.collect(), effort);
        let values: Vec<f64> = tried.iter().map(|tried| tried.value).collect();
        descending(&values)
            .into_iter()
            .take(BEST_PAIRS)
            .find_map(|at| {
                if self.task.is_over(*effort) {
                    return None;
                }
                let from = &tried[at].state[0];
                let candidates = self.steepest_pixels(from, effort);
                let fresh: Vec<usize> = candidates
                    .into_iter()
                    .filter(|pixel| changed.binary_search(pixel).is_err())
                    .take(NEW)
                    .collect();
                self.best_pixel(from, &fresh, LINES, effort)
                    .filter(|tried| tried.met.is_some())
            })
    }

    /// Built up anew, pixel by pixel, each the best of those that the gradient favours; a witness with fewer
    /// pixels than `count`, if that leads to one.
    pub fn rebuilt(&self, count: usize, effort: &mut Effort) -> Option<Tried> {
        let mut here = self.root().to_vec();
        for _ in 1..count {
            if self.task.is_over(*effort) {
                return None;
            }
            let changed = self.changed(&vec![here.clone()]);
            let fresh: Vec<usize> = self
                .steepest_pixels(&here, effort)
                .into_iter()
                .filter(|pixel| changed.binary_search(pixel).is_err())
                .take(NEW)
                .collect();
            let next = self.best_pixel(&here, &fresh, LINES, effort)?;
            if next.met.is_some() {
                return Some(next);
            }
            here.clone_from(&next.state[0]);
        }
        None
    }
}
