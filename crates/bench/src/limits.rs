//! Whether budgets hold: runs of every criterion on networks of several sizes, and properties of every set of the
//! verification competition, each with the time it was given and the time the command took, from its start to its end.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::command::program;
use crate::contest::print_load;
use crate::error::BenchError;
use crate::inputs::data_of;
use crate::shelf::Shelf;
use crate::verdict::Verdict;

/// Properties of the verification competition: a set, a model and a property of it.
const PROPERTIES: [(&str, &str, &str); 4] = [
    (
        "acasxu",
        "ACASXU_run2a_1_1_batch_2000.onnx",
        "prop_1.vnnlib",
    ),
    (
        "acasxu",
        "ACASXU_run2a_4_2_batch_2000.onnx",
        "prop_2.vnnlib",
    ),
    ("mnist_fc", "mnist-net_256x4.onnx", "prop_0_0.03.vnnlib"),
    ("mnist_fc", "mnist-net_256x6.onnx", "prop_1_0.05.vnnlib"),
];

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

/// What a command may take beyond its budget: this part of it, or so many seconds.
const SHARE: f64 = 0.05;
const SECONDS: f64 = 1.0;

/// What is measured.
pub struct Plan<'a> {
    /// Budgets, in seconds.
    pub budgets: &'a [f64],
    /// Only commands whose words contain this text.
    pub named: &'a str,
}

/// A command to time: its words for people, and its arguments without the budget.
struct Timed {
    words: String,
    arguments: Vec<OsString>,
    /// The option that has the budget.
    budget: &'static str,
}

/// Prints what was asked and taken, command by command, and the worst of each budget.
pub fn run(shelf: &Shelf, plan: &Plan<'_>) -> Result<Vec<Verdict>, BenchError> {
    println!(
        "\n== budgets, asked and taken, in seconds: the whole command, from its start to its end"
    );
    print_load();
    println!(
        "{:58} {:>7} {:>8} {:>7} {:>9} {:>10}",
        "command", "asked", "taken", "tests", "covered", "infeasible"
    );
    let program = program()?;
    let commands = commands(shelf, plan.named)?;
    let mut verdicts = Vec::new();
    for &budget in plan.budgets {
        let mut worst: f64 = 0.0;
        let mut late = Vec::new();
        for command in &commands {
            let (taken, outcome) = time(&program, command, budget)?;
            println!("{:58} {budget:7.0} {taken:8.2} {outcome}", command.words);
            worst = worst.max(taken / budget);
            if taken > budget + (budget * SHARE).max(SECONDS) {
                late.push(command.words.clone());
            }
        }
        verdicts.push(Verdict::new(
            format!(
                "budgets of {budget} s hold within 5 % or 1 s over {} commands (worst {worst:.2} times; {} late{}{})",
                commands.len(),
                late.len(),
                if late.is_empty() { "" } else { ": " },
                late.join(", ")
            ),
            late.is_empty(),
        ));
    }
    Ok(verdicts)
}

/// Every command whose words contain a text.
fn commands(shelf: &Shelf, named: &str) -> Result<Vec<Timed>, BenchError> {
    let mut commands = Vec::new();
    for (model, criteria) in COMMANDS {
        let path = shelf.model(model).map_err(BenchError::NoModel)?;
        let data = data_of(model).ok_or_else(|| BenchError::NoData(model.to_owned()))?;
        for criterion in criteria {
            let arguments = ["run".into(), path.clone().into_os_string()].into_iter();
            let options = ["--data".into(), shelf.data(data).into_os_string()];
            let criterion_option = ["--criterion".into(), (*criterion).into()];
            commands.push(Timed {
                words: format!("{model} {criterion}"),
                arguments: arguments.chain(options).chain(criterion_option).collect(),
                budget: "--budget",
            });
        }
    }
    for (set, model, property) in PROPERTIES {
        let folder = shelf.contest(set);
        let paths = [
            folder.join("onnx").join(model),
            folder.join("vnnlib").join(property),
        ];
        let arguments = paths.map(std::path::PathBuf::into_os_string);
        commands.push(Timed {
            words: format!("{model} verify {property}"),
            arguments: ["verify".into()].into_iter().chain(arguments).collect(),
            budget: "--timeout",
        });
    }
    commands.retain(|command| command.words.contains(named));
    Ok(commands)
}

/// Starts a command in a folder of its own: how long it took, and what came of it.
fn time(program: &Path, timed: &Timed, budget: f64) -> Result<(f64, String), BenchError> {
    let place = tempfile::tempdir()?;
    let folder = place.path().join("out");
    let started = Instant::now();
    let output = Command::new(program)
        .args(&timed.arguments)
        .arg(timed.budget)
        .arg(format!("{budget}"))
        .arg("--out")
        .arg(&folder)
        .stdin(Stdio::null())
        .output()?;
    let taken = started.elapsed().as_secs_f64();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(BenchError::Campaign(format!("{}: {said}", timed.words)));
    }
    let outcome = match std::fs::read(folder.join("run.json")) {
        Ok(summary) => counts(&summary),
        Err(_) => String::from_utf8_lossy(&output.stdout)
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned(),
    };
    Ok((taken, outcome))
}

/// How many tests a run made, and how its requirements ended.
fn counts(summary: &[u8]) -> String {
    let summary: Value = serde_json::from_slice(summary).unwrap_or_default();
    let count = |at: &str| {
        summary
            .pointer(at)
            .and_then(Value::as_u64)
            .unwrap_or_default()
    };
    format!(
        "{:7} {:9} {:10}",
        count("/tests/generated"),
        count("/requirements/covered"),
        count("/requirements/infeasible")
    )
}
