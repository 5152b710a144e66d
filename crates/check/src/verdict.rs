//! The verdict on a whole certificate.

use deepconcolic_language::{Requirement, RequirementFile, Signature};
use deepconcolic_network::{Element, Network};
use rayon::prelude::*;

use crate::accepted::{Accepted, Bound};
use crate::bounds::cone::Cone;
use crate::bounds::context::Context;
use crate::bounds::corner;
use crate::bounds::forward_leaves::ForwardProblem;
use crate::bounds::leaf::Judge;
use crate::bounds::together::{self, elements};
use crate::certificate::{Certificate, Changes, Entry, Proof, Region, Tree};
use crate::digest::Digest;
use crate::error::{Rejection, Unsupported};
use crate::question::{Case, cases};
use crate::until::Until;

/// What a certificate is supposed to be about.
#[derive(Debug, Clone, Copy)]
pub struct Expectation<'a> {
    /// The SHA-256 of the model file at hand.
    pub model: &'a Digest,
    /// The boxes it must be about; any, if none are given.
    pub regions: Option<&'a [Region]>,
    /// The requirements it must be about, in order; any, if none are given.
    pub requirements: Option<&'a [String]>,
}

/// Accepts a certificate, or says why not. Accepted means: over real numbers, with the weights as
/// they are stored, no input of the regions meets any of the requirements. Entries about executions alone
/// say so ([`Entry::is_about_executions`]); accepted means of them that no execution does.
pub fn check(
    network: &Network,
    certificate: &Certificate,
    expectation: &Expectation<'_>,
) -> Result<Accepted, Rejection> {
    check_until(network, certificate, expectation, Until::NEVER)
}

/// As [`check`], unless time is up before everything is judged: it is rejected then.
pub fn check_until(
    network: &Network,
    certificate: &Certificate,
    expectation: &Expectation<'_>,
    until: Until<'_>,
) -> Result<Accepted, Rejection> {
    let bounds = judge(network, certificate, expectation, until)?;
    let bounds: Result<Vec<Bound>, Rejection> = bounds.into_iter().collect();
    Ok(Accepted::new(certificate.clone(), bounds?))
}

/// As [`check`], entry by entry: what is left when the entries that are rejected are taken out, and for
/// each entry its new number, or why it is out; an entry that time was not enough for is out. A certificate
/// that is about something else is rejected as a whole.
pub fn check_each(
    network: &Network,
    mut certificate: Certificate,
    expectation: &Expectation<'_>,
    until: Until<'_>,
) -> Result<(Accepted, Vec<Result<usize, Rejection>>), Rejection> {
    let judged = judge(network, &certificate, expectation, until)?;
    let entries = std::mem::take(&mut certificate.entries);
    let mut bounds = Vec::new();
    let numbers = entries.into_iter().zip(judged).map(|(entry, judged)| {
        bounds.push(judged?);
        certificate.entries.push(entry);
        Ok(bounds.len() - 1)
    });
    let numbers = numbers.collect();
    Ok((Accepted::new(certificate, bounds), numbers))
}

/// For each entry a bound, or why it is rejected.
fn judge(
    network: &Network,
    certificate: &Certificate,
    expectation: &Expectation<'_>,
    until: Until<'_>,
) -> Result<Vec<Result<Bound, Rejection>>, Rejection> {
    confirm_subject(network, certificate, expectation)?;
    let signature = Signature::of(network);
    let requirements = certificate.entries.par_iter().enumerate();
    let requirements = requirements.map(|(entry, e)| {
        parse(&e.requirement, &signature).map_err(|reason| Rejection::Question { entry, reason })
    });
    let requirements = all_or_first_error(requirements.collect())?;
    let mut bounds: Vec<Result<Bound, Rejection>> = vec![Ok(Bound::NONE); requirements.len()];
    for (number, region) in certificate.regions.iter().enumerate() {
        let scope = Scope {
            network,
            certificate,
            region,
            number,
            until,
        };
        for (bound, found) in bounds.iter_mut().zip(scope.check(&requirements)?) {
            join(bound, found);
        }
    }
    Ok(bounds)
}

/// What was made of each entry, on any threads, unless one could not be: then the first of these says why.
fn all_or_first_error<T>(made: Vec<Result<T, Rejection>>) -> Result<Vec<T>, Rejection> {
    made.into_iter().collect()
}

/// The worse of two results for one entry.
fn join(bound: &mut Result<Bound, Rejection>, found: Result<Bound, Rejection>) {
    *bound = match (std::mem::replace(bound, Ok(Bound::NONE)), found) {
        (Ok(a), Ok(b)) => Ok(a.or(b)),
        (Err(reason), _) | (_, Err(reason)) => Err(reason),
    };
}

