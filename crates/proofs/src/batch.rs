//! Many requirements of one condition each over the same region: they share the bounds of the layers
//! below, the program of their pixel, and each other's witnesses.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use deepconcolic_check::{
    Accepted, Atom, Case, Certificate, Changes, Digest, Entry, Expectation, Proof, Region,
    Unsupported, Until, cases, check_each,
};
use deepconcolic_language::Requirement;
use deepconcolic_network::{Element, Network, Origin, Pass, Point, Trace};
use rayon::prelude::*;

use crate::ascent::Ascent;
use crate::chunk::Chunk;
use crate::confirm::inside;
use crate::few_changes::few;
use crate::knowledge::Knowledge;
use crate::lanes::LANES;
use crate::objective::{Condition, elements};
use crate::phases::End;
use crate::program::Program;

/// How far to go for each requirement.
#[derive(Debug, Clone, Copy)]
pub struct BatchLimits<'a> {
    /// Most parts of the region that are bounded, for each requirement.
    pub nodes: usize,
    /// Most parts times coefficients of the requirement's cone: a neuron that sees much of the
    /// network gets fewer parts.
    pub work: usize,
    /// Steps that optimise the slopes of a bound before anything is split.
    pub steps: usize,
    /// Batches of sixteen points that gradient steps start from.
    pub attacks: usize,
    /// When to give up, for callers who were given a time.
    pub deadline: Option<Instant>,
    /// Raised when the user wants an end.
    pub interrupt: Option<&'a AtomicBool>,
}

impl Default for BatchLimits<'_> {
    fn default() -> Self {
        Self {
            nodes: 1000,
            work: 10_000_000,
            steps: 30,
            attacks: 2,
            deadline: None,
            interrupt: None,
        }
    }
}

impl BatchLimits<'_> {
    /// Plain bounds and a short look for witnesses; nothing is optimised or split.
    pub fn cheap() -> Self {
        Self {
            nodes: 0,
            steps: 0,
            attacks: 1,
            ..Self::default()
        }
    }

    /// Whether to stop, whatever is under way.
    pub(crate) fn is_over(&self) -> bool {
        self.until().is_over()
    }

    /// When to stop.
    pub(crate) fn until(&self) -> Until<'_> {
        Until {
            deadline: self.deadline,
            interrupt: self.interrupt,
        }
    }
}

/// The checker bounds every unit again, with more care, and takes this many times as long.
const CHECKING: f64 = 1.5;

/// When a search must end so that what it finds can be checked: bounds of all units took so long to compute.
/// At least half of what is left is for the search.
pub(crate) fn before_check(until: Until<'_>, took: Duration) -> Until<'_> {
    let now = Instant::now();
    let deadline = until.deadline.map(|end| {
        let left = end.saturating_duration_since(now);
        now + (left / 2).max(left.saturating_sub(took.mul_f64(CHECKING)))
    });
    Until { deadline, ..until }
}

/// How one requirement of a batch ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// No input meets it: entry number so many of the certificate.
    Infeasible(usize),
    /// Witness number so many meets it.
    Witness(usize),
    /// Neither was shown; the value of its condition stays below `bound`.
    Open {
        /// The best bound reached.
        bound: f64,
    },
}

/// How a batch ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// For each requirement, in order.
    pub findings: Vec<Finding>,
    /// Inputs that were executed and meet requirements.
    pub witnesses: Vec<Vec<f32>>,
    /// One entry for each requirement that is infeasible.
    pub accepted: Accepted,
}

/// A requirement: one linear condition on neurons.
struct Question {
    atom: Atom,
    elements: Vec<Element>,
    state: State,
}

enum State {
    Open(f64),
    Met(usize),
    Refuted(Proof),
}

/// Settles requirements over one region, batch by batch; what is known of the region is kept from
/// one batch to the next.
pub struct Prover<'a> {
    network: &'a Network,
    model: &'a Digest,
    region: Region,
    seed: Vec<f32>,
    knowledge: Knowledge<'a>,
    nodes: AtomicUsize,
}

impl<'a> Prover<'a> {
    /// Over a region; `seed` gives the inputs outside a neuron's cone.
    pub fn new(
        network: &'a Network,
        model: &'a Digest,
        (region, seed): &(Region, Vec<f32>),
    ) -> Self {
        Self {
            network,
            model,
            region: region.clone(),
            seed: seed.clone(),
            knowledge: Knowledge::new(network, region.clone()),
            nodes: AtomicUsize::new(0),
        }
    }

