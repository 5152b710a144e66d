//! `junit.xml`: the requirements as test cases, for build servers. One a requirement, or one a layer where they are
//! too many; adversarial inputs are failures of their own.

use std::fmt::Write as _;

use super::index::{model, words_of};
use super::number::{count, percent, short};
use super::view::{Named, Verdict, View};
use super::words;

/// Most adversarial inputs that have a case of their own.
const ADVERSARIAL: usize = 100;

/// What became of a case.
enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

struct Case {
    class: String,
    name: String,
    outcome: Outcome,
}

/// The whole file.
pub fn text(view: &View) -> String {
    let mut cases = if view.named.is_empty() {
        layers(view)
    } else {
        view.named
            .iter()
            .map(|named| requirement(view, named))
            .collect()
    };
    cases.extend(gates(view));
    cases.extend(adversarial(view));
    let failures = cases
        .iter()
        .filter(|c| matches!(c.outcome, Outcome::Failed(_)))
        .count();
    let skipped = cases
        .iter()
        .filter(|c| matches!(c.outcome, Outcome::Skipped(_)))
        .count();
    let suite = format!("{} {}", model(view), view.run.summary.criterion);
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "<testsuites name=\"deepconcolic\" tests=\"{0}\" failures=\"{failures}\" errors=\"0\">\n  <testsuite name=\"{1}\" tests=\"{0}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" time=\"{2:.3}\">",
        cases.len(),
        escaped(&suite),
        view.run.summary.time_s.total,
    );
    for case in &cases {
        let (class, name) = (escaped(&case.class), escaped(&case.name));
        let _ = write!(text, "    <testcase classname=\"{class}\" name=\"{name}\"");
        let _ = match &case.outcome {
            Outcome::Passed => writeln!(text, "/>"),
            Outcome::Failed(why) => {
                let first = why.lines().next().unwrap_or_default();
                let (first, why) = (escaped(first), escaped(why));
                writeln!(
                    text,
                    ">\n      <failure message=\"{first}\">{why}</failure>\n    </testcase>"
                )
            }
            Outcome::Skipped(why) => {
                writeln!(
                    text,
                    ">\n      <skipped message=\"{}\"/>\n    </testcase>",
                    escaped(why)
                )
            }
        };
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// What to run to see it again.
fn reproduction(view: &View) -> String {
    format!(
        "reproduce: deepconcolic replay {}",
        words_of(&view.folder())
    )
}

fn requirement(view: &View, named: &Named) -> Case {
    let outcome = match named.verdict {
        Verdict::Covered | Verdict::Impossible | Verdict::Proven => Outcome::Passed,
        Verdict::Refuted => {
            let tests: Vec<String> = named.tests.iter().map(ToString::to_string).collect();
            Outcome::Failed(format!(
                "refuted by test {} of suite.npz\n{}",
                tests.join(" and "),
                reproduction(view)
            ))
        }
        Verdict::Open => Outcome::Skipped("open: neither a test nor a proof was found".into()),
    };
    Case {
        class: view.run.summary.criterion.clone(),
        name: named.name.clone(),
        outcome,
    }
}

/// A layer passes where nothing is open, and nothing refuted.
fn layers(view: &View) -> Vec<Case> {
    let case = |layer: &super::view::Layer| {
        let s = &layer.summary;
        let outcome = match (view.is_property(), s.covered, s.unresolved) {
            (true, refuted, _) if refuted > 0 => Outcome::Failed(format!(
                "{} refuted\n{}",
                count(refuted),
                reproduction(view)
            )),
            (_, _, 0) => Outcome::Passed,
            (_, covered, open) => Outcome::Skipped(format!(
                "{} covered of what is not proven impossible, {} open",
                percent(covered, s.total.saturating_sub(s.infeasible)),
                count(open)
            )),
        };
        Case {
            class: view.run.summary.criterion.clone(),
            name: format!("{} ({} requirements)", s.name, s.total),
            outcome,
        }
    };
    view.layers.iter().map(case).collect()
}

fn gates(view: &View) -> impl Iterator<Item = Case> + '_ {
    view.run.summary.gates.iter().map(|gate| Case {
        class: "gate".into(),
        name: gate.gate.clone(),
        outcome: if gate.passes {
            Outcome::Passed
        } else {
            Outcome::Failed(format!("{}\n{}", gate.reason, reproduction(view)))
        },
    })
}

fn adversarial(view: &View) -> Vec<Case> {
    let shown = view
        .adversarial
        .iter()
        .take(ADVERSARIAL)
        .map(|adversarial| {
            let wrong = words::mistaken(view, adversarial.truth, adversarial.found);
            Case {
                class: "adversarial".into(),
                name: adversarial.name(),
                outcome: Outcome::Failed(format!(
                    "{wrong}, distance {}, from sample {}\n{}",
                    short(adversarial.distance),
                    adversarial.root,
                    reproduction(view)
                )),
            }
        });
    let mut cases: Vec<Case> = shown.collect();
    if let Some(rest) = view
        .adversarial
        .len()
        .checked_sub(ADVERSARIAL)
        .filter(|&n| n > 0)
    {
        cases.push(Case {
            class: "adversarial".into(),
            name: "others".into(),
            outcome: Outcome::Failed(format!(
                "{} more adversarial inputs\n{}",
                count(rest),
                reproduction(view)
            )),
        });
    }
    cases
}

/// Text inside an element or an attribute. What XML 1.0 has no letter for is left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_an_element_or_is_no_letter_of_xml_is_not_written() {
        assert_eq!(
            escaped("a<b & \"c\">\u{1}\u{b}"),
            "a&lt;b &amp; &quot;c&quot;&gt;"
        );
    }
}
