//! Certified upper bounds on how steep the network is in each region. Nothing enters the suite here, so no step of
//! the journal speaks of it: certificates of an earlier sitting are judged again and taken over.

use std::collections::BTreeMap;
use std::time::Instant;

use deepconcolic_campaign::{Campaign, Limits};
use deepconcolic_check::steepness::{
    AcceptedSlope, SlopeCertificate, SlopeQuestion, check_slopes_until,
};
use deepconcolic_check::{Digest, Rejection, Until};
use deepconcolic_criteria::{Family, Ratios};
use deepconcolic_geometry::SearchSpace;
use deepconcolic_network::Network;
use deepconcolic_proofs::{NoSlope, SlopeLimits, SlopeProof, prove_slope};
use rayon::prelude::*;

use super::obstacles::LATE;
use super::work::at;
use super::{ProofStage, Proven};
use crate::conclude::slopes::is_all_ratios;
use crate::error::Error;
use crate::folder::certificates::Stored;

/// A bound on the ratios of a region, and the certificate that shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlopeBound {
    /// No ratio is above this.
    pub upper: f64,
    /// The number of the certificate.
    pub certificate: i32,
}

/// Bounds by the slot of the region.
pub type SlopeBounds = BTreeMap<usize, SlopeBound>;

/// Regions bounded at once.
const TOGETHER: usize = 8;

/// The questions of the ratios that are required, by slot.
pub struct SlopeQuestions(Vec<(usize, SlopeQuestion)>);

impl SlopeQuestions {
    /// Of all regions that are required and hold an input; none where no ratio is required.
    pub fn of(family: &dyn Family, space: &SearchSpace) -> Self {
        let Some((group, ratios)) = family.ratios() else {
            return Self(Vec::new());
        };
        let slots = family.groups()[group].not_required.complement();
        let question = |slot| Some((slot, SlopeQuestion::of(&ratios.ratio(slot), space)?));
        Self(slots.iter().filter_map(question).collect())
    }

    /// What accepted certificates show of each region: the least bound, of equal ones the first.
    pub fn bounds(&self, accepted: &[(i32, AcceptedSlope)]) -> SlopeBounds {
        let of = |(slot, question): &(usize, SlopeQuestion)| {
            let answers = accepted.iter().filter(|(_, a)| question.is_answered_by(a));
            let least = answers.min_by(|(_, a), (_, b)| a.bound().total_cmp(&b.bound()))?;
            let bound = SlopeBound {
                upper: least.1.bound(),
                certificate: least.0,
            };
            Some((*slot, bound))
        };
        self.0.par_iter().filter_map(of).collect()
    }
}

/// Reads a certificate of steepness and judges it, unless time is up before.
pub fn judge(
    network: &Network,
    bytes: &[u8],
    model: &Digest,
    until: Until<'_>,
) -> Result<AcceptedSlope, Rejection> {
    let certificate = SlopeCertificate::from_bytes(bytes, network)?;
    check_slopes_until(network, &certificate, model, until)
}

impl Proven {
    /// Enters what certificates show of the regions; a region that they bound by its constant is proven.
    pub(super) fn enter_slopes(&mut self, family: &dyn Family, bounds: SlopeBounds) {
        let Some((group, ratios)) = family.ratios() else {
            return;
        };
        for (&slot, bound) in &bounds {
            let constant = ratios.ratio(slot).constant;
            if constant.is_some_and(|constant| bound.upper <= constant) {
                self.refute(family, at(group, slot), bound.certificate);
            }
        }
        self.slopes = bounds;
    }
}

