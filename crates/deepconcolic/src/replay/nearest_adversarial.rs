//! The nearest adversarial inputs of a saved run, run again on a model and judged again.

use std::path::Path;

use deepconcolic_campaign::oracle::Verdict;
use deepconcolic_dataset::Samples;
use deepconcolic_record::{NEAREST_ADVERSARIAL_TABLE, NearestAdversarialTable};

use super::ReplayReport;
use super::renumbering::Renumbering;
use crate::conclude::nearest_adversarial::predictions;
use crate::error::Error;
use crate::folder;
use crate::oracle::Court;

/// How many are still adversarial; that some are not is a finding. Nothing where the run has none.
pub fn compare(
    run: &Path,
    renumbering: &Renumbering,
    court: &Court<'_>,
    references: &Samples,
) -> Result<ReplayReport, Error> {
    let mut report = ReplayReport::default();
    let path = run
        .join(folder::NEAREST_ADVERSARIAL)
        .join(NEAREST_ADVERSARIAL_TABLE);
    if !path.exists() {
        return Ok(report);
    }
    let elements = court.network.input_elements();
    let table = NearestAdversarialTable::read(&path, elements)?;
    let x = renumbering.inputs(table.x, elements);
    let predictions = predictions(court.network, court.decision, &x);
    let roots = table.root.iter().map(|&root| usize::try_from(root).ok());
    let judged = court.judge(references, &x, &predictions, roots)?;
    let is_adversarial = |row: &usize| judged[*row].verdict == Verdict::Adversarial;
    let (bad, others): (Vec<usize>, Vec<usize>) = (0..judged.len()).partition(is_adversarial);
    report.lines.push(format!(
        "nearest adversarial inputs {} then, {} adversarial now",
        judged.len(),
        bad.len()
    ));
    if let Some(first) = others.first() {
        report.findings.push(format!(
            "{} nearest adversarial inputs are not adversarial, row {first} the first",
            others.len()
        ));
    }
    Ok(report)
}
