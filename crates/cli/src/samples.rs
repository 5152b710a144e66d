//! Data files as the inputs that measuring works on, and the domain they live in.

use deepconcolic_concolic::Inputs;
use deepconcolic_dataset::Samples;
use deepconcolic_network::Network;
use deepconcolic_spec::{Domain, Pixels};

use crate::exit::Failure;

/// Samples seen as inputs.
pub struct SampleInputs<'a>(pub &'a Samples);

impl Inputs for SampleInputs<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn gather(&self, indices: &[usize], into: &mut [f32]) {
        self.0.gather(indices, into);
    }

    fn labels(&self) -> Option<&[i64]> {
        self.0.labels()
    }
}

/// The domain the user gave, or the default: 0..1 for images, what was observed for tabular data.
/// Also says which.
pub fn domain(given: Option<&str>, samples: &Samples) -> Result<(Domain, String), Failure> {
    let elements = samples.features();
    if let Some(text) = given {
        let ends = text
            .split_once("..")
            .and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?)));
        let Some((low, high)) = ends else {
            return Err(Failure::Usage(format!(
                "--domain `{text}` is not of the form LO..HI, for example 0..1"
            )));
        };
        let domain = Domain::uniform(elements, low, high)
            .map_err(|problem| Failure::Usage(format!("--domain {text}: {problem}")))?;
        return Ok((domain, format!("{low}..{high}")));
    }
    let (domain, words) = if samples.is_image() {
        (Domain::uniform(elements, 0.0, 1.0), "0..1 (images)")
    } else {
        let (low, high) = samples.observed_range();
        (Domain::new(low, high), "the observed range of each feature")
    };
    Ok((domain.map_err(Failure::Usage)?, words.to_owned()))
}

/// Which input elements make up a pixel, by the shape of the model's input.
pub fn pixels(network: &Network) -> Pixels {
    match *network.input_shape().without_batch() {
        [_, _, c] if c <= 4 => Pixels::ChannelsLast(c),
        [c, _, _] => Pixels::ChannelsFirst(c),
        _ => Pixels::Single,
    }
}
