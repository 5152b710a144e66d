//! The question of `verify`: a property on a network, what it comes to, and what must be said with an answer.

use std::fmt::Write;

use deepconcolic_check::{Region, Replaced, meets, on_logits};
use deepconcolic_language::{
    Formula, Property, Requirement, Signature, TOLERANCE, has_single, with_single,
};
use deepconcolic_network::{Network, Pass, Point};

use crate::error::Error;

/// A property and the network it is asked of.
pub struct PropertyQuestion<'a> {
    network: &'a Network,
    /// Some input of a box meets the constraints.
    pub requirement: Requirement,
    /// A box that holds all boxes of the property; a single point if there is none.
    pub region: Region,
    /// Boxes with inputs, and boxes without any.
    boxes: usize,
    empty: usize,
    replaced: Replaced,
    /// Elements of the boxes in which no number of single precision lies, with their ends.
    thin: Vec<(usize, f64, f64)>,
}

/// An answer: what the first line says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answer<'a> {
    /// With the counterexample.
    Sat(&'a [f32]),
    Unsat,
    Unknown,
}

impl Answer<'_> {
    /// As the verification competition writes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sat(_) => "sat",
            Self::Unsat => "unsat",
            Self::Unknown => "unknown",
        }
    }
}

impl<'a> PropertyQuestion<'a> {
    /// Reads the bytes of a property file.
    pub fn of(property: &[u8], network: &'a Network) -> Result<Self, Error> {
        let property = Property::from_bytes(property)?;
        let signature = Signature::of(network);
        let requirement = property.requirement(&signature)?;
        let elements = network.input_elements();
        let cases = property.cases(&signature)?;
        let mut region = Region {
            lower: vec![f64::INFINITY; elements],
            upper: vec![f64::NEG_INFINITY; elements],
            ..Region::default()
        };
        let mut thin = Vec::new();
        for case in &cases {
            for element in 0..elements {
                let (low, high) = (case.region.lower.at(element), case.region.upper.at(element));
                let (lower, upper) = (&mut region.lower[element], &mut region.upper[element]);
                *lower = lower.min(low);
                *upper = upper.max(high);
                if !has_single(low, high) {
                    thin.push((element, low, high));
                }
            }
        }
        if cases.is_empty() {
            // No box at all: any will do.
            region.lower.fill(0.0);
            region.upper.fill(0.0);
        }
        Ok(Self {
            replaced: on_logits(&requirement, network).1,
            network,
            requirement,
            region,
            boxes: cases.len(),
            empty: property.empty_boxes(),
            thin,
        })
    }

    /// Whether there is no input that the property speaks of.
    pub fn is_vacuous(&self) -> bool {
        self.boxes == 0
    }

