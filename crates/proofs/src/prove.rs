//! One requirement over one box: a witness, a certificate that none exists, or how far it got.

use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Instant;

use deepconcolic_check::{
    Accepted, Case, Certificate, Digest, Entry, Expectation, Proof, Region, Unsupported, Until,
    cases, check_until,
};
use deepconcolic_language::{Formula, Requirement};
use deepconcolic_network::{Element, Network};
use rayon::prelude::*;

use crate::answer::Climb;
use crate::ascent::{Ascent, CLEAR, Part, Reached, Steps};
use crate::attack::Attack;
use crate::batch::before_check;
use crate::confirm::Executor;
use crate::few_changes::{self, few};
use crate::inputs;
use crate::knowledge::Knowledge;
use crate::lanes::LANES;
use crate::objective::{Condition, elements, program_of};
use crate::one_change;
use crate::phases::{self, Effort, End};
use crate::program::Program;

/// How far a proof may go. Limits count nodes; the deadline is for callers who were given a time.
#[derive(Debug, Clone, Copy)]
pub struct ProofLimits<'a> {
    /// Most parts of the region that are bounded, for each alternative.
    pub nodes: usize,
    /// Most parts times coefficients of the part of the network that matters: a large one gets
    /// fewer parts.
    pub work: usize,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Raised when the user wants an end.
    pub interrupt: Option<&'a AtomicBool>,
    /// Batches of sixteen points that gradient steps start from for each alternative that rounds of
    /// proving leave open; more for small networks, fewer after the first rounds.
    pub attacks: usize,
    /// Networks with at most so many inputs (of those that matter) are split on the input box.
    pub few_inputs: usize,
    /// Counts the parts that are bounded.
    pub spent: Option<&'a AtomicUsize>,
    /// How far a witness may be outside the region in elements in which no number of single precision
    /// lies in it. Proofs are of the region as it is.
    pub tolerance: f64,
}

impl Default for ProofLimits<'_> {
    fn default() -> Self {
        Self {
            nodes: 10_000,
            work: usize::MAX,
            deadline: None,
            interrupt: None,
            attacks: 4,
            few_inputs: 12,
            spent: None,
            tolerance: 0.0,
        }
    }
}

impl ProofLimits<'_> {
    /// When to stop.
    fn until(&self) -> Until<'_> {
        Until {
            deadline: self.deadline,
            interrupt: self.interrupt,
        }
    }

    /// When a part of the work must stop that may take one of so many shares of the time that is left.
    fn share(&self, shares: u32) -> Until<'_> {
        let now = Instant::now();
        let share = |end: Instant| now + end.saturating_duration_since(now) / shares;
        Until {
            deadline: self.deadline.map(share),
            ..self.until()
        }
    }
}

/// How a proof ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// No input of the region meets the requirement's goal, and the checker agrees.
    Infeasible(Box<Accepted>),
    /// This input, executed, meets it.
    Witness(Vec<f32>),
    /// Neither was found; the goal's value stays below `bound`.
    Open {
        /// The best bound reached.
        bound: f64,
    },
}

