//! Boxes of a file: each is a part; they belong to no seed.

use deepconcolic_network::BitSet;

use super::kind::{Cover, Hull, Part, RegionKind, Room, ScopeWords, Which, parts_where};
use crate::{Ends, Norm, SearchSpace, Unsupported};

/// Most boxes that are spelled out in words.
const SPELLED: usize = 8;
/// Most elements of a box whose ends are spelled out.
const ELEMENTS: usize = 8;

pub(super) struct Boxes<'a>(pub &'a [(Vec<f64>, Vec<f64>)]);

impl RegionKind for Boxes<'_> {
    fn parts(&self, _: &SearchSpace, input: &[f32], _: &[f32]) -> BitSet {
        parts_where(self.0.len(), |part| is_in(&self.0[part], input))
    }

    fn has(&self, input: &[f32]) -> bool {
        self.0.iter().any(|each| is_in(each, input))
    }

    fn outside(&self, _: &SearchSpace, input: &[f32], _: &[f32]) -> Option<String> {
        (!self.has(input)).then(|| "it lies in none of the boxes".into())
    }

    fn part(&self, space: &SearchSpace, which: Which<'_>) -> Result<Part, Unsupported> {
        let own = match which {
            Which::Turn(turn) => self.0.get(turn % self.0.len().max(1)).map(Ends::inward),
            Which::Holding(input) => {
                let mut all = self.0.iter().map(Ends::inward);
                all.find(|ends| ends.hold(input))
            }
        };
        let own = own.ok_or(Unsupported {
            what: "region",
            why: "the seed lies in none of its boxes",
        })?;
        let mut ends = Ends::of(&space.domain);
        ends.narrow(&own.low, &own.high);
        Ok(Part {
            ends,
            room: Room::Ends,
        })
    }

    fn covers(&self, _: Norm, _: usize) -> Vec<Cover> {
        let cover = |(lower, upper): &(Vec<f64>, Vec<f64>)| Cover {
            seed: None,
            hull: Hull::Box(lower.clone(), upper.clone()),
        };
        self.0.iter().map(cover).collect()
    }

    fn holds_seeds(&self) -> bool {
        false
    }

    fn place(&self, _: Norm) -> String {
        format!("in one of {} boxes", self.0.len())
    }

    fn two_inputs(&self, _: Norm) -> String {
        "the two inputs of a requirement lie in the same box; covered, infeasible, refuted and \
         proven are about such pairs, not about inputs of two boxes"
            .into()
    }

    fn scope(&self, words: &ScopeWords<'_>) -> String {
        let all = || {
            let words: Option<Vec<String>> = self.0.iter().map(spelled).collect();
            words.map_or_else(String::new, |words| format!(": {}", words.join("; ")))
        };
        let spelled = if self.0.len() <= SPELLED {
            all()
        } else {
            String::new()
        };
        format!(
            "inputs of the domain in one of the {} boxes of the region file (SHA-256 `{}`){spelled}{}",
            self.0.len(),
            words.file_hash,
            words.together("box")
        )
    }
}

fn is_in((low, high): &(Vec<f64>, Vec<f64>), input: &[f32]) -> bool {
    let ends = low.iter().zip(high);
    let mut inside = input.iter().map(|&x| f64::from(x)).zip(ends);
    inside.all(|(x, (l, h))| *l <= x && x <= *h)
}

/// A box in words, if that is short.
fn spelled((lower, upper): &(Vec<f64>, Vec<f64>)) -> Option<String> {
    let first = (*lower.first()?, *upper.first()?);
    let ends = || lower.iter().zip(upper).map(|(&l, &u)| (l, u));
    let same =
        |a: (f64, f64)| a.0.to_bits() == first.0.to_bits() && a.1.to_bits() == first.1.to_bits();
    if ends().all(same) {
        return Some(format!("{}..{} in every element", first.0, first.1));
    }
    let parts: Vec<String> = ends().map(|(l, u)| format!("{l}..{u}")).collect();
    (parts.len() <= ELEMENTS).then(|| parts.join(" x "))
}
