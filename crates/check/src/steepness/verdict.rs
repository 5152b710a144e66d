//! The verdict on a certificate of steepness.

use deepconcolic_network::{Network, Point};
use rayon::prelude::*;

use crate::certificate::{Region, Unit};
use crate::digest::Digest;
use crate::error::Rejection;
use crate::steepness::certificate::{Eliminated, SlopeCertificate, SlopeLeaf, SlopeTree};
use crate::steepness::problem::{SlopePart, SlopeProblem};
use crate::steepness::subject::SlopeSubject;
use crate::until::Until;

/// Deeper trees than any search grows are refused: each level takes memory.
const DEEPEST: usize = 1 << 12;
/// Leaves taken up at once.
const TAKEN: usize = 64;

/// What the check has accepted; nothing else can make it: over real numbers, with the weights as they are
/// stored, outputs of any two inputs of the region differ at most `bound` times as much as the inputs do.
#[derive(Debug, Clone, PartialEq)]
pub struct AcceptedSlope {
    region: Region,
    subject: SlopeSubject,
    bound: f64,
}

impl AcceptedSlope {
    /// The bound.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// Whether it says something about these outputs, measured this way, all over a box.
    pub fn is_about(&self, region: &Region, subject: &SlopeSubject) -> bool {
        self.region.contains(region) && self.subject == *subject
    }
}

/// Accepts a certificate, or says why not.
pub fn check_slopes(
    network: &Network,
    certificate: &SlopeCertificate,
    model: &Digest,
) -> Result<AcceptedSlope, Rejection> {
    check_slopes_until(network, certificate, model, Until::NEVER)
}

/// As [`check_slopes`], unless time is up before everything is judged: it is rejected then.
pub fn check_slopes_until(
    network: &Network,
    certificate: &SlopeCertificate,
    model: &Digest,
    until: Until<'_>,
) -> Result<AcceptedSlope, Rejection> {
    if certificate.model != *model {
        return Err(Rejection::other_model(&certificate.model, model));
    }
    confirm_subject(network, certificate)?;
    let SlopeCertificate {
        region, subject, ..
    } = certificate;
    let problem = SlopeProblem::new(network, region, subject, until);
    let problem = problem.map_err(|e| Rejection::Format(e.to_string()))?;
    problem.ok_or(Rejection::Time)?.judge(certificate, until)
}

impl SlopeProblem {
    /// Accepts a certificate about this box and subject, or says why not: who has bounded all units already need
    /// not do so again.
    pub fn judge(
        &self,
        certificate: &SlopeCertificate,
        until: Until<'_>,
    ) -> Result<AcceptedSlope, Rejection> {
        let SlopeCertificate {
            region,
            subject,
            bound,
            proofs,
            ..
        } = certificate;
        if region != self.region() || subject != self.subject() {
            return Err(Rejection::Region);
        }
        if !(*bound >= 0.0 && bound.is_finite()) {
            return Err(Rejection::Format("a bound that is none".into()));
        }
        if proofs.len() != self.cases() {
            return Err(Rejection::Format("not one proof for each case".into()));
        }
        for (case, proof) in proofs.iter().enumerate() {
            let judged = judge(self, case, proof, *bound, until);
            judged.map_err(|reason| {
                let place = format!("case {case}");
                Rejection::of_proof(place, reason, until)
            })?;
        }
        Ok(AcceptedSlope {
            region: region.clone(),
            subject: subject.clone(),
            bound: *bound,
        })
    }
}

fn confirm_subject(network: &Network, certificate: &SlopeCertificate) -> Result<(), Rejection> {
    let elements = network.input_elements();
    // Between two inputs that differ little from a centre lie inputs that differ more: only a box will do.
    let Region {
        lower,
        upper,
        changes,
    } = &certificate.region;
    let ordered = lower.iter().zip(upper).all(|(l, u)| l <= u) && changes.is_none();
    if lower.len() != elements || upper.len() != elements || !ordered {
        return Err(Rejection::Region);
    }
    let wrong = |what: &str| Err(Rejection::Format(what.into()));
    let SlopeSubject {
        outputs, widths, ..
    } = &certificate.subject;
    if widths.len() != elements || !widths.iter().all(|w| *w >= 0.0 && w.is_finite()) {
        return wrong("widths that are none");
    }
    let logits = network.elements(Point::Logits);
    let known = outputs.iter().all(|&output| (output as usize) < logits);
    if outputs.is_empty() || !known || !outputs.is_sorted_by(|a, b| a < b) {
        return wrong("outputs that the model does not have, or not in order");
    }
    Ok(())
}

