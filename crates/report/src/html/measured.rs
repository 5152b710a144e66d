//! The page of what `coverage --out` measured, and the file it is made from.

use std::fmt::Write as _;
use std::path::Path;

use deepconcolic::{CoverageReport, Error, PropertySummary};
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use super::files::Files;
use super::number::{count, percent, plural, share};
use super::page::{Page, SCRIPT, STYLE, command, whole};
use super::run::line;
use super::summary_md::cell;
use super::svg::{Bar, Meaning, bar_words, bars};

/// The file with the figures.
pub const FILE: &str = "coverage.json";
/// Largest file that is read.
const LARGEST: u64 = 64 << 20;

/// What is written.
#[derive(Serialize)]
struct Written<'a> {
    tool: &'a str,
    command: &'a [String],
    coverage: &'a CoverageReport,
}

/// What is read back.
#[derive(Deserialize)]
struct Measured {
    tool: String,
    command: Vec<String>,
    coverage: Coverage,
}

#[derive(Deserialize)]
struct Coverage {
    samples: usize,
    layout: String,
    domain: String,
    profile: Option<String>,
    accuracy: Option<f64>,
    notes: Vec<String>,
    criteria: Vec<Criterion>,
    requirements: Option<Requirements>,
}

#[derive(Deserialize)]
struct Criterion {
    name: String,
    definition: String,
    total: usize,
    covered: usize,
    properties: Option<PropertySummary>,
    noise: Option<f64>,
    layers: Vec<Layer>,
    #[serde(default)]
    open: Vec<String>,
    #[serde(default)]
    notes: Vec<String>,
}

#[derive(Deserialize)]
struct Layer {
    name: String,
    total: usize,
    covered: usize,
}

#[derive(Deserialize)]
struct Requirements {
    file: String,
    total: usize,
    covered: usize,
    properties: Option<PropertySummary>,
    #[serde(default)]
    open: Vec<String>,
    #[serde(default)]
    refuted: Vec<Refuted>,
}

#[derive(Deserialize)]
struct Refuted {
    requirement: String,
    samples: Vec<usize>,
}

/// The file of a measurement, for a folder that [`write`](super::write) then makes the pages of.
pub fn file(report: &CoverageReport, command: &[String]) -> Result<Files, Error> {
    let written = Written {
        tool: concat!("deepconcolic ", env!("CARGO_PKG_VERSION")),
        command,
        coverage: report,
    };
    let mut json =
        serde_json::to_vec_pretty(&written).map_err(|e| Error::Internal(format!("{FILE}: {e}")))?;
    json.push(b'\n');
    let mut files = Files::default();
    files.add(FILE, json);
    Ok(files)
}

/// Whether a folder holds a measurement.
pub fn is_in(folder: &Path) -> bool {
    folder.join(FILE).is_file()
}

/// The files of its report.
pub fn files(folder: &Path) -> Result<Files, Error> {
    let path = folder.join(FILE);
    let wrong = |why: String| Error::Request(format!("{}: {why}", path.display()));
    let size = std::fs::metadata(&path)
        .map_err(|e| wrong(e.to_string()))?
        .len();
    if size > LARGEST {
        return Err(wrong(format!(
            "{size} bytes are too many; run coverage again"
        )));
    }
    let bytes = std::fs::read(&path).map_err(|e| wrong(e.to_string()))?;
    let measured: Measured =
        serde_json::from_slice(&bytes).map_err(|e| wrong(format!("{e}; run coverage again")))?;
    let page = Page {
        name: "index".into(),
        title: "Coverage".into(),
        listed: true,
        body: body(&measured),
    };
    let mut files = Files::default();
    let listed = [("index".to_owned(), "Coverage".to_owned())];
    files.add("index.html", whole("Coverage of data", &page, &listed));
    files.add("style.css", STYLE);
    files.add("report.js", SCRIPT);
    files.add("summary.md", summary(&measured.coverage));
    Ok(files)
}

fn body(measured: &Measured) -> Markup {
    html! {
        (figures(&measured.coverage))
        section {
            h2 { "Measure it again" }
            p { (command(&line(&measured.command))) }
            p class="small" { (measured.tool) ". Figures: " a href=(FILE) { (FILE) } "." }
        }
    }
}

/// The figures of a report in the form of `coverage --json`, for a page that has nothing else.
pub fn piece(report: &str) -> Result<Markup, Error> {
    let coverage: Coverage = serde_json::from_str(report)
        .map_err(|e| Error::Request(format!("this is no report of coverage: {e}")))?;
    Ok(figures(&coverage))
}

