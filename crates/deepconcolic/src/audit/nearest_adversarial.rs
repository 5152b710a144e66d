//! `nearest-adversarial/`: every input run again and judged again, every lower bound shown by its certificate.

use std::collections::BTreeSet;
use std::fs;

use deepconcolic_campaign::oracle::Verdict;
use deepconcolic_check::{Certificate, Expectation, check_until};
use deepconcolic_criteria::{Prediction, Truth};
use deepconcolic_record::{
    NEAREST_ADVERSARIAL_TABLE, NearestAdversarialTable, SuiteTable, nearest_certificate_name,
};

use super::RunFindings;
use super::beside::{confidence_column, entries, pictures};
use super::left_out::Halt;
use super::opened::Opened;
use super::origins::Origins;
use crate::conclude::certified_distance::{another_answer, is_provable, region_round};
use crate::conclude::confidence::confidences;
use crate::conclude::nearest_adversarial::{JudgedInputs, attacked_seeds, enter, predictions};
use crate::error::Error;
use crate::folder;
use crate::oracle::Court;

const FOLDER: &str = folder::NEAREST_ADVERSARIAL;

/// The table as it should be; none where the run does not have one.
pub fn judge(
    opened: &Opened,
    suite: &SuiteTable,
    origins: &Origins,
    report: &mut RunFindings,
) -> Result<Option<NearestAdversarialTable>, Halt> {
    let dir = opened.dir.join(FOLDER);
    if !dir.is_dir() {
        let asked = opened.summary.nearest_adversarial.is_some();
        return Ok(asked.then(NearestAdversarialTable::default));
    }
    let mut names = entries(&dir)?;
    let file = |name: &str| format!("{FOLDER}/{name}");
    let elements = opened.network.input_elements();
    if !names.remove(NEAREST_ADVERSARIAL_TABLE) {
        let table = file(NEAREST_ADVERSARIAL_TABLE);
        report.differs(&table, "file", "nothing", "nearest adversarial inputs");
        return Ok(Some(NearestAdversarialTable::default()));
    }
    let claimed = NearestAdversarialTable::read(&dir.join(NEAREST_ADVERSARIAL_TABLE), elements)
        .map_err(Error::from)?;
    let row = Rows {
        opened,
        suite,
        claimed: &claimed,
    };
    let found = row.found(origins, report)?;
    row.compare(&found, report);
    let certified = row.bounds(&mut names, report)?;
    let shape = opened.network.input_shape().without_batch().to_vec();
    let drawn = found.draw(&dir, &shape, &opened.space.domain);
    let drawn = drawn.map_err(Error::from)?;
    pictures(opened, FOLDER, names, &drawn, report)?;
    report.done.push(format!(
        "{} nearest adversarial inputs run again; {certified} certificates of how near one can be judged",
        found.len()
    ));
    report.unverified.push(format!(
        "{FOLDER}: that no nearer adversarial input is known, and that time was up for the seeds without one"
    ));
    Ok(Some(found))
}

/// The name of the table, for findings.
fn table() -> String {
    format!("{FOLDER}/{NEAREST_ADVERSARIAL_TABLE}")
}

struct Rows<'a> {
    opened: &'a Opened,
    suite: &'a SuiteTable,
    claimed: &'a NearestAdversarialTable,
}

