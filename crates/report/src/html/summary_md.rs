//! `summary.md`: the run in half a page, for a comment on a pull request.

use std::fmt::Write as _;

use super::index::{model, names, words_of};
use super::number::{count, percent, short};
use super::view::View;
use super::words;

/// Adversarial inputs that are listed.
const LISTED: usize = 5;
/// Layers that are listed.
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

fn layers(text: &mut String, view: &View) {
    let [met, impossible, open] = names(view);
    let share = if view.is_property() || view.is_mixed() {
        ""
    } else {
        " coverage |"
    };
    let rule = if view.is_property() || view.is_mixed() {
        ""
    } else {
        "---:|"
    };
    let _ = writeln!(
        text,
        "| layer | required | {met} | {impossible} | {open} |{share}\n|---|---:|---:|---:|---:|{rule}"
    );
    for layer in view.layers.iter().take(LAYERS) {
        let s = &layer.summary;
        let share = if view.is_property() || view.is_mixed() {
            String::new()
        } else {
            format!(
                " {} |",
                percent(s.covered, s.total.saturating_sub(s.infeasible))
            )
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |{share}",
            cell(&s.name),
            count(s.total),
            count(s.covered),
            count(s.infeasible),
            count(s.unresolved)
        );
    }
    if view.layers.len() > LAYERS {
        let _ = writeln!(text, "\n{} more layers.", count(view.layers.len() - LAYERS));
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
