//! Balls of one radius round the seeds: a part for each seed.

use deepconcolic_network::BitSet;
use rayon::prelude::*;

use super::kind::{Cover, Hull, Part, RegionKind, Room, ScopeWords, Which, parts_where};
use super::pivots::Pivots;
use crate::{Ends, Norm, SearchSpace, Unsupported};

pub(super) struct Balls {
    pub radius: f64,
}

impl Balls {
    /// Whether an input lies in the ball round a seed.
    fn holds(&self, space: &SearchSpace, input: &[f32], seed: &[f32]) -> bool {
        (space.norm).is_within(input, seed, self.radius, &space.units)
            && space.changed_fixed(input, seed).is_none()
    }
}

impl RegionKind for Balls {
    fn parts(&self, space: &SearchSpace, input: &[f32], seeds: &[f32]) -> BitSet {
        let each = input.len().max(1);
        parts_where(seeds.len() / each, |part| {
            self.holds(space, input, &seeds[part * each..(part + 1) * each])
        })
    }

    fn parts_of_each(&self, space: &SearchSpace, inputs: &[&[f32]], seeds: &[f32]) -> Vec<BitSet> {
        let each = inputs.first().map_or(1, |input| input.len().max(1));
        let seeds: Vec<&[f32]> = seeds.chunks_exact(each).collect();
        let pivots = Pivots::of(space, self.radius, &seeds, inputs.len());
        let parts = |input: &&[f32]| {
            let sight = pivots.as_ref().map(|pivots| pivots.sight(input));
            let is_far = |part: usize| sight.as_ref().is_some_and(|sight| sight.is_far(part));
            parts_where(seeds.len(), |part| {
                !is_far(part) && self.holds(space, input, seeds[part])
            })
        };
        inputs.par_iter().map(parts).collect()
    }

    fn outside(&self, space: &SearchSpace, input: &[f32], root: &[f32]) -> Option<String> {
        let (distance, radius) = (space.distance(input, root), self.radius);
        // Not `>`: a distance that is no number is no distance within the radius.
        let inside = distance <= radius;
        (!inside).then(|| format!("it is {distance} from its seed, more than {radius}"))
    }

    fn radius(&self) -> Option<f64> {
        Some(self.radius)
    }

    /// The ends are the domain's: what the radius leaves of them is the norm's to say.
    fn part(&self, space: &SearchSpace, _: Which<'_>) -> Result<Part, Unsupported> {
        Ok(Part {
            ends: Ends::of(&space.domain),
            room: Room::Width,
        })
    }

    /// One box is enough where each would be the domain.
    fn covers(&self, norm: Norm, seeds: usize) -> Vec<Cover> {
        let widths = norm.span(self.radius);
        let limited = norm
            .changes(self.radius)
            .filter(|_| self.radius.is_finite());
        let hull = match limited {
            _ if widths.is_finite() => Hull::Around(widths),
            Some(count) => Hull::Changes(count),
            None => {
                let (seed, hull) = (None, Hull::Domain);
                return vec![Cover { seed, hull }];
            }
        };
        let around = |number| Cover {
            seed: Some(number),
            hull: hull.clone(),
        };
        (0..seeds).map(around).collect()
    }

    fn place(&self, norm: Norm) -> String {
        format!("within {} ({norm}) of a seed", self.radius)
    }

    fn two_inputs(&self, norm: Norm) -> String {
        format!(
            "the two inputs of a requirement lie in one ball: both within {} ({norm}) of the same seed; covered, \
             infeasible, refuted and proven are about such pairs, not about inputs of two balls",
            self.radius
        )
    }

    fn scope(&self, words: &ScopeWords<'_>) -> String {
        format!(
            "inputs of the domain within {} ({} norm, in {}) of one of {} seeds{}",
            self.radius,
            words.norm,
            words.norm.unit(),
            words.seeds,
            words.together("ball")
        )
    }

    fn proof_note(&self, norm: Norm) -> &'static str {
        if norm.changes(self.radius).is_some() {
            return "";
        }
        " Balls of other norms than L-infinity are proven over the box around each."
    }
}