/// Bounds the goal of a requirement about one input over a region.
///
/// A witness is confirmed by execution in single precision. A certificate speaks of real numbers
/// and the weights as stored, and has been accepted by [`deepconcolic_check::check`]. Where time is up before
/// either is found, the requirement is open.
pub fn prove(
    network: &Network,
    model: &Digest,
    requirement: &Requirement,
    region: &Region,
    limits: &ProofLimits<'_>,
) -> Result<Verdict, Unsupported> {
    let alternatives = cases(requirement, network, region)?;
    let goal = requirement.goal();
    let mut proofs: Vec<Option<Proof>> = vec![None; alternatives.len()];
    let replaced = alternatives.iter().any(|case| case.replaced);
    if replaced && let Some(input) = climb(network, &goal, &alternatives, limits, 1) {
        return Ok(Verdict::Witness(input));
    }
    if replaced && alternatives.iter().any(|case| case.atoms.is_empty()) {
        let more = climb(network, &goal, &alternatives, limits, MORE);
        let head = network.head().kind().unwrap_or_default();
        return more.map(Verdict::Witness).ok_or(Unsupported::Answer(head));
    }
    match one_change(network, model, requirement, &alternatives, region, limits) {
        Ok(None) => {}
        Ok(Some(verdict)) => return Ok(verdict),
        Err(reason) => return or_open(reason),
    }
    let mut scenes = Vec::new();
    for members in boxes(&alternatives) {
        let cases: Vec<&Case> = members.iter().map(|&m| &alternatives[m]).collect();
        let scene = match CasesOfBox::new(network, &goal, limits, cases) {
            Ok(scene) => scene,
            Err(reason) => {
                // What is too large to be bounded can still be run.
                let more = climb(network, &goal, &alternatives, limits, MORE);
                return more.map_or_else(|| or_open(reason), |input| Ok(Verdict::Witness(input)));
            }
        };
        let all: Vec<usize> = (0..members.len()).collect();
        if let Some(input) = scene.attack(&all, 0, SHARES[0]) {
            return Ok(Verdict::Witness(input));
        }
        scenes.push((members, scene));
    }
    for (members, scene) in &scenes {
        let answer = match scene.refute() {
            Ok(answer) => answer,
            Err(reason) => return or_open(reason),
        };
        match answer {
            Answer::Refuted(found) => {
                for (&member, proof) in members.iter().zip(found) {
                    proofs[member] = Some(proof);
                }
            }
            Answer::Witness(input) => return Ok(Verdict::Witness(input)),
            Answer::Open(bound) => {
                let more = || climb(network, &goal, &alternatives, limits, MORE);
                let found = replaced.then(more).flatten();
                return Ok(found.map_or(Verdict::Open { bound }, Verdict::Witness));
            }
        }
    }
    let proofs = proofs.into_iter().flatten().collect();
    Ok(accept(network, model, requirement, region, proofs, limits))
}

/// What the checker says to proofs of all alternatives.
fn accept(
    network: &Network,
    model: &Digest,
    requirement: &Requirement,
    region: &Region,
    proofs: Vec<Proof>,
    limits: &ProofLimits<'_>,
) -> Verdict {
    let certificate = Certificate {
        model: *model,
        regions: vec![region.clone()],
        entries: vec![Entry {
            requirement: requirement.to_string(),
            proofs: vec![proofs],
        }],
    };
    let expectation = Expectation {
        model,
        regions: None,
        requirements: None,
    };
    let checked = check_until(network, &certificate, &expectation, limits.until());
    match checked {
        Ok(accepted) => Verdict::Infeasible(Box::new(accepted)),
        // What the checker does not accept is not claimed.
        Err(_) => Verdict::Open { bound: 0.0 },
    }
}

/// The verdict where one position of a large network changes; none elsewhere.
pub(crate) fn one_change(
    network: &Network,
    model: &Digest,
    requirement: &Requirement,
    alternatives: &[Case],
    region: &Region,
    limits: &ProofLimits<'_>,
) -> Result<Option<Verdict>, Unsupported> {
    let cases: Vec<&Case> = alternatives.iter().collect();
    let together = boxes(alternatives).len() == 1;
    let hopeless = cases.iter().any(|case| case.atoms.is_empty());
    if !together || hopeless || !one_change::applies(network, &cases, limits.until())? {
        return Ok(None);
    }
    if limits.nodes == 0 {
        return Ok(Some(Verdict::Open {
            bound: f64::INFINITY,
        }));
    }
    let Some(problem) = one_change::problem(network, &cases, limits.until())? else {
        return Ok(None);
    };
    let goal = requirement.goal();
    let each = alternatives.iter();
    let executors: Vec<Executor<'_>> = each
        .map(|case| Executor::new(network, &goal, case, limits.tolerance))
        .collect();
    let all: Vec<usize> = (0..network.input_elements()).collect();
    let effort = Effort {
        nodes: limits.nodes,
        below: BELOW,
        until: limits.until(),
        spent: limits.spent.unwrap_or(&NOBODY),
    };
    let confirm = |case: usize, point: &[f64]| executors[case].confirm(&all, point);
    let answer = one_change::refute(&problem, &cases, &effort, &confirm);
    Ok(Some(match answer {
        one_change::Answer::Refuted(proofs) => {
            drop(problem);
            accept(network, model, requirement, region, proofs, limits)
        }
        one_change::Answer::Witness(input) => Verdict::Witness(input),
        one_change::Answer::Open(bound) => Verdict::Open { bound },
    }))
}

