//! Requirements on two inputs. Alternatives of the formula are taken one by one, so that on each path
//! there are conditions on the one input and conditions on the other. A path ends when no input meets
//! its conditions on one of the two; with an input for each, the alternative to take next is one that
//! these two do not agree on. So where signs must stay, both inputs are bounded under the same pattern,
//! and only as much of the pattern is spelled out as the proof needs.

mod path;
mod pool;
mod spread;

use std::sync::atomic::AtomicUsize;

use deepconcolic_check::{Accepted, Certificate, Entry, Unsupported};
use deepconcolic_language::{Comparison, Formula, Inputs, Quantifier, Relation, Requirement, Var};
use deepconcolic_network::{Element, Network};
use path::{Path, on_first};
use pool::{Pool, Seen};
use rayon::prelude::*;
use spread::Spread;

use crate::ascent::Steps;
use crate::batch::{BatchLimits, accepted, add};
use crate::cell::Cells;
use crate::phases::{Effort, End};

/// Requirements taken up at once: a fixed number, so that nothing depends on the number of threads.
const WAVE: usize = 16;
/// Most paths of a requirement.
const PATHS: usize = 256;
/// Most times that the inputs of a path are moved apart for a condition on both.
const MOVES: usize = 12;
/// Inputs that a search for another starts from.
const NEAR: usize = 4;
/// A little less than a half, so that two of them are less than the whole.
const HALF: f64 = 0.499;
/// Steps at each part of the region.
const BELOW: Steps = Steps {
    maximum: 20,
    rate: 0.1,
};

/// What was found of requirements on two inputs.
#[derive(Debug, Clone, Default)]
pub struct Jointly {
    /// Conditions that no input meets together. What follows from them, `ProvenFacts` says.
    pub accepted: Accepted,
    /// Requirements, by number, and two inputs that meet all their linear conditions when executed.
    pub met: Vec<(usize, [Vec<f32>; 2])>,
    /// For each requirement, why it is beyond proofs.
    pub reasons: Vec<Option<String>>,
}

/// Conditions on one input that it cannot meet together, as an entry's text says them.
type Lemma = Vec<Comparison>;

/// Searches over one box.
pub(crate) struct Joint<'a> {
    pub cells: Cells<'a>,
    /// Inputs of the box, one after the other.
    pub samples: &'a [f32],
    pub limits: &'a BatchLimits<'a>,
    pub nodes: &'a AtomicUsize,
    /// Of the box, without entries yet.
    pub accepted: Accepted,
}

/// How a requirement ended.
enum Outcome {
    Refuted,
    Met([Vec<f32>; 2]),
    Open,
    Beyond(Unsupported),
}

impl Joint<'_> {
    /// Settles requirements as far as the limits allow.
    pub fn decide(self, requirements: &[Requirement]) -> Jointly {
        let network = self.cells.network;
        let goals: Vec<Formula> = requirements.iter().map(|r| r.goal().nnf()).collect();
        let pool = Pool::new(network, &goals, self.samples);
        let mut lemmas: Vec<Lemma> = Vec::new();
        let mut jointly = Jointly {
            accepted: self.accepted.clone(),
            met: Vec::new(),
            reasons: vec![None; requirements.len()],
        };
        for (wave, goals) in goals.chunks(WAVE).enumerate() {
            if self.limits.is_over() {
                break;
            }
            let found: Vec<(Outcome, Vec<(Lemma, Entry)>)> = goals
                .par_iter()
                .map(|goal| {
                    let mut search = Search {
                        joint: &self,
                        pool: &pool,
                        lemmas: &lemmas,
                        new: Vec::new(),
                        goal,
                    };
                    let outcome = match search.run() {
                        Err(Unsupported::Time) => Outcome::Open,
                        outcome => outcome.unwrap_or_else(Outcome::Beyond),
                    };
                    (outcome, search.new)
                })
                .collect();
            let mut own = Certificate {
                entries: Vec::new(),
                ..self.accepted.certificate().clone()
            };
            let mut proposed = Vec::new();
            for (number, (outcome, new)) in found.into_iter().enumerate() {
                let number = wave * WAVE + number;
                match outcome {
                    // What is shown on the way to anything else is of no use to anybody.
                    Outcome::Refuted => {
                        for (lemma, entry) in new {
                            if !proposed.contains(&lemma) {
                                proposed.push(lemma);
                                own.entries.push(entry);
                            }
                        }
                    }
                    Outcome::Met(inputs) => jointly.met.push((number, inputs)),
                    Outcome::Open => {}
                    Outcome::Beyond(why) => jointly.reasons[number] = Some(why.to_string()),
                }
            }
            let (own, kept) = accepted(network, own, self.limits.until());
            let kept = proposed
                .into_iter()
                .zip(kept)
                .filter(|(_, kept)| kept.is_some());
            lemmas.extend(kept.map(|(lemma, _)| lemma));
            add(&mut jointly.accepted, own);
        }
        jointly
    }
}

