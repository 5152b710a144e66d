//! A network and the box round one image that proofs are about.

use deepconcolic_check::{Digest, Region, sha256};
use deepconcolic_dataset::{Dataset, OpenOptions};
use deepconcolic_formats::{LoadOptions, load};
use deepconcolic_geometry::{Domain, Extent, Norm, Pixels, SearchSpace};
use deepconcolic_network::Network;
use deepconcolic_proofs::regions;

use crate::error::BenchError;
use crate::shelf::Shelf;

pub struct Ground {
    pub network: Network,
    /// Of the model's file.
    pub digest: Digest,
    /// The image.
    pub seed: Vec<f32>,
    /// The box, with a point in it.
    pub region: (Region, Vec<f32>),
}

impl Ground {
    /// A model, and a test image by number; without a radius the box is all of 0..1.
    pub fn load(
        shelf: &Shelf,
        model: &str,
        image: usize,
        radius: Option<f64>,
    ) -> Result<Self, BenchError> {
        let path = shelf.model(model).map_err(BenchError::NoModel)?;
        let network = load(&path, &LoadOptions::default())?.network;
        let bytes = std::fs::read(&path).map_err(|e| BenchError::File(path.clone(), e))?;
        let dataset = Dataset::open(&shelf.data("mnist_test.npz"), &OpenOptions::default())?;
        let samples = dataset.prepare(network.input_shape().without_batch(), None)?;
        let mut seed = vec![0.0; samples.features()];
        samples.fill(image..image + 1, &mut seed);
        let domain = Domain::uniform(seed.len(), 0.0, 1.0).map_err(BenchError::NoModel)?;
        let extent = radius.map_or(Extent::Domain, Extent::Balls);
        let space = SearchSpace::of(domain, Pixels::Single, Norm::LINF, extent);
        Ok(Self {
            network,
            digest: sha256(&bytes),
            region: regions(&space, std::slice::from_ref(&seed)).swap_remove(0),
            seed,
        })
    }
}