/// Being late leaves a requirement open; other reasons are beyond time.
fn or_open(reason: Unsupported) -> Result<Verdict, Unsupported> {
    match reason {
        Unsupported::Time => Ok(Verdict::Open {
            bound: f64::INFINITY,
        }),
        reason => Err(reason),
    }
}

/// Looks for an input that meets conditions by running the network, on the answer of a Softmax or Sigmoid or
/// where the network is too large to be bounded; takes at most a part of the time that is left.
fn climb(
    network: &Network,
    goal: &Formula,
    alternatives: &[Case],
    limits: &ProofLimits<'_>,
    batches: usize,
) -> Option<Vec<f32>> {
    let boxes = boxes(alternatives);
    // Steps in a box do not keep to few changes.
    if alternatives
        .iter()
        .any(|case| case.region.changes.is_some())
    {
        return None;
    }
    let now = Instant::now();
    let share = CLIMBS * boxes.len() as u32;
    let normal = goal.nnf();
    boxes.iter().enumerate().find_map(|(number, members)| {
        let case = &alternatives[members[0]];
        let end = limits
            .deadline
            .map(|end| now + end.saturating_duration_since(now) / share * (number as u32 + 1));
        let executor = Executor::new(network, goal, case, limits.tolerance);
        let all: Vec<usize> = (0..network.input_elements()).collect();
        let climb = Climb {
            network,
            goal: &normal,
            region: &case.region,
            batches: batches * limits.attacks.div_ceil(ATTACKS_A_CLIMB),
            until: Until {
                deadline: end,
                ..limits.until()
            },
            confirm: &|point| executor.confirm(&all, point),
        };
        climb.run(batches as u64)
    })
}

/// Alternatives over the same box, by number.
fn boxes(cases: &[Case]) -> Vec<Vec<usize>> {
    let mut boxes: Vec<Vec<usize>> = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let same = |members: &&mut Vec<usize>| cases[members[0]].region == case.region;
        match boxes.iter_mut().rfind(same) {
            Some(members) => members.push(number),
            None => boxes.push(vec![number]),
        }
    }
    boxes
}

/// Alternatives over the same box.
struct CasesOfBox<'a> {
    network: &'a Network,
    limits: ProofLimits<'a>,
    cases: Vec<&'a Case>,
    program: Program,
    conditions: Vec<Vec<Condition>>,
    executors: Vec<Executor<'a>>,
}

/// What is known of the whole box.
struct Whole<'a> {
    knowledge: Knowledge<'a>,
    bounds: Vec<[f64; 2]>,
    /// The program without what is zero there.
    thin: Program,
    /// When the search ends, so that there is time to check what it finds.
    until: Until<'a>,
}

impl Whole<'_> {
    fn ascent(&self) -> Ascent<'_> {
        Ascent::new(&self.thin, &self.knowledge, &self.bounds, self.until)
    }
}

/// How all alternatives of a box ended.
enum Answer {
    Refuted(Vec<Proof>),
    Witness(Vec<f32>),
    Open(f64),
}

