//! A network with the data it is measured on.

use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;

use deepconcolic_campaign::{Inputs, Limits, Measurement, measure, profile};
use deepconcolic_criteria::{
    self, Decision, Family, Parameters, Profile, Selection, Setting, Truth,
};
use deepconcolic_dataset::{Dataset, OpenOptions, Samples};
use deepconcolic_formats::{LoadOptions, load};
use deepconcolic_geometry::InputSpace;
use deepconcolic_network::{BitSet, Network};

use crate::error::BenchError;
use crate::inputs::data_of;
use crate::shelf::Shelf;

/// The paper's network.
pub const PAPER: &str = crate::speed::PAPER;
/// Criteria that look at one neuron at a time.
pub const NEURON_CRITERIA: [&str; 5] = ["nc", "nbc", "snac", "kmnc", "tknc"];
/// Images that bounds are taken from.
const PROFILED: usize = 1000;

/// A network and its images.
pub struct Subject {
    pub network: Network,
    pub samples: Samples,
}

impl Subject {
    pub fn load(shelf: &Shelf, name: &str) -> Result<Self, BenchError> {
        let model = shelf.model(name).map_err(BenchError::NoModel)?;
        let file = data_of(name).ok_or_else(|| BenchError::NoData(name.to_owned()))?;
        Self::of(&model, &shelf.data(file))
    }

    /// The network and the images of two files.
    pub fn of(model: &Path, data: &Path) -> Result<Self, BenchError> {
        let network = load(model, &LoadOptions::default())?.network;
        let dataset = Dataset::open(data, &OpenOptions::default())?;
        let samples = dataset.prepare(network.input_shape().without_batch(), None)?;
        Ok(Self { network, samples })
    }

    /// How many images there are.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Some of the images.
    pub fn images(&self, range: Range<usize>) -> Images<'_> {
        Images {
            samples: &self.samples,
            range,
        }
    }

    /// Bounds from the first images.
    pub fn profile(&self) -> Profile {
        self.profile_of(PROFILED)
    }

    /// Bounds from the first so many images.
    pub fn profile_of(&self, count: usize) -> Profile {
        let count = count.min(self.len());
        let (images, limits) = (self.images(0..count), Limits::default());
        profile(&self.network, &images, count, &limits).0
    }

    /// The requirements of these criteria on every neuron.
    pub fn families(
        &self,
        names: &[&str],
        parameters: &Parameters,
        profile: Option<&Profile>,
    ) -> Result<Vec<Box<dyn Family>>, BenchError> {
        let selection = Selection::everything(&self.network);
        let space = InputSpace::default();
        let decision = Decision::shown(&self.network);
        let setting = Setting {
            network: &self.network,
            selection: &selection,
            parameters,
            decision: &decision,
            seeds: &[],
            space: &space,
            profile,
        };
        names.iter().map(|name| family(name, &setting)).collect()
    }

    /// What these images cover.
    pub fn measure(&self, range: Range<usize>, families: &[Box<dyn Family>]) -> Measurement {
        let decision = Decision::shown(&self.network);
        measure(
            &self.network,
            &self.images(range),
            &plain(families),
            &decision,
        )
    }

    /// The batches in which these images are run when they are measured.
    pub fn batches(&self, range: Range<usize>, families: &[Box<dyn Family>]) -> Vec<usize> {
        let spy = Spy {
            images: self.images(range),
            batches: Mutex::default(),
        };
        let decision = Decision::shown(&self.network);
        measure(&self.network, &spy, &plain(families), &decision);
        spy.batches.into_inner().unwrap_or_default()
    }
}

/// The families themselves.
fn plain(families: &[Box<dyn Family>]) -> Vec<&dyn Family> {
    families.iter().map(AsRef::as_ref).collect()
}

/// The requirements of one criterion.
pub fn family(name: &str, setting: &Setting<'_>) -> Result<Box<dyn Family>, BenchError> {
    let failed = |reason: String| BenchError::Criterion {
        name: name.to_owned(),
        reason,
    };
    let criterion = deepconcolic_criteria::find(name)
        .ok_or_else(|| failed("there is no such criterion".into()))?;
    criterion.family(setting).map_err(failed)
}

/// Covered requirements and all of them.
pub fn counts(family: &dyn Family, covered: &[BitSet]) -> (usize, usize) {
    let groups = family.groups();
    let done = groups.iter().zip(covered);
    (
        done.map(|(group, covered)| covered.count_without(&group.not_required))
            .sum(),
        groups.iter().map(deepconcolic_criteria::Group::total).sum(),
    )
}

/// Images one after the other.
pub struct Images<'a> {
    samples: &'a Samples,
    range: Range<usize>,
}

impl Images<'_> {
    /// All of them as a network takes them.
    pub fn values(&self) -> Vec<f32> {
        let mut values = vec![0.0; self.range.len() * self.samples.features()];
        self.samples.fill(self.range.clone(), &mut values);
        values
    }
}

impl Inputs for Images<'_> {
    fn len(&self) -> usize {
        self.range.len()
    }

    fn gather(&self, indices: &[usize], into: &mut [f32]) {
        let numbers: Vec<usize> = indices.iter().map(|i| self.range.start + i).collect();
        self.samples.gather(&numbers, into);
    }

    fn truth(&self, index: usize) -> Option<Truth> {
        let labels = self.samples.labels()?;
        Some(Truth::Class(labels[self.range.start + index]))
    }
}

/// Writes down how many images are asked for at a time.
struct Spy<'a> {
    images: Images<'a>,
    batches: Mutex<Vec<usize>>,
}

impl Inputs for Spy<'_> {
    fn len(&self) -> usize {
        self.images.len()
    }

    fn gather(&self, indices: &[usize], into: &mut [f32]) {
        if let Ok(mut batches) = self.batches.lock() {
            batches.push(indices.len());
        }
        self.images.gather(indices, into);
    }
}
