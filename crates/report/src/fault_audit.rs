//! What an audit saw, as a page of Markdown that can also be read in a terminal.

use std::io::{self, Write};
use std::path::Path;

use deepconcolic::{
    AuditReport, AuditVerdict, Comparison, Difference, Error, FAULT_KINDS, FaultKind, SuiteReport,
};

use crate::{Text, json, write_file};

/// Writes `audit.json` and `audit.md` into a folder.
pub fn write(folder: &Path, report: &AuditReport) -> Result<(), Error> {
    write_file(&folder.join("audit.json"), |out| json(report, out))?;
    write_file(&folder.join("audit.md"), |out| report.text(out))
}

impl Text for AuditReport {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        heading(self, out)?;
        conclusions(self, out)?;
        suites(self, out)?;
        kinds(self, out)?;
        faults(self, out)?;
        caveats(self, out)
    }
}

fn heading(report: &AuditReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "# Which suites find which faults of {}\n",
        report.model
    )?;
    writeln!(
        out,
        "{} faults, one to a copy of the model; suites of up to {} tests from {} seeds of {}, {}; decision {}; seed of \
         the random numbers {}; {:.1} s.\n",
        report.faults.len(),
        report.tests,
        report.seeds,
        report.data,
        report.region,
        report.decision,
        report.rng_seed,
        report.time_s
    )?;
    writeln!(
        out,
        "A suite finds a fault when the answer to at least one of its tests differs between the model and the copy with \
         the fault. Which of the two answers is right is not asked.\n"
    )
}

/// A line for each criterion: what it found, beside as many random tests.
fn conclusions(report: &AuditReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "## What was seen\n")?;
    let count = report.faults.len();
    for suite in report
        .suites
        .iter()
        .filter(|suite| suite.coverage.is_some())
    {
        let Some(beside) = &suite.beside_random else {
            writeln!(
                out,
                "- {}: no tests were made, so that there is nothing to compare.",
                suite.name
            )?;
            continue;
        };
        writeln!(
            out,
            "- {}: {} of {count} faults found, by {} random tests {}: {} Of its tests {} differ, {}",
            suite.name,
            suite.found,
            beside.tests,
            beside.found_by_other,
            verdict(&beside.found, "finds"),
            percent(suite.differing_share),
            verdict(&beside.differing, "differs")
        )?;
    }
    for missed in &report.cut {
        writeln!(
            out,
            "- Cut by time: {missed}. The figures hold for what is left."
        )?;
    }
    writeln!(out)
}

fn verdict(difference: &Difference, what: &str) -> String {
    let words = match (difference.verdict, what) {
        (AuditVerdict::Better, "finds") => "better than random of equal size",
        (AuditVerdict::NoBetter, "finds") => "no better than random of equal size",
        (AuditVerdict::Worse, "finds") => "worse than random of equal size",
        (AuditVerdict::Better, _) => "more than of random tests",
        (AuditVerdict::NoBetter, _) => "no clear difference to random tests",
        (AuditVerdict::Worse, _) => "less than of random tests",
        (AuditVerdict::TooFewTests, "finds") => "too few tests to say more",
        (AuditVerdict::TooFewTests, _) => "too few tests to compare",
    };
    format!("{words} ({}).", points(difference))
}

fn suites(report: &AuditReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "## Suites\n")?;
    writeln!(
        out,
        "| suite | tests | covered | faults found | 95 % interval | tests that differ | faults found less random's | less gradient's |"
    )?;
    writeln!(out, "|---|--:|--:|--:|--:|--:|--:|--:|")?;
    for suite in &report.suites {
        let covered = suite.coverage.map_or_else(
            || "-".to_owned(),
            |[covered, total]| percent(covered as f64 / total.max(1) as f64),
        );
        let [low, high] = suite.found_interval;
        writeln!(
            out,
            "| {} | {} | {covered} | {} of {} | {} to {} | {} | {} | {} |",
            suite.name,
            suite.tests,
            suite.found,
            report.faults.len(),
            percent(low),
            percent(high),
            percent(suite.differing_share),
            beside(suite.beside_random.as_ref()),
            beside(suite.beside_gradient.as_ref())
        )?;
    }
    writeln!(out)?;
    for suite in &report.suites {
        writeln!(out, "- {}: {}.", suite.name, suite.what)?;
    }
    writeln!(
        out,
        "\nDifferences are of shares of faults, each suite beside the first tests of the other, as many as it has itself; in \
         brackets the interval of 95 % by the bootstrap over faults.\n"
    )
}