/// What to do with a path.
enum Next {
    Close,
    Met([Vec<f32>; 2]),
    Take(usize),
    GiveUp,
}

/// What is known of the conditions on one input; an input that meets them is now the path's.
enum Answer {
    Refuted,
    Met,
    Open,
}

struct Search<'s, 'a> {
    joint: &'s Joint<'a>,
    pool: &'s Pool,
    lemmas: &'s [Lemma],
    new: Vec<(Lemma, Entry)>,
    goal: &'s Formula,
}

impl<'s> Search<'s, '_> {
    fn run(&mut self) -> Result<Outcome, Unsupported> {
        let mut paths = vec![Path::new(self.goal, self.pool.seen.first())];
        let mut taken = 0;
        while let Some(mut path) = paths.pop() {
            taken += 1;
            if taken > PATHS || self.joint.limits.is_over() {
                return Ok(Outcome::Open);
            }
            match self.next(&mut path)? {
                Next::Close => {}
                Next::Met(inputs) => return Ok(Outcome::Met(inputs)),
                Next::GiveUp => return Ok(Outcome::Open),
                Next::Take(at) => {
                    let Formula::Or(alternatives) = path.open.swap_remove(at) else {
                        return Ok(Outcome::Open);
                    };
                    for alternative in alternatives {
                        let mut path = path.clone();
                        path.enter(alternative);
                        paths.push(path);
                    }
                }
            }
        }
        Ok(Outcome::Refuted)
    }

    fn next(&mut self, path: &mut Path<'s>) -> Result<Next, Unsupported> {
        for _ in 0..MOVES {
            for input in 0..2 {
                if path.is_torn(input) {
                    return Ok(Next::Close);
                }
                let known = path.seen[input].as_ref();
                if known.is_some_and(|seen| self.pool.holds(&path.held[input], seen)) {
                    continue;
                }
                match self.answer(path, input, None)? {
                    Answer::Refuted => return Ok(Next::Close),
                    Answer::Met => {}
                    Answer::Open => return Ok(Next::GiveUp),
                }
            }
            let (Some(first), Some(second)) = (&path.seen[0], &path.seen[1]) else {
                return Ok(Next::GiveUp);
            };
            let both = [first, second];
            if let Some(at) = self.furthest(path, both) {
                return Ok(Next::Take(at));
            }
            let holds = |c: &&Comparison| {
                let value = self.pool.value(&c.linear, both);
                c.relation.holds(&value, &0.0)
            };
            if path.mixed.iter().all(holds) {
                let inputs = both.map(|seen| seen.input().to_vec());
                return Ok(Next::Met(inputs));
            }
            match self.part(path)? {
                Answer::Refuted => return Ok(Next::Close),
                Answer::Met => {}
                Answer::Open => return Ok(Next::GiveUp),
            }
        }
        Ok(Next::GiveUp)
    }

    /// Of the alternatives that two inputs meet none of, those they are furthest from.
    fn furthest(&self, path: &Path<'s>, both: [&Seen; 2]) -> Option<usize> {
        let far = path.open.iter().map(|open| self.pool.distance(open, both));
        let far = far.enumerate().filter(|(_, distance)| *distance > 0.0);
        far.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
            .map(|(at, _)| at)
    }

    /// Moves the two inputs of a path apart until they meet its conditions on both, or shows that they
    /// cannot: of a sum of multiples of these conditions, neither input's part exceeds what was seen by
    /// half of what is missing.
    fn part(&mut self, path: &mut Path<'s>) -> Result<Answer, Unsupported> {
        let Some(spread) = Spread::of(self.pool, path) else {
            return Ok(Answer::Open);
        };
        let (factors, missing) = spread.factors();
        if missing <= 0.0 {
            let Some(inputs) = spread.blend() else {
                return Ok(Answer::Open);
            };
            for (number, input) in inputs.into_iter().enumerate() {
                path.show(number, self.pool.run(self.joint.cells.network, &input));
            }
            return Ok(Answer::Met);
        }
        // One of them alone, then each a half.
        for share in [1.0, HALF] {
            let mut moved = false;
            for number in 0..2 {
                let mut linear = spread.sum(number, &factors);
                linear.constant = -(spread.maximum(number, &factors) + share * missing);
                let relation = Relation::Ge;
                let further = on_first(&Comparison { linear, relation });
                match self.answer(path, number, Some(further))? {
                    Answer::Refuted => {}
                    Answer::Met => moved = true,
                    Answer::Open => return Ok(Answer::Open),
                }
                if moved && share > HALF {
                    break;
                }
            }
            if moved {
                return Ok(Answer::Met);
            }
        }
        Ok(Answer::Refuted)
    }

    /// Whether an input meets the conditions on one of the two, and a further one.
    fn answer(
        &mut self,
        path: &mut Path<'s>,
        input: usize,
        further: Option<Comparison>,
    ) -> Result<Answer, Unsupported> {
        let mut conditions = path.held[input].clone();
        conditions.extend(further);
        conditions.sort_by_key(order);
        let has = |lemma: &Lemma| lemma.iter().all(|condition| conditions.contains(condition));
        if self
            .lemmas
            .iter()
            .chain(self.new.iter().map(|(l, _)| l))
            .any(has)
        {
            return Ok(Answer::Refuted);
        }
        let near = self.near(path, input, &conditions);
        if let Some(seen) = near
            .first()
            .filter(|seen| self.pool.holds(&conditions, seen))
        {
            path.show(input, seen.clone());
            return Ok(Answer::Met);
        }
        let points: Vec<&[f32]> = near.iter().map(Seen::input).collect();
        let limits = self.joint.limits;
        let effort = Effort {
            nodes: limits.nodes,
            below: BELOW,
            until: limits.until(),
            spent: self.joint.nodes,
        };
        let requirement = all_of(conditions.clone());
        let end = self.joint.cells.decide(&requirement, &points, &effort)?;
        Ok(match end {
            End::Refuted(proof) => {
                let entry = Entry {
                    requirement: requirement.to_string(),
                    proofs: vec![vec![proof]],
                };
                self.new.push((conditions, entry));
                Answer::Refuted
            }
            End::Witness(found) => {
                path.show(input, self.pool.run(self.joint.cells.network, &found));
                Answer::Met
            }
            End::Open(_) => Answer::Open,
        })
    }

    /// The inputs that come nearest to meeting conditions; of those that do, the ones that agree most
    /// with the other input of the path.
    fn near(&self, path: &Path<'s>, input: usize, conditions: &[Comparison]) -> Vec<Seen> {
        let other = path.seen[1 - input].as_ref();
        let own = path.seen[input].iter();
        let mut near: Vec<(f64, f64, &Seen)> = own
            .chain(other)
            .chain(&self.pool.seen)
            .map(|seen| {
                let far = |c: &Comparison| {
                    let value = self.pool.value(&c.linear, [seen; 2]);
                    if c.relation.holds(&value, &0.0) {
                        0.0
                    } else {
                        value.abs()
                    }
                };
                let distance: f64 = conditions.iter().map(far).sum();
                let odds = other.map_or(0.0, |other| {
                    let both = if input == 0 {
                        [seen, other]
                    } else {
                        [other, seen]
                    };
                    path.open
                        .iter()
                        .map(|open| self.pool.distance(open, both))
                        .sum()
                });
                (distance, odds, seen)
            })
            .collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        near.truncate(NEAR);
        near.into_iter().map(|(_, _, seen)| seen.clone()).collect()
    }
}

/// The requirement that some input meets all conditions.
fn all_of(conditions: Vec<Comparison>) -> Requirement {
    Requirement {
        name: None,
        quantifier: Quantifier::Exists,
        inputs: Inputs::One,
        formula: Formula::And(conditions.into_iter().map(Formula::Compare).collect()),
    }
}

/// Some order that does not depend on how a path came about.
fn order(condition: &Comparison) -> (Vec<(usize, usize)>, String) {
    let terms = condition.linear.terms.iter();
    let neurons = terms.map(|(_, var)| (var.layer, var.neuron)).collect();
    (neurons, Formula::Compare(condition.clone()).to_string())
}

/// The elements that formulas speak of.
pub(crate) fn elements(network: &Network, requirements: &[Requirement]) -> Vec<Element> {
    let hidden = network.layers().len();
    let mut elements = Vec::new();
    for requirement in requirements {
        requirement.formula.each_variable(&mut |var: Var| {
            elements.push(network.element(var.point(hidden), var.neuron));
        });
    }
    elements
}
