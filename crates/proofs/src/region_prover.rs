//! Requirements of any form over one region: the single conditions that they hang on are refuted many
//! at a time, and what that leaves open is proven one by one.

use std::sync::atomic::{AtomicUsize, Ordering};

use deepconcolic_check::{Accepted, Digest, ProvenFacts, Region, Unsupported, cases, on_logits};
use deepconcolic_language::{Comparison, Formula, Inputs, Quantifier, Requirement, Var};
use deepconcolic_network::{Network, Pass, Point, Trace};
use rayon::prelude::*;

use crate::batch::{BatchLimits, Prover, add};
use crate::cell::Cells;
use crate::confirm::inside;
use crate::joint::{self, Joint, Jointly};
use crate::prove::{ProofLimits, Verdict, one_change, prove};
use crate::sufficient_conditions::{exists, shown, sufficient_conditions};
use crate::thresholds::{FailedAttempts, Thresholds};

/// Conditions asked about at a time.
const BATCH: usize = 1024;
/// Inputs run to see what is possible: of those given, and drawn.
const TAKEN: usize = 48;
const DRAWN: usize = 16;
/// How often a requirement that depends on one of several sets of conditions is tried with another.
const CHOICES: usize = 3;

/// How far to go for each requirement.
#[derive(Debug, Clone, Copy)]
pub struct ProverLimits<'a> {
    /// For a condition.
    pub conditions: BatchLimits<'a>,
    /// Parts of the region for a requirement that is proven as a whole; none if it is not tried.
    pub nodes: usize,
}

impl ProverLimits<'_> {
    /// Plain bounds of conditions and nothing more.
    pub fn cheap() -> Self {
        Self {
            conditions: BatchLimits::cheap(),
            nodes: 0,
        }
    }
}

impl Default for ProverLimits<'_> {
    fn default() -> Self {
        Self {
            conditions: BatchLimits::default(),
            nodes: 1000,
        }
    }
}

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct Decided {
    /// What is impossible over the region; what requirements follow from it, [`ProvenFacts`] says.
    pub accepted: Accepted,
    /// Inputs that meet a condition or a requirement.
    pub witnesses: Vec<Vec<f32>>,
    /// For each requirement, an upper bound on the value of the condition that it is.
    pub bounds: Vec<Option<f64>>,
    /// For each requirement, why it is beyond proofs.
    pub reasons: Vec<Option<String>>,
}

/// One region, with what is known of it.
pub struct RegionProver<'a> {
    network: &'a Network,
    model: &'a Digest,
    prover: Prover<'a>,
    /// Inputs of the region, one after the other.
    samples: Vec<f32>,
    nodes: AtomicUsize,
}

