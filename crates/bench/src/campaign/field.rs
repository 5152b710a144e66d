//! A campaign from start to end on a network with its data, and what came of it.

use std::sync::Arc;
use std::time::Instant;

use deepconcolic_campaign::{
    Campaign, Limits, Passes, Scatter, Seeds, Stop, Strategy, Subject as Parts, Suite, first_seeds,
    given_seeds, means, measure,
};
use deepconcolic_check::Witnesses;
use deepconcolic_criteria::{Decision, Family, Means, Parameters, Profile, Selection, Setting};
use deepconcolic_geometry::{Domain, Extent, Norm, Pixels, SearchSpace};
use deepconcolic_network::BitSet;
use rayon::ThreadPool;

use super::strategies::Milestone;
use crate::error::BenchError;
use crate::shelf::Shelf;
use crate::subject::{Images, Subject, counts, family};

/// Which seeds a campaign starts from.
pub enum Start {
    /// This input of the data.
    Index(usize),
    /// The first so many that the network gets right.
    First(usize),
}

/// What is asked of a campaign.
pub struct Quest<'a> {
    pub criterion: &'a str,
    pub start: Start,
    /// The L-infinity radius round the seeds; none for the whole domain.
    pub radius: Option<f64>,
    pub grid: Option<u32>,
    pub executions: Option<usize>,
    pub profile: Option<&'a Profile>,
}

impl<'a> Quest<'a> {
    /// A criterion from these seeds, anywhere in the domain, for as many passes as it takes.
    pub fn new(criterion: &'a str, start: Start) -> Self {
        Self {
            criterion,
            start,
            radius: None,
            grid: None,
            executions: None,
            profile: None,
        }
    }
}

/// A campaign that can be run, again and again.
pub struct Field {
    pub subject: Subject,
    pub decision: Arc<Decision>,
    pub space: Arc<SearchSpace>,
    pub family: Arc<dyn Family>,
    seeds: Arc<Seeds>,
    /// Inputs run to choose the seeds.
    runs: usize,
    means: Arc<Means>,
    sampled: usize,
    limits: Limits<'static>,
}

/// What came of it.
pub struct Ended {
    pub suite: Suite,
    pub passes: Passes,
    pub stop: Stop,
    pub seconds: f64,
}

/// Requirements covered, by running the suite again.
pub struct Counted {
    pub covered: usize,
    pub total: usize,
    sets: Vec<BitSet>,
}

impl Counted {
    pub fn percent(&self) -> f64 {
        100.0 * self.covered as f64 / self.total.max(1) as f64
    }
}

impl Field {
    /// A campaign on a model of the shelf, with the data that belong to it.
    pub fn load(shelf: &Shelf, model: &str, quest: &Quest<'_>) -> Result<Self, BenchError> {
        Self::new(Subject::load(shelf, model)?, quest)
    }

    /// A campaign on a network that is there already.
    pub fn new(subject: Subject, quest: &Quest<'_>) -> Result<Self, BenchError> {
        let network = &subject.network;
        let samples = &subject.samples;
        let elements = network.input_elements();
        let domain = if samples.is_image() {
            Domain::uniform(elements, 0.0, 1.0)
        } else {
            let (low, high) = samples.observed_range();
            Domain::new(low, high)
        };
        let extent = quest.radius.map_or(Extent::Domain, Extent::Balls);
        let domain = domain.map_err(BenchError::Campaign)?;
        let mut space = SearchSpace::of(domain, Pixels::Single, Norm::LINF, extent);
        space.grid = quest.grid;
        let data = Images::first(samples, samples.len());
        let decision = Decision::shown(network);
        let choice = match quest.start {
            Start::Index(index) => given_seeds(network, &data, &decision, &[index]),
            Start::First(count) => first_seeds(network, &data, &decision, count),
        };
        let (means, sampled) = means(network, &data);
        let rows: Vec<Vec<f32>> = choice.seeds.iter().map(<[f32]>::to_vec).collect();
        let setting = Setting {
            network,
            selection: &Selection::everything(network),
            parameters: &Parameters::default(),
            decision: &decision,
            seeds: &rows,
            space: &space.units,
            profile: quest.profile,
        };
        let family = family(quest.criterion, &setting)?;
        let limits = Limits {
            executions: quest.executions,
            ..Limits::default()
        };
        Ok(Self {
            subject,
            decision: Arc::new(decision),
            space: Arc::new(space),
            family: family.into(),
            seeds: Arc::new(choice.seeds),
            runs: choice.runs,
            means: Arc::new(means),
            sampled,
            limits,
        })
    }

