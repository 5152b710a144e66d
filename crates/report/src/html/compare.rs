//! `compare.html`: a run beside another one, of the same model or of another.

use std::path::Path;

use deepconcolic::{Polarity, State};
use deepconcolic_record::LayerSummary;
use maud::{Markup, html};

use super::accounts::{self, Account};
use super::number::{count, short};
use super::page::Page;
use super::view::View;
use super::words;

/// The file.
pub const FILE: &str = "compare.html";
/// Most requirements that are listed.
const LISTED: usize = 500;

/// The page: this run, and the one in a folder of this name.
pub fn page(view: &View, other: &View, folder: &Path) -> Page {
    Page {
        name: "compare".into(),
        title: "Comparison".into(),
        listed: true,
        body: html! {
            h1 { "Comparison" }
            p { "Before: " code { (folder.display()) } ". Now: this folder." }
            table class="facts-table" {
                tbody {
                    tr { th scope="row" { "before" } td { (words::headline(other)) } }
                    tr { th scope="row" { "now" } td { (words::headline(view)) } }
                }
            }
            (settings(view, other))
            (layers(view, other))
            (requirements(view, other))
        },
    }
}

fn settings(view: &View, other: &View) -> Markup {
    let empty = serde_json::Map::new();
    let (now, before) = (&view.run.summary.settings, &other.run.summary.settings);
    let (now, before) = (
        now.as_object().unwrap_or(&empty),
        before.as_object().unwrap_or(&empty),
    );
    let mut keys: Vec<&String> = now.keys().chain(before.keys()).collect();
    keys.sort();
    keys.dedup();
    // Long lists of numbers follow from the others.
    let derived = ["means", "seed_values", "seeds", "shapes"];
    let differing = keys
        .into_iter()
        .filter(|key| now.get(*key) != before.get(*key));
    let differing: Vec<&String> = differing
        .filter(|key| !derived.contains(&key.as_str()))
        .collect();
    let show = |value: Option<&serde_json::Value>| match value {
        Some(value) => value.to_string().chars().take(160).collect(),
        None => "–".to_owned(),
    };
    html! {
        section {
            h2 { "What was asked" }
            @if differing.is_empty() {
                p { "The same: model, data, criterion, region and search." }
            } @else {
                div class="scroll" {
                    table {
                        thead { tr { th scope="col" { "setting" } th scope="col" { "before" } th scope="col" { "now" } } }
                        tbody { @for key in differing { tr { th scope="row" { (key) } td class="hash" { (show(before.get(key))) } td class="hash" { (show(now.get(key))) } } } }
                    }
                }
            }
        }
    }
}

fn layers(view: &View, other: &View) -> Markup {
    let adversarial = |view: &View| view.run.summary.adversarial.map_or(0, |a| a.count);
    let nearest = |view: &View| {
        view.adversarial
            .first()
            .map_or_else(|| "none".into(), |a| short(a.distance))
    };
    let (now, before) = (accounts::accounts(view), accounts::accounts(other));
    html! {
        section {
            h2 { "Layers" }
            @for account in now.iter().filter(|account| !account.rows.is_empty()) {
                div class="scroll" { (account_table(account, &before)) }
            }
            p { "Adversarial inputs: " (count(adversarial(other))) " before, " (count(adversarial(view))) " now; the nearest " (nearest(other)) " before, " (nearest(view)) " now." }
        }
    }
}

/// The rows of an account beside those of the same account before; shares are of goals alone.
fn account_table(account: &Account, before: &[Account]) -> Markup {
    let is_same = |known: &&Account| {
        known.criterion == account.criterion && known.is_property == account.is_property
    };
    let known = before.iter().find(is_same);
    let row_before = |name: &str| known?.rows.iter().find(|row| row.name == name);
    let shares: &[&str] = if account.is_property {
        &[]
    } else {
        &["before", "now"]
    };
    html! {
        table class="sortable numbers" {
            thead { tr {
                th scope="col" { (account.criterion.as_deref().unwrap_or("layer")) }
                @for name in shares.iter().copied().chain(account.words()) { th scope="col" { (name) } }
            } }
            tbody {
                @for row in &account.rows {
                    @let was = row_before(&row.name);
                    tr {
                        th scope="row" { (row.name) }
                        @if !account.is_property {
                            td { (was.and_then(|was| accounts::share(account, was)).unwrap_or_else(|| "–".into())) }
                            td { (accounts::share(account, row).unwrap_or_default()) }
                        }
                        @for count in COUNTS {
                            td { (was.map_or_else(|| "–".into(), |was| difference(count(row), count(was)))) }
                        }
                    }
                }
            }
        }
    }
}

/// What is counted of a row: met, impossible, open.
const COUNTS: [fn(&LayerSummary) -> usize; 3] = [
    |row| row.covered,
    |row| row.infeasible,
    |row| row.unresolved,
];

fn difference(now: usize, before: usize) -> String {
    match now as i64 - before as i64 {
        0 => "0".to_owned(),
        n => format!("{n:+}"),
    }
}

/// Requirements that ended otherwise, where both runs have the same ones.
fn requirements(view: &View, other: &View) -> Markup {
    let (now, before) = (&view.run, &other.run);
    let comparable = now.requirements.pairs.is_none()
        && now.summary.rows == before.summary.rows
        && now.requirements.state.len() == before.requirements.state.len();
    if !comparable {
        return html! { p class="small" { "Requirements are not compared one by one: the two runs do not have the same ones in the same rows." } };
    }
    let word = |row: usize, state: u8| {
        let [met, impossible, open] = match view.polarity_of_row(row) {
            Some(Polarity::Goal) => accounts::GOAL,
            Some(Polarity::Property) => accounts::PROPERTY,
            None => ["met", "impossible to meet", "open"],
        };
        match State::from_number(state) {
            Some(State::Covered) => met,
            Some(State::Infeasible) => impossible,
            Some(State::Unresolved) => open,
            Some(State::NotRequired) | None => "not required",
        }
    };
    let (now_states, before_states) = (&now.requirements.state, &before.requirements.state);
    let changed: Vec<usize> = (0..now_states.len())
        .filter(|&row| now_states[row] != before_states[row])
        .collect();
    html! {
        section {
            h2 { "Requirements that ended otherwise" }
            @if changed.is_empty() {
                p { "None." }
            } @else {
                p { (count(changed.len())) " of " (count(now_states.len())) "." }
                div class="scroll" {
                    table class="sortable" {
                        thead { tr { th scope="col" { "requirement" } th scope="col" { "before" } th scope="col" { "now" } } }
                        tbody {
                            @for &row in changed.iter().take(LISTED) {
                                tr { th scope="row" { (name(view, row)) } td { (word(row, before_states[row])) } td { (word(row, now_states[row])) } }
                            }
                        }
                    }
                }
                @if changed.len() > LISTED { p class="small" { (count(changed.len() - LISTED)) " more." } }
            }
        }
    }
}

fn name(view: &View, row: usize) -> String {
    if let Some(named) = view.named.iter().find(|named| named.row == row) {
        return named.name.clone();
    }
    let of_layer = view.layers.iter().find_map(|layer| {
        let neurons = layer.neurons.as_ref()?;
        let rows = neurons.rows.as_ref()?;
        let at = row
            .checked_sub(rows.start)
            .filter(|_| rows.contains(&row))?;
        Some(format!("{}:{}", layer.summary.name, at / neurons.each))
    });
    of_layer.unwrap_or_else(|| format!("row {row}"))
}
