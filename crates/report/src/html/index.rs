//! `index.html`: what a person wants to know first, then how it came about; every number leads to its evidence.

use std::path::Path;

use deepconcolic::Table;
use maud::{Markup, html};

use super::accounts::{self, GOAL, PROPERTY};
use super::gallery;
use super::number::{count, percent, plural, share, short};
use super::page::{Links, Page, behind, command};
use super::plots;
use super::svg::{Bar, Meaning, bar_words, bars};
use super::view::{Adversarial, Layer, View};
use super::{slopes, words};

/// Most bars that are drawn; the table has all layers.
const BARS: usize = 40;
/// Adversarial inputs on the first page.
const NEAREST: usize = 3;

/// The first page.
pub fn page(view: &View, links: &Links<'_>, compared: bool) -> Page {
    Page {
        name: "index".into(),
        title: "Summary".into(),
        listed: true,
        body: html! {
            (summary(view, links))
            (nearest(view, links))
            (not_claimed(view))
            (plots::growth(view))
            (plots::safety(view, links))
            (slopes::section(view))
            (plots::pairs(view))
            (plots::mistakes(view, links))
            (table(view, links))
            (notes(view))
            (recheck(view, links, compared))
        },
    }
}

/// What was asked and what came of it.
fn summary(view: &View, links: &Links<'_>) -> Markup {
    html! {
        (heading(view))
        p class="headline" { (words::headline(view)) }
        (gates(view))
        @if accounts::are_several(view) { (accounts::section(view, links)) }
        @else if !view.looks_for_largest() { (layers(view, links)) }
    }
}

/// The summary with the nearest adversarial inputs, for a page that has nothing else of the report.
pub fn piece(view: &View, links: &Links<'_>, most: usize) -> Markup {
    let all = &view.adversarial;
    html! {
        (summary(view, links))
        @if !all.is_empty() {
            section {
                h2 { "Nearest adversarial inputs" }
                div class="cards" {
                    @for adversarial in all.iter().take(most) {
                        (gallery::card(view, adversarial, links, gallery::Where::Piece))
                    }
                }
                @if all.len() > most { p class="small" { (count(all.len() - most)) " more in " code { "adversarial.html" } " of the folder's report." } }
            }
        }
        (not_claimed(view))
        (table(view, links))
        (notes(view))
    }
}

fn not_claimed(view: &View) -> Markup {
    html! {
        section class="not-claimed" {
            h2 { "What this does not say" }
            @for sentence in words::not_claimed(view) { p { (sentence) } }
        }
    }
}

/// The title of a report.
pub fn title(view: &View) -> String {
    format!("{} of {}", criterion(view), model(view))
}

