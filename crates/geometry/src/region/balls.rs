//! Balls of one radius round the seeds: a part for each seed.

use deepconcolic_network::BitSet;

use super::kind::{Cover, Hull, Part, RegionKind, Room, ScopeWords, Which, parts_where};
use crate::{Ends, Norm, SearchSpace, Unsupported};

pub(super) struct Balls {
    pub radius: f64,
}

impl RegionKind for Balls {
    fn parts(&self, space: &SearchSpace, input: &[f32], seeds: &[f32]) -> BitSet {
        let each = input.len().max(1);
        let seed = |part: usize| &seeds[part * each..(part + 1) * each];
        let (norm, units) = (space.norm, &space.units);
        parts_where(seeds.len() / each, |part| {
            norm.is_within(input, seed(part), self.radius, units)
                && space.changed_fixed(input, seed(part)).is_none()
        })
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