    pub fn seeds(&self) -> &Seeds {
        &self.seeds
    }

    /// Runs it by a strategy until all these shares are covered or time is up: when each was, and the
    /// share covered and the work done at the end.
    pub fn milestones(
        &self,
        pool: &ThreadPool,
        strategy: Strategy,
        shares: &[f64],
        deadline: Instant,
    ) -> Result<(Vec<Option<Milestone>>, f64, Passes), BenchError> {
        pool.install(|| {
            let started = Instant::now();
            let limits = Limits {
                deadline: Some(deadline),
                ..self.limits
            };
            let runs = self.runs + self.sampled;
            let mut campaign = Campaign::new(self.parts(), strategy, 0, runs, &limits)
                .map_err(BenchError::Campaign)?;
            let mut reached: Vec<Option<Milestone>> = shares.iter().map(|_| None).collect();
            let covered = |campaign: &Campaign| {
                let ledger = campaign.ledger();
                ledger.covered_count() as f64 / ledger.total().max(1) as f64
            };
            // Nothing is left to see once the last share is reached.
            let _ = campaign.run(&limits, |campaign, _| {
                for (share, reached) in shares.iter().zip(&mut reached) {
                    if reached.is_none() && covered(campaign) >= *share {
                        *reached = Some(Milestone {
                            seconds: started.elapsed().as_secs_f64(),
                            passes: campaign.passes(),
                            tests: campaign.suite().len(),
                        });
                    }
                }
                if reached.iter().all(Option::is_some) {
                    Err(())
                } else {
                    Ok(())
                }
            });
            Ok((reached, covered(&campaign), campaign.passes()))
        })
    }

    fn parts(&self) -> Parts {
        Parts {
            network: Arc::clone(&self.subject.network),
            family: Arc::clone(&self.family),
            space: Arc::clone(&self.space),
            seeds: Arc::clone(&self.seeds),
            means: Arc::clone(&self.means),
            decision: Arc::clone(&self.decision),
        }
    }

    /// Runs it on a pool's threads.
    pub fn run(&self, pool: &ThreadPool) -> Result<Ended, BenchError> {
        pool.install(|| {
            let started = Instant::now();
            let runs = self.runs + self.sampled;
            let mut campaign =
                Campaign::new(self.parts(), Strategy::Cascade, 0, runs, &self.limits)
                    .map_err(BenchError::Campaign)?;
            let stop = campaign.run(&self.limits, |_, _| Ok::<(), BenchError>(()))?;
            Ok(Ended {
                suite: campaign.suite().clone(),
                passes: campaign.passes(),
                stop,
                seconds: started.elapsed().as_secs_f64(),
            })
        })
    }

    /// Runs it, counts all that its suite covers, and prints a line of figures.
    pub fn reach(&self, pool: &ThreadPool) -> Result<(Ended, Counted), BenchError> {
        let ended = self.run(pool)?;
        let counted = self.count(&ended.suite, usize::MAX)?;
        print(&ended, &counted);
        Ok((ended, counted))
    }

