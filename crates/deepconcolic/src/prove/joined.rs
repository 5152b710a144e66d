//! Certificates of several runs, joined: a requirement may follow from those of two where neither run had
//! enough.

use deepconcolic_campaign::Limits;
use deepconcolic_check::steepness::AcceptedSlope;
use deepconcolic_check::{Accepted, Certificate, Expectation, ProvenFacts, Slot, Until, check};
use deepconcolic_network::{BitSet, Network};
use deepconcolic_proofs::regions;
use rayon::prelude::*;

use super::Proven;
use super::named_certificates::Order;
use super::slopes::{SlopeQuestions, judge as judge_slope};
use crate::error::Error;
use crate::merge::{Content, JoinedCertificate, rejected};
use crate::prepare::Prepared;

impl Proven {
    /// What certificates show together, each judged by the checker; they are numbered as they come. What is
    /// not accepted is refused by its name.
    pub fn joined(
        prepared: &Prepared,
        certificates: &[JoinedCertificate<'_>],
    ) -> Result<Self, Error> {
        let network = &prepared.network;
        let seeds: Vec<Vec<f32>> = prepared.seeds.iter().map(<[f32]>::to_vec).collect();
        let boxes = regions(&prepared.space, &seeds).into_iter();
        let boxes = boxes.map(|(region, _)| region).collect();
        let mut facts = ProvenFacts::new(network, prepared.digest, boxes);
        let mut proven = Self::default();
        let expectation = Expectation {
            model: &prepared.digest,
            regions: None,
            requirements: None,
        };
        let mut slopes = Vec::new();
        // The boxes are judged at the same time, and taken in one after the other.
        let judged: Vec<Result<Judged, Error>> = certificates
            .par_iter()
            .map(|certificate| judge(network, certificate, &expectation))
            .collect();
        for (number, judged) in judged.into_iter().enumerate() {
            match judged? {
                Judged::Slope(slope) => slopes.push((number as i32, slope)),
                Judged::Accepted(accepted) => {
                    facts
                        .add_accepted(network, &accepted)
                        .map_err(|why| rejected(&certificates[number].sources[0].0, &why))?;
                    proven.accepted.push((number as i32, accepted));
                }
            }
        }
        let family = prepared.family.as_ref();
        // What is known of ratios is about two inputs: nothing that certificates say of one is of use there.
        let groups = family.groups().iter().enumerate();
        let required: Vec<BitSet> = groups
            .map(|(number, group)| {
                if family.is_about_ratios(number) {
                    BitSet::new(group.slots())
                } else {
                    group.not_required.complement()
                }
            })
            .collect();
        let order = Order {
            network,
            family,
            accepted: &proven.accepted,
            limits: &Limits::default(),
        };
        let refuted = match certificates {
            [] => Vec::new(),
            _ => order.refuted(&facts, &required),
        };
        for (group, slots) in refuted.iter().enumerate() {
            for slot in slots.iter() {
                let slot = Slot {
                    group: group as u32,
                    slot: slot as u32,
                };
                // Which certificate completes its proof is found out in the end.
                proven.refute(family, slot, 0);
            }
        }
        proven.written = certificates.len() as i32;
        let questions = SlopeQuestions::of(family, &prepared.space);
        proven.enter_slopes(family, questions.bounds(&slopes));
        proven.accepted_slopes = slopes;
        proven.facts = Some(facts);
        Ok(proven)
    }

    /// Takes over bounds of another run over the same search region.
    pub fn take_bounds(&mut self, bounds: &[(Slot, f32)]) {
        for &(slot, bound) in bounds {
            self.bounds.enter_whole(slot, bound);
        }
    }
}

/// A certificate that was accepted.
enum Judged {
    Slope(AcceptedSlope),
    Accepted(Accepted),
}

fn judge(
    network: &Network,
    certificate: &JoinedCertificate<'_>,
    expectation: &Expectation<'_>,
) -> Result<Judged, Error> {
    match &certificate.content {
        Content::Slopes(bytes) => {
            let name = &certificate.sources[0].0;
            let slope = judge_slope(network, bytes, expectation.model, Until::NEVER);
            let slope = slope
                .map_err(|why| Error::Request(format!("{name}: it is not accepted: {why}")))?;
            Ok(Judged::Slope(slope))
        }
        Content::Requirements(joined) => match check(network, joined, expectation) {
            Ok(accepted) => Ok(Judged::Accepted(accepted)),
            // It is one of those that it was joined from.
            Err(why) => {
                for (name, bytes) in &certificate.sources {
                    Certificate::from_bytes(bytes, network)
                        .and_then(|own| check(network, &own, expectation))
                        .map_err(|why| rejected(name, &why))?;
                }
                Err(rejected(&certificate.sources[0].0, &why))
            }
        },
    }
}
