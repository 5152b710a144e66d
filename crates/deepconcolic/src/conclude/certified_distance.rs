//! How near to a seed another answer can be: radii for which a proof shows that no input of the domain has one.
//!
//! Proofs are about boxes, or about inputs of a box that differ from the seed in few positions. A box of the domain with so many
//! widths on either side of the seed holds every input that is at most so far from it in L-infinity, and so in every norm
//! that no single element's change exceeds: L2 and L1 distances are never below the L-infinity distance. In L0 a
//! proof says that one pixel is not enough.

use std::time::Instant;

use deepconcolic_check::{Accepted, Digest, Region, regions};
use deepconcolic_criteria::Departure;
use deepconcolic_geometry::{Extent, Norm, SearchSpace};
use deepconcolic_language::{Input, Inputs, Quantifier, Requirement};
use deepconcolic_network::Network;
use deepconcolic_proofs::{ProofLimits, Verdict, prove};

/// Radii that are tried, each in the middle of what is left open.
const HALVINGS: usize = 5;
/// How far one proof goes: parts of the box, and parts times coefficients of the network.
const NODES: usize = 400;
const WORK: usize = 40_000_000;
/// Most changes that are tried in L0: with one, a proof takes as many parts as there are positions, with two their square.
const CHANGES: f64 = 1.0;

/// A seed, and what another answer is.
#[derive(Clone, Copy)]
pub struct SeedAnswer<'a> {
    /// The network.
    pub network: &'a Network,
    /// Its fingerprint.
    pub model: &'a Digest,
    /// The domain, and the unit of distances.
    pub space: &'a SearchSpace,
    /// The seed.
    pub root: &'a [f32],
    /// When an input has another answer.
    pub departure: &'a Departure,
}

/// What was shown.
#[derive(Clone, Debug, Default)]
pub struct CertifiedDistance {
    /// No input of the domain that is at most so far has another answer, and the certificate that shows it.
    pub bound: Option<(f64, Vec<u8>)>,
    /// An input with another answer that a proof ran into.
    pub nearer: Option<Vec<f32>>,
}

/// Whether proofs say something of the distances of a norm: it counts changes, or its distances are never below those of
/// L-infinity, in which boxes are balls.
pub fn is_provable(norm: Norm) -> bool {
    counts_changes(norm) || norm.convex().is_ok()
}

fn counts_changes(norm: Norm) -> bool {
    norm.changes(1.0).is_some()
}

/// A region of proofs that holds every input of the domain within a distance of a seed.
pub fn region_round(space: &SearchSpace, root: &[f32], distance: f64) -> Option<Region> {
    let norm = if counts_changes(space.norm) {
        space.norm
    } else {
        Norm::LINF
    };
    let ball = SearchSpace {
        norm,
        extent: Extent::Balls(distance),
        ..space.clone()
    };
    let boxes = regions(&ball, &[root.to_vec()]);
    boxes.into_iter().next().map(|part| part.region)
}

/// What a certificate must refute: that some input has another answer.
pub fn another_answer(network: &Network, departure: &Departure) -> Requirement {
    Requirement {
        name: None,
        quantifier: Quantifier::Exists,
        inputs: Inputs::One,
        formula: departure.formula(Input::First, network.layers().len() + 2),
    }
}

impl SeedAnswer<'_> {
    /// The largest radius below that of an input with another answer that a few proofs reach.
    pub fn certified_distance(
        &self,
        found: &[f32],
        deadline: Option<Instant>,
    ) -> CertifiedDistance {
        if counts_changes(self.space.norm) {
            self.certified_count(found, deadline)
        } else if is_provable(self.space.norm) {
            self.certified_radius(found, deadline)
        } else {
            CertifiedDistance::default()
        }
    }

    /// In between, again and again.
    fn certified_radius(&self, found: &[f32], deadline: Option<Instant>) -> CertifiedDistance {
        let mut certified = CertifiedDistance::default();
        let units = &self.space.units;
        let (mut low, mut high) = (0.0, Norm::LINF.distance(found, self.root, units));
        for _ in 0..HALVINGS {
            let radius = f64::midpoint(low, high);
            match self.within(radius, deadline) {
                Some(Verdict::Infeasible(accepted)) => {
                    low = radius;
                    certified.bound = Some((radius, self.bytes(&accepted)));
                }
                Some(Verdict::Witness(input)) => {
                    high = radius;
                    certified.nearer = Some(input);
                }
                Some(Verdict::Open { .. }) => high = radius,
                None => break,
            }
        }
        certified
    }

    /// One change, then one more, as far as proofs go.
    fn certified_count(&self, found: &[f32], deadline: Option<Instant>) -> CertifiedDistance {
        let mut certified = CertifiedDistance::default();
        let distance = self.space.distance(found, self.root);
        let mut count = 1.0;
        while count < distance && count <= CHANGES {
            match self.within(count, deadline) {
                Some(Verdict::Infeasible(accepted)) => {
                    certified.bound = Some((count, self.bytes(&accepted)));
                }
                Some(Verdict::Witness(input)) => {
                    certified.nearer = Some(input);
                    break;
                }
                Some(Verdict::Open { .. }) | None => break,
            }
            count += 1.0;
        }
        certified
    }

    /// Whether an input at most so far away has another answer; none if time is up or proofs do not reach the network.
    fn within(&self, distance: f64, deadline: Option<Instant>) -> Option<Verdict> {
        if deadline.is_some_and(|end| Instant::now() >= end) {
            return None;
        }
        let limits = ProofLimits {
            nodes: NODES,
            work: WORK,
            attacks: 1,
            deadline,
            ..ProofLimits::default()
        };
        let requirement = another_answer(self.network, self.departure);
        let region = region_round(self.space, self.root, distance)?;
        prove(self.network, self.model, &requirement, &region, &limits).ok()
    }

    fn bytes(&self, accepted: &Accepted) -> Vec<u8> {
        accepted.certificate().to_bytes(self.network)
    }
}
