//! How few positions must change: a certified lower bound, by excluding one number after the other.

use deepconcolic_check::{Accepted, Digest, Region, Unsupported};
use deepconcolic_language::Requirement;
use deepconcolic_network::Network;

use crate::prove::{ProofLimits, Verdict, prove};

/// What is known of the fewest positions that an input must differ in to meet a requirement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FewestChanges {
    /// So many do not suffice, with the certificate that says so; none if nothing is excluded. Fewer do not
    /// either: the region of the certificate holds them.
    pub excluded: Option<(u32, Accepted)>,
    /// So many do, and the input that shows it.
    pub found: Option<(u32, Vec<f32>)>,
}

impl FewestChanges {
    /// It takes at least so many.
    pub fn at_least(&self) -> u32 {
        self.excluded.as_ref().map_or(0, |(count, _)| count + 1)
    }

    /// Whether the fewest are known.
    pub fn is_known(&self) -> bool {
        let count = self.found.as_ref().map(|(count, _)| *count);
        count.is_some_and(|count| count <= self.at_least().max(1))
    }
}

/// Tries one change, then two, up to as many as a region allows, until a number suffices or cannot be excluded.
/// Limits are those of each number. Without a limit on changes in the region, nothing is tried.
pub fn fewest_changes(
    network: &Network,
    model: &Digest,
    requirement: &Requirement,
    region: &Region,
    limits: &ProofLimits<'_>,
) -> Result<FewestChanges, Unsupported> {
    let mut known = FewestChanges::default();
    let Some(changes) = &region.changes else {
        return Ok(known);
    };
    for allowed in 1..=changes.allowed {
        let mut part = region.clone();
        if let Some(changes) = &mut part.changes {
            changes.allowed = allowed;
        }
        match prove(network, model, requirement, &part, limits)? {
            Verdict::Infeasible(accepted) => known.excluded = Some((allowed, *accepted)),
            Verdict::Witness(input) => {
                known.found = Some((changes.count(&input) as u32, input));
                return Ok(known);
            }
            Verdict::Open { .. } => return Ok(known),
        }
    }
    Ok(known)
}
