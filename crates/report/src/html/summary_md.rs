//! `summary.md`: the run in half a page, for a comment on a pull request.

use std::fmt::Write as _;

use deepconcolic_record::LayerSummary;

use super::accounts::{self, Account};
use super::index::{model, words_of};
use super::number::{count, short};
use super::view::View;
use super::words;

/// Adversarial inputs that are listed.
const LISTED: usize = 5;
/// Rows of a table that are listed.
const LAYERS: usize = 30;

/// The whole file. Writing to a string cannot fail.
pub fn text(view: &View) -> String {
    let mut text = String::new();
    let summary = &view.run.summary;
    let _ = writeln!(
        text,
        "### {}: {}\n",
        cell(&model(view)),
        cell(&summary.criterion)
    );
    let _ = writeln!(text, "{}\n", cell(&words::headline(view)));
    for gate in &summary.gates {
        let verdict = if gate.passes { "PASS" } else { "FAIL" };
        let _ = writeln!(
            text,
            "- **{verdict}** {}: {}",
            cell(&gate.gate),
            cell(&gate.reason)
        );
    }
    if !summary.gates.is_empty() {
        text.push('\n');
    }
    layers(&mut text, view);
    adversarial(&mut text, view);
    let [scope, meaning] = words::not_claimed(view);
    let _ = writeln!(text, "{} {}\n", cell(&scope), cell(&meaning));
    let _ = writeln!(
        text,
        "`deepconcolic check {}` judges all of it again.",
        cell(&words_of(&view.folder()))
    );
    text
}

/// A table of each kind of requirements: goals have a share, properties have none.
fn layers(text: &mut String, view: &View) {
    let several = accounts::are_several(view);
    let accounts = accounts::accounts(view);
    for is_property in [false, true] {
        let meant = accounts.iter().filter(|account| {
            let says_nothing = several && accounts::looks_for_largest(view, account);
            account.is_property == is_property && !says_nothing
        });
        let rows: Vec<(&Account, &LayerSummary)> = meant
            .flat_map(|account| account.rows.iter().map(move |row| (account, row)))
            .collect();
        let heading = match (several, is_property) {
            (false, _) => "layer",
            (true, false) => "goals",
            (true, true) => "properties",
        };
        table(text, heading, &rows);
        if !is_property && rows.iter().any(|(_, row)| row.infeasible > 0) {
            text.push_str("Coverage is of what is not proven impossible.\n\n");
        }
    }
}

fn table(text: &mut String, heading: &str, rows: &[(&Account, &LayerSummary)]) {
    let Some((first, _)) = rows.first() else {
        return;
    };
    let [met, impossible, open] = first.words();
    let (share, rule) = if first.is_property {
        ("", "")
    } else {
        (" coverage |", "---:|")
    };
    let _ = writeln!(
        text,
        "| {heading} | required | {met} | {impossible} | {open} |{share}\n|---|---:|---:|---:|---:|{rule}"
    );
    for (account, row) in rows.iter().take(LAYERS) {
        let name = match &account.criterion {
            Some(criterion) => format!("{criterion} {}", row.name),
            None => row.name.clone(),
        };
        let share = accounts::share(account, row);
        let share = share.map_or_else(String::new, |share| format!(" {share} |"));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |{share}",
            cell(&name),
            count(row.total),
            count(row.covered),
            count(row.infeasible),
            count(row.unresolved)
        );
    }
    if rows.len() > LAYERS {
        let _ = writeln!(text, "\n{} more.", count(rows.len() - LAYERS));
    }
    text.push('\n');
}

fn adversarial(text: &mut String, view: &View) {
    if view.adversarial.is_empty() {
        return;
    }
    text.push_str("| adversarial input | answer | distance |\n|---|---|---:|\n");
    for adversarial in view.adversarial.iter().take(LISTED) {
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            adversarial.name(),
            cell(&words::mistaken(view, adversarial.truth, adversarial.found)),
            short(adversarial.distance)
        );
    }
    if view.adversarial.len() > LISTED {
        let _ = writeln!(text, "\n{} more.", count(view.adversarial.len() - LISTED));
    }
    text.push('\n');
}

/// Text as it is: nothing in it becomes a mark, an element or a mention.
pub fn cell(text: &str) -> String {
    let mut cell = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '\\' => {
                cell.push('\\');
                cell.push(c);
            }
            '@' => cell.push_str("&#64;"),
            c if c.is_control() => cell.push(' '),
            c => cell.push(c),
        }
    }
    cell
}
