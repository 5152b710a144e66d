//! The physical limit: how many executions each stage of the work makes in a second, beside bare forward passes and
//! beside what the core's best product could do; and where the time of a whole run goes. One thread, all in turn.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use deepconcolic::{Cancel, Event, Job, Prepared, Radius, SeedRequest, Session};
use deepconcolic_criteria::Parameters;
use deepconcolic_network::{AffineRow, Network, Pass, Plain, Point, Row};
use rayon::ThreadPool;

use crate::campaign::Field;
use crate::contest::{Contest, Side, print_load, time};
use crate::error::BenchError;
use crate::inputs::data_of;
use crate::job::prepare;
use crate::peak::{Numbers, Product};
use crate::shelf::Shelf;
use crate::speed::{BATCH, PAPER, pool};
use crate::subject::{NEURON_CRITERIA, Subject};

/// Networks and data that are part of the tree.
const TESTDATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata");
/// Images that are measured in one run.
const MEASURED: usize = 256;
/// Passes of the search that is timed.
const PASSES: usize = 2000;
/// Rounds of the contest.
const ROUNDS: usize = 9;
/// Operations of one run of the product.
const PRODUCT: usize = 1 << 26;
/// Seconds of the run whose parts are shown.
const SECONDS: f64 = 15.0;

/// A model with its data.
pub struct Bed {
    model: PathBuf,
    data: PathBuf,
}

impl Bed {
    /// The demo's network, which is always there.
    pub fn demo() -> Self {
        let folder = Path::new(TESTDATA).join("demo");
        Self {
            model: folder.join("fashion_cnn.onnx"),
            data: folder.join("fashion_test.npz"),
        }
    }

    /// A network of so few inputs that proofs end soon.
    fn small() -> Self {
        let folder = Path::new(TESTDATA);
        Self {
            model: folder.join("mlp.onnx"),
            data: folder.join("data_mlp.npz"),
        }
    }

    fn of(shelf: &Shelf, model: &str) -> Result<Self, String> {
        let data = data_of(model).ok_or_else(|| format!("there are no data for {model}"))?;
        Ok(Self {
            model: shelf.model(model)?,
            data: shelf.data(data),
        })
    }

    /// A search for nc from one seed, anywhere in the domain.
    pub fn search(&self) -> Job {
        self.job("nc")
    }

    /// The same for another criterion.
    pub fn job(&self, criterion: &str) -> Job {
        Job {
            seeds: SeedRequest::First(1),
            radius: Radius::Anywhere,
            proofs: false,
            budget: None,
            ..Job::new(&self.model, &self.data, criterion)
        }
    }
}

/// A stage: its name, the seconds of one execution at best, and how that compares with a bare forward pass.
pub struct Stage {
    /// What it is called.
    pub name: &'static str,
    /// Seconds of one execution, at best.
    pub seconds: f64,
    /// Those of a forward pass over it: the median over rounds.
    pub of_forward: f64,
}

/// Names of the stages, in the order in which they are timed.
const STAGES: [&str; 6] = [
    "sgemm peak",
    "forward",
    "forward, layers kept",
    "forward and derivative",
    "measuring",
    "search for nc",
];
const FORWARD: usize = 1;

/// Times every stage.
pub fn measure(bed: &Bed) -> Result<(Vec<Stage>, usize), BenchError> {
    let one = pool(1)?;
    let subject = Subject::of(&bed.model, &bed.data)?;
    let network = &subject.network;
    let images = subject.images(0..BATCH.min(subject.len())).values();
    let count = images.len() / network.input_elements().max(1);
    let flops = flops(network);
    let product = one.install(Product::in_first_cache).lasting(PRODUCT);
    let mut numbers = Numbers::default();
    let layers: Vec<Point> = (0..network.layers().len()).map(Point::Pre).collect();
    let profile = one.install(|| subject.profile());
    let families = subject.families(&NEURON_CRITERIA, &Parameters::default(), Some(&profile))?;
    let measured = MEASURED.min(subject.len());
    let search = Job {
        max_executions: Some(PASSES),
        ..bed.search()
    };
    let field = Field::new(search)?;
    let per_pass = product.flops as f64 / flops.max(1) as f64;
    let contest = Contest::hold_for(
        ROUNDS,
        vec![
            each(&one, per_pass, || product.run(&mut numbers)),
            each(&one, count as f64, || {
                black_box(network.forward(&images, &Pass::keep([Point::Logits])));
            }),
            each(&one, count as f64, || {
                black_box(network.forward(&images, &Pass::keep(layers.iter().copied())));
            }),
            each(&one, 2.0 * count as f64, || derive(network, &images, count)),
            each(&one, measured as f64, || {
                black_box(subject.measure(0..measured, &families));
            }),
            searching(&field, &one),
        ],
    )?;
    let stages = STAGES.iter().enumerate().map(|(side, &name)| Stage {
        name,
        seconds: contest.best(side),
        of_forward: contest.ratio(FORWARD, side),
    });
    Ok((stages.collect(), flops))
}

/// A side whose runs make so many executions: the seconds of one.
fn each<'a>(pool: &'a ThreadPool, executions: f64, mut run: impl FnMut() + Send + 'a) -> Side<'a> {
    Box::new(move || {
        let seconds = time(pool, 3, &mut run);
        Ok(seconds.into_iter().map(|s| s / executions).collect())
    })
}

