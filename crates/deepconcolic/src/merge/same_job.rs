//! Whether runs are of one job: everything that decides what a requirement means and what counts as a test
//! is the same. How it was searched, and where files lie, may differ.

use deepconcolic_record::differences;
use serde_json::Value;

use super::parts::Worker;
use crate::error::Error;
use crate::settings::Settings;

/// The settings of all parts together: those of the whole family, with the smallest seed of random numbers.
pub fn joined(workers: &[Worker]) -> Result<Settings, Error> {
    let first = &workers[0];
    for other in &workers[1..] {
        let found = differences(
            &comparable(&other.settings, &first.settings)?,
            &comparable(&first.settings, &first.settings)?,
        );
        if !found.is_empty() {
            return Err(Error::Request(format!(
                "{} is no part of the same job as {}: {}",
                other.part.path.display(),
                first.part.path.display(),
                found.join(", ")
            )));
        }
    }
    let all = || workers.iter().map(|worker| &worker.settings);
    Ok(Settings {
        version: env!("CARGO_PKG_VERSION").into(),
        partition: None,
        proofs: all().any(|settings| settings.proofs),
        rng_seed: all().map(|settings| settings.rng_seed).min().unwrap_or(0),
        ..first.settings.clone()
    })
}

/// Settings with everything that may differ as the first part has it.
fn comparable(settings: &Settings, first: &Settings) -> Result<Value, Error> {
    let mut same = Settings {
        version: first.version.clone(),
        profile_data: first.profile_data.clone(),
        strategy: first.strategy.clone(),
        proofs: first.proofs,
        rng_seed: first.rng_seed,
        reference: first.reference.clone(),
        partition: first.partition,
        ..settings.clone()
    };
    same.model.model.clone_from(&first.model.model);
    same.data.data.clone_from(&first.data.data);
    if let (Some(own), Some(other)) = (&mut same.requirements, &first.requirements) {
        own.name.clone_from(&other.name);
    }
    // Machines with other instructions round otherwise.
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-5 * a.abs().max(b.abs());
    let both = || same.means.iter().zip(&first.means);
    if same.means.len() == first.means.len() && both().all(near) {
        same.means.clone_from(&first.means);
    }
    let mut value = serde_json::to_value(&same).map_err(Error::json)?;
    // By itself the name would not say whose it is.
    if let Some(fields) = value.as_object_mut()
        && let Some(sha256) = fields.remove("sha256")
    {
        fields.insert("model.sha256".into(), sha256);
    }
    Ok(value)
}
