//! `requirements.html`: requirements one by one, with their verdicts and what shows them.

use maud::{Markup, html};

use super::number::{count, short};
use super::page::{Links, Page};
use super::view::{Named, Source, Verdict, View};

/// The page; none where requirements are too many to be listed.
pub fn page(view: &View, links: &Links<'_>) -> Option<Page> {
    if view.named.is_empty() {
        return None;
    }
    let rest = view
        .run
        .summary
        .requirements
        .total
        .saturating_sub(view.named.len());
    Some(Page {
        name: "requirements".into(),
        title: "Requirements".into(),
        listed: true,
        body: html! {
            h1 { "Requirements" span class="criterion" { (view.run.summary.criterion) } }
            p class="headline" { (counts(view)) }
            div class="filters js-only" id="search" data-table="requirements-table" {}
            div class="scroll" {
                table class="sortable" id="requirements-table" {
                    thead { tr { th scope="col" { "requirement" } th scope="col" { "verdict" } th scope="col" { "evidence" } th scope="col" { "row" } } }
                    tbody { @for named in &view.named { (row(view, named, links)) } }
                }
            }
            @if rest > 0 { p class="small" { (count(rest)) " more are in " code { "requirements.npz" } "." } }
            (text(view))
        },
    })
}

fn counts(view: &View) -> String {
    let verdicts = [
        Verdict::Covered,
        Verdict::Impossible,
        Verdict::Proven,
        Verdict::Refuted,
        Verdict::Open,
    ];
    let number = |verdict| view.named.iter().filter(|n| n.verdict == verdict).count();
    let parts: Vec<String> = verdicts
        .into_iter()
        .map(|verdict| (number(verdict), verdict.word()))
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{} {word}", count(number)))
        .collect();
    format!("{}.", parts.join(", "))
}

fn row(view: &View, named: &Named, links: &Links<'_>) -> Markup {
    html! {
        tr id=(format!("row-{}", named.row)) {
            th scope="row" class="name" { (named.name) }
            td class=(format!("verdict {}", named.verdict.word())) { span class="shape" aria-hidden="true" { (named.verdict.mark()) } " " (named.verdict.word()) }
            td { (evidence(view, named, links)) }
            td class="number" { (named.row) }
        }
    }
}

fn evidence(view: &View, named: &Named, links: &Links<'_>) -> Markup {
    let adversarial = |test: usize| {
        let found = view
            .adversarial
            .iter()
            .find(|a| a.source == Source::Test(test));
        found.and_then(|found| links.place("adversarial", &found.name()))
    };
    html! {
        @for (number, test) in named.tests.iter().enumerate() {
            @if number > 0 { " and " }
            @match adversarial(*test) {
                Some(link) => a href=(link) { "test " (test) },
                None => { "test " (test) },
            }
        }
        @if let (Some(distance), false) = (distance(view, named), named.tests.is_empty()) { ", " (short(distance)) " from its seed" }
        @if named.fragile { " (within the margin of rounding)" }
        @if let Some(number) = named.certificate { a href=(format!("certificates/{number:05}.certificate")) { "certificate " (format!("{number:05}")) } }
        @if named.verdict == Verdict::Open {
            @match named.bound {
                Some(bound) => { "neither a test nor a proof; its value is at most " (short(f64::from(bound))) },
                None => { "neither a test nor a proof" },
            }
        }
    }
}

fn distance(view: &View, named: &Named) -> Option<f64> {
    let test = *named.tests.first()?;
    (test >= view.run.suite.seeds()).then(|| f64::from(view.run.suite.distance[test]))
}

/// The requirement file itself.
fn text(view: &View) -> Markup {
    html! {
        @if let Some(file) = &view.run.settings.requirements {
            details {
                summary { "The file " (file.name) }
                pre { (file.text) }
            }
        }
    }
}
