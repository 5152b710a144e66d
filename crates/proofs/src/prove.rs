//! One requirement over one box: a witness, a certificate that none exists, or how far it got.

use std::time::Instant;

use deepconcolic_check::{
    Case, Certificate, Digest, Entry, Expectation, Proof, Region, Unsupported, cases, check,
};
use deepconcolic_network::{Element, Network};
use deepconcolic_spec::{Formula, Requirement};
use rayon::prelude::*;

use crate::ascent::{Ascent, Steps};
use crate::attack::Attack;
use crate::confirm::Executor;
use crate::inputs;
use crate::knowledge::Knowledge;
use crate::objective::{Condition, elements, program_of};
use crate::phases::{self, Effort, End};
use crate::program::Program;

/// How far a proof may go. Limits count nodes; the deadline is for callers who were given a time.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most parts of the region that are bounded, for each alternative.
    pub nodes: usize,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Batches of sixteen points that gradient steps start from before anything is proven.
    pub attacks: usize,
    /// Networks with at most so many inputs (of those that matter) are split on the input box.
    pub few_inputs: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            nodes: 10_000,
            deadline: None,
            attacks: 4,
            few_inputs: 12,
        }
    }
}

/// How a proof ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// No input of the region meets the requirement's goal, and the checker agrees.
    Infeasible(Box<Certificate>),
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
/// and the weights as stored, and has been accepted by [`deepconcolic_check::check`].
pub fn prove(
    network: &Network,
    model: &Digest,
    requirement: &Requirement,
    region: &Region,
    limits: &Limits,
) -> Result<Verdict, Unsupported> {
    let alternatives = cases(requirement, network, region)?;
    let goal = requirement.goal();
    let search = Search {
        network,
        goal: &goal,
        limits,
    };
    let questions: Vec<Question<'_>> = alternatives
        .iter()
        .map(|case| Question::new(network, case))
        .collect::<Result<_, _>>()?;
    if let Some(input) = search.attack(&questions) {
        return Ok(Verdict::Witness(input));
    }
    let mut proofs: Vec<Option<Proof>> = vec![None; questions.len()];
    for members in boxes(&alternatives) {
        let mut knowledge = Knowledge::new(network, alternatives[members[0]].region.clone());
        let atoms = members.iter().map(|&m| &alternatives[m].atoms);
        let targets: Vec<Element> = atoms.flat_map(|a| elements(network, a)).collect();
        knowledge.prepare(&targets)?;
        let ends: Vec<(usize, End)> = members
            .par_iter()
            .map(|&m| (m, search.refute(&questions[m], &knowledge)))
            .collect();
        for (member, end) in ends {
            match end {
                End::Refuted(proof) => proofs[member] = Some(proof),
                End::Witness(input) => return Ok(Verdict::Witness(input)),
                End::Open(bound) => return Ok(Verdict::Open { bound }),
            }
        }
    }
    let certificate = Certificate {
        model: *model,
        regions: vec![region.clone()],
        entries: vec![Entry {
            requirement: requirement.to_string(),
            proofs: vec![proofs.into_iter().flatten().collect()],
        }],
    };
    let expectation = Expectation {
        model,
        regions: None,
        requirements: None,
    };
    Ok(match check(network, &certificate, &expectation) {
        Ok(_) => Verdict::Infeasible(Box::new(certificate)),
        Err(reason) => {
            eprintln!("DEBUG {reason}");
            Verdict::Open { bound: 0.0 }
        }
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

/// An alternative with its program.
struct Question<'a> {
    case: &'a Case,
    program: Program,
    conditions: Vec<Condition>,
}

impl<'a> Question<'a> {
    fn new(network: &Network, case: &'a Case) -> Result<Self, Unsupported> {
        let (program, conditions) = program_of(network, case)?;
        Ok(Self {
            case,
            program,
            conditions,
        })
    }

    fn ends(&self) -> Vec<[f64; 2]> {
        let Region { lower, upper } = &self.case.region;
        let ends = |&e: &usize| [lower[e], upper[e]];
        self.program.inputs.iter().map(ends).collect()
    }
}

/// Steps at the root: worth more than elsewhere, since every part starts from there.
const ROOT: Steps = Steps {
    most: 40,
    rate: 0.2,
};

struct Search<'a> {
    network: &'a Network,
    goal: &'a Formula,
    limits: &'a Limits,
}

impl Search<'_> {
    fn attack(&self, questions: &[Question<'_>]) -> Option<Vec<f32>> {
        let attack = Attack {
            batches: self.limits.attacks,
            steps: 40,
        };
        questions.iter().enumerate().find_map(|(number, question)| {
            let executor = Executor::new(self.network, self.goal, question.case, None);
            let program = &question.program;
            let confirm = |_: usize, point: &[f64]| executor.confirm(&program.inputs, point);
            let (ends, asked) = (question.ends(), [&question.conditions[..]]);
            let found = attack.run(program, &asked, &ends, number as u64, &confirm);
            found.into_iter().flatten().next()
        })
    }

    fn refute(&self, question: &Question<'_>, knowledge: &Knowledge<'_>) -> End {
        let executor = Executor::new(self.network, self.goal, question.case, None);
        let program = &question.program;
        let confirm = |point: &[f64]| executor.confirm(&program.inputs, point);
        let bounds = knowledge.bounds(program);
        let effort = Effort {
            nodes: self.limits.nodes,
            below: Steps {
                most: 12,
                rate: 0.1,
            },
            deadline: self.limits.deadline,
        };
        let conditions = &question.conditions;
        if program.inputs.len() <= self.limits.few_inputs {
            let ends = question.ends();
            return inputs::refute(program, conditions, ends, bounds, &effort, &confirm);
        }
        let mut ascent = Ascent::new(program, knowledge.ends(program), &bounds);
        let start = ascent.start(conditions.len());
        let root = ascent.climb(&[conditions], &[start], ROOT);
        for (_, corner) in ascent.witnesses(&[conditions]) {
            if let Some(input) = confirm(&corner) {
                return End::Witness(input);
            }
        }
        match root.into_iter().next() {
            Some(root) => phases::refute(&mut ascent, conditions, root, &effort, &confirm),
            None => End::Open(f64::INFINITY),
        }
    }
}
