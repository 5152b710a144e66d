//! What a second thread brings: the same work on one thread and on two, in turn. Work is counted and not timed, so that
//! both sides do the same.

use std::sync::Arc;

use deepconcolic::{Cancel, Job, SeedRequest, Session};
use deepconcolic_criteria::Parameters;
use deepconcolic_proofs::{BatchLimits, Prover};
use rayon::ThreadPool;

use crate::contest::{Contest, Side, print_load, time};
use crate::cores;
use crate::error::BenchError;
use crate::job::{job, prepare};
use crate::proofs::{ProofSubject, inactive_neurons};
use crate::shelf::Shelf;
use crate::speed::pool;
use crate::subject::{NEURON_CRITERIA, PAPER, Subject};
use crate::verdict::Verdict;

/// How many times as fast two threads must be.
const WANTED: f64 = 1.75;
/// Rounds of each contest.
const ROUNDS: usize = 3;
/// Passes of the search for pairs, and its seeds. The last of them are too few for parts side by side, which is a fifth of
/// a run of 20,000.
const PASSES: usize = 100_000;
const SEEDS: usize = 100;
/// The box that proofs are about: its image and its radius; and most parts of it for each neuron.
const IMAGE: usize = 0;
const RADIUS: f64 = 0.05;
const NODES: usize = 64;
/// Hidden layers that proofs are about: the first ones.
const LAYERS: usize = 2;

/// The same work on each of two pools, timed in turn.
type Work = fn(&Shelf, &[ThreadPool; 2]) -> Result<Contest, BenchError>;

/// Prints how many times as fast two threads are, work by work, for work whose name contains a text.
pub fn run(shelf: &Shelf, named: &str) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== two threads against one, the same work in turn; median of {ROUNDS} rounds");
    print_load();
    if cores() < 2 {
        return Err(BenchError::Campaign(
            "this process may use one core only; two are needed".into(),
        ));
    }
    let all: [(&str, Work); 3] = [("coverage", coverage), ("ssc", ssc), ("proofs", proofs)];
    let pools = [pool(1)?, pool(2)?];
    let mut verdicts = Vec::new();
    for (name, work) in all.into_iter().filter(|(name, _)| name.contains(named)) {
        let contest = work(shelf, &pools)?;
        let ratio = contest.ratio(0, 1);
        println!(
            "{name:10} {:8.2} s {:8.2} s: {}",
            contest.best(0),
            contest.best(1),
            contest.compare(0, 1)
        );
        verdicts.push(Verdict::new(
            format!("{name}: two threads are {ratio:.2} times as fast as one (at least {WANTED})"),
            ratio >= WANTED,
        ));
    }
    Ok(verdicts)
}

/// The same work on each of two pools.
fn contest<R: Send>(
    pools: &[ThreadPool; 2],
    work: impl Fn() -> R + Sync,
) -> Result<Contest, BenchError> {
    let work = &work;
    let side = |pool| -> Side<'_> { Box::new(move || Ok(time(pool, 1, work))) };
    Contest::hold_for(ROUNDS, pools.iter().map(side).collect())
}

/// Five criteria over all images of the paper's network.
fn coverage(shelf: &Shelf, pools: &[ThreadPool; 2]) -> Result<Contest, BenchError> {
    let subject = Subject::load(shelf, PAPER)?;
    let profile = pools[1].install(|| subject.profile());
    let families = subject.families(&NEURON_CRITERIA, &Parameters::default(), Some(&profile))?;
    contest(pools, || subject.measure(0..subject.len(), &families))
}

/// A search for sign-sign pairs of the paper's network, with so many passes.
fn ssc(shelf: &Shelf, pools: &[ThreadPool; 2]) -> Result<Contest, BenchError> {
    let job = Job {
        max_executions: Some(PASSES),
        ..job(shelf, PAPER, "ssc", SeedRequest::First(SEEDS))?
    };
    let prepared = Arc::new(prepare(&job)?);
    contest(pools, || {
        let session = Session::of(
            job.clone(),
            Arc::clone(&prepared),
            &Cancel::default(),
            &mut |_| {},
        );
        session.and_then(|mut session| session.run(&mut |_| {}))
    })
}

/// Proofs that neurons cannot be active near an image, and their check.
fn proofs(shelf: &Shelf, pools: &[ThreadPool; 2]) -> Result<Contest, BenchError> {
    let ProofSubject { prepared, region } =
        ProofSubject::load(shelf, PAPER, "nc", IMAGE, Some(RADIUS))?;
    let network = prepared.network.as_ref();
    let asked = inactive_neurons(&prepared, LAYERS);
    let requirements: Vec<_> = asked.into_iter().map(|(_, asked)| asked).collect();
    let limits = BatchLimits {
        nodes: NODES,
        ..BatchLimits::default()
    };
    contest(pools, || {
        let mut prover = Prover::new(network, &prepared.digest, &region);
        prover.decide(&requirements, &limits).is_ok()
    })
}
