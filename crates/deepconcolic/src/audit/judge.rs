//! The whole audit, one part after the other.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use deepconcolic_record::{JOURNAL, LOCK, Summary};

use super::left_out::{Ahead, Halt, Part};
use super::opened::Opened;
use super::other_files::OtherFiles;
use super::{
    RunFindings, beside, certificates, figures, nearest_adversarial, origins, rows, slopes, tests,
};
use crate::conclude::figures::{ConclusionInputs, conclude, parts_of};
use crate::conclude::statement::{Page, text, verdicts};
use crate::error::Error;
use crate::folder::{kept, region_file};
use crate::tables::Table;
use crate::{folder, two_inputs};

/// What lies beside the suite.
const BESIDE: [&str; 7] = [
    folder::NEURONS,
    folder::ADVERSARIAL,
    folder::NEAREST,
    folder::NEAREST_ADVERSARIAL,
    folder::PROFILE,
    folder::SLOPES,
    JOURNAL,
];

/// The pictures of a report, which knows itself what they are called.
const PICTURES: &str = "pictures";

/// Judges the folder of a run, with the model that it names or the file given instead, as far as there is time.
pub fn judge(
    dir: &Path,
    model: Option<&Path>,
    deadline: Option<Instant>,
) -> Result<RunFindings, Error> {
    let opened = Opened::new(dir, model, deadline)?;
    let mut report = RunFindings {
        scope: scope(&opened),
        other_files: other_files(&opened)?,
        ..RunFindings::default()
    };
    let mut ahead = ahead(&opened)?;
    match parts(&opened, &mut ahead, &mut report) {
        Ok(()) => Ok(report),
        Err(Halt::Late) => {
            report.left_out = ahead.left_out();
            Ok(report)
        }
        Err(Halt::Failed(error)) => Err(error),
    }
}

/// All parts of a folder, and how much there is of each.
fn ahead(opened: &Opened) -> Result<Ahead, Error> {
    let beside = BESIDE.map(|name| usize::from(opened.dir.join(name).exists()));
    Ok(Ahead::of([
        (Part::Seeds, opened.seeds.len()),
        (Part::Certificates, certificates::files(&opened.dir)?.len()),
        (Part::Rows, opened.table.state.len()),
        (Part::Tests, opened.suite.len()),
        (Part::Beside, beside.iter().sum()),
        (Part::Figures, 2),
    ]))
}

/// Judges part by part.
fn parts(opened: &Opened, ahead: &mut Ahead, report: &mut RunFindings) -> Result<(), Halt> {
    let origins = origins::judge(opened, report)?;
    ahead.done(Part::Seeds);
    tests::places(opened, report)?;
    let proofs = certificates::judge(opened, ahead, report)?;
    ahead.done(Part::Certificates);
    let Some((audit, table)) = rows::judge(opened, &proofs, report)? else {
        // Without knowing what the suite shows, no figure can be computed.
        return Ok(());
    };
    ahead.done(Part::Rows);
    let suite = tests::columns(opened, &audit, &origins, report)?;
    ahead.done(Part::Tests);
    beside::criteria(opened, report);
    beside::neurons(opened, &audit, report);
    beside::adversarial(opened, &suite, report)?;
    beside::nearest(opened, &suite, report)?;
    let nearest = nearest_adversarial::judge(opened, &suite, &origins, report)?;
    beside::profile(opened, &origins, report)?;
    beside::journal(opened, report);
    let steep = slopes::judge(opened, &proofs.slopes, report)?;
    slopes::table(opened, &steep, report)?;
    ahead.done(Part::Beside);
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
    let record = figures::record(opened, &origins, &steep, report)?;
    let found: Summary = conclude(&facts, record);
    figures::compare(opened, &found, report)?;
    let page = Page {
        summary: &found,
        settings: &opened.settings,
        space: &opened.space,
        verdicts: verdicts(opened.family.as_ref(), &table, &opened.settings),
    };
    figures::page(&opened.dir.join(folder::STATEMENT), &text(&page), report)?;
    let tests = suite.len();
    let shown = shown(&found);
    report
        .done
        .push(format!("{tests} tests run again: {shown}"));
    Ok(())
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

/// What is in the folder and no part of this check looks at. Nothing but the report is known elsewhere.
fn other_files(opened: &Opened) -> Result<OtherFiles, Error> {
    let mut known: BTreeSet<String> = BESIDE.map(str::to_owned).into();
    known.extend(
        [
            folder::SUMMARY,
            folder::SUITE,
            folder::REQUIREMENTS,
            folder::STATEMENT,
            LOCK,
        ]
        .map(str::to_owned),
    );
    known.extend(region_file::NAMES.map(str::to_owned));
    let criteria = parts_of(&opened.settings, opened.family.as_ref());
    known.extend(
        criteria
            .into_iter()
            .map(|(name, _)| folder::requirements_of(&name)),
    );
    known.extend(kept::names(&opened.settings));
    // Whatever else is in these two is a finding.
    let whole = [folder::ADVERSARIAL, folder::NEAREST_ADVERSARIAL].map(|name| format!("{name}/"));
    let is_certificate = |name: &str| {
        certificates::is_one(Path::new(name)) && name.starts_with(folder::CERTIFICATES)
    };
    let all = OtherFiles::of(&opened.dir, &[folder::CERTIFICATES, PICTURES])?;
    Ok(all.without(|name| {
        known.contains(name) || whole.iter().any(|known| known == name) || is_certificate(name)
    }))
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
