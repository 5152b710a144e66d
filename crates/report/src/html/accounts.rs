//! Requirements that are counted apart in one report: several criteria over one suite, or the goals and the properties of
//! one file. No bar and no share mixes them.

use deepconcolic::{Polarity, Table};
use deepconcolic_record::{CriterionSummary, LayerSummary};
use maud::{Markup, html};

use super::number::{count, percent};
use super::page::Links;
use super::svg::{Bar, Meaning, bar_words, bars};
use super::view::View;

/// The words for met, impossible and open of goals.
pub const GOAL: [&str; 3] = ["covered", "impossible", "open"];
/// The same of properties.
pub const PROPERTY: [&str; 3] = ["refuted", "proven", "open"];

/// Requirements that are counted together.
pub struct Account {
    /// The criterion; none where there is one alone.
    pub criterion: Option<String>,
    /// Whether they are properties.
    pub is_property: bool,
    /// Layer by layer.
    pub rows: Vec<LayerSummary>,
}

impl Account {
    /// The words for met, impossible and open.
    pub fn words(&self) -> [&'static str; 3] {
        if self.is_property { PROPERTY } else { GOAL }
    }
}

/// Whether there is more than one account.
pub fn are_several(view: &View) -> bool {
    !view.run.summary.criteria.is_empty() || view.is_mixed()
}

/// All of them: of each criterion, of the goals and the properties of a file, or the one there is.
pub fn accounts(view: &View) -> Vec<Account> {
    let summary = &view.run.summary;
    if !summary.criteria.is_empty() {
        let of_criterion = |criterion: &CriterionSummary| Account {
            criterion: Some(criterion.criterion.clone()),
            is_property: criterion.properties.is_some(),
            rows: criterion.layers.clone(),
        };
        return summary.criteria.iter().map(of_criterion).collect();
    }
    let tables = Table::of_run(summary);
    let mixed = tables.len() > 1;
    let of_table = |table: Table| Account {
        criterion: None,
        is_property: table.polarity == Polarity::Property,
        rows: if mixed {
            let name = table.noun(mixed).into();
            vec![LayerSummary { name, ..table.all }]
        } else {
            table.layers
        },
    };
    tables.into_iter().map(of_table).collect()
}

/// The page of a layer, if it has one.
fn page_of(view: &View, name: &str, links: &Links<'_>) -> Option<String> {
    let mut layers = view.layers.iter();
    let layer = layers.find(|layer| layer.summary.name == name && layer.neurons.is_some())?;
    links.page(&layer.page)
}

/// Bars of each account. What random inputs and the data reach is counted over all of them, and so has no ticks.
pub fn section(view: &View, links: &Links<'_>) -> Markup {
    let accounts = accounts(view);
    let has_properties = accounts.iter().any(|account| account.is_property);
    html! {
        section class="layers" {
            @for account in accounts.iter().filter(|account| !looks_for_largest(view, account)) {
                @if let Some(criterion) = &account.criterion { h3 { (criterion) } }
                @let shown: Vec<Bar> = account.rows.iter().map(|row| bar(view, account, row, links)).collect();
                (bars(&shown, if account.is_property { Meaning::Property } else { Meaning::Goal }))
            }
            p class="key" {
                span { i class="mark met" {} @if has_properties { " covered, or proven" } @else { " covered" } }
                span { i class="mark impossible" {} " proven impossible" }
                @if has_properties { span { i class="mark bad" {} " refuted" } }
                span { i class="mark open" {} " open" }
            }
        }
    }
}

/// Whether an account asks for the largest ratios, of which none is refuted or proven: their bounds say it all.
pub fn looks_for_largest(view: &View, account: &Account) -> bool {
    let is_of_slopes = |name: &String| view.is_of_slopes(name);
    view.looks_for_largest() && account.criterion.as_ref().is_some_and(is_of_slopes)
}

fn bar(view: &View, account: &Account, row: &LayerSummary, links: &Links<'_>) -> Bar {
    let counts = bar_words(row.covered, row.infeasible, row.unresolved, account.words());
    Bar {
        name: row.name.clone(),
        link: page_of(view, &row.name, links),
        total: row.total,
        met: row.covered,
        impossible: row.infeasible,
        open: row.unresolved,
        random: None,
        data: None,
        words: match share(account, row) {
            Some(share) => format!("{share} · {counts}"),
            None => counts,
        },
    }
}

/// What is covered of what is not proven impossible; properties have no such share.
pub fn share(account: &Account, row: &LayerSummary) -> Option<String> {
    let feasible = row.total.saturating_sub(row.infeasible);
    (!account.is_property).then(|| percent(row.covered, feasible))
}

/// Every row of every account.
pub fn table(view: &View, links: &Links<'_>) -> Markup {
    let accounts = accounts(view);
    let has_criteria = accounts.iter().any(|account| account.criterion.is_some());
    html! {
        table class="sortable numbers" {
            thead { tr {
                @if has_criteria { th scope="col" { "criterion" } th scope="col" class="text" { "layer" } }
                @else { th scope="col" { "requirements" } }
                @for name in ["required", "covered", "impossible", "coverage", "refuted", "proven", "open"] {
                    th scope="col" { (name) }
                }
            } }
            tbody {
                @for account in &accounts {
                    @for row in &account.rows {
                        tr {
                            @if let Some(criterion) = &account.criterion { th scope="row" { (criterion) } }
                            td class="text" {
                                @match page_of(view, &row.name, links) {
                                    Some(page) => a href=(page) { (row.name) },
                                    None => (row.name),
                                }
                            }
                            td { (count(row.total)) }
                            (verdicts(account, row))
                            td { (count(row.unresolved)) }
                        }
                    }
                }
            }
        }
    }
}

/// The cells of what came of a row: those of goals or those of properties are empty.
fn verdicts(account: &Account, row: &LayerSummary) -> Markup {
    html! {
        @if account.is_property { td {} td {} td {} }
        td { (count(row.covered)) }
        td { (count(row.infeasible)) }
        @if let Some(share) = share(account, row) { td { (share) } td {} td {} }
    }
}
