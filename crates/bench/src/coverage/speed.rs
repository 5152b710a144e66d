//! Measuring against the forward passes alone.
//!
//! A measurement reads images, runs them, keeps what criteria look at and lets them look. The other
//! side has the images ready and keeps logits alone: in the batches of the measurement, and again
//! all at once, in case batches of that size were a handicap.

use std::hint::black_box;
use std::ops::Range;

use deepconcolic_criteria::{Family, Parameters};
use deepconcolic_network::{Pass, Point};
use rayon::ThreadPool;

use crate::contest::{Contest, ROUNDS, Side, print_load, time};
use crate::cores;
use crate::error::BenchError;
use crate::shelf::Shelf;
use crate::speed::pool;
use crate::subject::{NEURON_CRITERIA, PAPER, Subject};
use crate::verdict::Verdict;

/// Rounds of the neuron criteria, each over all images.
const WHOLE: usize = 3;
/// The network of the pair criterion's target.
const DENSE: &str = "mnist_mlp_100x2_logits.onnx";
/// How often the time of the forward passes measuring may take.
const LIMIT: f64 = 2.0;

/// Prints every ratio.
pub fn run(shelf: &Shelf) -> Result<Vec<Verdict>, BenchError> {
    println!("\n== speed of measuring: time of measuring / time of the forward passes alone");
    print_load();
    let all = pool(cores())?;
    Ok(vec![neurons(shelf, &all)?, pairs(shelf, &all)?])
}

fn neurons(shelf: &Shelf, all: &ThreadPool) -> Result<Verdict, BenchError> {
    let subject = Subject::load(shelf, PAPER)?;
    let profile = all.install(|| subject.profile());
    let families = subject.families(&NEURON_CRITERIA, &Parameters::default(), Some(&profile))?;
    let whole = std::iter::once(0..subject.len()).collect();
    let ratio = Race::new(&subject, &families, whole).hold(all, WHOLE)?;
    let what = format!(
        "{} over {} images of {PAPER}: {ratio:.3} times the forward passes (at most {LIMIT})",
        NEURON_CRITERIA.join(" + "),
        subject.len()
    );
    Ok(Verdict::new(what, ratio <= LIMIT))
}

fn pairs(shelf: &Shelf, all: &ThreadPool) -> Result<Verdict, BenchError> {
    let subject = Subject::load(shelf, DENSE)?;
    let families = subject.families(&["ssc"], &Parameters::default(), None)?;
    // Pairs are found at the end, so that a part of the images would say nothing of all.
    let whole = std::iter::once(0..subject.len()).collect();
    let ratio = Race::new(&subject, &families, whole).hold(all, ROUNDS)?;
    let what = format!(
        "ssc over {} images of {DENSE}: {ratio:.3} times the forward passes (below {LIMIT})",
        subject.len()
    );
    Ok(Verdict::new(what, ratio < LIMIT))
}

/// Slices of images, one a round, each measured and run.
pub(super) struct Race<'a> {
    subject: &'a Subject,
    families: &'a [Box<dyn Family>],
    slices: Vec<Range<usize>>,
    /// The images of each slice as the network takes them.
    images: Vec<Vec<f32>>,
    /// How many of them a measurement runs at a time.
    batches: Vec<usize>,
}

impl<'a> Race<'a> {
    pub(super) fn new(
        subject: &'a Subject,
        families: &'a [Box<dyn Family>],
        slices: Vec<Range<usize>>,
    ) -> Self {
        let values = |slice: &Range<usize>| subject.images(slice.clone()).values();
        Self {
            subject,
            families,
            images: slices.iter().map(values).collect(),
            batches: subject.batches(slices[0].clone(), families),
            slices,
        }
    }

    /// Prints both ratios; gives that against the same batches.
    pub(super) fn hold(&self, all: &ThreadPool, rounds: usize) -> Result<f64, BenchError> {
        let size = self.slices[0].len();
        let contest = Contest::hold_for(
            rounds,
            vec![
                self.side(all, |slice| {
                    black_box(
                        self.subject
                            .measure(self.slices[slice].clone(), self.families),
                    );
                }),
                self.side(all, |slice| self.run(&self.images[slice], &self.batches)),
                self.side(all, |slice| self.run(&self.images[slice], &[size])),
            ],
        )?;
        println!(
            "{rounds} rounds of {size} images, all sides in turn; {:.1} us an image for a forward pass",
            1e6 * contest.best(1) / size as f64
        );
        println!(
            "  forward in the same batches, of {}: {}",
            self.batches[0],
            contest.compare(0, 1)
        );
        println!("  forward all at once: {}", contest.compare(0, 2));
        Ok(contest.ratio(0, 1))
    }

    /// Does the next slice every time.
    fn side<'b>(&'b self, all: &'b ThreadPool, run: impl Fn(usize) + Send + Sync + 'b) -> Side<'b> {
        let mut slices = (0..self.slices.len()).cycle();
        Box::new(move || {
            let slice = slices.next().unwrap_or(0);
            Ok(time(all, 1, || run(slice)))
        })
    }

    fn run(&self, images: &[f32], batches: &[usize]) {
        let network = &self.subject.network;
        let pass = Pass::keep([Point::Logits]);
        let mut rest = images;
        for batch in batches {
            let (now, later) = rest.split_at(batch * network.input_elements());
            black_box(network.forward(now, &pass));
            rest = later;
        }
        assert!(rest.is_empty(), "both sides run the same images");
    }
}