/// A search to the end of its passes: the seconds of one.
fn searching<'a>(field: &'a Field, pool: &'a ThreadPool) -> Side<'a> {
    Box::new(move || {
        let (session, seconds) = field.search(pool, |_, _| true)?;
        Ok(vec![seconds / session.passes().total().max(1) as f64])
    })
}

/// Runs that can be differentiated, and a derivative of the first logit at each.
fn derive(network: &Network, images: &[f32], count: usize) {
    let pass = Pass::keep([]).differentiating([Point::Logits]);
    let trace = network.forward(images, &pass);
    let rows: Vec<Row<f32>> = (0..count)
        .map(|sample| Row::of(sample, Point::Logits, 0))
        .collect();
    black_box(trace.tape().map(|tape| network.vjp(tape, &rows)));
}

/// Floating-point operations of the sums of one pass: a multiplication and an addition for each term.
fn flops(network: &Network) -> usize {
    let mut row = AffineRow::default();
    let mut operations = 0;
    for node in 0..network.nodes() {
        let elements = network.node_shape(node).elements();
        if elements == 0 || network.plain(node) != Plain::Affine {
            continue;
        }
        // An element in the middle sees all of a window.
        network.plain_row(node, elements / 2, &mut row);
        if row.terms.len() > 1 {
            operations += 2 * elements * row.terms.len();
        }
    }
    operations
}

/// Seconds that bounding one part of a region takes, over those of one forward pass of the same network.
pub fn box_over_forward() -> Result<f64, BenchError> {
    let one = pool(1)?;
    let bed = Bed::small();
    let mut job = Job {
        proofs: true,
        radius: Radius::Within(0.3),
        ..bed.search()
    };
    job.criterion = Some("kmnc".into());
    job.parameters.sections = 10;
    let prepared = Arc::new(prepare(&job)?);
    let subject = Subject::of(&bed.model, &bed.data)?;
    let images = subject.images(0..subject.len()).values();
    let contest = Contest::hold_for(
        ROUNDS,
        vec![
            proving(&job, &prepared, &one),
            each(&one, subject.len() as f64, || {
                let pass = Pass::keep([Point::Logits]);
                black_box(subject.network.forward(&images, &pass));
            }),
        ],
    )?;
    Ok(contest.ratio(0, 1))
}

/// A run with proofs: the seconds of each part of the region that they bound.
fn proving<'a>(job: &'a Job, prepared: &'a Arc<Prepared>, pool: &'a ThreadPool) -> Side<'a> {
    Box::new(move || {
        let mut parts = 0;
        let mut listen = |event: Event| {
            if let Event::Proof { nodes, .. } = event {
                parts += nodes;
            }
        };
        let seconds = pool.install(|| {
            let (job, prepared) = (job.clone(), Arc::clone(prepared));
            let mut session = Session::of(job, prepared, &Cancel::default(), &mut listen)?;
            session.run(&mut listen)?;
            Ok::<f64, BenchError>(session.times().prove)
        })?;
        Ok(vec![
            seconds / f64::from(u32::try_from(parts).unwrap_or(u32::MAX)).max(1.0),
        ])
    })
}

/// Prints the tables of the paper's network and the demo's.
pub fn run(shelf: &Shelf) -> Result<(), BenchError> {
    println!("== stages: executions a second on one thread, all in turn, {ROUNDS} rounds");
    print_load();
    match Bed::of(shelf, PAPER) {
        Ok(bed) => table(PAPER, &bed)?,
        Err(reason) => println!("skipped {PAPER}: {reason}"),
    }
    table("the demo's network", &Bed::demo())
}

fn table(name: &str, bed: &Bed) -> Result<(), BenchError> {
    let (stages, flops) = measure(bed)?;
    let peak = stages[0].seconds;
    println!("\n{name}, {:.3} MFLOP a pass", flops as f64 / 1e6);
    println!(
        "{:24} {:>14} {:>16} {:>14}",
        "stage", "executions/s", "of forward", "of the peak"
    );
    for stage in &stages {
        println!(
            "{:24} {:>14.0} {:>16.3} {:>14.3}",
            stage.name,
            1.0 / stage.seconds,
            stage.of_forward,
            peak / stage.seconds
        );
    }
    parts(bed)
}

/// Where the time of a run with proofs goes.
fn parts(bed: &Bed) -> Result<(), BenchError> {
    let job = Job {
        proofs: true,
        seeds: SeedRequest::First(20),
        radius: Radius::Usual,
        budget: Some(SECONDS),
        ..bed.search()
    };
    let started = Instant::now();
    let mut session = Session::new(job, &Cancel::default(), &mut |_| {})?;
    session.run(&mut |_| {})?;
    let times = session.save()?.time_s;
    let total = started.elapsed().as_secs_f64();
    let known = [
        ("measuring seeds", times.measure),
        ("concrete search", times.ascend),
        ("symbolic search", times.symbolic),
        ("proofs", times.prove),
        ("judging tests", times.oracle),
        ("controls", times.controls),
    ];
    println!(
        "where the time of a run for nc from 20 seeds goes, at most {SECONDS} s, all cores: {total:.2} s"
    );
    for (what, seconds) in known {
        println!(
            "  {what:18} {:6.2} s {:5.1} %",
            seconds,
            100.0 * seconds / total
        );
    }
    let rest = total - known.iter().map(|(_, seconds)| seconds).sum::<f64>();
    println!(
        "  {:18} {rest:6.2} s {:5.1} %",
        "reading, saving",
        100.0 * rest / total
    );
    Ok(())
}