/// The model's file, without its folder.
pub fn model(view: &View) -> String {
    let path = Path::new(&view.run.summary.model.path);
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

fn criterion(view: &View) -> String {
    let name = &view.run.summary.criterion;
    let file = Path::new(name)
        .file_name()
        .filter(|_| view.run.settings.requirements.is_some());
    file.map_or_else(
        || name.replace(',', ", "),
        |file| file.to_string_lossy().into_owned(),
    )
}

fn heading(view: &View) -> Markup {
    let summary = &view.run.summary;
    let data = view.run.settings.data.data.display().to_string();
    let data = Path::new(&data)
        .file_name()
        .map_or_else(|| data.clone(), |n| n.to_string_lossy().into_owned());
    let decision = summary.decision.map(deepconcolic::Rule::words);
    html! {
        h1 { (model(view)) span class="criterion" { (criterion(view)) } }
        p class="facts" {
            span { "data " b { (data) } }
            @match summary.radius {
                Some(radius) => span { "radius " b { (short(radius)) } " " (words::norm(&summary.norm)) },
                None => span { "distances " b { (words::norm(&summary.norm)) } },
            }
            span { "domain " b { (summary.domain) } }
            @if let Some(accuracy) = summary.accuracy { span { "accuracy " b { (share(accuracy)) } } }
            @if let Some(decision) = decision { span { "decision " b { (decision) } } }
            span { (summary.date) }
        }
    }
}

fn gates(view: &View) -> Markup {
    let gates = &view.run.summary.gates;
    html! {
        @if !gates.is_empty() {
            ul class="gates" {
                @for gate in gates {
                    li {
                        @if gate.passes { span class="pass" { "PASS" } } @else { span class="fail" { "FAIL" } }
                        code { (gate.gate) } " " (gate.reason)
                    }
                }
            }
        }
    }
}

fn layers(view: &View, links: &Links<'_>) -> Markup {
    let names = names(view);
    let shown: Vec<Bar> = view
        .layers
        .iter()
        .take(BARS)
        .map(|layer| bar(view, layer, links, names))
        .collect();
    let baseline = &view.run.summary.baseline;
    // The shares beside the bars are of what is not proven impossible.
    let of_all = if view.run.summary.requirements.infeasible > 0 && !view.is_property() {
        " of all"
    } else {
        ""
    };
    html! {
        section class="layers" {
            (bars(&shown, if view.is_property() { Meaning::Property } else { Meaning::Goal }))
            p class="key" {
                @if view.is_property() {
                    span { i class="mark bad" {} " refuted" }
                    span { i class="mark met" {} " proven" }
                } @else {
                    span { i class="mark met" {} " covered" }
                    span { i class="mark impossible" {} " proven impossible" }
                }
                span { i class="mark open" {} " open" }
                @if let Some(random) = baseline.random_coverage {
                    span { i class="mark random" {} " " (plural(baseline.random_inputs, "random input", "random inputs")) ": " (share(random)) (of_all) }
                }
                @if let Some(data) = baseline.data_coverage {
                    span { i class="mark data" {} " the data (" (count(baseline.data_inputs)) "): " (share(data)) (of_all) }
                }
                @if view.layers.len() > BARS { span { (count(view.layers.len() - BARS)) " more layers in the table below" } }
            }
        }
    }
}

/// The words for met, impossible and open, where requirements are all of one kind.
fn names(view: &View) -> [&'static str; 3] {
    if view.is_property() { PROPERTY } else { GOAL }
}

fn bar(view: &View, layer: &Layer, links: &Links<'_>, names: [&str; 3]) -> Bar {
    let s = &layer.summary;
    let feasible = s.total.saturating_sub(s.infeasible);
    let counts = bar_words(s.covered, s.infeasible, s.unresolved, names);
    let words = if view.is_property() {
        counts
    } else {
        format!("{} · {counts}", percent(s.covered, feasible))
    };
    Bar {
        name: s.name.clone(),
        link: page_of(layer, links),
        total: s.total,
        met: s.covered,
        impossible: s.infeasible,
        open: s.unresolved,
        random: layer.random,
        data: layer.data,
        words,
    }
}

/// The page of a layer, if it has one that can be reached.
fn page_of(layer: &Layer, links: &Links<'_>) -> Option<String> {
    layer.neurons.as_ref().and_then(|_| links.page(&layer.page))
}

fn nearest(view: &View, links: &Links<'_>) -> Markup {
    html! {
        @if !view.adversarial.is_empty() {
            section {
                h2 { "Nearest adversarial inputs" }
                div class="cards" {
                    @for adversarial in shown(view) {
                        (gallery::card(view, adversarial, links, gallery::Where::FirstPage))
                    }
                }
                @if view.adversarial.len() > 1 {
                    p class="below" { a href=[links.page("adversarial")] { "All " (count(view.adversarial.len())) " in the gallery" } }
                }
            }
        }
    }
}

/// The nearest of different seeds, as far as there are any: of one seed they are much alike.
fn shown(view: &View) -> Vec<&Adversarial> {
    let mut shown: Vec<&Adversarial> = Vec::new();
    for again in [false, true] {
        for adversarial in &view.adversarial {
            let is_shown = |known: &&Adversarial| known.source == adversarial.source;
            let same_seed = shown.iter().any(|known| known.root == adversarial.root);
            if shown.len() < NEAREST && (again || !same_seed) && !shown.iter().any(is_shown) {
                shown.push(adversarial);
            }
        }
    }
    shown
}

/// Every layer with its counts, or every account where there are several.
fn table(view: &View, links: &Links<'_>) -> Markup {
    let total = &view.run.summary.requirements;
    let several = accounts::are_several(view);
    html! {
        section {
            h2 { @if several { "Counts" } @else { "Layers" } }
            div class="scroll" {
                @if several { (accounts::table(view, links)) } @else { (layer_table(view, links)) }
            }
            @if several || !view.is_property() {
                p class="small" { "Coverage is of what is not proven impossible." }
            }
            @for table in Table::of_run(&view.run.summary) {
                @if table.fragile > 0 {
                    p class="small" { (count(table.fragile)) " of the " (table.polarity.met()) " ones only within the margin of rounding (fragile)." }
                }
            }
            @if !view.named.is_empty() && links.page("requirements").is_some() {
                p { a href=[links.page("requirements")] {
                    @if view.named.len() >= total.total { "All " } @else { (count(view.named.len())) " of " }
                    (count(total.total)) " requirements, one by one"
                } }
            }
        }
    }
}

fn layer_table(view: &View, links: &Links<'_>) -> Markup {
    let names = names(view);
    let has_share = !view.is_property();
    let total = &view.run.summary.requirements;
    let per = |part: Option<usize>| part.map_or_else(|| "–".to_owned(), count);
    html! {
                table class="sortable numbers" {
                    thead { tr {
                        th scope="col" { "layer" }
                        th scope="col" { "required" }
                        @for name in names { th scope="col" { (name) } }
                        @if has_share { th scope="col" { "coverage" } }
                        th scope="col" { "random" }
                        th scope="col" { "data" }
                    } }
                    tbody {
                        @for layer in &view.layers {
                            @let s = &layer.summary;
                            tr {
                                th scope="row" {
                                    @match page_of(layer, links) { Some(page) => a href=(page) { (s.name) }, None => (s.name) }
                                }
                                td { (count(s.total)) }
                                td { (count(s.covered)) }
                                td { (count(s.infeasible)) }
                                td { (count(s.unresolved)) }
                                @if has_share { td { (percent(s.covered, s.total.saturating_sub(s.infeasible))) } }
                                td { (per(layer.random)) }
                                td { (per(layer.data)) }
                            }
                        }
                    }
                    tfoot { tr {
                        th scope="row" { "all" }
                        td { (count(total.total)) }
                        td { (count(total.covered)) }
                        td { (count(total.infeasible)) }
                        td { (count(total.unresolved)) }
                        @if has_share { td { (percent(total.covered, total.total.saturating_sub(total.infeasible))) } }
                        td {} td {}
                    } }
                }
    }
}

fn notes(view: &View) -> Markup {
    let notes = &view.run.summary.notes;
    html! {
        @if !notes.is_empty() {
            section {
                h2 { "Notes of the run" }
                ul { @for note in notes { li { (note) } } }
            }
        }
    }
}

fn recheck(view: &View, links: &Links<'_>, compared: bool) -> Markup {
    let folder = view.folder();
    html! {
        section {
            h2 { "Check it again" }
            p { (command(&format!("deepconcolic check {}", words_of(&folder)))) " judges every witness, certificate and number of this folder again." }
            p { (command(&format!("deepconcolic replay {}", words_of(&folder)))) " runs the whole suite again; with " code { "--model OTHER.onnx" } " on another model." }
            p {
                a href=[links.page("run")] { "How the run went: command, hashes, domain, time" }
                @if compared { " · " a href=[links.page("compare")] { "Comparison with another run" } }
            }
            (behind("Files of this folder", &files(view)))
        }
    }
}

fn files(view: &View) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "file" } th scope="col" { "SHA-256" } } }
            tbody {
                @for (name, digest) in &view.run.summary.files {
                    tr { td { (name) } td class="hash" { (digest) } }
                }
            }
        }
    }
}

/// A name as a shell takes it.
pub fn words_of(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/+=:,@%".contains(c);
    if !path.is_empty() && path.chars().all(plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}
