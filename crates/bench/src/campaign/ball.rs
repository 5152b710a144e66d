//! Neuron coverage of the paper's MNIST network within 0.3 of the paper's seed.

use deepconcolic::{Job, Radius, SeedRequest};

use super::field::Field;
use super::nc::SEED;
use crate::cores;
use crate::error::BenchError;
use crate::job::job;
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
    let field = Field::new(Job {
        radius: Radius::Within(RADIUS),
        ..job(shelf, PAPER, "nc", SeedRequest::Given(vec![SEED]))?
    })?;
    let ended = field.run(&all)?;
    ended.print();
    ended.print_layers();
    let (random, _) = ended.controls();
    println!("control: as many random inputs {random:.2} %");
    let furthest = field.furthest(&ended);
    Ok(vec![
        Verdict::new(
            format!(
                "nc, radius {RADIUS}: {:.3} % (at least {LEAST} %)",
                ended.percent()
            ),
            ended.percent() >= LEAST,
        ),
        Verdict::new(
            format!("nc, radius {RADIUS}: no test is more than {furthest} from the seed"),
            furthest <= RADIUS,
        ),
    ])
}
