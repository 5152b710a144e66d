//! What a build server is told, case by case: the requirements, one by one or a layer at a time where they are too many;
//! gates; adversarial inputs. Forms of it are `junit.rs` and `sarif.rs`.

use deepconcolic_record::LayerSummary;

use super::accounts::{Account, accounts};
use super::index::words_of;
use super::number::{count, percent, short};
use super::view::{Named, Verdict, View};
use super::words;

/// Most adversarial inputs that have a case of their own.
const SHOWN: usize = 100;

/// What became of a case.
pub enum Outcome {
    /// As wanted.
    Passed,
    /// Not as wanted: why, and how to see it again.
    Failed(String),
    /// Not known: why.
    Skipped(String),
}

/// A requirement, a layer of them, a gate or an adversarial input.
pub struct Case {
    /// The criterion, or what else it is.
    pub class: String,
    /// What it is called.
    pub name: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// The class of gates.
pub const GATE: &str = "gate";
/// The class of adversarial inputs.
pub const ADVERSARIAL: &str = "adversarial";

/// All cases.
pub fn cases(view: &View) -> Vec<Case> {
    let named = view.named.iter();
    let mut cases: Vec<Case> = named.map(|named| requirement(view, named)).collect();
    // Pairs of neurons have no cases of their own, and of many requirements only those with names have.
    let by_layer = |account: &&Account| {
        let mut named = view.named.iter();
        !named.any(|named| named.criterion == account.criterion)
    };
    for account in accounts(view).iter().filter(by_layer) {
        let rows = account.rows.iter();
        cases.extend(rows.map(|row| layer(view, account, row)));
    }
    cases.extend(gates(view));
    cases.extend(adversarial(view));
    cases
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
        class: (named.criterion.clone()).unwrap_or_else(|| view.run.summary.criterion.clone()),
        name: named.name.clone(),
        outcome,
    }
}

/// A layer passes where nothing is open, and nothing refuted.
fn layer(view: &View, account: &Account, s: &LayerSummary) -> Case {
    let outcome = match (account.is_property, s.covered, s.unresolved) {
        (true, refuted, _) if refuted > 0 => Outcome::Failed(format!(
            "{} refuted\n{}",
            count(refuted),
            reproduction(view)
        )),
        (_, _, 0) => Outcome::Passed,
        (true, _, open) => Outcome::Skipped(format!(
            "{} proven, {} open",
            count(s.infeasible),
            count(open)
        )),
        (false, covered, open) => Outcome::Skipped(format!(
            "{} covered of what is not proven impossible, {} open",
            percent(covered, s.total.saturating_sub(s.infeasible)),
            count(open)
        )),
    };
    Case {
        class: (account.criterion.clone()).unwrap_or_else(|| view.run.summary.criterion.clone()),
        name: format!("{} ({} requirements)", s.name, s.total),
        outcome,
    }
}

fn gates(view: &View) -> impl Iterator<Item = Case> + '_ {
    view.run.summary.gates.iter().map(|gate| Case {
        class: GATE.into(),
        name: gate.gate.clone(),
        outcome: if gate.passes {
            Outcome::Passed
        } else {
            Outcome::Failed(format!("{}\n{}", gate.reason, reproduction(view)))
        },
    })
}

fn adversarial(view: &View) -> Vec<Case> {
    let shown = view.adversarial.iter().take(SHOWN).map(|adversarial| {
        let wrong = words::mistaken(view, adversarial.truth, adversarial.found);
        Case {
            class: ADVERSARIAL.into(),
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
    if let Some(rest) = view.adversarial.len().checked_sub(SHOWN).filter(|&n| n > 0) {
        cases.push(Case {
            class: ADVERSARIAL.into(),
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
