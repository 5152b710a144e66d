//! `adversarial.html`: every adversarial input, the nearest first, as pictures or as tables of what changed.

use deepconcolic::percent;
use maud::{Markup, html};

use super::index::words_of;
use super::number::{count, plural, short};
use super::page::{Links, Page, command};
use super::picture::amplification;
use super::view::{Adversarial, Source, View};
use super::words;

/// Most inputs with a card.
const CARDS: usize = 200;
/// Most inputs in the table behind them.
const LISTED: usize = 2000;
/// Changed values shown before the rest is folded away.
const CHANGES: usize = 8;

/// Where a card stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// On the first page: it leads to the gallery.
    FirstPage,
    /// In the gallery.
    Gallery,
    /// On somebody else's page: it leads nowhere and has no name that a link could use.
    Piece,
}

/// The gallery.
pub fn page(view: &View, links: &Links<'_>) -> Option<Page> {
    let all = &view.adversarial;
    if all.is_empty() {
        return None;
    }
    Some(Page {
        name: "adversarial".into(),
        title: "Adversarial inputs".into(),
        listed: true,
        body: html! {
            h1 { "Adversarial inputs" }
            p class="headline" { (words::adversarial(view)) }
            p {
                "An input is adversarial when it lies near a real one and gets another answer. The nearest come first"
                @if view.has_pictures() { "; differences are amplified, orange for more and blue for less than the seed" }
                "."
                @if all.iter().any(|adversarial| adversarial.confidence.is_some()) {
                    " Confidence is the softmax of the model's logits at the class it gives (the sigmoid, where it has one "
                    "output): the model's own word, not how often it is right."
                }
            }
            div class="filters js-only" id="filters" {}
            div class="cards" id="gallery" {
                @for adversarial in all.iter().take(CARDS) {
                    (card(view, adversarial, links, Where::Gallery))
                }
            }
            @if all.len() > CARDS {
                h2 { "The others" }
                (listed(view))
            }
            p { (command(&format!("deepconcolic replay {}", words_of(&view.folder())))) " runs all tests again and judges them. " code { "adversarial/adversarial.npz" } " has them with their true labels, ready for retraining." }
        },
    })
}

/// A card: pictures or changes, and two lines of words.
pub fn card(view: &View, adversarial: &Adversarial, links: &Links<'_>, place: Where) -> Markup {
    let name = adversarial.name();
    let wrong = answer(view, adversarial);
    html! {
        article class="card" id=[(place == Where::Gallery).then_some(&name)]
            data-truth=[class(view, adversarial.truth)] data-found=[class(view, adversarial.found)] data-stage=(adversarial.stage) {
            @if links.pictures.has(&name) {
                @let (width, height) = links.pictures.size;
                img class="pixels" src=(links.picture(&name)) width=(width) height=(height)
                    alt=(format!("Seed {}, the input, and their difference: {wrong}", adversarial.root)) loading="lazy";
                div class="parts" {
                    span { "seed" } span { "input" }
                    span { "difference" @if let Some(factor) = amplification(view, adversarial) { " ×" (short((factor * 10.0).floor() / 10.0)) } }
                }
            }
            p class="verdict" {
                b { (wrong) } ", distance " (short(adversarial.distance))
                @if let Some(sure) = confidence(adversarial) { ", confidence " (sure) }
            }
            p class="small" { (origin(view, adversarial)) }
            @if !links.pictures.has(&name) { (changes(view, adversarial)) }
            @if place == Where::FirstPage {
                p class="small" { a href=[links.place("adversarial", &name)] { "In the gallery" } }
            }
        }
    }
}

/// How sure the network says it is, rounded down.
fn confidence(adversarial: &Adversarial) -> Option<String> {
    let sure = f64::from(adversarial.confidence?);
    let text = || format!("{:.2}", percent(sure, 0) / 100.0);
    sure.is_finite().then(text)
}

fn class(view: &View, label: i64) -> Option<String> {
    (label >= 0).then(|| view.class(label))
}

