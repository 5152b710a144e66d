//! The experiments of the paper's Section 10 that can be run here, as a table.

use deepconcolic::{Job, Radius, SeedRequest};
use deepconcolic_geometry::Norm;

use crate::error::BenchError;
use crate::job::job;
use crate::shelf::Shelf;

const MNIST: &str = "mnist_complicated_logits.onnx";
const CIFAR: &str = "cifar10_complicated_logits.onnx";
/// Images that the paper starts boundary coverage and pairs from.
const SEEDS: usize = 1000;
/// Images whose nearest adversarial input is looked for.
const SHRUNK: usize = 100;
/// Pixels that a test may change where pixels are counted.
const PIXELS: f64 = 100.0;

/// How long the command may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Ten minutes.
    Quick,
    /// An hour or two.
    Full,
}

/// One experiment: a criterion on a network, in a norm.
pub struct Experiment {
    /// What its files are called.
    pub name: &'static str,
    /// What it is, for the page.
    pub title: &'static str,
    model: &'static str,
    pub criterion: &'static str,
    l0: bool,
    /// The paper's seed, or the first images.
    seeds: Seeds,
    /// Decisions or neurons of these layers only.
    layers: &'static [&'static str],
    /// How far tests may be; none for anywhere.
    radius: Option<f64>,
    /// Its run in the published curves.
    pub published: Option<&'static str>,
    /// What the paper's tables say: coverage in percent, adversarial share in percent, least distance.
    pub paper: Paper,
    with: &'static [&'static str],
    /// Whether adversarial tests are moved towards their seeds, as far as they stay adversarial.
    pub shrunk: bool,
}

/// Where tests start.
#[derive(Clone, Copy)]
enum Seeds {
    /// An image of the test set; further repetitions start from others.
    Image(usize),
    /// The first images that the network gets right.
    First(usize),
}

/// Figures of the paper's tables.
#[derive(Clone, Copy)]
pub struct Paper {
    pub coverage: Option<f64>,
    pub adversarial: Option<f64>,
    pub least: Option<f64>,
}

const fn paper(coverage: f64, adversarial: f64, least: f64) -> Paper {
    Paper {
        coverage: Some(coverage),
        adversarial: Some(adversarial),
        least: Some(least),
    }
}

const NOTHING: Paper = Paper {
    coverage: None,
    adversarial: None,
    least: None,
};

/// Neuron coverage of the MNIST network from the paper's seed, at the paper's setting: tests may be anywhere.
const FIRST: Experiment = Experiment {
    name: "nc-linf-mnist",
    title: "NC, L-infinity, MNIST",
    model: MNIST,
    criterion: "nc",
    l0: false,
    seeds: Seeds::Image(6427),
    layers: &[],
    radius: None,
    published: Some("nc_linf_mnist_seed6427"),
    paper: paper(97.89, 13.93, 1.0 / 255.0),
    with: &["cascade", "paper", "published", "random"],
    shrunk: false,
};

/// Boundary coverage, from the first images.
const BOUNDARY: Experiment = Experiment {
    criterion: "nbc",
    seeds: Seeds::First(SEEDS),
    with: &["cascade", "paper", "random"],
    ..FIRST
};

/// Pairs of neurons. Without limits on where inputs lie, random pairs almost never differ in one sign.
const PAIRS: Experiment = Experiment {
    criterion: "ssc",
    with: &["cascade"],
    ..BOUNDARY
};

/// The nearest inputs with another answer.
const NEAREST: Experiment = Experiment {
    criterion: "safety",
    seeds: Seeds::First(SHRUNK),
    published: None,
    paper: NOTHING,
    with: &["cascade"],
    shrunk: true,
    ..FIRST
};

