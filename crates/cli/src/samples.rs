//! Data files as the inputs that measuring works on, and the domain they live in.

use deepconcolic_concolic::Inputs;
use deepconcolic_dataset::Samples;
use deepconcolic_network::{Network, Point};
use deepconcolic_spec::{Domain, Pixels};

use crate::exit::Failure;

/// Samples seen as inputs.
#[derive(Clone, Copy)]
pub struct SampleInputs<'a>(pub &'a Samples);

/// Samples of a network with one logit: a number, not a class, so labels say nothing about it.
pub struct Unlabelled<'a>(pub &'a Samples);

impl Inputs for Unlabelled<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn gather(&self, indices: &[usize], into: &mut [f32]) {
        self.0.gather(indices, into);
    }
}

/// Samples with the labels that the network can be compared with.
pub fn inputs<'a>(samples: &'a Samples, network: &Network) -> Box<dyn Inputs + 'a> {
    if network.elements(Point::Logits) > 1 {
        Box::new(SampleInputs(samples))
    } else {
        Box::new(Unlabelled(samples))
    }
}

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
        let domain = parse_domain(text, elements)?;
        let end = |ends: &[f32]| ends.first().copied().unwrap_or_default();
        let words = format!("{}..{}", end(domain.lower()), end(domain.upper()));
        return Ok((domain, words));
    }
    let (domain, words) = if samples.is_image() {
        (Domain::uniform(elements, 0.0, 1.0), "0..1 (images)")
    } else {
        let (low, high) = samples.observed_range();
        (Domain::new(low, high), "the observed range of each feature")
    };
    Ok((domain.map_err(Failure::Usage)?, words.to_owned()))
}

/// The domain of a text LO..HI.
pub fn parse_domain(text: &str, elements: usize) -> Result<Domain, Failure> {
    let ends = text
        .split_once("..")
        .and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?)));
    let Some((low, high)) = ends else {
        return Err(Failure::Usage(format!(
            "--domain `{text}` is not of the form LO..HI, for example 0..1"
        )));
    };
    Domain::uniform(elements, low, high)
        .map_err(|problem| Failure::Usage(format!("--domain {text}: {problem}")))
}

/// Which input elements make up a pixel, by the shape of the model's input.
pub fn pixels(network: &Network) -> Pixels {
    match *network.input_shape().without_batch() {
        [_, _, c] if c <= 4 => Pixels::ChannelsLast(c),
        [c, _, _] => Pixels::ChannelsFirst(c),
        _ => Pixels::Single,
    }
}
