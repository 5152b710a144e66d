//! Whether budgets hold: runs of every criterion on networks of several sizes, each with the time it was given and the
//! time it took, from reading the model to the last file written.

use std::time::Instant;

use deepconcolic::{Cancel, Job, Session, Summary};
use tempfile::TempDir;

use crate::contest::print_load;
use crate::error::BenchError;
use crate::inputs::data_of;
use crate::shelf::Shelf;
use crate::verdict::Verdict;

/// What is run: a model and criteria.
const COMMANDS: [(&str, &[&str]); 6] = [
    (
        "mnist_complicated_logits.onnx",
        &[
            "nc",
            "nbc",
            "snac",
            "kmnc",
            "tknc",
            "ssc",
            "vsc",
            "svc",
            "vvc",
            "lipschitz",
            "safety",
        ],
    ),
    (
        "cifar10_resnet8_logits.onnx",
        &["nc", "kmnc", "ssc", "lipschitz", "safety"],
    ),
    ("cifar10_complicated_logits.onnx", &["nc", "nbc", "ssc"]),
    ("mnist_mlp_100x2_logits.onnx", &["nc", "kmnc", "ssc", "vvc"]),
    ("deepxplore_lenet5_logits.onnx", &["tknc", "nbc", "svc"]),
    (
        "wine_mlp_logits.onnx",
        &["nc", "ssc", "lipschitz", "safety"],
    ),
];

/// What a run may take beyond its budget: this part of it, or so many seconds.
const SHARE: f64 = 0.05;
const SECONDS: f64 = 1.0;

/// What is measured.
pub struct Plan<'a> {
    /// Budgets, in seconds.
    pub budgets: &'a [f64],
    /// Only models and criteria whose names together contain this text.
    pub named: &'a str,
}

/// Prints what was asked and taken, command by command, and the worst of each budget.
pub fn run(shelf: &Shelf, plan: &Plan<'_>) -> Result<Vec<Verdict>, BenchError> {
    println!(
        "\n== budgets, asked and taken, in seconds; everything from reading the model to saving"
    );
    print_load();
    println!(
        "{:30} {:>10} {:>7} {:>8} {:>7} {:>8} {:>10} {:>8}",
        "network", "criterion", "asked", "taken", "tests", "covered", "infeasible", "proofs"
    );
    let mut verdicts = Vec::new();
    for &budget in plan.budgets {
        let mut worst: f64 = 0.0;
        let mut late = Vec::new();
        for (model, criteria) in COMMANDS {
            for criterion in criteria {
                let name = format!("{model} {criterion}");
                if !name.contains(plan.named) {
                    continue;
                }
                let (taken, summary) = timed(shelf, model, criterion, budget)?;
                let counts = &summary.requirements;
                println!(
                    "{model:30} {criterion:>10} {budget:7.0} {taken:8.2} {:7} {:8} {:10} {:8.2}",
                    summary.tests.generated,
                    counts.covered,
                    counts.infeasible,
                    summary.time_s.prove
                );
                worst = worst.max(taken / budget);
                if taken > budget + (budget * SHARE).max(SECONDS) {
                    late.push(name);
                }
            }
        }
        verdicts.push(Verdict::new(
            format!(
                "budgets of {budget} s hold within 5 % or 1 s (worst {worst:.2} times; {} late{}{})",
                late.len(),
                if late.is_empty() { "" } else { ": " },
                late.join(", ")
            ),
            late.is_empty(),
        ));
    }
    Ok(verdicts)
}

/// A run by default settings in a folder of its own: how long it took, and what came of it.
fn timed(
    shelf: &Shelf,
    model: &str,
    criterion: &str,
    budget: f64,
) -> Result<(f64, Summary), BenchError> {
    let path = shelf.model(model).map_err(BenchError::NoModel)?;
    let data = data_of(model).ok_or_else(|| BenchError::NoData(model.to_owned()))?;
    let place = TempDir::new()?;
    let job = Job {
        budget: Some(budget),
        ..Job::new(path, shelf.data(data), criterion)
    };
    let started = Instant::now();
    let silent = &mut |_| {};
    let folder = place.path().join("run");
    let mut session = Session::create(job, &folder, &Cancel::default(), silent)?;
    session.run(silent)?;
    let summary = session.save()?;
    Ok((started.elapsed().as_secs_f64(), summary))
}
