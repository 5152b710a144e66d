//! The paper's algorithm against the cascade: same kernels, same solver, same seed, one run.

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
/// Seconds after which the paper's algorithm is cut off.
const LONGEST: f64 = 2400.0;

/// What both strategies race to.
pub struct Race {
    /// What is covered, in words.
    pub title: String,
    /// Shares of the requirements to reach.
    pub shares: Vec<f64>,
    /// Seconds after which a strategy is cut off.
    pub longest: f64,
    /// How many times as long the paper's algorithm must take, at least.
    pub least: f64,
}

/// When a share was reached.
struct Milestone {
    seconds: f64,
    passes: Passes,
    tests: usize,
}

/// Prints both, and the ratios.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    let of = Race {
        title: format!("nc of {PAPER} from image {SEED}, no radius"),
        shares: SHARES.to_vec(),
        longest: LONGEST,
        least: 1.0,
    };
    race(
        &of,
        &job(shelf, PAPER, "nc", SeedRequest::Given(vec![SEED]))?,
    )
}

/// The same for a job, whatever its strategy.
pub fn race(race: &Race, job: &Job) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== {}: the paper's algorithm and the cascade", race.title);
    let pool = pool(cores())?;
    let mut reached = Vec::new();
    for name in ["cascade", "paper"] {
        let field = Field::new(Job {
            strategy: name.into(),
            budget: Some(race.longest),
            ..job.clone()
        })?;
        let (milestones, share, passes) = milestones(&field, &race.shares, &pool)?;
        for (share, milestone) in race.shares.iter().zip(&milestones) {
            print_milestone(name, *share, milestone.as_ref(), race.longest);
        }
        println!(
            "{name:8} ended at {:.2} % after {} programs",
            share * 100.0,
            passes.lp
        );
        reached.push(milestones);
    }
    let mut verdicts = Vec::new();
    for (at, share) in race.shares.iter().enumerate() {
        let Some(ours) = &reached[0][at] else {
            continue;
        };
        // One that was cut off would have taken longer still.
        let theirs = reached[1][at].as_ref();
        let bound = if theirs.is_some() { "" } else { "more than " };
        let seconds = theirs.map_or(race.longest, |m| m.seconds);
        let ratio = seconds / ours.seconds;
        let what = format!(
            "to {:.0} % nc the paper's algorithm takes {bound}{ratio:.0} times as long as the cascade",
            share * 100.0
        );
        verdicts.push(Verdict::new(what, ratio > race.least));
    }
    Ok(verdicts)
}

fn print_milestone(name: &str, share: f64, milestone: Option<&Milestone>, longest: f64) {
    let percent = share * 100.0;
    match milestone {
        Some(m) => println!(
            "{name:8} {percent:.0} %: {:>8.2} s, {:>6} programs, {:>7} forward and {:>7} backward \
             passes, {:>5} tests",
            m.seconds, m.passes.lp, m.passes.forward, m.passes.vjp, m.tests
        ),
        None => println!("{name:8} {percent:.0} %: not reached in {longest} s"),
    }
}

/// Runs it until all shares are covered or time is up: when each was, and the share covered and the work done at
/// the end.
fn milestones(
    field: &Field,
    shares: &[f64],
    pool: &ThreadPool,
) -> Result<(Vec<Option<Milestone>>, f64, Passes), BenchError> {
    let share = |(covered, total): (usize, usize)| covered as f64 / total.max(1) as f64;
    let mut reached: Vec<Option<Milestone>> = shares.iter().map(|_| None).collect();
    let (session, _) = field.search(pool, |session, seconds| {
        for (wanted, reached) in shares.iter().zip(&mut reached) {
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
