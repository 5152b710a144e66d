//! Every other network with its data, as `run` treats it by default but for the passes allowed.

use super::field::{Field, Quest, Start};
use crate::cores;
use crate::error::BenchError;
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
    let quest = Quest {
        radius: Some(RADIUS),
        executions: Some(PASSES),
        ..Quest::new("nc", Start::First(SEEDS))
    };
    let mut held = 0;
    for model in MODELS {
        let field = Field::load(shelf, model, &quest)?;
        let ended = field.run(&all)?;
        let counted = field.count(&ended.suite, usize::MAX)?;
        let seeds = field.seeds().len();
        let before = field.count(&ended.suite, seeds)?;
        println!(
            "{model:>30} {:>9} {seeds:>6} {:>9} {:>9} {:>9.3} {:>6} {:>8} {:>8}  {}",
            counted.total,
            before.covered,
            counted.covered,
            counted.percent(),
            ended.suite.len(),
            ended.passes.forward,
            ended.passes.vjp,
            ended.stop.name()
        );
        let sound = field.furthest(&ended.suite) <= RADIUS
            && ended.passes.total() <= PASSES
            && counted.covered >= before.covered;
        held += usize::from(sound);
    }
    let what = format!(
        "{held} of {} other networks run within {PASSES} passes, tests within {RADIUS} of seeds",
        MODELS.len()
    );
    Ok(vec![Verdict::new(what, held == MODELS.len())])
}