impl<'a> RegionProver<'a> {
    /// A region with a point of it, and inputs of which those that lie in the region show what is
    /// possible there.
    pub fn new<'s>(
        network: &'a Network,
        model: &'a Digest,
        region: &(Region, Vec<f32>),
        inputs: impl IntoIterator<Item = &'s [f32]>,
    ) -> Self {
        let mut samples = region.1.clone();
        let inputs = inputs.into_iter().filter(|input| region.0.has(input));
        let inputs: Vec<&[f32]> = inputs.collect();
        let step = inputs.len().div_ceil(TAKEN).max(1);
        samples.extend(inputs.into_iter().step_by(step).flatten());
        for number in 0..DRAWN {
            samples.extend(drawn(&region.0, number as u64).into_iter().flatten());
        }
        Self {
            network,
            model,
            prover: Prover::new(network, model, region),
            samples,
            nodes: AtomicUsize::new(0),
        }
    }

    /// Parts of the region that were bounded so far.
    pub fn nodes(&self) -> usize {
        self.prover.nodes() + self.nodes.load(Ordering::Relaxed)
    }

    /// Runs the samples.
    fn trace(&self, points: Vec<Point>) -> Trace<f32> {
        self.network.forward(&self.samples, &Pass::keep(points))
    }

    /// For every neuron of a hidden layer, the least and the largest value of u among the inputs that
    /// were run.
    pub fn ranges(&self, layer: usize) -> Vec<[f32; 2]> {
        let point = Point::Pre(layer);
        let trace = self.trace(vec![point]);
        let neurons = self.network.layers()[layer].neurons();
        let mut ranges = vec![[f32::INFINITY, f32::NEG_INFINITY]; neurons];
        for sample in 0..trace.samples() {
            for ([low, high], &u) in ranges.iter_mut().zip(trace.sample(point, sample)) {
                (*low, *high) = (low.min(u), high.max(u));
            }
        }
        ranges
    }

    /// The region.
    pub fn region(&self) -> &Region {
        self.prover.region()
    }

    /// Refutes what can be refuted.
    pub fn decide(&mut self, requirements: &[Requirement], limits: &ProverLimits<'_>) -> Decided {
        let mut decided = Decided {
            accepted: self.nothing(),
            bounds: vec![None; requirements.len()],
            reasons: vec![None; requirements.len()],
            ..Decided::default()
        };
        let mut vain = FailedAttempts::default();
        let mut open = self.not_shown(requirements, &mut decided);
        self.of_one_change(requirements, &mut open, limits, &mut decided);
        let (asked_of_logits, replaced) = self.on_logits(requirements, &mut decided);
        for _ in 0..CHOICES {
            let asked = self.conditions(&asked_of_logits, &open, limits, &mut vain, &mut decided);
            if !asked || limits.conditions.is_over() {
                break;
            }
            let boxes = vec![self.region().clone()];
            let mut facts = ProvenFacts::new(self.network, *self.model, boxes);
            if facts.add_accepted(self.network, &decided.accepted).is_ok() {
                open.retain(|&r| !facts.refute(&requirements[r]));
            }
        }
        if limits.nodes > 0 {
            open.retain(|&r| is_compound(&asked_of_logits[r]));
            self.wholes(requirements, open, limits, &mut decided);
        }
        // A bound of a condition on the logits is none of the condition on the answer.
        for (bound, _) in decided.bounds.iter_mut().zip(replaced).filter(|(_, r)| *r) {
            *bound = None;
        }
        decided
    }

    /// Requirements on what a whole large network computes, where one position changes: each is proven as a whole
    /// and taken from those that are open, since bounds of single conditions over the whole region cost far
    /// more there.
    fn of_one_change(
        &self,
        requirements: &[Requirement],
        open: &mut Vec<usize>,
        limits: &ProverLimits<'_>,
        decided: &mut Decided,
    ) {
        let region = self.prover.region();
        let changes = region.changes.as_ref();
        if changes.is_none_or(|changes| changes.allowed != 1) {
            return;
        }
        let maximum = self.proof_limits(limits);
        open.retain(|&r| {
            let requirement = &requirements[r];
            if !is_compound(requirement) || limits.conditions.is_over() {
                return true;
            }
            let Ok(alternatives) = cases(requirement, self.network, region) else {
                return true;
            };
            let (network, model) = (self.network, self.model);
            match one_change(network, model, requirement, &alternatives, region, &maximum) {
                Ok(None) => true,
                Ok(Some(verdict)) => {
                    decided.take(r, Ok(verdict));
                    false
                }
                // There was no time for it.
                Err(Unsupported::Time) => false,
                Err(why) => {
                    decided.take(r, Err(why));
                    false
                }
            }
        });
    }

    fn proof_limits<'l>(&'l self, limits: &ProverLimits<'l>) -> ProofLimits<'l> {
        ProofLimits {
            nodes: limits.nodes,
            work: limits.conditions.work,
            deadline: limits.conditions.deadline,
            interrupt: limits.conditions.interrupt,
            // The search before this one has looked for witnesses long enough.
            attacks: 0,
            spent: Some(&self.nodes),
            ..ProofLimits::default()
        }
    }

    /// Nothing shown yet of the region.
    fn nothing(&self) -> Accepted {
        Accepted::nothing(*self.model, vec![self.prover.region().clone()])
    }

    /// Requirements on two inputs: what no input meets together, until they follow, or two inputs that
    /// meet one.
    pub fn decide_jointly(
        &mut self,
        requirements: &[Requirement],
        limits: &BatchLimits<'_>,
    ) -> Jointly {
        let is_plain = |&r: &usize| on_logits(&requirements[r], self.network).1.total() == 0;
        let plain: Vec<usize> = (0..requirements.len()).filter(is_plain).collect();
        if plain.len() == requirements.len() {
            return self.jointly(requirements, limits);
        }
        // Two inputs at once are searched on what bounds reach, which the answer of a Softmax is not.
        let asked: Vec<Requirement> = plain.iter().map(|&r| requirements[r].clone()).collect();
        let found = self.jointly(&asked, limits);
        let head = self.network.head().kind().unwrap_or_default();
        let beyond = Unsupported::AnswerOfTwo(head).to_string();
        let mut reasons = vec![Some(beyond); requirements.len()];
        for (&r, reason) in plain.iter().zip(found.reasons) {
            reasons[r] = reason;
        }
        let met = found.met.into_iter();
        Jointly {
            accepted: found.accepted,
            met: met.map(|(number, pair)| (plain[number], pair)).collect(),
            reasons,
        }
    }

    fn jointly(&mut self, requirements: &[Requirement], limits: &BatchLimits<'_>) -> Jointly {
        let accepted = self.nothing();
        let (network, region) = (self.network, self.prover.region().clone());
        let targets = joint::elements(network, requirements);
        let knowledge = match self.prover.knowledge(&targets, limits.until()) {
            Ok(knowledge) => knowledge,
            Err(why) => {
                // Being late is no property of a requirement.
                let reason = (why != Unsupported::Time).then(|| why.to_string());
                return Jointly {
                    accepted,
                    met: Vec::new(),
                    reasons: vec![reason; requirements.len()],
                };
            }
        };
        let joint = Joint {
            cells: Cells {
                network,
                region: &region,
                knowledge,
                work: limits.work,
            },
            samples: &self.samples,
            limits,
            nodes: &self.nodes,
            accepted,
        };
        joint.decide(requirements)
    }

    /// The requirements with conditions on the logits for those on the answer of a Softmax or Sigmoid, and
    /// which of them have such conditions.
    fn on_logits(
        &self,
        requirements: &[Requirement],
        decided: &mut Decided,
    ) -> (Vec<Requirement>, Vec<bool>) {
        let each = requirements.iter().zip(&mut decided.reasons);
        let each = each.map(|(requirement, reason)| {
            let (formula, replaced) = on_logits(requirement, self.network);
            if replaced.total() == 0 {
                return (requirement.clone(), false);
            }
            if replaced.total() == replaced.dropped {
                let head = self.network.head().kind().unwrap_or_default();
                *reason = Some(Unsupported::Answer(head).to_string());
            }
            let quantifier = Quantifier::Exists;
            let requirement = Requirement {
                formula,
                quantifier,
                ..requirement.clone()
            };
            (requirement, true)
        });
        each.unzip()
    }

    /// The requirements that no sample meets; samples that meet others are witnesses.
    fn not_shown(&self, requirements: &[Requirement], decided: &mut Decided) -> Vec<usize> {
        let hidden = self.network.layers().len();
        let trace = self.trace(points(requirements, hidden));
        let shown: Vec<Option<usize>> = requirements
            .par_iter()
            .map(|requirement| shown(requirement, &trace, hidden))
            .collect();
        let mut samples: Vec<usize> = shown.iter().copied().flatten().collect();
        samples.sort_unstable();
        samples.dedup();
        let each = self.network.input_elements();
        let input = |s: usize| self.samples[s * each..(s + 1) * each].to_vec();
        decided.witnesses.extend(samples.into_iter().map(input));
        (0..requirements.len())
            .filter(|&r| shown[r].is_none())
            .collect()
    }

    /// Asks about conditions that some requirements depend on, other ones than those asked about in vain.
    /// Whether there are any.
    fn conditions(
        &mut self,
        requirements: &[Requirement],
        among: &[usize],
        limits: &ProverLimits<'_>,
        vain: &mut FailedAttempts,
        decided: &mut Decided,
    ) -> bool {
        let hidden = self.network.layers().len();
        let trace = self.trace(points(requirements, hidden));
        let wanted: Vec<(usize, Vec<Comparison>)> = among
            .par_iter()
            .filter_map(|&r| {
                Some((
                    r,
                    sufficient_conditions(&requirements[r], &trace, hidden, vain)?,
                ))
            })
            .collect();
        let mut lines = Thresholds::of(wanted.iter().flat_map(|(_, conditions)| conditions));
        let mut any = false;
        loop {
            let asked = lines.next();
            if asked.is_empty() || limits.conditions.is_over() {
                break;
            }
            any = true;
            // One layer at a time: another one may be beyond proofs.
            let layer = |&line: &usize| lines.condition(line).linear.terms[0].1.layer;
            let layers: Vec<&[usize]> = asked.chunk_by(|a, b| layer(a) == layer(b)).collect();
            let batches = layers.iter().flat_map(|lines| lines.chunks(BATCH));
            for batch in batches.map(<[usize]>::to_vec).collect::<Vec<_>>() {
                if limits.conditions.is_over() {
                    break;
                }
                let questions = batch.iter().map(|&l| exists(lines.condition(l).clone()));
                let questions: Vec<Requirement> = questions.collect();
                match self.prover.decide(&questions, &limits.conditions) {
                    Ok(found) => {
                        for (&line, finding) in batch.iter().zip(&found.findings) {
                            lines.note(line, finding);
                        }
                        add(&mut decided.accepted, found.accepted);
                        decided.witnesses.extend(found.witnesses);
                    }
                    Err(why) => {
                        for line in batch {
                            lines.give_up(line, why.to_string());
                        }
                    }
                }
            }
        }
        lines.report(&wanted, decided, vain);
        any
    }

    /// Proves requirements that do not follow from conditions, each as a whole.
    fn wholes(
        &self,
        requirements: &[Requirement],
        left: Vec<usize>,
        limits: &ProverLimits<'_>,
        decided: &mut Decided,
    ) {
        let region = self.prover.region();
        let maximum = self.proof_limits(limits);
        let verdicts: Vec<Option<Result<Verdict, Unsupported>>> = left
            .par_iter()
            .map(|&r| {
                let requirement = &requirements[r];
                let alternatives = cases(requirement, self.network, region);
                let is_empty = |case: &deepconcolic_check::Case| case.atoms.is_empty();
                // Nothing is left of the formula that bounds could refute.
                let hopeless = alternatives.is_ok_and(|cases| cases.iter().any(is_empty));
                if hopeless || limits.conditions.is_over() {
                    return None;
                }
                Some(prove(
                    self.network,
                    self.model,
                    requirement,
                    region,
                    &maximum,
                ))
            })
            .collect();
        for (r, verdict) in left.into_iter().zip(verdicts) {
            if let Some(verdict) = verdict {
                decided.take(r, verdict);
            }
        }
    }
}