/// Every experiment. Coverage of the paper is the last value of its published raw runs. Where tests are held near their
/// seeds, which the paper does not do, it has no figure.
pub const ALL: &[Experiment] = &[
    FIRST,
    Experiment {
        name: "nc-linf-mnist-ball",
        title: "NC, L-infinity, MNIST, tests within 0.3",
        radius: Some(0.3),
        published: None,
        paper: NOTHING,
        with: &["cascade", "random"],
        ..FIRST
    },
    Experiment {
        name: "nc-linf-cifar",
        title: "NC, L-infinity, CIFAR-10",
        model: CIFAR,
        seeds: Seeds::Image(6402),
        published: Some("nc_linf_cifar10_seed6402"),
        paper: paper(89.72, 0.79, 1.0 / 255.0),
        ..FIRST
    },
    Experiment {
        name: "nc-l0-mnist",
        title: "NC, L0, MNIST",
        l0: true,
        seeds: Seeds::Image(9370),
        published: Some("nc_l0_mnist_seed9370"),
        paper: paper(97.51, 0.53, 1.0),
        with: &["cascade", "paper", "random"],
        ..FIRST
    },
    Experiment {
        name: "nc-l0-mnist-ball",
        title: "NC, L0, MNIST, tests within 100 pixels",
        l0: true,
        seeds: Seeds::Image(9370),
        radius: Some(PIXELS),
        published: None,
        paper: NOTHING,
        with: &["cascade", "random"],
        ..FIRST
    },
    Experiment {
        name: "nc-l0-cifar",
        title: "NC, L0, CIFAR-10",
        model: CIFAR,
        l0: true,
        seeds: Seeds::Image(8661),
        published: Some("nc_l0_cifar10_seed8661"),
        paper: paper(99.75, 5.59, 1.0),
        with: &["cascade", "paper", "random"],
        ..FIRST
    },
    Experiment {
        name: "nc-l0-cifar-ball",
        title: "NC, L0, CIFAR-10, tests within 100 pixels",
        model: CIFAR,
        l0: true,
        seeds: Seeds::Image(8661),
        radius: Some(PIXELS),
        published: None,
        paper: NOTHING,
        with: &["cascade", "random"],
        ..FIRST
    },
    Experiment {
        name: "nbc-linf-mnist",
        title: "NBC, L-infinity, MNIST",
        published: Some("nbc_linf_mnist"),
        paper: paper(60.90, 0.20, 0.0806),
        ..BOUNDARY
    },
    Experiment {
        name: "nbc-linf-cifar",
        title: "NBC, L-infinity, CIFAR-10",
        model: CIFAR,
        published: Some("nbc_linf_cifar10"),
        paper: paper(90.44, 7.71, 0.0113),
        ..BOUNDARY
    },
    Experiment {
        name: "nbc-l0-mnist",
        title: "NBC, L0, MNIST",
        l0: true,
        published: Some("nbc_l0_mnist"),
        paper: paper(51.24, 0.09, 1.0),
        ..BOUNDARY
    },
    Experiment {
        name: "nbc-l0-mnist-ball",
        title: "NBC, L0, MNIST, tests within 100 pixels",
        l0: true,
        radius: Some(PIXELS),
        published: None,
        paper: NOTHING,
        with: &["cascade", "random"],
        ..BOUNDARY
    },
    Experiment {
        name: "nbc-l0-cifar",
        title: "NBC, L0, CIFAR-10",
        model: CIFAR,
        l0: true,
        published: Some("nbc_l0_cifar10"),
        paper: paper(100.0, 4.13, 1.0),
        ..BOUNDARY
    },
    Experiment {
        name: "nbc-l0-cifar-ball",
        title: "NBC, L0, CIFAR-10, tests within 100 pixels",
        model: CIFAR,
        l0: true,
        radius: Some(PIXELS),
        published: None,
        paper: NOTHING,
        with: &["cascade", "random"],
        ..BOUNDARY
    },
    Experiment {
        name: "ssc-linf-mnist",
        title: "SSC, L-infinity, MNIST, decisions of the last hidden layer",
        layers: &["7"],
        published: Some("ssc_linf_a"),
        paper: paper(96.18, 0.02, 0.1215),
        ..PAIRS
    },
    Experiment {
        name: "ssc-linf-cifar",
        title: "SSC, L-infinity, CIFAR-10, decisions of the last hidden layer",
        model: CIFAR,
        layers: &["6"],
        published: Some("ssc_linf_b"),
        paper: paper(93.06, 0.36, 1.0 / 255.0),
        ..PAIRS
    },
    Experiment {
        name: "shrunk-linf-mnist",
        title: "L-infinity, MNIST, within 0.3",
        radius: Some(0.3),
        ..NEAREST
    },
    Experiment {
        name: "shrunk-l0-mnist",
        title: "L0, MNIST, within 100 pixels",
        l0: true,
        radius: Some(PIXELS),
        ..NEAREST
    },
    Experiment {
        name: "shrunk-linf-cifar",
        title: "L-infinity, CIFAR-10, within 0.3",
        model: CIFAR,
        radius: Some(0.3),
        ..NEAREST
    },
    Experiment {
        name: "shrunk-l0-cifar",
        title: "L0, CIFAR-10, within 100 pixels",
        model: CIFAR,
        l0: true,
        radius: Some(PIXELS),
        ..NEAREST
    },
];

