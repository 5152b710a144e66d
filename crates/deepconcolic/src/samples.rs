//! Data files as the inputs that measuring works on, and the domain they live in.

use deepconcolic_campaign::{Answers, Inputs, sanity};
use deepconcolic_criteria::{Decision, Rule, Truth, UNSTATED};
use deepconcolic_dataset::Samples;
use deepconcolic_geometry::{Domain, Pixels};
use deepconcolic_network::Network;

use crate::error::Error;

/// Samples seen as inputs, whatever their labels.
#[derive(Clone, Copy)]
pub struct SampleInputs<'a>(pub &'a Samples);

impl Inputs for SampleInputs<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn gather(&self, indices: &[usize], into: &mut [f32]) {
        self.0.gather(indices, into);
    }
}

/// Samples seen as inputs, with the labels that a decision can be compared with.
#[derive(Clone, Copy)]
pub struct LabelledInputs<'a> {
    samples: &'a Samples,
    decision: &'a Decision,
}

/// Samples with the labels that a decision can be compared with. Refuses quantities where a class is
/// decided.
pub fn inputs<'a>(
    samples: &'a Samples,
    decision: &'a Decision,
) -> Result<LabelledInputs<'a>, Error> {
    let quantity = samples.quantity(0);
    if let (Some(value), None, Some(rule @ (Rule::Argmax | Rule::Threshold(_)))) =
        (quantity, samples.labels(), decision.rule())
    {
        return Err(Error::Request(format!(
            "{}: labels are quantities and not class numbers (sample 0 has {value}), while the decision is \
             {rule}; give integers, or --decision within:D for a regression",
            samples.dataset().source().display()
        )));
    }
    Ok(LabelledInputs { samples, decision })
}

impl Inputs for LabelledInputs<'_> {
    fn len(&self) -> usize {
        self.samples.len()
    }

    fn gather(&self, indices: &[usize], into: &mut [f32]) {
        self.samples.gather(indices, into);
    }

    fn truth(&self, index: usize) -> Option<Truth> {
        match self.decision.rule()? {
            _ if !self.decision.takes_labels() => None,
            Rule::Within(_) => Some(Truth::Values(vec![self.samples.quantity(index)?])),
            Rule::Argmax | Rule::Threshold(_) => Some(Truth::Class(self.samples.labels()?[index])),
        }
    }
}

/// What the user should know about data before believing a figure over them.
pub fn notes(
    samples: &Samples,
    answers: &Answers,
    domain: &Domain,
    domain_words: &str,
) -> Vec<String> {
    let decision = answers.decision();
    let mut notes = Vec::new();
    match decision.rule() {
        Some(_) => notes.extend(decision.note()),
        None => notes.push(format!("accuracy is left out: {UNSTATED}")),
    }
    notes.extend(sanity::findings(answers, samples.dataset().class_names()));
    notes.extend(sanity::outside(
        &SampleInputs(samples),
        domain,
        domain_words,
    ));
    notes
}

/// The domain the user gave, or the default: 0..1 for images, what was observed for tabular data.
/// Also says which.
pub fn domain(given: Option<&str>, samples: &Samples) -> Result<(Domain, String), Error> {
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
    Ok((domain.map_err(Error::Request)?, words.to_owned()))
}

/// The domain of a text LO..HI.
pub fn parse_domain(text: &str, elements: usize) -> Result<Domain, Error> {
    let ends = text
        .split_once("..")
        .and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?)));
    let Some((low, high)) = ends else {
        return Err(Error::Request(format!(
            "--domain `{text}` is not of the form LO..HI, for example 0..1"
        )));
    };
    Domain::uniform(elements, low, high)
        .map_err(|problem| Error::Request(format!("--domain {text}: {problem}")))
}

/// Which input elements make up a pixel, by the shape of the model's input.
pub fn pixels(network: &Network) -> Pixels {
    match *network.input_shape().without_batch() {
        [_, _, c] if c <= 4 => Pixels::ChannelsLast(c),
        [c, _, _] => Pixels::ChannelsFirst(c),
        _ => Pixels::Single,
    }
}