    /// The region.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// What is known of the region, with bounds of all units that some elements depend on.
    pub(crate) fn knowledge(
        &mut self,
        targets: &[Element],
        until: Until<'_>,
    ) -> Result<&Knowledge<'a>, Unsupported> {
        self.knowledge.prepare(targets, until)?;
        Ok(&self.knowledge)
    }

    /// Parts of the region that were bounded so far.
    pub fn nodes(&self) -> usize {
        self.nodes.load(Ordering::Relaxed)
    }

    /// Settles requirements of the form "some input of the region gives this sum of neurons a value
    /// above (below) this number" as far as the limits allow.
    pub fn decide(
        &mut self,
        requirements: &[Requirement],
        limits: &BatchLimits<'_>,
    ) -> Result<Findings, Unsupported> {
        let questions = requirements.par_iter();
        let questions: Vec<Result<Question, Unsupported>> = questions
            .map(|requirement| question(self.network, requirement, &self.region))
            .collect();
        let questions: Vec<Question> = questions.into_iter().collect::<Result<_, _>>()?;
        let targets = questions.iter().flat_map(|q| &q.elements).copied();
        let targets: Vec<Element> = targets.collect();
        let prepared = self.knowledge.prepare(&targets, limits.until());
        let mut batch = Batch {
            network: self.network,
            region: &self.region,
            seed: &self.seed,
            limits,
            until: before_check(limits.until(), self.knowledge.took),
            knowledge: &self.knowledge,
            nodes: &self.nodes,
            questions,
            witnesses: Vec::new(),
        };
        match prepared.and_then(|()| batch.decide()) {
            // What was found before stays found.
            Ok(()) | Err(Unsupported::Time) => {}
            Err(reason) => return Err(reason),
        }
        let Batch {
            questions,
            witnesses,
            ..
        } = batch;
        let found = (questions, witnesses);
        Ok(self.conclude(requirements, found, limits.until()))
    }

    /// Puts the refuted ones into a certificate and has it checked.
    fn conclude(
        &self,
        requirements: &[Requirement],
        (questions, witnesses): (Vec<Question>, Vec<Vec<f32>>),
        until: Until<'_>,
    ) -> Findings {
        let mut findings = Vec::with_capacity(questions.len());
        let mut refuted = Vec::new();
        for (requirement, question) in requirements.iter().zip(questions) {
            findings.push(match question.state {
                State::Met(witness) => Finding::Witness(witness),
                State::Open(bound) => Finding::Open { bound },
                State::Refuted(proof) => {
                    refuted.push((requirement, proof));
                    Finding::Infeasible(refuted.len() - 1)
                }
            });
        }
        let entry = |(requirement, proof): (&Requirement, Proof)| Entry {
            requirement: requirement.to_string(),
            proofs: vec![vec![proof]],
        };
        let certificate = Certificate {
            model: *self.model,
            regions: vec![self.region.clone()],
            entries: refuted.into_par_iter().map(entry).collect(),
        };
        let (accepted, numbers) = accepted(self.network, certificate, until);
        for finding in &mut findings {
            if let Finding::Infeasible(entry) = *finding {
                *finding = match numbers.get(entry) {
                    Some(&Some(entry)) => Finding::Infeasible(entry),
                    _ => Finding::Open { bound: 0.0 },
                };
            }
        }
        Findings {
            findings,
            witnesses,
            accepted,
        }
    }
}

/// What the checker accepts as long as there is time; the rest is not claimed. The new number of each entry.
pub(crate) fn accepted(
    network: &Network,
    certificate: Certificate,
    until: Until<'_>,
) -> (Accepted, Vec<Option<usize>>) {
    let model = certificate.model;
    let expectation = Expectation {
        model: &model,
        regions: None,
        requirements: None,
    };
    let (regions, entries) = (certificate.regions.clone(), certificate.entries.len());
    if entries == 0 {
        return (Accepted::nothing(model, regions), Vec::new());
    }
    match check_each(network, certificate, &expectation, until) {
        Ok((accepted, numbers)) => (accepted, numbers.into_iter().map(Result::ok).collect()),
        Err(_) => (Accepted::nothing(model, regions), vec![None; entries]),
    }
}