fn confirm_subject(
    network: &Network,
    certificate: &Certificate,
    expectation: &Expectation<'_>,
) -> Result<(), Rejection> {
    if certificate.model != *expectation.model {
        return Err(Rejection::other_model(
            &certificate.model,
            expectation.model,
        ));
    }
    let elements = network.input_elements();
    let fits = |region: &Region| {
        let ends = region.lower.iter().zip(&region.upper);
        region.lower.len() == elements
            && region.upper.len() == elements
            && ends.into_iter().all(|(l, u)| l <= u)
            && region.changes.as_ref().is_none_or(|c| is_sound(c, region))
    };
    if certificate.regions.is_empty() || !certificate.regions.iter().all(fits) {
        return Err(Rejection::Region);
    }
    if expectation
        .regions
        .is_some_and(|r| r != certificate.regions)
    {
        return Err(Rejection::Region);
    }
    let Some(expected) = expectation.requirements else {
        return Ok(());
    };
    if expected.len() != certificate.entries.len() {
        let reason = format!(
            "{} requirements where {} are asked about",
            certificate.entries.len(),
            expected.len()
        );
        return Err(Rejection::Format(reason));
    }
    for (entry, (found, expected)) in certificate.entries.iter().zip(expected).enumerate() {
        if found.requirement != *expected {
            return Err(Rejection::Requirement {
                entry,
                expected: expected.clone(),
                found: found.requirement.clone(),
            });
        }
    }
    Ok(())
}

/// Whether a limit on changes is one that bounds can reason from: the centre lies in the box, and every element
/// has a position.
fn is_sound(changes: &Changes, region: &Region) -> bool {
    let elements = region.lower.len();
    let ends = region.lower.iter().zip(&region.upper);
    changes.centre.len() == elements
        && changes.positions.len() == elements
        && changes.positions.iter().all(|&p| (p as usize) < elements)
        && ends
            .zip(&changes.centre)
            .all(|((l, u), c)| l <= c && c <= u)
}

pub(crate) fn parse(text: &str, signature: &Signature) -> Result<Requirement, String> {
    let file = RequirementFile::parse(text).map_err(|e| e.to_string())?;
    let set = file.resolve(signature).map_err(|e| e.to_string())?;
    if set.len() != 1 {
        return Err("an entry is one requirement".into());
    }
    set.get(0).map_err(|e| e.to_string())
}

/// An entry, by number, and what comes of one of its alternatives.
type Judged = (usize, Result<Bound, Rejection>);

/// All entries over one region.
struct Scope<'a> {
    network: &'a Network,
    certificate: &'a Certificate,
    region: &'a Region,
    number: usize,
    until: Until<'a>,
}