fn figures(coverage: &Coverage) -> Markup {
    html! {
        h1 { "Coverage of data" }
        p class="facts" {
            span { b { (count(coverage.samples)) } " samples" }
            span { (coverage.layout) }
            span { "domain " b { (coverage.domain) } }
            @if let Some(accuracy) = coverage.accuracy { span { "accuracy " b { (share(accuracy)) } } }
            @if let Some(profile) = &coverage.profile { span { "ranges of neurons from " b { (profile) } } }
        }
        p class="headline" { (headline(coverage)) }
        section class="not-claimed" {
            h2 { "What this does not say" }
            p { "What the data do not meet may be reachable or impossible: " code { "deepconcolic run" } " looks for tests and proofs. Coverage says what was exercised, not that answers are right." }
        }
        @for criterion in &coverage.criteria { (of_criterion(criterion)) }
        @if let Some(requirements) = &coverage.requirements {
            section {
                h2 { (requirements.file) }
                @if requirements.total > 0 {
                    p { (count(requirements.covered)) " of " (plural(requirements.total, "goal is", "goals are")) " covered by the data (" (percent(requirements.covered, requirements.total)) ")." }
                }
                @if let Some(properties) = &requirements.properties { p { "Of " (refuted(properties)) "." } }
                @if !requirements.refuted.is_empty() {
                    ul { @for refuted in &requirements.refuted { li { (refuted.requirement) ": refuted by " (samples(&refuted.samples)) } } }
                }
                (open(&requirements.open))
            }
        }
        @if !coverage.notes.is_empty() { section { h2 { "Notes" } ul { @for note in &coverage.notes { li { (note) } } } } }
    }
}

/// Goals, those that are covered, and properties.
type Counts = (usize, usize, Option<PropertySummary>);

/// Of every criterion and of the file, by name.
fn accounts(coverage: &Coverage) -> Vec<(&str, Counts)> {
    let criteria = coverage.criteria.iter().map(|criterion| {
        let (goals, covered) = match criterion.properties {
            Some(_) => (0, 0),
            None => (criterion.total, criterion.covered),
        };
        (&*criterion.name, (goals, covered, criterion.properties))
    });
    let file = coverage.requirements.iter();
    let file = file.map(|r| (&*r.file, (r.total, r.covered, r.properties)));
    criteria.chain(file).collect()
}

fn headline(coverage: &Coverage) -> String {
    let (mut covered, mut sentences) = (Vec::new(), Vec::new());
    for (name, (goals, met, properties)) in accounts(coverage) {
        if goals > 0 {
            covered.push(format!("{} of {name}", percent(met, goals)));
        }
        sentences.extend(properties.map(|some| format!("{name}: of {}.", refuted(&some))));
    }
    let samples = count(coverage.samples);
    if !covered.is_empty() {
        sentences.insert(
            0,
            format!("{samples} samples cover {}.", covered.join(", ")),
        );
    }
    sentences.join(" ")
}

/// What data say of properties: they can refute, and prove nothing.
fn refuted(properties: &PropertySummary) -> String {
    format!(
        "{} the data refute {} and do not refute {} (open)",
        plural(properties.total, "property", "properties"),
        count(properties.refuted),
        count(properties.open)
    )
}

fn samples(numbers: &[usize]) -> String {
    let names: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    let what = if numbers.len() == 1 {
        "sample"
    } else {
        "samples"
    };
    format!("{what} {}", names.join(" and "))
}

fn of_criterion(criterion: &Criterion) -> Markup {
    let is_property = criterion.properties.is_some();
    let meaning = if is_property {
        Meaning::Property
    } else {
        Meaning::Goal
    };
    let shown: Vec<Bar> = criterion
        .layers
        .iter()
        .map(|layer| {
            let open = layer.total.saturating_sub(layer.covered);
            Bar {
                name: layer.name.clone(),
                link: None,
                total: layer.total,
                met: layer.covered,
                impossible: 0,
                open,
                random: None,
                data: None,
                words: if is_property {
                    bar_words(layer.covered, 0, open, ["refuted", "", "open"])
                } else {
                    format!(
                        "{} · {}",
                        percent(layer.covered, layer.total),
                        bar_words(layer.covered, 0, open, ["covered", "", "not covered"])
                    )
                },
            }
        })
        .collect();
    html! {
        section {
            h2 { (criterion.name) }
            p { (criterion.definition) }
            (bars(&shown, meaning))
            p class="key" {
                @if is_property {
                    span { i class="mark bad" {} " refuted by the data" }
                    span { i class="mark open" {} " not refuted by the data, which proves nothing" }
                } @else {
                    span { i class="mark met" {} " covered by the data" }
                    span { i class="mark open" {} " not covered" }
                }
                @if let Some(noise) = criterion.noise {
                    span { "as many inputs of noise" @if is_property { " refute" } ": " (share(noise)) }
                }
            }
            @for note in &criterion.notes { p class="small" { (note) } }
            (open(&criterion.open))
        }
    }
}

fn open(names: &[String]) -> Markup {
    html! {
        @if !names.is_empty() {
            details { summary { (count(names.len())) " that are not met" } ul { @for name in names { li { (name) } } } }
        }
    }
}

fn summary(coverage: &Coverage) -> String {
    let mut text = format!("### Coverage of data\n\n{}\n", cell(&headline(coverage)));
    let (mut goals, mut properties) = (String::new(), String::new());
    for (name, (total, covered, some)) in accounts(coverage) {
        let name = cell(name);
        if total > 0 {
            let (all, met) = (count(total), count(covered));
            let share = percent(covered, total);
            let _ = writeln!(goals, "| {name} | {all} | {met} | {share} |");
        }
        if let Some(some) = some {
            let (all, met, open) = (count(some.total), count(some.refuted), count(some.open));
            let _ = writeln!(properties, "| {name} | {all} | {met} | {open} |");
        }
    }
    for (heading, rows) in [
        ("| goals | required | covered | coverage |", goals),
        ("| properties | required | refuted | open |", properties),
    ] {
        if !rows.is_empty() {
            let _ = write!(text, "\n{heading}\n|---|---:|---:|---:|\n{rows}");
        }
    }
    text
}