/// Adds what was accepted of one box to what was accepted of it before.
pub(crate) fn add(known: &mut Accepted, found: Accepted) {
    let added = known.extend(found);
    debug_assert!(added.is_ok(), "another model or box: {added:?}");
}

fn question(
    network: &Network,
    requirement: &Requirement,
    region: &Region,
) -> Result<Question, Unsupported> {
    let mut alternatives = cases(requirement, network, region)?;
    match (alternatives.pop(), alternatives.len()) {
        (
            Some(Case {
                region: own,
                mut atoms,
                replaced: false,
            }),
            0,
        ) if own == *region && atoms.len() == 1 => {
            let elements: Vec<Element> = elements(network, &atoms).collect();
            let atom = atoms.swap_remove(0);
            let neurons = atom.terms.iter().all(|t| t.point != Point::Input);
            if elements.is_empty() || !neurons {
                return Err(Unsupported::NotOneCondition);
            }
            Ok(Question {
                elements,
                atom,
                state: State::Open(f64::INFINITY),
            })
        }
        _ => Err(Unsupported::NotOneCondition),
    }
}

/// Groups taken up at once: a fixed number, so that nothing depends on the number of threads.
const WAVE: usize = 16;

pub(crate) struct Batch<'a> {
    network: &'a Network,
    region: &'a Region,
    seed: &'a [f32],
    pub limits: &'a BatchLimits<'a>,
    /// When the search ends.
    pub until: Until<'a>,
    knowledge: &'a Knowledge<'a>,
    pub nodes: &'a AtomicUsize,
    questions: Vec<Question>,
    witnesses: Vec<Vec<f32>>,
}

/// What was found of a question.
pub(crate) type Found = (usize, End);

