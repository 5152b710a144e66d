//! The whole domain: one part, whatever the seed.

use deepconcolic_network::BitSet;

use super::kind::{Cover, Hull, Part, RegionKind, Room, ScopeWords, Which, parts_where};
use crate::{Ends, Norm, SearchSpace, Unsupported};

pub(super) struct Whole;

impl RegionKind for Whole {
    fn parts(&self, _: &SearchSpace, _: &[f32], _: &[f32]) -> BitSet {
        parts_where(1, |_| true)
    }

    fn outside(&self, _: &SearchSpace, _: &[f32], _: &[f32]) -> Option<String> {
        None
    }

    fn part(&self, space: &SearchSpace, _: Which<'_>) -> Result<Part, Unsupported> {
        Ok(Part {
            ends: Ends::of(&space.domain),
            room: Room::Width,
        })
    }

    fn covers(&self, _: Norm, _: usize) -> Vec<Cover> {
        vec![Cover {
            seed: None,
            hull: Hull::Domain,
        }]
    }

    fn place(&self, _: Norm) -> String {
        "anywhere in the domain".into()
    }

    fn two_inputs(&self, _: Norm) -> String {
        "the two inputs of a requirement may lie anywhere in the domain, whatever seeds they come from".into()
    }

    fn scope(&self, _: &ScopeWords<'_>) -> String {
        "all inputs of the domain".into()
    }
}
