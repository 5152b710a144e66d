//! `--minimise` for adversarial tests: of every seed that the suite has adversarial tests of, the nearest adversarial
//! input that is found, and how near one can be at all.
//!
//! The inputs do not enter the suite. A test is there because it covers something, and its distance is what the
//! search for that made of it; these inputs answer another question, how little it takes, and may cover nothing. They have a
//! folder of their own, which `check` judges row by row as it judges the suite.

use std::collections::BTreeMap;
use std::time::Instant;

use deepconcolic_campaign::Limits;
use deepconcolic_campaign::oracle::{Judgement, Verdict};
use deepconcolic_criteria::{Decision, Departure, Objective, Prediction, Truth};
use deepconcolic_engines::{Budget, Effort, Goal, Margin, Origin, Report, named};
use deepconcolic_language::{Input, Inputs};
use deepconcolic_network::{Head, Network};
use deepconcolic_record::{NearestAdversarialSummary, NearestAdversarialTable, Spread, SuiteTable};
use rayon::prelude::*;

use super::certified_distance::SeedAnswer;
use super::confidence::confidences;
use crate::error::Error;
use crate::oracle::Court;
use crate::prepare::Prepared;

/// Engines that look for the nearest witness, in the order in which they are asked.
const ENGINES: [&str; 2] = ["boundary", "l0"];
/// Seeds worked on between two looks at the clock.
const BATCH: usize = 16;
/// Passes that one of them may cost, sweep by sweep. The first sweep is short, so that where time is, every seed has been
/// looked at before any is looked at closely; the second goes on from what the first found.
const SWEEPS: [usize; 2] = [1_500, 12_000];
/// The share of the time that the search may take where lower bounds are proven after it.
const SEARCH_SHARE: f64 = 0.6;

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct NearestAdversarial {
    /// The inputs, by seed.
    pub table: NearestAdversarialTable,
    /// Certificates of the lower bounds, by their numbers.
    pub certificates: Vec<Vec<u8>>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// What the search took.
    pub effort: Effort,
}

/// The seeds that adversarial tests of a suite were made from, by their numbers in the data, each with the adversarial
/// test that is nearest to it.
pub fn attacked_seeds(suite: &SuiteTable) -> BTreeMap<i64, usize> {
    let mut seeds: BTreeMap<i64, usize> = BTreeMap::new();
    for test in suite.adversarial().filter(|&test| test >= suite.seeds()) {
        let nearest = seeds.entry(suite.provenance.root[test]).or_insert(test);
        if suite.distance[test] < suite.distance[*nearest] {
            *nearest = test;
        }
    }
    seeds
}

/// The figures of a table.
pub fn figures(table: &NearestAdversarialTable, suite: &SuiteTable) -> NearestAdversarialSummary {
    let distances = Spread::of(table.distance.iter().copied());
    let bounds: Vec<f64> = table
        .bound
        .iter()
        .copied()
        .filter(|b| !b.is_nan())
        .collect();
    NearestAdversarialSummary {
        seeds: attacked_seeds(suite).len(),
        count: table.len(),
        min: distances.min,
        median: distances.median,
        max: distances.max,
        bounds: bounds.len(),
        median_bound: Spread::of(bounds).median,
    }
}

/// What the network says of inputs, run again, and what the oracle says of that.
pub struct JudgedInputs {
    pub predictions: Vec<Prediction>,
    pub judgements: Vec<Judgement>,
}

/// What the network says of each of some inputs.
pub fn predictions(network: &Network, decision: &Decision, x: &[f32]) -> Vec<Prediction> {
    let logits = network.logits(x);
    let count = x.len() / network.input_elements().max(1);
    let each = logits.len() / count.max(1);
    let rows = logits.chunks_exact(each.max(1));
    rows.map(|logits| decision.predict(logits)).collect()
}

/// A seed, its nearest adversarial test and what is looked for round it.
struct Attacked<'a> {
    root: &'a [f32],
    number: i64,
    test: usize,
    departure: Departure,
    /// Whether the departure is just what the oracle calls wrong.
    is_exact: bool,
    /// The nearest input so far.
    x: Vec<f32>,
    /// The certified lower bound.
    bound: Option<(f64, Vec<u8>)>,
}