/// Steps at the root: worth more than elsewhere, since every part starts from there.
const ROOT: Steps = Steps {
    maximum: 40,
    rate: 0.2,
};
/// Steps at each part below the root.
const BELOW: Steps = Steps {
    maximum: 12,
    rate: 0.1,
};
/// Which part of an attack is made before anything is proven, and after each of the first rounds: what
/// is easy to refute must not wait for it.
const SHARES: [usize; 4] = [16, 16, 8, 2];
/// Takes the counts that nobody asked for.
static NOBODY: AtomicUsize = AtomicUsize::new(0);
/// Small networks can be attacked this many coefficients' worth as often.
const CHEAP: usize = 1 << 20;
/// Climbs may take this part of the time that is left.
const CLIMBS: u32 = 3;
/// So may spelling the network out, and each attack.
const BUILDING: u32 = 2;
const ATTACKS: u32 = 4;
/// Batches of starts for a climb once proofs are at their end.
const MORE: usize = 8;
/// Attacks asked for that are worth one batch of starts for a climb.
const ATTACKS_A_CLIMB: usize = 4;
/// Nodes for each alternative in the first round, and how many times more in each further one: an
/// alternative that has a witness must not wait for one that is hard to refute.
const FIRST_ROUND: usize = 256;
const ROUND_FACTOR: usize = 8;

impl<'a> CasesOfBox<'a> {
    fn new(
        network: &'a Network,
        goal: &Formula,
        limits: &'a ProofLimits<'a>,
        cases: Vec<&'a Case>,
    ) -> Result<Self, Unsupported> {
        let until = limits.share(BUILDING);
        let (program, conditions) = program_of(network, &cases, until)?;
        let executor = |case: &&'a Case| Executor::new(network, goal, case, limits.tolerance);
        let maximum = limits.work / program.terms().max(1);
        let limits = ProofLimits {
            nodes: limits.nodes.min(maximum.max(1)),
            ..*limits
        };
        Ok(Self {
            executors: cases.iter().map(executor).collect(),
            network,
            limits,
            cases,
            program,
            conditions,
        })
    }

    fn ends(&self) -> Vec<[f64; 2]> {
        let Region { lower, upper, .. } = &self.cases[0].region;
        let ends = |&e: &usize| [lower[e], upper[e]];
        self.program.inputs.iter().map(ends).collect()
    }

    fn confirm(&self, case: usize, point: &[f64]) -> Option<Vec<f32>> {
        self.executors[case].confirm(&self.program.inputs, point)
    }

    /// Gradient steps from random points for some alternatives; the full effort, or a share of it.
    fn attack(&self, open: &[usize], round: usize, share: usize) -> Option<Vec<f32>> {
        // Steps in a box do not keep to few changes.
        if self.cases[0].region.changes.is_some() {
            return None;
        }
        let until = self.limits.share(ATTACKS);
        let ends = self.ends();
        let cheap = (CHEAP / self.program.terms().max(1)).clamp(1, 64);
        let portions = (self.limits.attacks * cheap).div_ceil(share) as u64;
        open.chunks(LANES).find_map(|chunk| {
            let asked: Vec<&[Condition]> = chunk.iter().map(|&c| &self.conditions[c][..]).collect();
            let confirm = |case: usize, point: &[f64]| self.confirm(chunk[case], point);
            // The first of all that find something, whichever thread is the fastest.
            (0..portions).into_par_iter().find_map_first(|portion| {
                if until.is_over() {
                    return None;
                }
                let attack = Attack {
                    batches: chunk.len(),
                    steps: 40,
                    until,
                };
                let seed = ((round as u64) << 48) | (portion << 24) | chunk[0] as u64;
                let found = attack.run(&self.program, &asked, &ends, seed, &confirm);
                found.into_iter().flatten().next()
            })
        })
    }

