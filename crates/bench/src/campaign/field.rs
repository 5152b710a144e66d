//! A run from start to end, and what came of it.

use std::sync::Arc;
use std::time::Instant;

use deepconcolic::{Cancel, Conclusion, Job, Prepared, Session, Summary};
use rayon::ThreadPool;

use crate::error::BenchError;
use crate::job::prepare;

/// A job that can be run again and again: its files are read once.
pub struct Field {
    job: Job,
    pub prepared: Arc<Prepared>,
}

/// What came of it, by running the suite again.
pub struct Ended {
    pub conclusion: Conclusion,
    pub summary: Summary,
    /// Requirements that the seeds cover.
    pub by_seeds: usize,
    /// Of the search.
    pub seconds: f64,
}

impl Ended {
    /// Percent of the requirements covered.
    pub fn percent(&self) -> f64 {
        100.0 * self.summary.coverage
    }

    /// Passes through the network, forward and backward.
    pub fn passes(&self) -> usize {
        self.summary.executions.forward + self.summary.executions.vjp
    }

    /// Percent of the requirements that as many random inputs of the region cover, and the first 10,000 of the data.
    pub fn controls(&self) -> (f64, f64) {
        let percent = |share: Option<f64>| 100.0 * share.unwrap_or(f64::NAN);
        let baseline = &self.summary.baseline;
        (
            percent(baseline.random_coverage),
            percent(baseline.data_coverage),
        )
    }

    /// One line of figures.
    pub fn print(&self) {
        let (counted, work) = (self.summary.requirements, self.summary.executions);
        println!(
            "covered {} of {} ({:.3} %) by {} tests; {} forward and {} VJP passes; stop: {}; {:.1} s",
            counted.covered,
            counted.total,
            self.percent(),
            self.conclusion.suite.len(),
            work.forward,
            work.vjp,
            self.summary.stop,
            self.seconds
        );
    }

    /// What is covered layer by layer.
    pub fn print_layers(&self) {
        println!(
            "{:>48} {:>9} {:>9} {:>9}",
            "layer", "required", "covered", "open"
        );
        for layer in &self.summary.layers {
            println!(
                "{:>48} {:>9} {:>9} {:>9}",
                layer.name, layer.total, layer.covered, layer.unresolved
            );
        }
    }
}

impl Field {
    pub fn new(job: Job) -> Result<Self, BenchError> {
        let prepared = Arc::new(prepare(&job)?);
        Ok(Self { job, prepared })
    }

    /// Searches on a pool's threads for as long as `go_on` says so, which is told of the seconds so far: those
    /// of the search, without what it takes to judge tests by the data.
    pub fn search(
        &self,
        pool: &ThreadPool,
        mut go_on: impl FnMut(&Session, f64) -> bool + Send,
    ) -> Result<(Session, f64), BenchError> {
        pool.install(|| {
            let started = Instant::now();
            let (job, prepared) = (self.job.clone(), Arc::clone(&self.prepared));
            let mut session = Session::of(job, prepared, &Cancel::default(), &mut |_| {})?;
            let seconds = |s: &Session| started.elapsed().as_secs_f64() - s.times().oracle;
            while go_on(&session, seconds(&session)) {
                if session.step(&mut |_| {})?.is_some() {
                    break;
                }
            }
            let seconds = seconds(&session);
            Ok((session, seconds))
        })
    }

    /// Searches to the end and runs the suite again.
    pub fn run(&self, pool: &ThreadPool) -> Result<Ended, BenchError> {
        let mut by_seeds = None;
        let (session, seconds) = self.search(pool, |session, _| {
            by_seeds.get_or_insert(session.coverage().0);
            true
        })?;
        let (conclusion, _) = pool.install(|| session.conclude())?;
        Ok(Ended {
            summary: conclusion.summary(),
            conclusion,
            by_seeds: by_seeds.unwrap_or_default(),
            seconds,
        })
    }

    /// The largest L-infinity distance of a test to its seed, in units of the domain's width and in
    /// arithmetic of the benchmark's own.
    pub fn furthest(&self, ended: &Ended) -> f64 {
        let domain = &self.prepared.space.domain;
        let ends = domain.lower().iter().zip(domain.upper());
        let widths: Vec<f64> = ends.map(|(l, u)| f64::from(*u) - f64::from(*l)).collect();
        let suite = &ended.conclusion.suite;
        let mut seed = vec![0.0; widths.len()];
        let mut furthest = 0.0;
        for (test, root) in suite
            .x
            .chunks_exact(widths.len())
            .zip(&suite.provenance.root)
        {
            self.prepared.data.gather(&[*root as usize], &mut seed);
            let each = test.iter().zip(&seed).zip(&widths);
            // An element of no width is constant.
            furthest = each
                .filter(|(_, width)| **width > 0.0)
                .map(|((a, b), width)| (f64::from(*a) - f64::from(*b)).abs() / width)
                .fold(furthest, f64::max);
        }
        furthest
    }
}
