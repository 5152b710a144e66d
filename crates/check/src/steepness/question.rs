//! What a requirement of the Lipschitz criterion asks of a certificate: its box and its subject.

use deepconcolic_criteria::{Ratio, Region as Asked};
use deepconcolic_geometry::SearchSpace;

use crate::certificate::Region;
use crate::region::{ball, common, domain};
use crate::steepness::subject::SlopeSubject;
use crate::steepness::verdict::AcceptedSlope;

/// A box that holds every pair of inputs a requirement is about, and how their slopes are measured.
#[derive(Debug, Clone, PartialEq)]
pub struct SlopeQuestion {
    /// The box, rounded outward.
    pub region: Region,
    /// Outputs, norm and widths.
    pub subject: SlopeSubject,
}

impl SlopeQuestion {
    /// Of a requirement; none if no input of the domain lies in its region.
    pub fn of(ratio: &Ratio, space: &SearchSpace) -> Option<Self> {
        let domain = domain(space);
        let elements = domain.lower.len();
        let region = match &ratio.region {
            Asked::Domain => domain,
            Asked::Ball(around) => {
                let widths = around.norm.span(around.radius);
                ball(space, &domain, widths, &around.centre)
            }
            Asked::Box { lower, upper } => common(&domain, lower, upper),
        };
        let mut outputs: Vec<u32> = ratio.outputs.iter().map(|&output| output as u32).collect();
        outputs.sort_unstable();
        region.is_inhabited().then(|| Self {
            region,
            subject: SlopeSubject {
                outputs,
                norm: ratio.norm,
                widths: (0..elements).map(|e| space.units.width(e)).collect(),
            },
        })
    }

    /// Whether a certificate answers it.
    pub fn is_answered_by(&self, accepted: &AcceptedSlope) -> bool {
        accepted.is_about(&self.region, &self.subject)
    }
}
