//! Jobs of the library on models of the shelf, with the data that belong to them.

use deepconcolic::{Job, Prepared, Radius, SeedRequest};

use crate::error::BenchError;
use crate::inputs::data_of;
use crate::shelf::Shelf;

/// A search alone: from these seeds, anywhere in the domain, for as long as it takes.
pub fn job(
    shelf: &Shelf,
    model: &str,
    criterion: &str,
    seeds: SeedRequest,
) -> Result<Job, BenchError> {
    let path = shelf.model(model).map_err(BenchError::NoModel)?;
    let data = data_of(model).ok_or_else(|| BenchError::NoData(model.to_owned()))?;
    Ok(Job {
        seeds,
        radius: Radius::Anywhere,
        proofs: false,
        budget: None,
        ..Job::new(path, shelf.data(data), criterion)
    })
}

/// What a job works on; what is odd about its model is no matter here.
pub fn prepare(job: &Job) -> Result<Prepared, BenchError> {
    Ok(Prepared::of(job, &mut |_| {})?)
}
