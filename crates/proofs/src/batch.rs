//! Many requirements about single neurons over the same region: they share the bounds of the layers
//! below, the program of their pixel, and each other's witnesses.

use deepconcolic_check::{
    Atom, Case, Certificate, Digest, Entry, Expectation, Proof, Region, Unsupported, cases,
    check_each,
};
use deepconcolic_network::{Element, Network, Origin, Pass, Point};
use deepconcolic_spec::Requirement;
use rayon::prelude::*;

use crate::ascent::{Ascent, CLEAR, Steps};
use crate::attack::Attack;
use crate::confirm::inside;
use crate::knowledge::Knowledge;
use crate::lanes::LANES;
use crate::objective::Condition;
use crate::phases::{self, Effort, End};
use crate::program::Program;

/// How far to go for each requirement.
#[derive(Debug, Clone, Copy)]
pub struct BatchLimits {
    /// Most parts of the region that are bounded, for each requirement.
    pub nodes: usize,
    /// Most parts times coefficients of the requirement's cone: a neuron that sees much of the
    /// network gets fewer parts.
    pub work: usize,
    /// Steps that optimise the slopes of a bound before anything is split.
    pub steps: usize,
    /// Batches of sixteen points that gradient steps start from.
    pub attacks: usize,
}

impl Default for BatchLimits {
    fn default() -> Self {
        Self {
            nodes: 1000,
            work: 10_000_000,
            steps: 30,
            attacks: 2,
        }
    }
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
    /// One entry for each requirement that is infeasible; accepted by the checker.
    pub certificate: Certificate,
}

/// A requirement: one linear condition on one neuron.
struct Question {
    atom: Atom,
    element: Element,
    state: State,
}

enum State {
    Open(f64),
    Met(usize),
    Refuted(Proof),
}

/// Settles requirements of the form "some input of the region gives this neuron a value above (below)
/// this number" as far as the limits allow. Each region is asked about in turn; a requirement is
/// infeasible when it is so in all of them. `seed` gives the inputs outside a neuron's cone, region
/// by region.
pub fn prove_neurons(
    network: &Network,
    model: &Digest,
    requirements: &[Requirement],
    regions: &[(Region, Vec<f32>)],
    limits: &BatchLimits,
) -> Result<Findings, Unsupported> {
    let mut witnesses = Vec::new();
    let mut states: Vec<(State, Vec<Vec<Proof>>)> = requirements
        .iter()
        .map(|_| (State::Open(f64::NEG_INFINITY), Vec::new()))
        .collect();
    for (region, seed) in regions {
        let mut batch = Batch {
            network,
            region,
            seed,
            limits,
            questions: Vec::new(),
            witnesses,
        };
        let asked: Vec<usize> = (0..states.len())
            .filter(|&r| !matches!(states[r].0, State::Met(_)))
            .collect();
        for &r in &asked {
            let question = question(network, &requirements[r], region)?;
            batch.questions.push(question);
        }
        batch.settle()?;
        witnesses = batch.witnesses;
        for (r, question) in asked.into_iter().zip(batch.questions) {
            let (state, proofs) = &mut states[r];
            *state = match (question.state, &*state) {
                (State::Refuted(proof), State::Open(worst)) => {
                    proofs.push(vec![proof]);
                    State::Open(*worst)
                }
                (State::Open(bound), State::Open(worst)) => State::Open(bound.max(*worst)),
                (state, _) => state,
            };
        }
    }
    let boxes: Vec<Region> = regions.iter().map(|(region, _)| region.clone()).collect();
    Ok(conclude(
        network,
        model,
        requirements,
        &boxes,
        states,
        witnesses,
    ))
}