impl Decided {
    /// Takes over how a requirement that was proven as a whole ended.
    fn take(&mut self, requirement: usize, verdict: Result<Verdict, Unsupported>) {
        match verdict {
            Ok(Verdict::Infeasible(found)) => add(&mut self.accepted, *found),
            Ok(Verdict::Witness(input)) => self.witnesses.push(input),
            Ok(Verdict::Open { bound }) => {
                self.bounds[requirement] = Some(bound).filter(|bound| bound.is_finite());
            }
            Err(why) => self.reasons[requirement] = Some(why.to_string()),
        }
    }
}

/// Whether a requirement is about one input and more than one condition on one neuron. The values of
/// one neuron over a box are an interval, so that one condition decides it.
fn is_compound(requirement: &Requirement) -> bool {
    let mut first: Option<Var> = None;
    let mut several = false;
    requirement.formula.each_variable(&mut |var| {
        several |= *first.get_or_insert(var) != var;
    });
    let mut confined = false;
    each_atom(&requirement.formula, &mut |atom| {
        confined |= matches!(atom, Formula::Within { .. });
    });
    requirement.inputs == Inputs::One && (several || confined)
}

fn each_atom(formula: &Formula, visit: &mut impl FnMut(&Formula)) {
    match formula {
        Formula::Not(inner) => each_atom(inner, visit),
        Formula::And(of) | Formula::Or(of) | Formula::Count { of, .. } => {
            for part in of {
                each_atom(part, visit);
            }
        }
        Formula::Iff(a, b) | Formula::Xor(a, b) => {
            each_atom(a, visit);
            each_atom(b, visit);
        }
        atom => visit(atom),
    }
}