/// A leaf with the phases that lead to it.
type Path<'a> = (&'a SlopeLeaf, Vec<(Unit, bool)>);

/// Whether every leaf of a tree stays within the bound and the leaves cover everything.
fn judge(
    problem: &SlopeProblem,
    case: usize,
    proof: &[SlopeTree],
    bound: f64,
    until: Until<'_>,
) -> Result<(), String> {
    let mut nodes = proof.iter();
    // Next one last.
    let mut pending: Vec<Vec<(Unit, bool)>> = vec![Vec::new()];
    while !pending.is_empty() {
        let mut leaves: Vec<Path<'_>> = Vec::with_capacity(TAKEN);
        while leaves.len() < TAKEN
            && let Some(phases) = pending.pop()
        {
            match nodes.next().ok_or("the tree ends too early")? {
                SlopeTree::Leaf(leaf) => leaves.push((leaf, phases)),
                SlopeTree::Split(unit) => {
                    if phases.len() == DEEPEST {
                        return Err("the tree is too deep".into());
                    }
                    for above in [true, false] {
                        let mut half = phases.clone();
                        half.push((*unit, above));
                        pending.push(half);
                    }
                }
            }
        }
        // Factors take large matrices, each worked on by all threads: one at a time.
        let (small, large): (Vec<Path<'_>>, Vec<Path<'_>>) = leaves
            .into_iter()
            .partition(|(leaf, _)| leaf.eliminated().factors.is_empty());
        let judged = |path: &Path<'_>| judge_leaf(problem, case, path, bound, until);
        small
            .par_iter()
            .map(judged)
            .collect::<Vec<_>>()
            .into_iter()
            .collect::<Result<(), String>>()?;
        large.iter().try_for_each(judged)?;
    }
    match nodes.next() {
        None => Ok(()),
        Some(_) => Err("something follows the end of the tree".into()),
    }
}

/// Eliminates the groups that a leaf names.
fn eliminate(
    problem: &SlopeProblem,
    part: &mut SlopePart<'_>,
    Eliminated { groups, factors }: &Eliminated,
    until: Until<'_>,
) -> Result<(), String> {
    if *groups as usize > problem.groups() {
        return Err("more groups are eliminated than there are".into());
    }
    let ascending = factors.is_sorted_by(|(a, _), (b, _)| a < b);
    if !ascending || factors.last().is_some_and(|(last, _)| last >= groups) {
        return Err("factors of groups that are not eliminated, or not in order".into());
    }
    let mut factors = factors.iter().peekable();
    for group in 0..*groups {
        until.go_on().map_err(|e| e.to_string())?;
        match factors.next_if(|(number, _)| *number == group) {
            None => part.advance(until),
            Some(&(_, factor)) if part.advance_within(factor, until) => {}
            Some((_, factor)) => {
                return Err(format!(
                    "the factor {factor} of group {group} does not follow"
                ));
            }
        }
    }
    Ok(())
}

fn judge_leaf(
    problem: &SlopeProblem,
    case: usize,
    (leaf, phases): &Path<'_>,
    bound: f64,
    until: Until<'_>,
) -> Result<(), String> {
    let mut part = problem.part(case, phases, until)?;
    if part.is_empty() {
        return Ok(());
    }
    eliminate(problem, &mut part, leaf.eliminated(), until)?;
    let follows = match leaf {
        SlopeLeaf::Magnitudes { .. } => part.by_magnitudes() <= bound,
        SlopeLeaf::Quadratic { multipliers, .. } => {
            let quadratic = part.quadratic(until).ok_or("the form is too large")?;
            let known: std::collections::HashMap<Unit, f32> = multipliers.iter().copied().collect();
            if known.len() != multipliers.len() {
                return Err("a unit has two multipliers".into());
            }
            let of = |unit: &Unit| known.get(unit).copied().unwrap_or(0.0);
            let ordered: Vec<f32> = quadratic.units().iter().map(of).collect();
            quadratic.is_bounded(part.square_of(bound), &ordered, until)
        }
    };
    if follows {
        Ok(())
    } else {
        Err(format!("the bound {bound} does not follow"))
    }
}