/// Puts the refuted ones into a certificate and has it checked.
fn conclude(
    network: &Network,
    model: &Digest,
    requirements: &[Requirement],
    regions: &[Region],
    states: Vec<(State, Vec<Vec<Proof>>)>,
    witnesses: Vec<Vec<f32>>,
) -> Findings {
    let mut findings = Vec::with_capacity(states.len());
    let mut certificate = Certificate {
        model: *model,
        regions: regions.to_vec(),
        entries: Vec::new(),
    };
    for (requirement, (state, proofs)) in requirements.iter().zip(states) {
        findings.push(match state {
            State::Met(witness) => Finding::Witness(witness),
            State::Open(_) if proofs.len() == regions.len() => {
                certificate.entries.push(Entry {
                    requirement: requirement.to_string(),
                    proofs,
                });
                Finding::Infeasible(certificate.entries.len() - 1)
            }
            State::Open(bound) => Finding::Open { bound },
            State::Refuted(_) => Finding::Open { bound: 0.0 },
        });
    }
    let expectation = Expectation {
        model,
        regions: None,
        requirements: None,
    };
    let checked = check_each(network, &certificate, &expectation).unwrap_or_default();
    // What the checker does not accept is not claimed.
    let mut kept = Vec::new();
    let mut number = vec![None; certificate.entries.len()];
    for (entry, content) in certificate.entries.drain(..).enumerate() {
        if checked.get(entry).is_some_and(Result::is_ok) {
            number[entry] = Some(kept.len());
            kept.push(content);
        }
    }
    certificate.entries = kept;
    for finding in &mut findings {
        if let Finding::Infeasible(entry) = *finding {
            *finding = match number[entry] {
                Some(entry) => Finding::Infeasible(entry),
                None => Finding::Open { bound: 0.0 },
            };
        }
    }
    Findings {
        findings,
        witnesses,
        certificate,
    }
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
            }),
            0,
        ) if own == *region && atoms.len() == 1 => {
            let atom = atoms.swap_remove(0);
            match atom.terms[..] {
                [term] if term.point != Point::Input => Ok(Question {
                    element: network.element(term.point, term.element),
                    atom,
                    state: State::Open(f64::INFINITY),
                }),
                _ => Err(Unsupported::NotOneNeuron),
            }
        }
        _ => Err(Unsupported::NotOneNeuron),
    }
}

/// Groups taken up at once: a fixed number, so that nothing depends on the number of threads.
const WAVE: usize = 16;

struct Batch<'a> {
    network: &'a Network,
    region: &'a Region,
    seed: &'a [f32],
    limits: &'a BatchLimits,
    questions: Vec<Question>,
    witnesses: Vec<Vec<f32>>,
}

/// What was found of a question.
type Found = (usize, End);

impl Batch<'_> {
    fn settle(&mut self) -> Result<(), Unsupported> {
        let mut knowledge = Knowledge::new(self.network, self.region.clone());
        let targets: Vec<Element> = self.questions.iter().map(|q| q.element).collect();
        knowledge.prepare(&targets)?;
        // Neurons of one pixel share a program; shallow layers come first, since they are cheap and
        // their witnesses meet requirements of deeper layers.
        let mut order: Vec<usize> = (0..self.questions.len()).collect();
        let key = |q: &Question| (q.element.value, self.pixel(q.element), q.element.index);
        order.sort_by_key(|&q| key(&self.questions[q]));
        let groups: Vec<Vec<usize>> = order
            .chunk_by(|&a, &b| {
                let (a, b) = (&self.questions[a].element, &self.questions[b].element);
                (a.value, self.pixel(*a)) == (b.value, self.pixel(*b))
            })
            .map(<[usize]>::to_vec)
            .collect();
        for wave in groups.chunks(WAVE) {
            let found: Vec<Vec<Found>> = wave
                .par_iter()
                .map(|group| self.group(group, &knowledge))
                .collect::<Result<_, _>>()?;
            for (q, end) in found.into_iter().flatten() {
                match end {
                    End::Refuted(proof) => self.questions[q].state = State::Refuted(proof),
                    End::Witness(input) => self.learn(input),
                    End::Open(bound) => {
                        if let State::Open(best) = &mut self.questions[q].state {
                            *best = best.min(bound);
                        }
                    }
                }
            }
        }
        Ok(())
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
    fn group(&self, group: &[usize], knowledge: &Knowledge<'_>) -> Result<Vec<Found>, Unsupported> {
        let group: Vec<usize> = group
            .iter()
            .copied()
            .filter(|&q| matches!(self.questions[q].state, State::Open(_)))
            .collect();
        if group.is_empty() {
            return Ok(Vec::new());
        }
        let targets: Vec<Element> = group.iter().map(|&q| self.questions[q].element).collect();
        let program = Program::of(self.network, &targets)?;
        let bounds = knowledge.bounds(&program);
        let mut ascent = Ascent::new(&program, knowledge.ends(&program), &bounds);
        let conditions: Vec<Vec<Condition>> = group
            .iter()
            .zip(&program.targets)
            .map(|(&q, &variable)| {
                let atom = &self.questions[q].atom;
                vec![Condition {
                    terms: vec![(variable, atom.terms[0].weight)],
                    constant: atom.constant,
                }]
            })
            .collect();
        let mut found = Vec::new();
        let members: Vec<usize> = (0..group.len()).collect();
        for chunk in members.chunks(LANES) {
            let work = Chunk {
                batch: self,
                group: &group,
                conditions: &conditions,
                members: chunk,
            };
            found.extend(work.settle(&mut ascent));
        }
        Ok(found)
    }

    /// Runs a point on the network, the rest of the input as in the seed, and says whether it meets a
    /// question.
    fn confirm(&self, q: usize, program: &Program, point: &[f64]) -> Option<Vec<f32>> {
        let mut input: Vec<f32> = self.seed.to_vec();
        for (&element, &value) in program.inputs.iter().zip(point) {
            let (l, u) = (self.region.lower[element], self.region.upper[element]);
            input[element] = inside(value, l, u)?;
        }
        let question = &self.questions[q];
        let term = question.atom.terms[0];
        let trace = self.network.forward(&input, &Pass::keep([term.point]));
        let value = trace.sample(term.point, 0)[term.element];
        holds(&question.atom, value).then_some(input)
    }

    /// Takes a witness over for every question that it meets.
    fn learn(&mut self, input: Vec<f32>) {
        let mut points: Vec<Point> = Vec::new();
        for question in &self.questions {
            let point = question.atom.terms[0].point;
            if matches!(question.state, State::Open(_)) && !points.contains(&point) {
                points.push(point);
            }
        }
        let trace = self.network.forward(&input, &Pass::keep(points));
        let number = self.witnesses.len();
        let mut useful = false;
        for question in &mut self.questions {
            let term = question.atom.terms[0];
            if matches!(question.state, State::Open(_))
                && holds(&question.atom, trace.sample(term.point, 0)[term.element])
            {
                question.state = State::Met(number);
                useful = true;
            }
        }
        if useful {
            self.witnesses.push(input);
        }
    }
}

