//! The paper's algorithm against the cascade: same kernels, same solver, same seed, one run.

use std::time::Duration;

use deepconcolic::{Job, Passes, SeedRequest};
use rayon::ThreadPool;

use super::field::Field;
use super::nc::SEED;
use crate::cores;
use crate::error::BenchError;
use crate::job::job;
use crate::shelf::Shelf;
use crate::speed::pool;
use crate::subject::PAPER;
use crate::verdict::Verdict;

/// Shares of the neurons to reach.
const SHARES: [f64; 2] = [0.8, 0.9];
/// The paper's algorithm is cut off here.
const LONGEST: Duration = Duration::from_mins(40);

/// When a share was reached.
struct Milestone {
    seconds: f64,
    passes: Passes,
    tests: usize,
}

/// Prints both, and the ratios.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    println!(
        "\n== nc of {PAPER} from image {SEED}, no radius: the paper's algorithm and the cascade"
    );
    let pool = pool(cores())?;
    let mut reached = Vec::new();
    for name in ["cascade", "paper"] {
        let field = Field::new(Job {
            strategy: name.into(),
            budget: Some(LONGEST.as_secs_f64()),
            ..job(shelf, PAPER, "nc", SeedRequest::Given(vec![SEED]))?
        })?;
        let (milestones, share, passes) = milestones(&field, &pool)?;
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

/// Runs it until all shares are covered or time is up: when each was, and the share covered and the work done at
/// the end.
fn milestones(
    field: &Field,
    pool: &ThreadPool,
) -> Result<([Option<Milestone>; SHARES.len()], f64, Passes), BenchError> {
    let share = |(covered, total): (usize, usize)| covered as f64 / total.max(1) as f64;
    let mut reached = [const { None }; SHARES.len()];
    let (session, _) = field.search(pool, |session, seconds| {
        for (wanted, reached) in SHARES.iter().zip(&mut reached) {
            if reached.is_none() && share(session.coverage()) >= *wanted {
                *reached = Some(Milestone {
                    seconds,
                    passes: session.passes(),
                    tests: session.suite().len(),
                });
            }
        }
        // Nothing is left to see once the last share is reached.
        reached.iter().any(Option::is_none)
    })?;
    Ok((reached, share(session.coverage()), session.passes()))
}