/// The tensors that requirements speak of.
fn points(requirements: &[Requirement], hidden: usize) -> Vec<Point> {
    let mut points = Vec::new();
    for requirement in requirements {
        requirement.formula.each_variable(&mut |var: Var| {
            let point = var.point(hidden);
            if !points.contains(&point) {
                points.push(point);
            }
        });
    }
    points
}

/// An input of a box that a number stands for; none if the box is too thin for single precision.
fn drawn(region: &Region, number: u64) -> Option<Vec<f32>> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let ends = region.lower.iter().zip(&region.upper);
    let point = ends.map(|(&l, &u)| {
        // Corners show more than the middle.
        let share = if number.is_multiple_of(2) {
            next().round()
        } else {
            next()
        };
        inside(l + share * (u - l), l, u)
    });
    let mut point: Vec<f32> = point.collect::<Option<_>>()?;
    if let Some(changes) = &region.changes {
        let mut kept: Vec<u32> = changes.positions.to_vec();
        kept.sort_unstable();
        kept.dedup();
        let most = (changes.allowed as usize).min(kept.len());
        for place in 0..most {
            let left = kept.len() - place;
            kept.swap(
                place,
                place + ((next() * left as f64) as usize).min(left - 1),
            );
        }
        kept.truncate(most);
        kept.sort_unstable();
        for (x, (position, &c)) in point
            .iter_mut()
            .zip(changes.positions.iter().zip(&changes.centre))
        {
            if kept.binary_search(position).is_err() {
                *x = c as f32;
            }
        }
    }
    region.has(&point).then_some(point)
}