impl Experiment {
    /// The strategies it is run by. Where tests are held near their seeds, the short form leaves out what the paper's own
    /// setting has beside the cascade.
    pub fn strategies(&self, length: Length) -> impl Iterator<Item = &'static str> {
        let all = self.with.iter().copied();
        let held = self.radius.is_some();
        all.filter(move |strategy| match length {
            Length::Full => true,
            Length::Quick => !held || *strategy == "cascade",
        })
    }

    /// How many seeds it is run from: the paper's figures are means over ten. What takes minutes is run less often:
    /// pairs from three, the strategies of the paper from its own seed alone.
    pub fn repetitions(&self, length: Length, strategy: &str) -> usize {
        match (length, strategy) {
            _ if self.shrunk => 1,
            (Length::Full, "cascade" | "random") if self.criterion == "ssc" => 3,
            (Length::Full, "cascade" | "random") => 10,
            _ => 1,
        }
    }

    /// Seconds of one run.
    fn budget(&self, length: Length, strategy: &str) -> f64 {
        match (length, strategy) {
            (Length::Quick, "paper") => 20.0,
            (Length::Quick, "published") => 45.0,
            (Length::Quick, "random") => 8.0,
            (Length::Quick, _) => 25.0,
            (Length::Full, "published") => 240.0,
            (Length::Full, "paper") => 120.0,
            (Length::Full, "random") => 6.0,
            // Pairs are the most requirements by far.
            (Length::Full, _) if self.criterion == "ssc" => 240.0,
            // A hundred images, each searched closely.
            (Length::Full, _) if self.shrunk => 120.0,
            (Length::Full, _) => 30.0,
        }
    }

    /// The job of one run, the first from the paper's own seed.
    pub fn job(
        &self,
        shelf: &Shelf,
        strategy: &str,
        seed: usize,
        length: Length,
    ) -> Result<Job, BenchError> {
        let seeds = match self.seeds {
            // Images of the test set, spread over it.
            Seeds::Image(first) => SeedRequest::Given(vec![(first + 977 * seed) % 10_000]),
            Seeds::First(count) => SeedRequest::First(count),
        };
        let mut job = Job {
            radius: self.radius.map_or(Radius::Anywhere, Radius::Within),
            strategy: strategy.into(),
            budget: Some(self.budget(length, strategy)),
            proofs: strategy == "cascade" && self.radius.is_some() && !self.shrunk,
            minimise: self.shrunk,
            rng_seed: seed as u64,
            ..job(shelf, self.model, self.criterion, seeds)?
        };
        if self.l0 {
            job.parameters.norm = Norm::L0;
        }
        job.parameters.layers = self.layers.iter().map(|&layer| layer.into()).collect();
        Ok(job)
    }
}
