//! The whole audit, one part after the other.

use std::path::Path;

use deepconcolic_record::Summary;

use super::opened::Opened;
use super::{
    RunFindings, beside, certificates, figures, nearest_adversarial, origins, rows, slopes, tests,
};
use crate::conclude::figures::{ConclusionInputs, conclude};
use crate::conclude::statement::{Page, text, verdicts};
use crate::error::Error;
use crate::tables::Table;
use crate::{folder, two_inputs};

/// Judges the folder of a run, with the model that it names or the file given instead.
pub fn judge(dir: &Path, model: Option<&Path>) -> Result<RunFindings, Error> {
    let opened = Opened::new(dir, model)?;
    let mut report = RunFindings {
        scope: scope(&opened),
        ..RunFindings::default()
    };
    let origins = origins::judge(&opened, &mut report)?;
    tests::places(&opened, &mut report);
    let proofs = certificates::judge(&opened, &mut report)?;
    let Some((audit, table)) = rows::judge(&opened, &proofs, &mut report) else {
        // Without knowing what the suite shows, no figure can be computed.
        return Ok(report);
    };
    let suite = tests::columns(&opened, &audit, &origins, &mut report)?;
    beside::criteria(&opened, &mut report);
    beside::neurons(&opened, &audit, &mut report);
    beside::adversarial(&opened, &suite, &mut report)?;
    beside::nearest(&opened, &suite, &mut report)?;
    let nearest = nearest_adversarial::judge(&opened, &suite, &origins, &mut report)?;
    beside::profile(&opened, &origins, &mut report)?;
    beside::journal(&opened, &mut report);
    let steep = slopes::judge(&opened, &proofs.slopes, &mut report);
    slopes::table(&opened, &steep, &mut report)?;
    let facts = ConclusionInputs {
        network: &opened.network,
        family: opened.family.as_ref(),
        decision: &opened.decision,
        settings: &opened.settings,
        settings_value: &opened.summary.settings,
        suite: &suite,
        audit: &audit,
        table: &table,
        nearest_adversarial: nearest.as_ref(),
        slopes: &steep,
    };
    let record = figures::record(&opened, &origins, &steep, &mut report)?;
    let found: Summary = conclude(&facts, record);
    figures::compare(&opened, &found, &mut report)?;
    let page = Page {
        summary: &found,
        settings: &opened.settings,
        space: &opened.space,
        verdicts: verdicts(opened.family.as_ref(), &table, &opened.settings),
    };
    figures::page(
        &opened.dir.join(folder::STATEMENT),
        &text(&page),
        &mut report,
    )?;
    let tests = suite.len();
    let shown = shown(&found);
    report
        .done
        .push(format!("{tests} tests run again: {shown}"));
    Ok(report)
}

/// What tests show, goals apart from properties.
fn shown(summary: &Summary) -> String {
    let tables = Table::of_run(summary);
    let part = |table: &Table| {
        format!(
            "of {} {} {} are {} ({} within the margin of rounding)",
            table.all.total,
            table.noun(tables.len() > 1),
            table.all.covered,
            table.polarity.met(),
            table.fragile
        )
    };
    tables.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// What is checked, from what is used for it.
fn scope(opened: &Opened) -> Vec<String> {
    let Opened {
        settings,
        space,
        family,
        seeds,
        ..
    } = opened;
    let what = match &settings.requirements {
        Some(file) => format!("requirements of {}", file.name),
        None => format!(
            "criterion {}",
            settings.criterion.as_deref().unwrap_or_default()
        ),
    };
    let total: usize = family
        .groups()
        .iter()
        .map(deepconcolic_criteria::Group::total)
        .sum();
    let norm = space.norm.name();
    let place = space.place();
    let domain = &settings.domain;
    let ends = match (domain.lower.as_slice(), domain.upper.as_slice()) {
        ([low], [high]) => format!("{low}..{high} for every element"),
        (lower, _) => format!("a range for each of {} elements", lower.len()),
    };
    let mut lines = vec![
        match settings.partition {
            Some(partition) => format!("{what}, part {partition}: {total} requirements"),
            None => format!("{what}: {total} requirements"),
        },
        format!("tests {place}, distances in {norm}; domain {ends}"),
        format!("seeds ({}): {}", seeds.len(), few(&settings.seeds)),
        format!("model of SHA-256 {}", opened.sha256),
    ];
    if let Some(rule) = opened.decision.rule() {
        lines.push(format!("decision {}", rule.words()));
    }
    lines.extend(two_inputs::of_run(family.as_ref(), space));
    if let Some(steps) = space.grid {
        lines.push(format!("values on a grid of {steps} steps"));
    }
    if !settings.features.is_empty() {
        lines.push(settings.features.words(&settings.names));
    }
    if let Some(validity) = &space.validity {
        lines.push(format!(
            "similarity to the seed at least {}",
            validity.least
        ));
    }
    lines
}

/// The first few numbers of a list.
fn few(numbers: &[usize]) -> String {
    const FEW: usize = 8;
    let mut text: Vec<String> = numbers.iter().take(FEW).map(ToString::to_string).collect();
    if numbers.len() > FEW {
        text.push("...".into());
    }
    text.join(", ")
}