fn beside(comparison: Option<&Comparison>) -> String {
    comparison.map_or_else(|| "-".to_owned(), |comparison| points(&comparison.found))
}

/// How many faults of each kind each suite found.
fn kinds(report: &AuditReport, out: &mut dyn Write) -> io::Result<()> {
    let there = |kind: &FaultKind| report.faults.iter().any(|fault| fault.kind == *kind);
    let kinds: Vec<FaultKind> = FAULT_KINDS.into_iter().filter(there).collect();
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    writeln!(out, "## Faults found, by kind\n")?;
    writeln!(out, "| suite | {} |", names.join(" | "))?;
    writeln!(out, "|---|{}", "--:|".repeat(kinds.len()))?;
    for suite in &report.suites {
        let cells: Vec<String> = kinds
            .iter()
            .map(|kind| of_kind(report, suite, *kind))
            .collect();
        writeln!(out, "| {} | {} |", suite.name, cells.join(" | "))?;
    }
    writeln!(out)
}

fn of_kind(report: &AuditReport, suite: &SuiteReport, kind: FaultKind) -> String {
    let faults = report.faults.iter().zip(&suite.differing);
    let of_kind: Vec<usize> = faults
        .filter(|(fault, _)| fault.kind == kind)
        .map(|(_, &tests)| tests)
        .collect();
    let found = of_kind.iter().filter(|&&tests| tests > 0).count();
    format!("{found} of {}", of_kind.len())
}

fn faults(report: &AuditReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "## Faults\n")?;
    writeln!(
        out,
        "| | kind | what was done | samples that show it | found by |"
    )?;
    writeln!(out, "|--:|---|---|--:|---|")?;
    for (at, fault) in report.faults.iter().enumerate() {
        let finders = report.suites.iter().filter(|suite| suite.differing[at] > 0);
        let finders: Vec<&str> = finders.map(|suite| suite.name.as_str()).collect();
        let planted = fault.planted.map_or_else(String::new, |[before, after]| {
            format!(
                " ({} of the inputs meant for it get there, {} before)",
                percent(after),
                percent(before)
            )
        });
        writeln!(
            out,
            "| {} | {} | {}{planted} | {} of {} | {} |",
            fault.number,
            fault.kind.name(),
            fault.what,
            fault.shown_by_samples,
            report.samples,
            if finders.is_empty() {
                "none".to_owned()
            } else {
                finders.join(", ")
            }
        )?;
    }
    writeln!(out)
}

fn caveats(report: &AuditReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "## What this does not say\n")?;
    let missed = report.found_by_none();
    if missed > 0 {
        writeln!(
            out,
            "- No suite found {missed} of the faults. Whether any input shows those is not known."
        )?;
    }
    writeln!(
        out,
        "- Faults in weights were drawn until at least one sample of the data shows them and at most a twentieth does, where ten \
         drawings were enough. The suite `data` holds such samples, so that it is no neutral control.\n\
         - The intervals are over faults like these. There is one suite of each name; another seed of the random numbers makes \
         others.\n\
         - Suites of criteria are the tests that were added to the seeds, the first ones where there are more. A criterion that needs \
         few tests has a small suite, and is compared at that size."
    )?;
    for note in &report.notes {
        writeln!(out, "- {}.", capital(note))?;
    }
    Ok(())
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn points(difference: &Difference) -> String {
    let [low, high] = difference.interval;
    format!(
        "{:+.1} points, {:+.1} to {:+.1}",
        100.0 * difference.mean,
        100.0 * low,
        100.0 * high
    )
}
