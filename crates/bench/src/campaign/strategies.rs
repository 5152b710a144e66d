//! The paper's algorithm against the cascade: same kernels, same solver, same seed, one run.

use std::time::{Duration, Instant};

use deepconcolic_campaign::{Passes, Strategy};

use super::field::{Field, Quest, Start};
use super::nc::SEED;
use crate::cores;
use crate::error::BenchError;
use crate::shelf::Shelf;
use crate::speed::pool;
use crate::subject::PAPER;
use crate::verdict::Verdict;

/// Shares of the neurons to reach.
const SHARES: [f64; 2] = [0.8, 0.9];
/// The paper's algorithm is cut off here.
const LONGEST: Duration = Duration::from_mins(40);

/// When a share was reached.
pub struct Milestone {
    pub seconds: f64,
    pub passes: Passes,
    pub tests: usize,
}

/// Prints both, and the ratios.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    println!(
        "\n== nc of {PAPER} from image {SEED}, no radius: the paper's algorithm and the cascade"
    );
    let field = Field::load(shelf, PAPER, &Quest::new("nc", Start::Index(SEED)))?;
    let pool = pool(cores())?;
    let mut reached = Vec::new();
    for (name, strategy) in [("cascade", Strategy::Cascade), ("paper", Strategy::Paper)] {
        let deadline = Instant::now() + LONGEST;
        let (milestones, share, passes) = field.milestones(&pool, strategy, &SHARES, deadline)?;
        for (share, milestone) in SHARES.iter().zip(&milestones) {
            if let Some(m) = milestone {
                println!(
                    "{name:8} {:.0} %: {:>8.2} s, {:>6} programs, {:>7} forward and {:>7} backward \
                     passes, {:>5} tests",
                    share * 100.0,
                    m.seconds,
                    m.passes.lp,
                    m.passes.forward,
                    m.passes.vjp,
                    m.tests
                );
            } else {
                println!(
                    "{name:8} {:.0} %: not reached in {} s",
                    share * 100.0,
                    LONGEST.as_secs()
                );
            }
        }
        println!(
            "{name:8} ended at {:.2} % after {} programs",
            share * 100.0,
            passes.lp
        );
        reached.push(milestones);
    }
    let mut verdicts = Vec::new();
    for (at, share) in SHARES.iter().enumerate() {
        let Some(ours) = &reached[0][at] else {
            continue;
        };
        // One that was cut off would have taken longer still.
        let theirs = reached[1][at].as_ref();
        let least = if theirs.is_some() { "" } else { "more than " };
        let seconds = theirs.map_or(LONGEST.as_secs_f64(), |m| m.seconds);
        let ratio = seconds / ours.seconds;
        let what = format!(
            "to {:.0} % nc the paper's algorithm takes {least}{ratio:.0} times as long as the cascade",
            share * 100.0
        );
        verdicts.push(Verdict::new(what, ratio > 1.0));
    }
    Ok(verdicts)
}
