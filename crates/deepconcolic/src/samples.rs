//! Data files as the inputs that measuring works on, and the domain they live in.

use deepconcolic_campaign::{Answers, Inputs, sanity};
use deepconcolic_criteria::{Decision, Rule, Truth, UNSTATED};
use deepconcolic_dataset::Samples;
use deepconcolic_geometry::{Domain, Pixels};
use deepconcolic_network::{InputPart, Network};

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
    notes.extend(about_labels(answers, samples));
    notes.extend(sanity::outside(
        &SampleInputs(samples),
        domain,
        domain_words,
    ));
    notes
}

/// What answers and labels say of data that cannot be right, and which arrays may be labels and were not read.
pub fn about_labels(answers: &Answers, samples: &Samples) -> Vec<String> {
    let dataset = samples.dataset();
    let mut notes = sanity::findings(answers, dataset.class_names());
    if !dataset.unread().is_empty() {
        notes.push(unread(dataset.unread()));
    }
    notes
}

/// Arrays that may be labels, by names that labels do not have.
fn unread(arrays: &[String]) -> String {
    const LISTED: usize = 3;
    const LONGEST: usize = 40;
    let quoted = |name: &String| format!("{:?}", name.chars().take(LONGEST).collect::<String>());
    let listed: Vec<String> = arrays.iter().take(LISTED).map(quoted).collect();
    let (more, verb) = match arrays.len() {
        1 => (String::new(), "has"),
        len if len > LISTED => (format!(" and {} more", len - LISTED), "have"),
        _ => (String::new(), "have"),
    };
    format!(
        "no labels were read: {}{more} {verb} one number a sample, and labels are called y, labels, label, target or \
         targets; if they are there, save them under such a name",
        listed.join(", ")
    )
}

/// The domain the user gave, or the default: 0..1 for images, what was observed for tabular data.
/// Also says which.
pub fn domain(
    given: Option<&str>,
    samples: &Samples,
    network: &Network,
) -> Result<(Domain, String), Error> {
    if let Some(text) = given {
        return parse_domain(text, network.inputs());
    }
    let elements = samples.features();
    if samples.parts().len() > 1 {
        return domain_of_parts(samples);
    }
    let (domain, words) = if samples.is_image() {
        (Domain::uniform(elements, 0.0, 1.0), IMAGES)
    } else {
        let (low, high) = samples.observed_range();
        (Domain::new(low, high), OBSERVED)
    };
    Ok((domain.map_err(Error::Request)?, words.to_owned()))
}

const IMAGES: &str = "0..1 (images)";
const OBSERVED: &str = "the observed range of each feature";

/// Each of several inputs has the default domain of its kind.
fn domain_of_parts(samples: &Samples) -> Result<(Domain, String), Error> {
    let (mut low, mut high) = samples.observed_range();
    let mut words = Vec::new();
    let mut first = 0;
    for part in samples.parts() {
        let range = first..first + part.features;
        first = range.end;
        if part.image {
            low[range.clone()].fill(0.0);
            high[range].fill(1.0);
        }
        let kind = if part.image { IMAGES } else { OBSERVED };
        words.push(format!("{}: {kind}", part.name));
    }
    let domain = Domain::new(low, high).map_err(Error::Request)?;
    Ok((domain, words.join("; ")))
}

/// The domain of a text LO..HI, or of NAME=LO..HI for every input, and what it is called.
pub fn parse_domain(text: &str, inputs: &[InputPart]) -> Result<(Domain, String), Error> {
    let refuse = |problem: String| Error::Request(format!("--domain {text}: {problem}"));
    let total = inputs.iter().map(|part| part.shape.elements()).sum();
    if !text.contains('=') {
        let (low, high) = ends(text)?;
        let domain = Domain::uniform(total, low, high).map_err(refuse)?;
        return Ok((domain, format!("{low}..{high}")));
    }
    let (mut lower, mut upper) = (vec![None; total], vec![None; total]);
    let mut words = Vec::new();
    for item in text.split(',') {
        let (name, range) = item.rsplit_once('=').unwrap_or(("", item));
        let Some(part) = inputs.iter().find(|part| part.name == name) else {
            let names: Vec<&str> = inputs.iter().map(|part| part.name.as_str()).collect();
            return Err(refuse(format!(
                "there is no input `{name}` that is tested; there are {}",
                names.join(", ")
            )));
        };
        let (low, high) = ends(range)?;
        lower[part.range()].fill(Some(low));
        upper[part.range()].fill(Some(high));
        words.push(format!("{name}: {low}..{high}"));
    }
    let missing = inputs
        .iter()
        .find(|part| lower[part.range()].contains(&None));
    if let Some(part) = missing {
        return Err(refuse(format!(
            "say it of every input that is tested; there is also {}",
            part.name
        )));
    }
    let all = |ends: Vec<Option<f32>>| ends.into_iter().flatten().collect();
    let domain = Domain::new(all(lower), all(upper)).map_err(refuse)?;
    Ok((domain, words.join("; ")))
}

/// The ends of a text LO..HI.
fn ends(text: &str) -> Result<(f32, f32), Error> {
    let ends = text
        .split_once("..")
        .and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?)));
    ends.ok_or_else(|| {
        Error::Request(format!(
            "--domain `{text}` is not of the form LO..HI, for example 0..1"
        ))
    })
}

/// Which input elements make up a pixel, by the shape of the model's input.
pub fn pixels(network: &Network) -> Pixels {
    match *network.input_shape().without_batch() {
        [_, _, c] if c <= 4 => Pixels::ChannelsLast(c),
        [c, _, _] => Pixels::ChannelsFirst(c),
        _ => Pixels::Single,
    }
}
