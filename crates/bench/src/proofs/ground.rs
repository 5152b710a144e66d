//! A network and the box round one image that proofs are about.

use deepconcolic::{Job, Prepared, Radius, SeedRequest};
use deepconcolic_check::Region;
use deepconcolic_proofs::regions;

use crate::error::BenchError;
use crate::job::{job, prepare};
use crate::shelf::Shelf;

pub struct ProofSubject {
    pub prepared: Prepared,
    /// The box, with a point in it.
    pub region: (Region, Vec<f32>),
}

impl ProofSubject {
    /// What a criterion requires of a model round a test image; without a radius the box is all of the domain.
    pub fn load(
        shelf: &Shelf,
        model: &str,
        criterion: &str,
        image: usize,
        radius: Option<f64>,
    ) -> Result<Self, BenchError> {
        let prepared = prepare(&Job {
            radius: radius.map_or(Radius::Anywhere, Radius::Within),
            ..job(shelf, model, criterion, SeedRequest::Given(vec![image]))?
        })?;
        let seed = prepared.seeds.input(0).to_vec();
        let region = regions(&prepared.space, &[seed]).swap_remove(0);
        Ok(Self { prepared, region })
    }
}