impl<'a> Rows<'a> {
    fn input(&self, row: usize) -> &'a [f32] {
        self.claimed
            .input(row, self.opened.network.input_elements())
    }

    /// The seed of a row, if it is one of the run.
    fn root(&self, row: usize) -> Option<&'a [f32]> {
        let seeds = &self.opened.settings.seeds;
        let is_root = |&seed: &usize| seed as i64 == self.claimed.root[row];
        let number = seeds.iter().position(is_root)?;
        Some(self.opened.seeds.input(number))
    }

    /// Everything that can be computed from inputs and seeds.
    fn found(
        &self,
        origins: &Origins,
        report: &mut RunFindings,
    ) -> Result<NearestAdversarialTable, Error> {
        let Opened {
            network,
            decision,
            settings,
            space,
            ..
        } = self.opened;
        let claimed = self.claimed;
        let mut found = claimed.clone();
        let attacked = attacked_seeds(self.suite);
        for row in 0..claimed.len() {
            if let Some(root) = self.root(row) {
                found.distance[row] = space.distance(self.input(row), root);
            }
            let test = attacked.get(&claimed.root[row]);
            found.test[row] = test.map_or(-1, |&test| test as i64);
        }
        let predictions = predictions(network, decision, &claimed.x);
        found.confidence = confidences(network, decision, &claimed.x);
        let verdicts: Vec<Verdict> = if let Some(references) = &origins.references {
            let court = Court {
                settings,
                network,
                space,
                decision,
            };
            let roots = claimed.root.iter().map(|&root| usize::try_from(root).ok());
            let judgements = court.judge(references, &claimed.x, &predictions, roots)?;
            let judged = JudgedInputs {
                predictions,
                judgements,
            };
            enter(&mut found, &judged);
            judged.judgements.iter().map(|j| j.verdict).collect()
        } else {
            found.label = predictions.iter().map(Prediction::label).collect();
            let values = predictions.iter().flat_map(Prediction::values);
            found.output = values.copied().collect();
            let each = predictions.iter().enumerate();
            each.map(|(row, prediction)| {
                let agrees = truth(claimed, row).map(|truth| decision.agrees(prediction, &truth));
                let distance = claimed.reference_distance[row];
                let radius = settings.adversarial_radius;
                settings.oracle.verdict(distance, radius, agrees)
            })
            .collect()
        };
        for (row, verdict) in verdicts.into_iter().enumerate() {
            if verdict != Verdict::Adversarial {
                let field = format!("x[{row}]");
                report.differs(&table(), field, "adversarial", format!("{verdict:?}"));
            }
        }
        Ok(found)
    }

    /// Every column beside what was computed, and where inputs lie.
    fn compare(&self, found: &NearestAdversarialTable, report: &mut RunFindings) {
        let (claimed, file) = (self.claimed, table());
        if !claimed.root.is_sorted_by(|a, b| a < b) {
            report.differs(&file, "root", "seeds in order", "another order");
        }
        for row in 0..claimed.len() {
            let field = |column: &str| format!("{column}[{row}]");
            let Some(root) = self.root(row) else {
                report.differs(
                    &file,
                    field("root"),
                    claimed.root[row],
                    "no seed of the run",
                );
                continue;
            };
            if let Some(why) = self.opened.space.violation(self.input(row), root) {
                report.differs(&file, field("x"), "an input of the region", why);
            }
            let (test, known) = (found.test[row], found.distance[row]);
            let of_suite = usize::try_from(test)
                .ok()
                .and_then(|t| self.suite.distance.get(t));
            if of_suite.is_some_and(|suite| known as f32 > *suite) {
                report.differs(&file, field("distance"), "no more than the suite's", known);
            }
            report.compare(&file, field("test"), claimed.test[row], test);
            report.compare(&file, field("label"), claimed.label[row], found.label[row]);
            let (a, b) = (claimed.reference[row], found.reference[row]);
            report.compare(&file, field("reference"), a, b);
        }
        confidence_column(&file, &claimed.confidence, &found.confidence, report);
        let classes = |table: &NearestAdversarialTable| -> Vec<f64> {
            table.classes.iter().map(|&class| class as f64).collect()
        };
        let columns = [
            ("distance", &claimed.distance, &found.distance),
            ("y", &classes(claimed), &classes(found)),
            ("y", &claimed.quantities, &found.quantities),
            ("output", &claimed.output, &found.output),
            (
                "reference_distance",
                &claimed.reference_distance,
                &found.reference_distance,
            ),
        ];
        for (column, claimed, found) in columns {
            super::tests::numbers(&file, column, claimed, found, report);
        }
    }

    /// Judges the certificate of every lower bound; the names of those files are taken out. Says how many hold.
    fn bounds(
        &self,
        names: &mut BTreeSet<String>,
        report: &mut RunFindings,
    ) -> Result<usize, Halt> {
        let (claimed, file) = (self.claimed, table());
        let mut next = 0;
        let mut hold = 0;
        for row in 0..claimed.len() {
            let field = |column: &str| format!("{column}[{row}]");
            let (bound, number) = (claimed.bound[row], claimed.certificate[row]);
            if bound.is_nan() {
                if number != -1 {
                    report.differs(&file, field("certificate"), number, "no bound");
                }
                continue;
            }
            if number != next {
                report.differs(&file, field("certificate"), number, next);
            }
            let name = nearest_certificate_name(usize::try_from(next).unwrap_or_default());
            next += 1;
            if !names.remove(&name) {
                report.differs(
                    &format!("{FOLDER}/{name}"),
                    "file",
                    "nothing",
                    "a certificate",
                );
                continue;
            }
            if bound > claimed.distance[row] {
                let at = format!("an adversarial input at {}", claimed.distance[row]);
                report.differs(&file, field("bound"), bound, at);
            }
            let certified = self.certified(row, &name);
            self.opened.in_time()?;
            match certified {
                Ok(()) => hold += 1,
                Err(why) => report.differs(&file, field("bound"), bound, why),
            }
        }
        Ok(hold)
    }

    /// Whether a certificate shows the bound of a row, or why not.
    fn certified(&self, row: usize, name: &str) -> Result<(), String> {
        let Opened {
            network,
            decision,
            space,
            digest,
            dir,
            ..
        } = self.opened;
        if !is_provable(space.norm) {
            return Err("a norm that proofs say nothing of".into());
        }
        let root = self.root(row).ok_or("no seed of the run")?;
        let departure = decision.departure(&network.logits(root))?;
        let bound = self.claimed.bound[row];
        let region = region_round(space, root, bound).ok_or("no input that near")?;
        let requirement = another_answer(network, &departure).to_string();
        let expectation = Expectation {
            model: digest,
            regions: Some(&[region]),
            requirements: Some(&[requirement]),
        };
        let bytes = fs::read(dir.join(FOLDER).join(name)).map_err(|e| e.to_string())?;
        let judged = Certificate::from_bytes(&bytes, network).and_then(|certificate| {
            check_until(network, &certificate, &expectation, self.opened.until())
        });
        judged.map(|_| ()).map_err(|why| format!("rejected: {why}"))
    }
}

/// What an input should be answered with, as the table has it.
fn truth(table: &NearestAdversarialTable, row: usize) -> Option<Truth> {
    if table.output.is_empty() {
        return table.classes.get(row).map(|&class| Truth::Class(class));
    }
    let outputs = table.output.len() / table.len().max(1);
    let values = table.quantities.get(row * outputs..(row + 1) * outputs)?;
    Some(Truth::Values(values.to_vec()))
}