/// What the network says and what it should say.
fn answer(view: &View, adversarial: &Adversarial) -> String {
    match &adversarial.quantities {
        Some((truth, found)) => {
            let list = |values: &[f64]| {
                values
                    .iter()
                    .map(|&v| short(v))
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            format!("{} instead of {}", list(found), list(truth))
        }
        None => words::mistaken(view, adversarial.truth, adversarial.found),
    }
}

fn origin(view: &View, adversarial: &Adversarial) -> Markup {
    html! {
        @match adversarial.source {
            Source::Test(test) => { code { "suite.npz" } " row " (test) ", by " (adversarial.stage) },
            Source::Nearest(row) => { code { "nearest-adversarial/nearest.npz" } " row " (row) },
        }
        ", from sample " (adversarial.root)
        @if adversarial.reference != adversarial.root { "; nearest real input: sample " (adversarial.reference) }
        @if let Some(bound) = adversarial.bound { "; certified: none nearer than " (short(bound)) }
        @if view.run.summary.norm.starts_with("l0") { (places(view, adversarial)) }
    }
}

/// How many values differ from the seed.
fn places(view: &View, adversarial: &Adversarial) -> Markup {
    let changed = changed(view, adversarial).len();
    html! { "; " (plural(changed, "value", "values")) " changed" }
}

/// A value that is not that of the seed.
struct Change {
    element: usize,
    before: f32,
    after: f32,
    /// In units of the range.
    part: f64,
}

/// The largest change first.
fn changed(view: &View, adversarial: &Adversarial) -> Vec<Change> {
    let run = &view.run;
    let Some(seed) = adversarial.seed else {
        return Vec::new();
    };
    let (lower, upper) = (run.domain.lower(), run.domain.upper());
    let both = run.input(seed).iter().zip(adversarial.input(run));
    let mut changes: Vec<Change> = both
        .enumerate()
        .filter(|(_, (before, after))| before.to_bits() != after.to_bits())
        .map(|(element, (&before, &after))| {
            let width = f64::from(upper[element]) - f64::from(lower[element]);
            Change {
                element,
                before,
                after,
                part: (f64::from(after) - f64::from(before)) / width.max(f64::MIN_POSITIVE),
            }
        })
        .collect();
    changes.sort_by(|a, b| b.part.abs().total_cmp(&a.part.abs()));
    changes
}

/// The changed values as a table: name, before, after, and by how much of its range.
fn changes(view: &View, adversarial: &Adversarial) -> Markup {
    let all = changed(view, adversarial);
    let (shown, rest) = all.split_at(all.len().min(CHANGES));
    let unchanged = view.run.elements() - all.len();
    html! {
        (change_table(view, shown))
        @if !rest.is_empty() {
            details { summary { (count(rest.len())) " more" } (change_table(view, &rest[..rest.len().min(LISTED)])) }
        }
        @if unchanged > 0 { p class="small" { (plural(unchanged, "value", "values")) " unchanged." } }
    }
}

fn change_table(view: &View, changes: &[Change]) -> Markup {
    html! {
        table class="changes numbers" {
            thead { tr { th scope="col" { "feature" } th scope="col" { "seed" } th scope="col" { "input" } th scope="col" { "of its range" } } }
            tbody {
                @for change in changes {
                    tr {
                        th scope="row" { (view.feature(change.element)) }
                        td { del { (short(f64::from(change.before))) } }
                        td { ins { (short(f64::from(change.after))) } }
                        td { (format!("{:+.1} %", change.part * 100.0)) }
                    }
                }
            }
        }
    }
}

/// Inputs without a card.
fn listed(view: &View) -> Markup {
    let rest = &view.adversarial[CARDS..];
    html! {
        div class="scroll" {
            table class="sortable numbers" {
                thead { tr { th scope="col" { "row" } th scope="col" { "answer" } th scope="col" { "distance" } th scope="col" { "confidence" } th scope="col" { "sample" } th scope="col" { "stage" } } }
                tbody {
                    @for adversarial in rest.iter().take(LISTED) {
                        tr {
                            td { @match adversarial.source { Source::Test(test) => (test), Source::Nearest(row) => { "nearest " (row) } } }
                            td class="text" { (answer(view, adversarial)) }
                            td { (short(adversarial.distance)) }
                            td { (confidence(adversarial).unwrap_or_default()) }
                            td { (adversarial.root) }
                            td class="text" { (adversarial.stage) }
                        }
                    }
                }
            }
        }
        @if rest.len() > LISTED { p class="small" { (count(rest.len() - LISTED)) " more are in " code { "adversarial/adversarial.npz" } "." } }
    }
}