    /// What the first tests of a suite cover, run again by the checker.
    pub fn count(&self, suite: &Suite, tests: usize) -> Result<Counted, BenchError> {
        let witnesses = Witnesses {
            network: &self.subject.network,
            family: self.family.as_ref(),
            guide: self.family.guide().ok(),
            space: &self.space,
            seeds: self.seeds().values(),
            means: &self.means,
            decision: &self.decision,
        };
        let first = suite.tests().iter().take(tests);
        let inputs: Vec<f32> = first.flat_map(|test| &test.input).copied().collect();
        let audit = witnesses
            .audit(&inputs, &[])
            .map_err(BenchError::Campaign)?;
        let (covered, total) = counts(self.family.as_ref(), &audit.covered);
        Ok(Counted {
            covered,
            total,
            sets: audit.covered,
        })
    }

    /// Percent of the requirements that so many random inputs cover, and the first 10,000 of the data.
    pub fn controls(&self, pool: &ThreadPool, tests: usize) -> (f64, f64) {
        pool.install(|| (self.random_percent(tests), self.data_percent(10_000)))
    }

    /// Percent of the requirements that as many random inputs of the search region cover.
    pub fn random_percent(&self, tests: usize) -> f64 {
        let inputs = Scatter::new(&self.space, self.seeds(), tests, 0);
        self.percent(&measure(
            &self.subject.network,
            &inputs,
            &[self.family.as_ref()],
            &self.decision,
        ))
    }

    /// Percent of the requirements that the first inputs of the data cover.
    fn data_percent(&self, count: usize) -> f64 {
        let inputs = Images::first(&self.subject.samples, count);
        self.percent(&measure(
            &self.subject.network,
            &inputs,
            &[self.family.as_ref()],
            &self.decision,
        ))
    }

    fn percent(&self, measured: &deepconcolic_campaign::Measurement) -> f64 {
        let (covered, total) = counts(self.family.as_ref(), &measured.covered[0]);
        100.0 * covered as f64 / total.max(1) as f64
    }

    /// Prints what is covered layer by layer, and gives the slots of the first layer that are open.
    pub fn print_layers(&self, counted: &Counted) -> Vec<usize> {
        let layers = self.subject.network.layers();
        println!(
            "{:>48} {:>9} {:>9} {:>9}",
            "layer", "required", "covered", "open"
        );
        let mut open = Vec::new();
        for (group, covered) in self.family.groups().iter().zip(&counted.sets) {
            let name = group.layer.map_or("output", |layer| layers[layer].name());
            let done = covered.count_without(&group.void);
            println!(
                "{name:>48} {:>9} {done:>9} {:>9}",
                group.total(),
                group.total() - done
            );
            if group.layer == Some(0) {
                open.extend(covered.complement().without(&group.void).iter());
            }
        }
        open
    }

    /// The largest L-infinity distance of a test to its seed, in units of the domain's width and in
    /// arithmetic of the benchmark's own.
    pub fn furthest(&self, suite: &Suite) -> f64 {
        let ends = self.space.domain.lower().iter();
        let ends = ends.zip(self.space.domain.upper());
        let widths: Vec<f64> = ends.map(|(l, u)| f64::from(*u) - f64::from(*l)).collect();
        let distance = |a: &[f32], b: &[f32]| {
            let each = a.iter().zip(b).zip(&widths);
            // An element of no width is constant.
            each.filter(|(_, width)| **width > 0.0)
                .map(|((a, b), width)| (f64::from(*a) - f64::from(*b)).abs() / width)
                .fold(0.0, f64::max)
        };
        let tests = suite.tests().iter();
        tests
            .map(|test| distance(&test.input, self.seeds().input(test.provenance.root)))
            .fold(0.0, f64::max)
    }
}

/// One line of figures.
fn print(ended: &Ended, counted: &Counted) {
    println!(
        "covered {} of {} ({:.3} %) by {} tests; {} forward and {} VJP passes; stop: {}; {:.1} s",
        counted.covered,
        counted.total,
        counted.percent(),
        ended.suite.len(),
        ended.passes.forward,
        ended.passes.vjp,
        ended.stop.name(),
        ended.seconds
    );
}