/// Searches and proves until it is done or time is up.
pub fn nearest_adversarial(
    prepared: &Prepared,
    suite: &SuiteTable,
    means: &[f64],
    limits: &Limits<'_>,
) -> Result<NearestAdversarial, Error> {
    let hunt = Hunt {
        prepared,
        suite,
        means,
        limits,
    };
    let mut done = NearestAdversarial::default();
    let seeds = attacked_seeds(suite);
    if seeds.is_empty() {
        let none = "nearest adversarial inputs: the suite has no adversarial tests that could be made smaller";
        done.notes.push(none.into());
        return Ok(done);
    }
    let (attacked, wrong) = hunt.attacked(&seeds)?;
    if wrong > 0 {
        done.notes.push(format!(
            "nearest adversarial inputs: {wrong} seeds are left out, whose own answer is wrong"
        ));
    }
    let mut found = hunt.search(attacked, &mut done);
    if prepared.settings.proofs {
        hunt.bound(&mut found);
    }
    hunt.table(found, &mut done)?;
    Ok(done)
}

struct Hunt<'a> {
    prepared: &'a Prepared,
    suite: &'a SuiteTable,
    means: &'a [f64],
    limits: &'a Limits<'a>,
}

impl<'a> Hunt<'a> {
    fn is_over(&self) -> bool {
        self.limits.is_late() || self.limits.is_interrupted()
    }

    fn judge(&self, x: &[f32], roots: &[i64]) -> Result<JudgedInputs, Error> {
        let prepared = self.prepared;
        let predictions = predictions(&prepared.network, &prepared.decision, x);
        let court = Court {
            settings: &prepared.settings,
            network: &prepared.network,
            space: &prepared.space,
            decision: &prepared.decision,
        };
        let references = prepared.reference.as_ref().unwrap_or(&prepared.data);
        let roots = roots.iter().map(|&root| usize::try_from(root).ok());
        let judgements = court.judge(references, x, &predictions, roots)?;
        Ok(JudgedInputs {
            predictions,
            judgements,
        })
    }