impl Batch<'_> {
    fn decide(&mut self) -> Result<(), Unsupported> {
        // Neurons of one pixel share a program; shallow layers come first, since they are cheap and
        // their witnesses meet requirements of deeper layers.
        let cones: Vec<Vec<(usize, usize)>> = self
            .questions
            .iter()
            .map(|q| q.elements.iter().map(|&e| (e.value, self.pixel(e))))
            .map(Iterator::collect)
            .collect();
        let mut order: Vec<usize> = (0..self.questions.len()).collect();
        order.sort_by_key(|&q| (&cones[q], self.questions[q].elements[0].index));
        let groups: Vec<Vec<usize>> = order
            .chunk_by(|&a, &b| cones[a] == cones[b])
            .map(<[usize]>::to_vec)
            .collect();
        for wave in groups.chunks(WAVE) {
            if self.until.is_over() {
                return Ok(());
            }
            // Groups differ in size, so each is a piece of work of its own.
            let found = wave.par_iter().with_max_len(1);
            let found: Vec<Result<Vec<Found>, Unsupported>> =
                found.map(|group| self.group(group)).collect();
            let mut ended = Ok(());
            let mut witnesses = Vec::new();
            for found in found {
                match found {
                    Ok(found) => witnesses.extend(self.note(found)),
                    Err(reason) => ended = ended.and(Err(reason)),
                }
            }
            self.take_over(witnesses);
            ended?;
        }
        Ok(())
    }

    /// Notes how questions ended, and hands out the witnesses.
    fn note(&mut self, found: Vec<Found>) -> Vec<Vec<f32>> {
        let mut witnesses = Vec::new();
        for (q, end) in found {
            match end {
                End::Refuted(proof) => self.questions[q].state = State::Refuted(proof),
                End::Witness(input) => witnesses.push(input),
                End::Open(bound) => {
                    if let State::Open(best) = &mut self.questions[q].state {
                        *best = best.min(bound);
                    }
                }
            }
        }
        witnesses
    }

    /// Neurons with the same cone have the same number.
    fn pixel(&self, element: Element) -> usize {
        match self.network.origin(element.value) {
            Origin::Node(node) => {
                let dims = self.network.node_shape(node).dims();
                element.index / dims.last().copied().unwrap_or(1).max(1)
            }
            Origin::Input | Origin::Constant => element.index,
        }
    }

    /// Everything that can be said about the neurons of one pixel.
    fn group(&self, group: &[usize]) -> Result<Vec<Found>, Unsupported> {
        let group: Vec<usize> = group
            .iter()
            .copied()
            .filter(|&q| matches!(self.questions[q].state, State::Open(_)))
            .collect();
        if group.is_empty() {
            return Ok(Vec::new());
        }
        let targets = group.iter().flat_map(|&q| &self.questions[q].elements);
        let targets: Vec<Element> = targets.copied().collect();
        let program = Program::of(self.network, &targets, self.until)?;
        let bounds = self.knowledge.bounds(&program);
        let mut ascent = Ascent::new(&program, self.knowledge, &bounds, self.until);
        let mut variables = program.targets.iter();
        let conditions: Vec<Vec<Condition>> = group
            .iter()
            .map(|&q| {
                let atom = &self.questions[q].atom;
                let terms = atom.terms.iter().zip(variables.by_ref());
                vec![Condition {
                    terms: terms.map(|(term, &v)| (v, term.weight)).collect(),
                    constant: atom.constant,
                }]
            })
            .collect();
        let mut found = Vec::new();
        let members: Vec<usize> = (0..group.len()).collect();
        for chunk in members.chunks(LANES) {
            if self.until.is_over() {
                break;
            }
            let work = Chunk {
                batch: self,
                group: &group,
                conditions: &conditions,
                members: chunk,
            };
            found.extend(work.decide(&mut ascent));
        }
        Ok(found)
    }

    /// The region and its limit on changes, where that is small enough to split on.
    pub fn few_changes(&self) -> Option<(&Region, &Changes)> {
        Some((self.region, few(self.region)?))
    }

    /// Bounds of a program's units over the region.
    pub fn bounds(&self, program: &Program) -> Vec<[f64; 2]> {
        self.knowledge.bounds(program)
    }

    /// Runs a point on the network, the rest of the input as in the seed, and says whether it meets a
    /// question.
    pub fn confirm(&self, q: usize, program: &Program, point: &[f64]) -> Option<Vec<f32>> {
        let mut input: Vec<f32> = self.seed.to_vec();
        for (&element, &value) in program.inputs.iter().zip(point) {
            let (l, u) = (self.region.lower[element], self.region.upper[element]);
            input[element] = inside(value, l, u)?;
        }
        if !self.region.allows_changes(&input) {
            return None;
        }
        let atom = &self.questions[q].atom;
        let trace = self.network.forward(&input, &Pass::keep(points([atom])));
        holds(atom, &trace, 0).then_some(input)
    }

    /// Takes witnesses over for every question that they meet, each for the first that meets it.
    fn take_over(&mut self, inputs: Vec<Vec<f32>>) {
        if inputs.is_empty() {
            return;
        }
        let open = self.questions.iter();
        let open = open.filter(|q| matches!(q.state, State::Open(_)));
        let points = points(open.map(|q| &q.atom));
        let trace = self.network.forward(&inputs.concat(), &Pass::keep(points));
        let first = |question: &Question| {
            let is_open = matches!(question.state, State::Open(_));
            let mut inputs = 0..inputs.len();
            is_open.then(|| inputs.find(|&input| holds(&question.atom, &trace, input)))?
        };
        let met: Vec<Option<usize>> = self.questions.par_iter().map(first).collect();
        let useful: BTreeSet<usize> = met.iter().flatten().copied().collect();
        let numbers: BTreeMap<usize, usize> =
            useful.into_iter().zip(self.witnesses.len()..).collect();
        for (question, input) in self.questions.iter_mut().zip(met) {
            if let Some(input) = input {
                question.state = State::Met(numbers[&input]);
            }
        }
        let inputs = inputs.into_iter().enumerate();
        let useful = inputs.filter(|(place, _)| numbers.contains_key(place));
        self.witnesses.extend(useful.map(|(_, input)| input));
    }
}

/// The tensors that conditions look at.
fn points<'a>(atoms: impl IntoIterator<Item = &'a Atom>) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for term in atoms.into_iter().flat_map(|atom| &atom.terms) {
        if !points.contains(&term.point) {
            points.push(term.point);
        }
    }
    points
}

/// Whether an execution meets the condition.
fn holds(atom: &Atom, trace: &Trace<f32>, sample: usize) -> bool {
    let value = |term: &deepconcolic_check::Term| {
        term.weight * f64::from(trace.sample(term.point, sample)[term.element])
    };
    let sum = atom.terms.iter().map(value).sum::<f64>() + atom.constant;
    if atom.strict { sum > 0.0 } else { sum >= 0.0 }
}
