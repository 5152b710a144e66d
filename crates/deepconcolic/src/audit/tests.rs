//! `suite.npz`: every column of every test.

use deepconcolic_campaign::oracle::Verdict;
use deepconcolic_check::Audit;
use deepconcolic_criteria::{Prediction, Truth};
use deepconcolic_record::SuiteTable;

use super::RunFindings;
use super::left_out::Halt;
use super::opened::Opened;
use super::origins::Origins;
use crate::folder;
use crate::oracle::Court;

const FILE: &str = folder::SUITE;
/// Tests judged at a time: each time all references are read.
const JUDGED: usize = 4096;

/// Where tests come from and lie: seeds first, each other one made from an earlier test round the same
/// seed, in the domain, the region, on the grid and similar enough.
pub fn places(opened: &Opened, report: &mut RunFindings) -> Result<(), Halt> {
    let Opened {
        suite,
        settings,
        seeds,
        space,
        ..
    } = opened;
    for test in 0..suite.len() {
        opened.in_time()?;
        let field = |column: &str| format!("{column}[{test}]");
        for misfit in suite.provenance.misfits(test, &settings.seeds) {
            report.differs(FILE, field(misfit.column), misfit.claimed, misfit.found);
        }
        let root = number(opened, suite.provenance.root[test]);
        if let Some(seed) = root.filter(|_| test >= settings.seeds.len())
            && let Some(why) = space.violation(opened.input(test), seeds.input(seed))
        {
            report.differs(FILE, field("x"), "a test of the run", why);
        }
    }
    report.unverified.push(
        "suite.npz: which earlier test round the same seed each test was made from, and by which stage \
         (parent, stage); that an input is the one the run made, beyond all that is said of it (x)"
            .into(),
    );
    Ok(())
}

/// The number of the seed with this index in the data.
fn number(opened: &Opened, root: i64) -> Option<usize> {
    let is_root = |&seed: &usize| seed as i64 == root;
    opened.settings.seeds.iter().position(is_root)
}

/// The suite with everything computed that can be: distances, labels, references and verdicts.
pub fn columns(
    opened: &Opened,
    audit: &Audit,
    origins: &Origins,
    report: &mut RunFindings,
) -> Result<SuiteTable, Halt> {
    let Opened {
        suite,
        seeds,
        space,
        ..
    } = opened;
    let mut found = suite.clone();
    for test in 0..suite.len() {
        let seed = number(opened, suite.provenance.root[test]);
        let distance = seed.map(|s| space.distance(opened.input(test), seeds.input(s)));
        // What differs in a fixed feature has no distance; that it does is a finding of `places`.
        if let Some(distance) = distance.filter(|distance| distance.is_finite()) {
            found.distance[test] = distance as f32;
        }
    }
    let predictions = &audit.predictions;
    found.label = predictions.iter().map(Prediction::label).collect();
    found.output = predictions
        .iter()
        .flat_map(Prediction::values)
        .copied()
        .collect();
    references(opened, audit, origins, &mut found)?;
    for test in 0..suite.len() {
        let field = |column: &str| format!("{column}[{test}]");
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits();
        let (a, b) = (suite.distance[test], found.distance[test]);
        if a.to_bits() != b.to_bits() {
            report.differs(FILE, field("distance"), a, b);
        }
        report.compare(FILE, field("label"), suite.label[test], found.label[test]);
        let (a, b) = (suite.reference[test], found.reference[test]);
        report.compare(FILE, field("reference"), a, b);
        let (a, b) = (suite.reference_label[test], found.reference_label[test]);
        report.compare(FILE, field("reference_label"), a, b);
        let (a, b) = (
            suite.reference_distance[test],
            found.reference_distance[test],
        );
        if !same(a, b) {
            report.differs(FILE, field("reference_distance"), a, b);
        }
        report.compare(
            FILE,
            field("verdict"),
            suite.verdict[test],
            found.verdict[test],
        );
    }
    numbers(FILE, "output", &suite.output, &found.output, report);
    let (claimed, is) = (&suite.reference_output, &found.reference_output);
    numbers(FILE, "reference_output", claimed, is, report);
    Ok(found)
}

/// Two lists of numbers, element by element.
pub fn numbers(file: &str, column: &str, claimed: &[f64], found: &[f64], report: &mut RunFindings) {
    let differs = |&at: &usize| claimed[at].to_bits() != found[at].to_bits();
    if claimed.len() != found.len() {
        let claimed = format!("{} numbers", claimed.len());
        report.differs(file, column, claimed, found.len());
    } else if let Some(at) = (0..found.len()).find(differs) {
        report.differs(file, format!("{column}[{at}]"), claimed[at], found[at]);
    }
}

/// References and verdicts: through the oracle where the reference data are there, else by the distances and
/// labels that the suite has.
fn references(
    opened: &Opened,
    audit: &Audit,
    origins: &Origins,
    found: &mut SuiteTable,
) -> Result<(), Halt> {
    let Opened {
        settings,
        network,
        space,
        decision,
        ..
    } = opened;
    let radius = settings.adversarial_radius;
    let Some(references) = &origins.references else {
        for test in 0..found.len() {
            let truth = truth(found, test);
            let same = truth.map(|truth| decision.agrees(&audit.predictions[test], &truth));
            found.verdict[test] = if decision.rule().is_some() {
                settings
                    .oracle
                    .verdict(found.reference_distance[test], radius, same) as u8
            } else {
                Verdict::NotJudged as u8
            };
        }
        return Ok(());
    };
    let court = Court {
        settings,
        network,
        space,
        decision,
    };
    let elements = network.input_elements();
    let roots: Vec<Option<usize>> = found.provenance.roots().collect();
    let mut judged = Vec::with_capacity(found.len());
    for first in (0..found.len()).step_by(JUDGED) {
        opened.in_time()?;
        let next = (first + JUDGED).min(found.len());
        let x = &found.x[first * elements..next * elements];
        let predictions = &audit.predictions[first..next];
        let roots = roots[first..next].iter().copied();
        judged.extend(court.judge(references, x, predictions, roots)?);
    }
    found.judge(&judged);
    Ok(())
}

/// What a test should be answered with, as the suite has it.
fn truth(suite: &SuiteTable, test: usize) -> Option<Truth> {
    let outputs = suite.outputs();
    if outputs > 0 {
        let values = &suite.reference_output[test * outputs..(test + 1) * outputs];
        let known = values.iter().all(|value| !value.is_nan());
        return known.then(|| Truth::Values(values.to_vec()));
    }
    let class = suite.reference_label[test];
    // -1 also stands for none, which only a verdict that was not reached goes with.
    let none = class < 0 && suite.verdict[test] == Verdict::NotJudged as u8;
    (!none).then_some(Truth::Class(class))
}
