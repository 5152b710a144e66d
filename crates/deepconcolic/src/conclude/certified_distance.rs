//! How near to a seed another answer can be: radii for which a proof shows that no input of the domain has one.
//!
//! Proofs are about boxes. A box of the domain with so many widths on either side of the seed holds every input that is
//! at most so far from it in L-infinity, and so in every norm that no single element's change exceeds: L2 and L1
//! distances are never below the L-infinity distance.

use std::time::Instant;

use deepconcolic_check::{Digest, Region, regions};
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

/// Whether distances of a norm are never below those of L-infinity, in which boxes are balls.
pub fn is_above_largest_change(norm: Norm) -> bool {
    norm.convex().is_ok()
}

/// The box that holds every input of the domain within a distance of a seed.
pub fn box_round(space: &SearchSpace, root: &[f32], distance: f64) -> Option<Region> {
    let ball = SearchSpace {
        norm: Norm::LINF,
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
        let mut certified = CertifiedDistance::default();
        if !is_above_largest_change(self.space.norm) {
            return certified;
        }
        let requirement = another_answer(self.network, self.departure);
        let units = &self.space.units;
        let (mut low, mut high) = (0.0, Norm::LINF.distance(found, self.root, units));
        let limits = ProofLimits {
            nodes: NODES,
            work: WORK,
            attacks: 1,
            deadline,
            ..ProofLimits::default()
        };
        for _ in 0..HALVINGS {
            if deadline.is_some_and(|end| Instant::now() >= end) {
                break;
            }
            let radius = f64::midpoint(low, high);
            let Some(region) = box_round(self.space, self.root, radius) else {
                break;
            };
            match prove(self.network, self.model, &requirement, &region, &limits) {
                Ok(Verdict::Infeasible(accepted)) => {
                    low = radius;
                    let bytes = accepted.certificate().to_bytes(self.network);
                    certified.bound = Some((radius, bytes));
                }
                Ok(Verdict::Witness(input)) => {
                    high = radius;
                    certified.nearer = Some(input);
                }
                Ok(Verdict::Open { .. }) => high = radius,
                // A network that proofs do not reach.
                Err(_) => break,
            }
        }
        certified
    }
}