    fn test(&self, test: usize) -> &'a [f32] {
        let each = self.prepared.network.input_elements();
        &self.suite.x[test * each..(test + 1) * each]
    }

    /// The seeds whose own answer is right, ready to be searched round, and how many are not.
    fn attacked(&self, seeds: &BTreeMap<i64, usize>) -> Result<(Vec<Attacked<'a>>, usize), Error> {
        let prepared = self.prepared;
        let number = |root: i64| {
            let is_it = |&s: &usize| prepared.seeds.index(s) as i64 == root;
            (0..prepared.seeds.len()).find(is_it)
        };
        let known: Vec<(i64, usize, &'a [f32])> = seeds
            .iter()
            .filter_map(|(&root, &test)| Some((root, test, prepared.seeds.input(number(root)?))))
            .collect();
        let x: Vec<f32> = known
            .iter()
            .flat_map(|(_, _, root)| *root)
            .copied()
            .collect();
        let roots: Vec<i64> = known.iter().map(|(root, _, _)| *root).collect();
        let judged = self.judge(&x, &roots)?;
        let mut attacked = Vec::new();
        for ((root_number, test, root), judgement) in known.iter().zip(&judged.judgements) {
            let logits = prepared.network.logits(root);
            let truth = judgement.truth.as_ref();
            let departure = truth
                .and_then(|truth| departure(&prepared.network, &prepared.decision, &logits, truth));
            if let Some((departure, is_exact)) = departure {
                attacked.push(Attacked {
                    root,
                    number: *root_number,
                    test: *test,
                    departure,
                    is_exact,
                    x: self.test(*test).to_vec(),
                    bound: None,
                });
            }
        }
        let wrong = known.len() - attacked.len();
        Ok((attacked, wrong))
    }

    /// Looks for the nearest of each in every sweep, until its share of the time is up. What no sweep came to is left out.
    fn search(
        &self,
        mut attacked: Vec<Attacked<'a>>,
        done: &mut NearestAdversarial,
    ) -> Vec<Attacked<'a>> {
        let now = Instant::now();
        let proves = self.prepared.settings.proofs;
        let part = if proves { SEARCH_SHARE } else { 1.0 };
        let share = |end: Instant| now + end.saturating_duration_since(now).mul_f64(part);
        let deadline = self.limits.deadline.map(share);
        let mut searched = SWEEPS.map(|_| 0);
        'sweeps: for (passes, searched) in SWEEPS.iter().zip(&mut searched) {
            for batch in attacked.chunks_mut(BATCH) {
                let late = deadline.is_some_and(|end| Instant::now() >= end);
                if late || self.is_over() {
                    break 'sweeps;
                }
                self.sweep(batch, *passes, deadline, done);
                *searched += batch.len();
            }
        }
        let [short, close] = searched;
        let all = attacked.len();
        if short < all {
            done.notes.push(format!(
                "nearest adversarial inputs: no time for {} of {all} seeds",
                all - short
            ));
        } else if close < all {
            done.notes.push(format!(
                "nearest adversarial inputs: {} of {all} seeds were searched shortly, for want of time",
                all - close
            ));
        }
        attacked.truncate(short);
        attacked
    }

    /// Looks for nearer inputs than those at hand, round some seeds side by side.
    fn sweep(
        &self,
        batch: &mut [Attacked<'a>],
        passes: usize,
        deadline: Option<Instant>,
        done: &mut NearestAdversarial,
    ) {
        let reports: Vec<Result<Report, String>> = batch
            .par_iter()
            .map(|each| self.near(each, passes, deadline))
            .collect();
        for (each, report) in batch.iter_mut().zip(reports) {
            match report {
                Ok(report) => {
                    done.effort += report.effort;
                    let tests = report.found.into_iter().flat_map(|found| found.tests);
                    tests.for_each(|x| self.improve(each, x));
                }
                Err(why) if !done.notes.contains(&why) => done.notes.push(why),
                Err(_) => {}
            }
        }
    }

    /// What an engine finds round one seed, or why none looks.
    fn near(
        &self,
        each: &Attacked<'_>,
        passes: usize,
        deadline: Option<Instant>,
    ) -> Result<Report, String> {
        let prepared = self.prepared;
        let layer = prepared.network.layers().len() + 2;
        let objective = Objective::Formula {
            formula: each.departure.formula(Input::First, layer),
            inputs: Inputs::One,
        };
        let start = each.x.as_slice();
        let origin = Origin {
            root: each.root,
            starts: &[each.root, start],
        };
        let goal = Goal {
            network: &prepared.network,
            objectives: &[&[objective]],
            origins: &[origin],
            space: &prepared.space,
            means: self.means,
            margin: Margin::default(),
            rng_seed: prepared.settings.rng_seed,
        };
        let budget = Budget {
            passes: Some(passes),
            deadline,
            cancel: self.limits.interrupt,
            ..Budget::default()
        };
        let mut reason = String::new();
        for engine in ENGINES.iter().filter_map(|name| named(name)) {
            match engine.supports(&goal) {
                Ok(()) => return Ok(engine.search(&goal, &budget)),
                Err(why) => reason = why.to_string(),
            }
        }
        Err(format!(
            "nearest adversarial inputs: no engine looks for nearer ones ({reason}), and the suite's stand"
        ))
    }

    /// Takes an input if it is nearer and a test that may be made.
    fn improve(&self, each: &mut Attacked<'_>, x: Vec<f32>) {
        let space = &self.prepared.space;
        let is_nearer = space.distance(&x, each.root) < space.distance(&each.x, each.root);
        if is_nearer && space.violation(&x, each.root).is_none() {
            each.x = x;
        }
    }

    /// Proves how near an adversarial input can be, the nearest first, until time is up.
    fn bound(&self, found: &mut [Attacked<'a>]) {
        let prepared = self.prepared;
        for each in found.iter_mut().filter(|each| each.is_exact) {
            if self.is_over() {
                break;
            }
            let question = SeedAnswer {
                network: &prepared.network,
                model: &prepared.digest,
                space: &prepared.space,
                root: each.root,
                departure: &each.departure,
            };
            let certified = question.certified_distance(&each.x, self.limits.deadline);
            each.bound = certified.bound;
            if let Some(x) = certified.nearer {
                self.improve(each, x);
            }
        }
    }

    /// Runs every input again and has the oracle judge it; where it does not call one adversarial, the suite's own test
    /// stands instead.
    fn table(
        &self,
        mut found: Vec<Attacked<'a>>,
        done: &mut NearestAdversarial,
    ) -> Result<(), Error> {
        let space = &self.prepared.space;
        let roots: Vec<i64> = found.iter().map(|each| each.number).collect();
        let inputs = |found: &[Attacked<'_>]| -> Vec<f32> {
            found.iter().flat_map(|each| &each.x).copied().collect()
        };
        let mut judged = self.judge(&inputs(&found), &roots)?;
        let is_adversarial = |j: &Judgement| j.verdict == Verdict::Adversarial;
        if !judged.judgements.iter().all(is_adversarial) {
            for (each, judgement) in found.iter_mut().zip(&judged.judgements) {
                if !is_adversarial(judgement) {
                    each.x = self.test(each.test).to_vec();
                }
            }
            judged = self.judge(&inputs(&found), &roots)?;
        }
        let table = &mut done.table;
        table.x = inputs(&found);
        table.root = roots;
        for each in found {
            let distance = space.distance(&each.x, each.root);
            table.distance.push(distance);
            table.test.push(each.test as i64);
            // Rounding of an execution can do what real numbers cannot; then nothing is claimed.
            let bound = each.bound.filter(|(bound, _)| *bound <= distance);
            let number = bound.as_ref().map(|_| done.certificates.len() as i64);
            table
                .bound
                .push(bound.as_ref().map_or(f64::NAN, |(b, _)| *b));
            table.certificate.push(number.unwrap_or(-1));
            done.certificates.extend(bound.map(|(_, bytes)| bytes));
        }
        enter(table, &judged);
        let prepared = self.prepared;
        table.confidence = confidences(&prepared.network, &prepared.decision, &table.x);
        Ok(())
    }
}

/// Enters what the network and the oracle say of the inputs of a table.
pub fn enter(table: &mut NearestAdversarialTable, judged: &JudgedInputs) {
    let predictions = &judged.predictions;
    table.label = predictions.iter().map(Prediction::label).collect();
    let values = predictions.iter().flat_map(Prediction::values);
    table.output = values.copied().collect();
    table.classes.clear();
    table.quantities.clear();
    for judgement in &judged.judgements {
        match &judgement.truth {
            Some(Truth::Class(class)) => table.classes.push(*class),
            Some(Truth::Values(values)) => table.quantities.extend(values),
            None => {}
        }
    }
    let number = |j: &Judgement| j.reference.map_or(-1, |r| r as i64);
    table.reference = judged.judgements.iter().map(number).collect();
    let distances = judged.judgements.iter().map(|j| j.distance);
    table.reference_distance = distances.collect();
}

/// When an input has another answer than a seed with these logits should have, and whether that is just what an oracle
/// calls wrong. None where the seed's own answer is wrong.
fn departure(
    network: &Network,
    decision: &Decision,
    logits: &[f32],
    truth: &Truth,
) -> Option<(Departure, bool)> {
    let own = decision.predict(logits);
    if !decision.agrees(&own, truth) {
        return None;
    }
    match truth {
        // The label of a regression is another number than the network's: what is off by too much from the one
        // need not be from the other.
        Truth::Values(values) if values != own.values() && network.head() == Head::Identity => {
            let wanted: Vec<f32> = values.iter().map(|&value| value as f32).collect();
            Some((decision.departure(&wanted).ok()?, false))
        }
        Truth::Values(values) => Some((
            decision.departure(logits).ok()?,
            values.as_slice() == own.values(),
        )),
        Truth::Class(_) => Some((decision.departure(logits).ok()?, true)),
    }
}