/// Whether the executed value meets the condition.
fn holds(atom: &Atom, value: f32) -> bool {
    let sum = atom.terms[0].weight * f64::from(value) + atom.constant;
    if atom.strict { sum > 0.0 } else { sum >= 0.0 }
}

/// Up to sixteen neurons of one pixel.
struct Chunk<'a> {
    batch: &'a Batch<'a>,
    group: &'a [usize],
    conditions: &'a [Vec<Condition>],
    members: &'a [usize],
}

impl Chunk<'_> {
    fn settle(&self, ascent: &mut Ascent<'_>) -> Vec<Found> {
        let limits = self.batch.limits;
        let program = ascent.program;
        let lanes = |members: &[usize]| -> Vec<&[Condition]> {
            members.iter().map(|&m| &self.conditions[m][..]).collect()
        };
        // Plain bounds settle most.
        let first = Steps { most: 1, rate: 0.0 };
        let start = vec![ascent.start(1); self.members.len()];
        let reached = ascent.climb(&lanes(self.members), &start, first);
        let mut found = Vec::new();
        let mut open = Vec::new();
        for (&member, reached) in self.members.iter().zip(reached) {
            if reached.bound > CLEAR {
                found.push(self.refuted(member, ascent, &reached.part));
            } else {
                open.push(member);
            }
        }
        let attack = Attack {
            batches: limits.attacks,
            steps: 30,
        };
        let ends: Vec<[f64; 2]> = ascent.ends.iter().map(|e| e.map(|end| end[0])).collect();
        let asked = lanes(&open);
        let confirm = |question: usize, point: &[f64]| {
            let q = self.group[open[question]];
            self.batch.confirm(q, program, point)
        };
        let inputs = attack.run(program, &asked, &ends, open.len() as u64, &confirm);
        let mut left = Vec::new();
        for (&member, input) in open.iter().zip(inputs) {
            match input {
                Some(input) => found.push((self.group[member], End::Witness(input))),
                None => left.push(member),
            }
        }
        found.extend(self.climb(ascent, &left));
        found
    }

    fn climb(&self, ascent: &mut Ascent<'_>, left: &[usize]) -> Vec<Found> {
        if left.is_empty() {
            return Vec::new();
        }
        let limits = self.batch.limits;
        let program = ascent.program;
        let root = Steps {
            most: limits.steps,
            rate: 0.25,
        };
        let effort = Effort {
            nodes: limits.nodes.min(limits.work / program.terms().max(1)),
            below: Steps {
                most: 8,
                rate: 0.15,
            },
            deadline: None,
        };
        let asked: Vec<&[Condition]> = left.iter().map(|&m| &self.conditions[m][..]).collect();
        let start = vec![ascent.start(1); left.len()];
        let reached = ascent.climb(&asked, &start, root);
        let mut found = Vec::new();
        for (&member, reached) in left.iter().zip(reached) {
            let q = self.group[member];
            let confirm = |point: &[f64]| self.batch.confirm(q, program, point);
            let conditions = &self.conditions[member];
            let end = phases::refute(ascent, conditions, reached, &effort, &confirm);
            found.push((q, end));
        }
        found
    }

    fn refuted(&self, member: usize, ascent: &Ascent<'_>, part: &crate::ascent::Part) -> Found {
        let leaf = phases::leaf(ascent, part);
        let proof = vec![deepconcolic_check::Tree::Leaf(leaf)];
        (self.group[member], End::Refuted(proof))
    }
}