impl Scope<'_> {
    fn check(
        &self,
        requirements: &[Requirement],
    ) -> Result<Vec<Result<Bound, Rejection>>, Rejection> {
        let questions = requirements.par_iter().enumerate();
        let questions = questions.map(|(entry, requirement)| {
            cases(requirement, self.network, self.region).map_err(|e| Rejection::Question {
                entry,
                reason: e.to_string(),
            })
        });
        let questions: Vec<Vec<Case>> = all_or_first_error(questions.collect())?;
        let mut bounds = vec![Ok(Bound::NONE); questions.len()];
        // Alternatives over the same box share what is known of it.
        let mut boxes: Vec<(&Region, Vec<(usize, usize)>)> = Vec::new();
        for (entry, alternatives) in questions.iter().enumerate() {
            let proofs = self.proofs(&self.certificate.entries[entry]);
            if proofs.len() != alternatives.len() {
                return Err(self.wrong(entry, 0, "not one proof for each alternative"));
            }
            for (case, alternative) in alternatives.iter().enumerate() {
                let region = &alternative.region;
                match boxes.iter_mut().rfind(|(known, _)| *known == region) {
                    Some((_, members)) => members.push((entry, case)),
                    None => boxes.push((region, vec![(entry, case)])),
                }
            }
        }
        for (region, members) in boxes {
            let (forward, members): (Vec<_>, Vec<_>) = members
                .into_iter()
                .partition(|&(entry, case)| self.goes_forward(entry, case));
            for (entry, found) in self.check_forward(region, &questions, &forward)? {
                join(&mut bounds[entry], found);
            }
            if members.is_empty() {
                continue;
            }
            let mut context = Context::new(self.network, region, self.until);
            let atoms = members.iter().map(|&(e, c)| &questions[e][c].atoms[..]);
            let targets: Vec<Element> = atoms.flat_map(|a| elements(self.network, a)).collect();
            context.prepare(&targets).map_err(|e| match e {
                Unsupported::Time => Rejection::Time,
                e => Rejection::Question {
                    entry: members[0].0,
                    reason: e.to_string(),
                },
            })?;
            let found: Vec<Judged> = self.check_box(&context, &questions, &members);
            for (entry, found) in found {
                join(&mut bounds[entry], found);
            }
        }
        Ok(bounds)
    }

    /// Alternatives over one box: first those that others help with, then the others.
    fn check_box(
        &self,
        context: &Context<'_>,
        questions: &[Vec<Case>],
        members: &[(usize, usize)],
    ) -> Vec<Judged> {
        let of = |&(entry, case): &(usize, usize)| {
            let proof = &self.proofs(&self.certificate.entries[entry])[case];
            (&questions[entry][case], proof)
        };
        let asked: Vec<(&Case, &Proof)> = members.iter().map(of).collect();
        let shared = together::judge(context, &asked);
        let each = members.par_iter().zip(asked).zip(shared);
        each.map(|((&(entry, case), (alternative, proof)), shared)| {
            if self.until.is_over() {
                return (entry, Err(Rejection::Time));
            }
            let shared = shared.map(|bound| ruled_out(alternative, bound));
            let bound = match shared {
                Some(Ok(bound)) => Ok(bound),
                _ => refute(context, alternative, proof),
            };
            let bound = bound.map_err(|reason| self.wrong(entry, case, &reason));
            (entry, bound)
        })
        .collect()
    }

    /// Whether the leaves of a tree are bounded by lines that go forward.
    fn goes_forward(&self, entry: usize, case: usize) -> bool {
        let proof = &self.proofs(&self.certificate.entries[entry])[case];
        proof.iter().any(|node| matches!(node, Tree::Forward(_)))
    }

    /// Alternatives over one box whose trees have such leaves, together.
    fn check_forward(
        &self,
        region: &Region,
        questions: &[Vec<Case>],
        members: &[(usize, usize)],
    ) -> Result<Vec<Judged>, Rejection> {
        let Some(&(first, _)) = members.first() else {
            return Ok(Vec::new());
        };
        let Some(changes) = &region.changes else {
            let reason = "lines go forward from inputs where any number of them may change";
            let wrong = |&(entry, case)| (entry, Err(self.wrong(entry, case, reason)));
            return Ok(members.iter().map(wrong).collect());
        };
        let cases: Vec<&Case> = members.iter().map(|&(e, c)| &questions[e][c]).collect();
        let problem = ForwardProblem::new(self.network, (region, changes), &cases, self.until);
        let problem = problem.map_err(|e| match e {
            Unsupported::Time => Rejection::Time,
            e => Rejection::Question {
                entry: first,
                reason: e.to_string(),
            },
        })?;
        let proofs = members
            .iter()
            .map(|&(e, c)| &self.proofs(&self.certificate.entries[e])[c]);
        let found = problem.judge(&proofs.collect::<Vec<_>>(), self.until);
        if self.until.is_over() {
            return Err(Rejection::Time);
        }
        let each = members.iter().zip(cases).zip(found);
        let each = each.map(|((&(entry, case), question), bound)| {
            let bound = bound.and_then(|bound| ruled_out(question, bound));
            (
                entry,
                bound.map_err(|reason| self.wrong(entry, case, &reason)),
            )
        });
        Ok(each.collect())
    }

    fn proofs<'c>(&self, entry: &'c Entry) -> &'c [Proof] {
        entry.proofs.get(self.number).map_or(&[], |proofs| proofs)
    }

    fn wrong(&self, entry: usize, case: usize, reason: &str) -> Rejection {
        let place = format!("entry {entry}, region {}, alternative {case}", self.number);
        Rejection::of_proof(place, reason.to_owned(), self.until)
    }
}

/// The largest value of the alternative's conditions, which must rule it out.
fn refute(context: &Context<'_>, case: &Case, proof: &Proof) -> Result<Bound, String> {
    let targets: Vec<Element> = elements(context.network, &case.atoms).collect();
    let cone = Cone::of(context.network, &targets, context.until).map_err(|e| e.to_string())?;
    if let [Tree::Corner] = proof[..] {
        if case.replaced {
            return Err("executions of the logits do not tell what the answer rounds to".into());
        }
        let value = corner::largest(context, &cone, &case.atoms)?;
        let strict = case.atoms.iter().all(|atom| atom.strict);
        return if value < 0.0 || (strict && value <= 0.0) {
            // Of executions by this tool; other orders of summation were not run.
            let margin = f64::INFINITY;
            Ok(Bound { value, margin })
        } else {
            Err(format!(
                "executed at the best corner the condition has the value {value}"
            ))
        };
    }
    let judge = Judge::new(context, &cone, &case.atoms);
    ruled_out(case, judge.judge(proof)?)
}

/// The bound of an alternative, if it shows that nothing meets it.
fn ruled_out(case: &Case, bound: Bound) -> Result<Bound, String> {
    // A sum of conditions of which one is strict cannot be 0 either; none is made use of.
    if bound.value < 0.0 {
        // How far the executed answer is from its real value is not bounded.
        let margin = if case.replaced {
            f64::INFINITY
        } else {
            bound.margin
        };
        Ok(Bound { margin, ..bound })
    } else {
        Err(format!("the bound {} does not rule it out", bound.value))
    }
}
