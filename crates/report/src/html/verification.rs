//! The page of an answer that `verify --out` left.

use std::path::Path;

use deepconcolic::{AnswerRecord, Error};
use maud::{Markup, html};

use super::files::Files;
use super::index::words_of;
use super::number::count;
use super::page::{Page, SCRIPT, STYLE, command, whole};
use super::summary_md::cell;

/// Most inputs whose ranges are listed.
const INPUTS: usize = 400;

/// Whether a folder holds an answer.
pub fn is_in(folder: &Path) -> bool {
    folder.join(AnswerRecord::FILE).is_file()
}

/// The files of its report.
pub fn files(folder: &Path) -> Result<Files, Error> {
    let record = AnswerRecord::read(folder)?;
    let counterexample = std::fs::read_to_string(folder.join(AnswerRecord::COUNTEREXAMPLE)).ok();
    let page = Page {
        name: "index".into(),
        title: "Answer".into(),
        listed: true,
        body: body(&record, counterexample.as_deref()),
    };
    let mut files = Files::default();
    let listed = [("index".to_owned(), "Answer".to_owned())];
    let title = format!("{} · {}", record.verdict, base(&record.property));
    files.add("index.html", whole(&title, &page, &listed));
    files.add("style.css", STYLE);
    files.add("report.js", SCRIPT);
    files.add("summary.md", summary(&record));
    Ok(files)
}

fn base(path: &str) -> String {
    let name = Path::new(path).file_name();
    name.map_or_else(
        || path.to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// The answer in a sentence.
fn sentence(record: &AnswerRecord) -> &'static str {
    match record.verdict.as_str() {
        _ if record.vacuous => "The property speaks of no input at all.",
        "sat" => "An input of the property was found and run: the counterexample below.",
        "unsat" => {
            "No input of the property exists: a certificate in this folder shows it, and was accepted by the checker."
        }
        _ => "Neither an input nor a proof that there is none was found.",
    }
}

fn class(record: &AnswerRecord) -> &'static str {
    match record.verdict.as_str() {
        "sat" => "refuted",
        "unsat" => "proven",
        _ => "open",
    }
}

fn body(record: &AnswerRecord, counterexample: Option<&str>) -> Markup {
    let row = |name: &str, value: &str| html! { tr { th scope="row" { (name) } td { code class="hash" { (value) } } } };
    html! {
        h1 { (base(&record.model)) span class="criterion" { (base(&record.property)) } }
        p class="headline" { b class=(format!("verdict {}", class(record))) { (record.verdict) } ". " (sentence(record)) }
        @if let Some(reason) = &record.reason { p { (reason) } }
        @if !record.notes.is_empty() { ul { @for note in &record.notes { li { (note) } } } }
        section class="not-claimed" {
            h2 { "What this does not say" }
            p { "It speaks of the inputs of the property and of no others. "
                "unsat holds in real arithmetic with the weights as stored, sat was run in single precision." }
        }
        @if let Some(text) = counterexample { section { h2 { "Counterexample" } pre { (text) } } }
        (region(record))
        section {
            h2 { "Where it comes from" }
            div class="scroll" { table class="facts-table" { tbody {
                (row("tool", &record.tool))
                (row("model", &record.model))
                (row("SHA-256 of the model", &record.model_sha256))
                (row("property", &record.property))
                (row("SHA-256 of the property", &record.property_sha256))
                @if let Some(hash) = &record.certificate_sha256 { (row("SHA-256 of the certificate", hash)) }
                @if let Some(hash) = &record.counterexample_sha256 { (row("SHA-256 of the counterexample", hash)) }
            } } }
        }
        section {
            h2 { "Check it again" }
            p { (command("deepconcolic check .")) " in this folder judges the answer again, with arithmetic of its own." }
        }
    }
}

fn region(record: &AnswerRecord) -> Markup {
    let Some(region) = &record.region else {
        return html! {};
    };
    html! {
        section {
            h2 { "Inputs it speaks of" }
            details {
                summary { "A box that holds all " (count(region.lower.len())) " input values" }
                div class="scroll" {
                    table class="sortable numbers" {
                        thead { tr { th scope="col" { "input" } th scope="col" { "from" } th scope="col" { "to" } } }
                        tbody {
                            @for (number, (lower, upper)) in region.lower.iter().zip(&region.upper).take(INPUTS).enumerate() {
                                tr { th scope="row" { "X_" (number) } td { (lower) } td { (upper) } }
                            }
                        }
                    }
                }
                @if region.lower.len() > INPUTS { p class="small" { "The others are in " code { "verify.json" } "." } }
            }
        }
    }
}

fn summary(record: &AnswerRecord) -> String {
    let (model, property) = (cell(&base(&record.model)), cell(&base(&record.property)));
    let verdict = cell(&record.verdict);
    let check = words_of(".");
    format!(
        "### {model}: {property}\n\n**{verdict}**. {}\n\n`deepconcolic check {check}` in the folder judges it again.\n",
        cell(sentence(record))
    )
}
