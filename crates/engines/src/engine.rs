//! What an engine is: from a goal to tests that meet it.

use crate::budget::Budget;
use crate::goal::{Goal, Reason};
use crate::report::Report;
use crate::table::ENGINES;

/// A way of searching. Engines know no criteria: they are asked by [`Goal`].
pub trait Engine: Sync {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// How it searches, in one sentence.
    fn description(&self) -> &'static str;

    /// Whether it can search for a goal, or why not. A goal with a part that can be checked and not steered
    /// towards is supported: a witness may meet that part by itself.
    fn supports(&self, goal: &Goal<'_>) -> Result<(), Reason>;

    /// Searches until something is found, until it has done what it can, or until the budget is spent.
    /// The same goal gives the same report, unless time or somebody ends it.
    fn search(&self, goal: &Goal<'_>, budget: &Budget<'_>) -> Report;
}

/// The engine with this name.
pub fn named(name: &str) -> Option<&'static dyn Engine> {
    ENGINES.iter().copied().find(|engine| engine.name() == name)
}

/// The first engine of the table that can search for a goal; if there is none, why.
pub fn supporting(goal: &Goal<'_>) -> Result<&'static dyn Engine, Reason> {
    let mut reasons = Vec::new();
    for &engine in ENGINES {
        match engine.supports(goal) {
            Ok(()) => return Ok(engine),
            Err(reason) => reasons.push(reason),
        }
    }
    // An engine that takes such objectives says more than one that takes others.
    let says_more = |reason: &&Reason| !matches!(reason, Reason::Objective { .. });
    let reason = reasons.iter().find(says_more).or(reasons.last()).cloned();
    Err(reason.unwrap_or(Reason::Unsupported {
        part: "goal".into(),
        why: "there are no engines",
    }))
}
