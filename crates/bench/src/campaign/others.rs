//! Every other network with its data, as `run` treats it by default but for the passes allowed.

use deepconcolic::{Job, Radius, SeedRequest};

use super::field::Field;
use crate::cores;
use crate::error::BenchError;
use crate::job::job;
use crate::shelf::Shelf;
use crate::speed::pool;
use crate::verdict::Verdict;

const MODELS: [&str; 10] = [
    "cifar10_resnet8_logits.onnx",
    "deepxplore_lenet1_logits.onnx",
    "deepxplore_lenet4_logits.onnx",
    "deepxplore_lenet5_logits.onnx",
    "mnist_mlp_100x2_logits.onnx",
    "mnist_mlp_32_16_logits.onnx",
    "digits_mlp_logits.onnx",
    "iris_mlp_logits.onnx",
    "wine_mlp_logits.onnx",
    "breast_cancer_mlp_logits.onnx",
];
const SEEDS: usize = 1000;
const RADIUS: f64 = 0.3;
const PASSES: usize = 20_000;

/// Prints a table.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    println!(
        "\n== nc of other networks: the first {SEEDS} inputs they get right, radius {RADIUS}, at most \
         {PASSES} passes"
    );
    let all = pool(cores())?;
    println!(
        "{:>30} {:>9} {:>6} {:>9} {:>9} {:>9} {:>6} {:>8} {:>8}  stop",
        "model", "required", "seeds", "by seeds", "covered", "percent", "tests", "forward", "vjp"
    );
    let mut held = 0;
    for model in MODELS {
        let field = Field::new(Job {
            radius: Radius::Within(RADIUS),
            max_executions: Some(PASSES),
            ..job(shelf, model, "nc", SeedRequest::First(SEEDS))?
        })?;
        let ended = field.run(&all)?;
        let (counted, work) = (ended.summary.requirements, ended.summary.executions);
        println!(
            "{model:>30} {:>9} {:>6} {:>9} {:>9} {:>9.3} {:>6} {:>8} {:>8}  {}",
            counted.total,
            ended.summary.tests.seeds,
            ended.by_seeds,
            counted.covered,
            ended.percent(),
            ended.conclusion.suite.len(),
            work.forward,
            work.vjp,
            ended.summary.stop
        );
        let sound = field.furthest(&ended) <= RADIUS
            && ended.passes() <= PASSES
            && counted.covered >= ended.by_seeds;
        held += usize::from(sound);
    }
    let what = format!(
        "{held} of {} other networks run within {PASSES} passes, tests within {RADIUS} of seeds",
        MODELS.len()
    );
    Ok(vec![Verdict::new(what, held == MODELS.len())])
}