    fn refute(&self) -> Result<Answer, Unsupported> {
        let mut knowledge = Knowledge::new(self.network, self.cases[0].region.clone());
        let atoms = self.cases.iter().map(|case| &case.atoms);
        let targets: Vec<Element> = atoms.flat_map(|a| elements(self.network, a)).collect();
        knowledge.prepare(&targets, self.limits.until())?;
        let until = before_check(self.limits.until(), knowledge.took);
        let limited = self.cases[0].region.changes.is_some();
        let few = self.program.inputs.len() <= self.limits.few_inputs && !limited;
        let bounds = knowledge.bounds(&self.program);
        let whole = Whole {
            thin: self.program.without_zero_terms(&bounds),
            bounds,
            knowledge,
            until,
        };
        let roots = if few {
            vec![None; self.cases.len()]
        } else {
            self.roots(&whole)
        };
        let mut proofs: Vec<Option<Proof>> = vec![None; self.cases.len()];
        let mut nodes = FIRST_ROUND.min(self.limits.nodes);
        let mut round = 1;
        loop {
            let mut open: Vec<usize> = (0..proofs.len()).filter(|&c| proofs[c].is_none()).collect();
            let ends: Vec<(usize, End)> = open
                .par_iter()
                .map(|&case| (case, self.round(case, roots[case].as_ref(), nodes, &whole)))
                .collect();
            let mut worst = f64::NEG_INFINITY;
            for (case, end) in ends {
                match end {
                    End::Refuted(proof) => proofs[case] = Some(proof),
                    End::Witness(input) => return Ok(Answer::Witness(input)),
                    End::Open(bound) => worst = worst.max(bound),
                }
            }
            if worst == f64::NEG_INFINITY {
                return Ok(Answer::Refuted(proofs.into_iter().flatten().collect()));
            }
            open.retain(|&case| proofs[case].is_none());
            let last = nodes >= self.limits.nodes;
            let share = SHARES.get(round).filter(|_| !last).unwrap_or(&1);
            if let Some(input) = self.attack(&open, round, *share) {
                return Ok(Answer::Witness(input));
            }
            if last || until.is_over() {
                return Ok(Answer::Open(worst));
            }
            nodes = nodes.saturating_mul(ROUND_FACTOR).min(self.limits.nodes);
            round += 1;
        }
    }

    /// Optimised bounds over the whole box, alternatives side by side.
    fn roots(&self, whole: &Whole<'_>) -> Vec<Option<Reached>> {
        let mut ascent = whole.ascent();
        let mut roots = Vec::new();
        for chunk in self.conditions.chunks(LANES) {
            let asked: Vec<&[Condition]> = chunk.iter().map(|c| &c[..]).collect();
            let start: Vec<Part> = chunk.iter().map(|c| ascent.start(c.len())).collect();
            roots.extend(ascent.climb(&asked, &start, ROOT).into_iter().map(Some));
        }
        roots
    }

    /// Whether an alternative is left to bounds of the whole region and splits of phases, given what the root
    /// reached.
    fn splits_phases(&self, root: &Reached) -> bool {
        root.bound > CLEAR || few(&self.cases[0].region).is_none()
    }

    /// One alternative, so many nodes.
    fn round(&self, case: usize, root: Option<&Reached>, nodes: usize, whole: &Whole<'_>) -> End {
        let confirm = |point: &[f64]| self.confirm(case, point);
        let effort = Effort {
            nodes,
            below: BELOW,
            until: whole.until,
            spent: self.limits.spent.unwrap_or(&NOBODY),
        };
        let conditions = &self.conditions[case];
        if let Some(root) = root.filter(|root| self.splits_phases(root)) {
            let mut ascent = whole.ascent();
            return phases::refute(&mut ascent, conditions, root.clone(), &effort, &confirm);
        }
        let region = &self.cases[case].region;
        if let Some(changes) = few(region) {
            let program = (&self.program, &whole.bounds[..]);
            let place = (region, changes);
            return few_changes::refute(program, conditions, place, &effort, &confirm);
        }
        let (ends, bounds) = (self.ends(), whole.bounds.clone());
        inputs::refute(&self.program, conditions, ends, bounds, &effort, &confirm)
    }
}
