//! Profiles on disk: an .npz with `samples`, `mean` (of |u|, one a layer), `neurons` (one a layer),
//! and `low` and `high` (one a neuron, layer after layer).

use std::path::Path;

use deepconcolic_campaign::{Limits, profile};
use deepconcolic_criteria::Profile;
use deepconcolic_dataset::Samples;
use deepconcolic_dataset::arrays::NpzReader;
use deepconcolic_dataset::write::NpzWriter;
use deepconcolic_network::Network;

use crate::error::Error;
use crate::samples::SampleInputs;
use crate::settings::DataSettings;

/// Writes a profile.
pub fn save(path: &Path, network: &Network, profile: &Profile) -> Result<(), Error> {
    let layers = network.layers().len();
    let parts = || (0..layers).map(|l| profile.layer(l));
    let low: Vec<f32> = parts().flat_map(|p| p.low.iter().copied()).collect();
    let high: Vec<f32> = parts().flat_map(|p| p.high.iter().copied()).collect();
    let neurons: Vec<i64> = parts().map(|p| p.low.len() as i64).collect();
    let mean: Vec<f64> = (0..layers).map(|l| profile.mean(l)).collect();
    let mut file = NpzWriter::create(path)?;
    file.add("samples", &[1], &[profile.samples() as i64])?;
    file.add("neurons", &[layers], &neurons)?;
    file.add("mean", &[layers], &mean)?;
    file.add("low", &[low.len()], &low)?;
    file.add("high", &[high.len()], &high)?;
    Ok(file.finish()?)
}

/// Reads a profile, if the file is one.
pub fn load(path: &Path, network: &Network) -> Result<Option<Profile>, Error> {
    if path.extension().is_none_or(|e| e != "npz") {
        return Ok(None);
    }
    let mut file = NpzReader::open(path)?;
    let names: Vec<String> = file.names().map(str::to_owned).collect();
    let wanted = ["samples", "neurons", "mean", "low", "high"];
    if !wanted.iter().all(|w| names.iter().any(|n| n == w)) {
        return Ok(None);
    }
    let samples = file
        .read::<i64>("samples")?
        .values
        .first()
        .copied()
        .unwrap_or(0);
    let neurons = file.read::<i64>("neurons")?.values;
    let mean = file.read::<f64>("mean")?.values;
    let low = file.read::<f32>("low")?.values;
    let high = file.read::<f32>("high")?.values;
    let refuse = |problem: String| {
        Error::Request(format!(
            "{}: {problem}; make the profile anew with --save-profile",
            path.display()
        ))
    };
    let mut parts = Vec::new();
    let mut start = 0usize;
    for (&count, &mean) in neurons.iter().zip(&mean) {
        let end = usize::try_from(count)
            .ok()
            .and_then(|n| start.checked_add(n));
        let range = end.map(|end| start..end);
        let slice = |all: &[f32]| range.clone().and_then(|r| all.get(r)).map(<[f32]>::to_vec);
        match (slice(&low), slice(&high)) {
            (Some(low), Some(high)) => parts.push((low, high, mean)),
            _ => return Err(refuse("its arrays do not fit each other".into())),
        }
        start = end.unwrap_or(start);
    }
    let samples = usize::try_from(samples).unwrap_or(0);
    Profile::from_parts(network, samples, parts)
        .map(Some)
        .map_err(refuse)
}

/// How much of the data a profile is made of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extent<'a> {
    /// At most so many samples.
    pub samples: Option<usize>,
    /// As many as there is time for.
    pub limits: Limits<'a>,
}

/// A profile, and where it is from.
pub struct Source {
    pub profile: Profile,
    /// In words.
    pub words: String,
    /// How many samples it is made of, if there are more.
    pub cut: Option<usize>,
}

/// The profile of a saved file, of other data, or of the first tenth of the data.
pub fn find(
    given: Option<&Path>,
    arguments: &DataSettings,
    data: &Samples,
    network: &Network,
    extent: &Extent<'_>,
) -> Result<Source, Error> {
    let measured = |samples: &Samples, all: usize| {
        let count = extent.samples.map_or(all, |samples| samples.min(all));
        let (profile, ran) = profile(network, &SampleInputs(samples), count, &extent.limits);
        (profile, ran, all)
    };
    let (name, (profile, ran, all)) = match given {
        None => {
            let tenth = data.len().div_ceil(10);
            (
                "the first tenth of the data".to_owned(),
                measured(data, tenth),
            )
        }
        Some(path) => {
            let found = if let Some(saved) = load(path, network)? {
                let count = saved.samples();
                (saved, count, count)
            } else {
                let samples = arguments.open_as(path, network)?;
                measured(&samples, samples.len())
            };
            (path.display().to_string(), found)
        }
    };
    let words = if ran < all {
        format!("{name} (the first {ran} of {all} samples, for want of time)")
    } else {
        format!("{name} ({all} samples)")
    };
    Ok(Source {
        profile,
        words,
        cut: (ran < all).then_some(ran),
    })
}
