//! What `check` found, for people.

use std::collections::BTreeMap;
use std::io::{self, Write};

use deepconcolic::{AnswerFindings, CheckReport, LeftOut, OtherFiles, RunFindings};

use crate::Text;

/// Findings shown of each file.
const SHOWN: usize = 10;

impl Text for CheckReport {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Run(report) => run(out, report),
            Self::Answer(findings) => answer(out, findings),
        }
    }
}

fn answer(out: &mut dyn Write, findings: &AnswerFindings) -> io::Result<()> {
    writeln!(out, "verdict: {}", findings.verdict)?;
    for note in &findings.notes {
        writeln!(out, "note: {note}")?;
    }
    for line in &findings.holds {
        writeln!(out, "{line}")?;
    }
    for line in &findings.wrong {
        writeln!(out, "wrong: {line}")?;
    }
    unseen(out, &findings.other_files, &findings.left_out)?;
    writeln!(out, "not verified: {}", findings.not_verified.join("; "))
}

/// What was not looked at: files that are nobody's, and what there was no time for.
fn unseen(out: &mut dyn Write, others: &OtherFiles, left_out: &[LeftOut]) -> io::Result<()> {
    if !others.is_empty() {
        let first = others.first();
        let more = match others.len() - first.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let (count, first) = (others.len(), first.join(", "));
        writeln!(
            out,
            "not looked at: {count} in the folder that this check has no use for: {first}{more}"
        )?;
    }
    for LeftOut { what, count } in left_out {
        writeln!(out, "time was up: not checked: {count} {what}")?;
    }
    Ok(())
}

fn run(out: &mut dyn Write, report: &RunFindings) -> io::Result<()> {
    for line in &report.scope {
        writeln!(out, "scope: {line}")?;
    }
    for line in &report.done {
        writeln!(out, "{line}")?;
    }
    let mut shown: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in &report.findings {
        let count = shown.entry(&finding.file).or_default();
        *count += 1;
        if *count <= SHOWN {
            writeln!(out, "differs: {finding}")?;
        }
    }
    for (file, count) in shown.iter().filter(|(_, count)| **count > SHOWN) {
        writeln!(out, "and {} more in {file}", count - SHOWN)?;
    }
    for line in &report.unverified {
        writeln!(out, "not verified: {line}")?;
    }
    unseen(out, &report.other_files, &report.left_out)?;
    match report.findings.len() {
        0 if !report.left_out.is_empty() => writeln!(
            out,
            "not everything that the folder says was checked; nothing else is wrong"
        ),
        0 => writeln!(out, "everything else that the folder says holds"),
        count => writeln!(out, "{count} findings: the folder says what is not so"),
    }
}
