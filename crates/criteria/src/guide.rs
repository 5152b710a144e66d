//! How a search is steered: which requirements an input meets clear of rounding, how near it is to
//! the others, and which way to go.
//!
//! Only requirements on one input can be steered this way. A search knows nothing of criteria but
//! this.

use deepconcolic_network::{BitSet, Head, Network, Point, Seed, Trace};
use rayon::prelude::*;

use super::sections::Sections;

/// Part of a layer's mean |u| by which a generated target must clear its bound.
const RELATIVE_MARGIN: f64 = 1e-5;
/// The least such margin.
const LEAST_MARGIN: f64 = 1e-6;

/// How large values usually are, layer by layer: the paper's 1 / `c_k`. They put the values of
/// different layers on one scale, and set the margin that rounding in another runtime must not eat.
#[derive(Clone, Debug, PartialEq)]
pub struct Means {
    /// By the paper's number, from 0: input, hidden layers, logits, and the output where it is not the
    /// logits.
    layers: Vec<f64>,
}

impl Means {
    /// The means over the samples of a trace that kept [`Means::points`].
    pub fn of(network: &Network, trace: &Trace<f32>) -> Self {
        let mean = |point: Point| {
            // A number that is none says nothing about the scale.
            let values = trace.get(point).iter().filter(|v| v.is_finite());
            let (sum, count) = values.fold((0.0, 0), |(sum, count), &v| {
                (sum + f64::from(v.abs()), count + 1)
            });
            sum / f64::from(count.max(1))
        };
        Self {
            layers: Self::points(network).into_par_iter().map(mean).collect(),
        }
    }

    /// Means known already: of the input, each hidden layer, the logits.
    pub fn from_layers(layers: Vec<f64>) -> Self {
        Self { layers }
    }

    /// What must be kept of a run.
    pub fn points(network: &Network) -> Vec<Point> {
        let hidden = (0..network.layers().len()).map(Point::Pre);
        [Point::Input]
            .into_iter()
            .chain(hidden)
            .chain([Point::Logits])
            .chain((network.head() != Head::Identity).then_some(Point::Answer))
            .collect()
    }

    /// All of them, as [`deepconcolic_language::Evaluator::value`] takes them.
    pub fn layers(&self) -> &[f64] {
        &self.layers
    }

    /// The mean of a layer by the paper's number k; 1 where it is no positive number.
    pub fn scale(&self, layer: usize) -> f64 {
        match self.layers.get(layer.wrapping_sub(1)) {
            Some(&mean) if mean > 0.0 && mean.is_finite() => mean,
            _ => 1.0,
        }
    }

    /// By how much a value of layer k must clear its bound.
    pub fn margin(&self, layer: usize) -> f64 {
        (RELATIVE_MARGIN * self.scale(layer)).max(LEAST_MARGIN)
    }

    /// By how much a value in units of the layers' means must clear 0.
    pub fn relative_margin(&self) -> f64 {
        let floor = |mean: &f64| LEAST_MARGIN / mean;
        let sound = self.layers.iter().filter(|mean| **mean > 0.0);
        sound.map(floor).fold(RELATIVE_MARGIN, f64::max)
    }

    /// By how much a sum of values must clear its bound, given its coefficients and layers.
    pub fn margin_of(&self, terms: impl Iterator<Item = (f64, usize)>) -> f64 {
        terms.map(|(c, layer)| c.abs() * self.margin(layer)).sum()
    }
}

/// One sample of a trace, and the scale to see it in.
#[derive(Clone, Copy)]
pub struct SampleView<'a> {
    /// The run.
    pub trace: &'a Trace<f32>,
    /// Which sample.
    pub sample: usize,
    /// The scale of each layer.
    pub means: &'a Means,
}

impl<'a> SampleView<'a> {
    /// A tensor of the sample.
    pub fn at(&self, point: Point) -> &'a [f32] {
        self.trace.sample(point, self.sample)
    }
}

/// Whether a requirement must be met by a margin to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clearance {
    /// As coverage counts it.
    Exact,
    /// So clearly that another runtime's rounding gives the same answer.
    Firm,
}

/// A part of the input space that a requirement is confined to.
#[derive(Clone, Debug, PartialEq)]
pub enum Confinement {
    /// The neighbourhood of the seed with this number.
    Seed(usize),
    /// A box: lowest and highest value of each element.
    Box(Vec<f32>, Vec<f32>),
}

/// Steers a search towards requirements on one input.
pub trait Guide: Sync {
    /// Adds to `into` those requirements of `among` that the sample meets.
    fn met(
        &self,
        look: SampleView<'_>,
        among: &[BitSet],
        clearance: Clearance,
        into: &mut dyn FnMut(usize, usize),
    );

    /// Appends the ranking value of each slot of a group: above 0 where it is met, the nearer to 0
    /// from below the nearer it is to being met; in units of the layers' means.
    fn values(&self, look: SampleView<'_>, group: usize, slots: &[u32], out: &mut Vec<f32>);

    /// The tensor and the sections of its elements that the slots of a group ask about, if each slot asks for
    /// a value in one section: slot `element * count + section`. A search then need not look at every slot to
    /// know which sample is nearest to it.
    fn sections(&self, _group: usize) -> Option<(Point, Sections<'_>)> {
        None
    }

    /// Appends the gradient of the sum of the slots' values, each of which stops counting once it
    /// reaches `enough`. Returns that sum.
    fn pull(
        &self,
        look: SampleView<'_>,
        group: usize,
        slots: &[u32],
        enough: f32,
        seeds: &mut Vec<Seed<f32>>,
    ) -> f64;

    /// Where the inputs that can meet a requirement lie, if not everywhere. A requirement with
    /// several such places gives them in turn, by `turn`.
    fn confinement(&self, _group: usize, _slot: usize, _turn: usize) -> Option<Confinement> {
        None
    }

    /// Why a slot cannot be searched for, if it cannot.
    fn refusal(&self, _group: usize, _slot: usize) -> Option<String> {
        None
    }
}