    /// The final Softmax or Sigmoid, if the output is made from the logits by one.
    pub fn head(&self) -> Option<&'static str> {
        self.network.head().kind()
    }

    /// Whether proofs of it go from the output of a Softmax or Sigmoid to the logits.
    pub fn is_about_head(&self) -> bool {
        self.replaced.total() > 0
    }

    /// Whether an input, executed, is a counterexample. In elements in which no number of single precision
    /// lies in the box, the nearest one will do.
    pub fn is_met_by(&self, input: &[f32]) -> bool {
        meets(self.network, &self.executed(), input)
    }

    /// What an execution must meet.
    fn executed(&self) -> Formula {
        let elements = self.network.input_elements();
        self.requirement.goal().with_single(elements, TOLERANCE)
    }

    /// How far an input is outside the property's boxes: the nearest of them, in its worst element.
    pub fn outside(&self, input: &[f32]) -> f64 {
        let mut least = f64::INFINITY;
        each_box(&self.requirement.formula, &mut |lower, upper| {
            let missed = input.iter().enumerate().map(|(e, &x)| {
                let x = f64::from(x);
                (lower(e) - x).max(x - upper(e))
            });
            least = least.min(missed.fold(0.0, f64::max));
        });
        least
    }

    /// What must be said with an answer. The same for the same question and answer, whenever it is asked.
    pub fn notes(&self, answer: Answer<'_>) -> Vec<String> {
        let mut notes = Vec::new();
        if self.is_vacuous() {
            notes.push(
                "vacuous: no input meets the property whatever the network computes: its input box is empty, or a \
                 condition that does not depend on the network is false; so this says nothing about the network"
                    .to_owned(),
            );
            return notes;
        }
        if self.empty > 0 {
            notes.push(format!(
                "{} of the property's {} alternatives have no part in the answer: their input boxes are empty, or \
                 a condition that does not depend on the network is false",
                self.empty,
                self.boxes + self.empty
            ));
        }
        notes.extend(self.about_head(answer));
        notes.extend(self.about_thin(answer));
        notes
    }

    fn about_head(&self, answer: Answer<'_>) -> Option<String> {
        let head = self.network.head().kind()?;
        let Replaced {
            same,
            weaker,
            dropped,
            decided,
        } = self.replaced;
        let total = self.replaced.total();
        if total == 0 {
            return None;
        }
        let mut note = format!("Y is the output of the file, after its final {head}");
        match answer {
            Answer::Sat(_) => note.push_str("; the counterexample was judged by executing it"),
            Answer::Unsat | Answer::Unknown => {
                let _ = write!(note, "; of {total} conditions on it, proofs use ");
                let kinds = [
                    (same, "as the same condition on the logits"),
                    (
                        weaker,
                        "through conditions on the logits that follow from it",
                    ),
                    (decided, "as always or never true of such an output"),
                    (dropped, "not at all"),
                ];
                let kinds = kinds.iter().filter(|(count, _)| *count > 0);
                let kinds: Vec<String> = kinds.map(|(n, how)| format!("{n} {how}")).collect();
                note.push_str(&kinds.join(", "));
            }
        }
        Some(note)
    }

    fn about_thin(&self, answer: Answer<'_>) -> Option<String> {
        let &(element, low, high) = self.thin.first()?;
        let mut elements: Vec<usize> = self.thin.iter().map(|thin| thin.0).collect();
        elements.sort_unstable();
        elements.dedup();
        let others = match elements.len() - 1 {
            0 => String::new(),
            others => format!(" and {others} more inputs"),
        };
        let mut note = format!(
            "no single-precision number lies between the bounds {low} and {high} of X_{element}{others}"
        );
        match answer {
            Answer::Sat(input) => {
                let outside = self.outside(input);
                let _ = write!(
                    note,
                    "; the counterexample has the nearest ones, up to {outside:e} outside the box \
                     (tolerance {TOLERANCE:e})"
                );
            }
            Answer::Unsat => {
                note.push_str("; the proof covers the box of real numbers as it is written");
            }
            Answer::Unknown => {
                let reached = |&(_, low, high): &(usize, f64, f64)| {
                    let (l, u) = with_single(low, high, TOLERANCE);
                    has_single(l, u)
                };
                if self.thin.iter().all(reached) {
                    note.push_str("; the nearest ones were tried");
                } else {
                    let _ = write!(
                        note,
                        ", nor within the tolerance of {TOLERANCE:e}, so that nothing can be executed there"
                    );
                }
            }
        }
        Some(note)
    }

    /// The file's output.
    pub fn output(&self, input: &[f32]) -> Vec<f32> {
        let trace = self.network.forward(input, &Pass::keep([Point::Answer]));
        trace.get(Point::Answer).to_vec()
    }

    /// An input and the network's output as the verification competition writes them. Every number has
    /// the digits of a double, so that it is read back as the very number that was executed.
    pub fn counterexample(&self, input: &[f32]) -> String {
        let line = |name: char, values: &[f32]| -> Vec<String> {
            let values = values.iter().map(|&value| f64::from(value)).enumerate();
            values
                .map(|(i, value)| format!("({name}_{i} {value})"))
                .collect()
        };
        let mut lines = line('X', input);
        lines.extend(line('Y', &self.output(input)));
        format!("({})\n", lines.join("\n "))
    }
}

/// The numbers of a counterexample: inputs and outputs. Says what is wrong with a text that is none.
pub fn read_counterexample(
    text: &str,
    inputs: usize,
    outputs: usize,
) -> Result<(Vec<f64>, Vec<f64>), String> {
    let words = text.replace(['(', ')'], " ");
    let mut words = words.split_whitespace();
    let mut numbers = |name: char, count: usize| -> Result<Vec<f64>, String> {
        let mut read = |i: usize| {
            let expected = format!("{name}_{i}");
            let (found, value) = (words.next(), words.next());
            let value = value.filter(|_| found == Some(&expected));
            let value = value.and_then(|value| value.parse::<f64>().ok());
            value
                .filter(|value| value.is_finite())
                .ok_or(format!("{expected} and its value are missing"))
        };
        (0..count).map(&mut read).collect()
    };
    let input = numbers('X', inputs)?;
    let output = numbers('Y', outputs)?;
    match words.next() {
        None => Ok((input, output)),
        Some(word) => Err(format!("`{word}` follows after the last output")),
    }
}

/// The end of a box in each element.
type BoxEnds<'a> = &'a dyn Fn(usize) -> f64;

/// Every box of a property: its lowest and highest values.
fn each_box(formula: &Formula, visit: &mut dyn FnMut(BoxEnds<'_>, BoxEnds<'_>)) {
    match formula {
        Formula::Within { region, .. } => visit(&|e| region.lower.at(e), &|e| region.upper.at(e)),
        Formula::And(of) | Formula::Or(of) => {
            for part in of {
                each_box(part, visit);
            }
        }
        _ => {}
    }
}