impl ProofStage<'_> {
    /// Bounds the slopes of all regions, the steepest pairs being known by the campaign.
    pub(super) fn slopes(
        &self,
        mut proven: Proven,
        campaign: &mut Campaign,
        limits: &Limits<'_>,
    ) -> Result<Proven, Error> {
        let Some((group, ratios)) = self.family.ratios() else {
            return Ok(proven);
        };
        let questions = SlopeQuestions::of(self.family, self.space);
        self.take_over_slopes(&mut proven)?;
        let mut accepted = std::mem::take(&mut proven.accepted_slopes);
        let known = questions.bounds(&accepted);
        // Those that a pair refutes come last: they are decided.
        let open = &campaign.ledger().uncovered()[group];
        let mut asked: Vec<&(usize, SlopeQuestion)> = questions.0.iter().collect();
        asked.retain(|(slot, _)| !known.contains_key(slot));
        asked.sort_by_key(|(slot, _)| !open.contains(*slot));
        for (number, some) in asked.chunks(TOGETHER).enumerate() {
            let rounds_left = asked.len().div_ceil(TOGETHER) - number;
            let deadline = self.share_of_time(rounds_left);
            let found: Vec<Result<SlopeProof, NoSlope>> = some
                .par_iter()
                .map(|(slot, question)| {
                    let enough = enough(ratios, *slot, campaign);
                    let limits = SlopeLimits {
                        enough,
                        deadline,
                        interrupt: limits.interrupt,
                        ..SlopeLimits::default()
                    };
                    let SlopeQuestion { region, subject } = question;
                    prove_slope(self.network, &self.model, region, subject, &limits)
                })
                .collect();
            for ((slot, _), found) in some.iter().zip(found) {
                match found {
                    Ok(proof) => {
                        let bytes = proof.certificate.to_bytes(self.network);
                        self.certificates.write(proven.written, &bytes)?;
                        accepted.push((proven.written, proof.accepted));
                        proven.written += 1;
                        proven.nodes += proof.parts;
                    }
                    Err(why) => {
                        let reason = match why {
                            NoSlope::Late => LATE.to_owned(),
                            other => other.to_string(),
                        };
                        let slots = [at(group, *slot)];
                        proven.obstacles.enter(self.family, &reason, slots);
                    }
                }
            }
        }
        proven.enter_slopes(self.family, questions.bounds(&accepted));
        proven.accepted_slopes = accepted;
        Ok(proven)
    }

    /// When the next of so many rounds must end.
    pub(super) fn share_of_time(&self, rounds: usize) -> Option<Instant> {
        let now = Instant::now();
        let end = self.deadline?;
        let left = end.saturating_duration_since(now);
        Some(now + left.div_f64(rounds.max(1) as f64))
    }

    /// Takes over what is kept behind the certificates that proofs know of, judged again. One that is not accepted is set
    /// aside; one about single inputs is left for the proofs that have use for it.
    fn take_over_slopes(&self, proven: &mut Proven) -> Result<(), Error> {
        loop {
            let number = proven.written;
            let bytes = match self.certificates.read(number)? {
                Stored::Missing => return Ok(()),
                Stored::SetAside => {
                    proven.written += 1;
                    continue;
                }
                Stored::Bytes(bytes) => bytes,
            };
            proven.written += 1;
            let is_of_ratio = SlopeCertificate::begins(&bytes) || is_all_ratios(self.family);
            if !is_of_ratio {
                continue;
            }
            match judge(self.network, &bytes, &self.model, Until::NEVER) {
                Ok(slope) => proven.accepted_slopes.push((number, slope)),
                Err(reason) => {
                    let aside = self.certificates.set_aside(number)?;
                    proven.notes.push(format!(
                        "certificate {number} was not accepted ({reason}) and is set aside as {aside}: what rests \
                         on it is open again"
                    ));
                }
            }
        }
    }
}

/// A bound that there is no use in going below: a slope that was found, or the constant asked about.
fn enough(ratios: &dyn Ratios, slot: usize, campaign: &Campaign) -> f64 {
    let found = campaign.steepest().of(slot).map_or(0.0, |(_, slope)| slope);
    let constant = ratios.ratio(slot).constant.unwrap_or(0.0);
    found.max(constant)
}
