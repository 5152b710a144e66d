//! Neuron coverage of the paper's MNIST network within 0.3 of the paper's seed.

use super::field::{Field, Quest, Start};
use super::nc::SEED;
use crate::cores;
use crate::error::BenchError;
use crate::shelf::Shelf;
use crate::speed::pool;
use crate::subject::PAPER;
use crate::verdict::Verdict;

const RADIUS: f64 = 0.3;
/// Least coverage in percent.
const LEAST: f64 = 89.5;

/// Prints figures, layer by layer.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== nc of {PAPER}, seed {SEED}, radius {RADIUS}");
    let all = pool(cores())?;
    let quest = Quest {
        radius: Some(RADIUS),
        ..Quest::new("nc", Start::Index(SEED))
    };
    let field = Field::load(shelf, PAPER, &quest)?;
    let (ended, counted) = field.reach(&all)?;
    field.print_layers(&counted);
    let random = all.install(|| field.random_percent(ended.suite.len()));
    println!("control: as many random inputs {random:.2} %");
    let furthest = field.furthest(&ended.suite);
    Ok(vec![
        Verdict::new(
            format!(
                "nc, radius {RADIUS}: {:.3} % (at least {LEAST} %)",
                counted.percent()
            ),
            counted.percent() >= LEAST,
        ),
        Verdict::new(
            format!("nc, radius {RADIUS}: no test is more than {furthest} from the seed"),
            furthest <= RADIUS,
        ),
    ])
}
