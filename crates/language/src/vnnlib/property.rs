//! A VNN-LIB property: boxes of inputs and constraints, and the requirement they make.

use std::io::Read;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;

use super::bounds::{self, Limit, Partial};
use super::sexpr;
use super::term::{OUTPUT, Script};
use crate::diagnostic::{Checked, Fault, Span};
use crate::error::Error;
use crate::requirement::{
    Bound, Formula, Input, InputBox, Inputs, Quantifier, Requirement, decode,
};
use crate::signature::Signature;

/// Most bytes a compressed property may expand to; the largest of the competition have a tenth.
const LARGEST: u64 = 256 << 20;

/// A box of inputs and what must hold there besides.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Where the inputs lie.
    pub region: InputBox,
    /// What else must hold, mostly of the outputs.
    pub constraint: Formula,
}

impl Case {
    fn formula(self) -> Formula {
        let input = Input::First;
        let region = self.region;
        let mut parts = vec![Formula::Within { input, region }];
        match self.constraint {
            Formula::And(rest) => parts.extend(rest),
            other => parts.push(other),
        }
        Formula::And(parts)
    }
}

/// A property of the verification competition: what a counterexample looks like.
///
/// ```
/// use deepconcolic_language::{Property, Signature};
///
/// let property = Property::parse(
///     "(declare-const X_0 Real) (declare-const Y_0 Real) (declare-const Y_1 Real)
///      (assert (>= X_0 -0.5)) (assert (<= X_0 0.5))
///      (assert (or (<= Y_0 Y_1) (>= Y_1 3)))",
/// )?;
/// let signature = Signature::feed_forward([("in", 1), ("relu", 5), ("out", 2)]);
/// assert_eq!(
///     property.requirement(&signature)?.to_string(),
///     "exists x: x in box([-0.5], [0.5]) and \
///      (v[x][3,0] - v[x][3,1] <= 0 or v[x][3,1] - 3 >= 0)"
/// );
/// # Ok::<(), deepconcolic_language::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    inputs: usize,
    outputs: usize,
    /// Over layer 1 and [`OUTPUT`].
    cases: Vec<Case>,
    /// Boxes without any input.
    empty: usize,
}

impl Property {
    /// Reads a property.
    pub fn parse(text: &str) -> Result<Self, Error> {
        read(text).map_err(|fault| fault.locate(text).into())
    }

    /// Reads the bytes of a property file, plain or gzip, which the first bytes tell.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.starts_with(&[0x1f, 0x8b]) {
            Self::parse(decode(&expanded(bytes)?)?)
        } else {
            Self::parse(decode(bytes)?)
        }
    }

    /// How many inputs it declares.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// How many outputs it declares.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// How many of its boxes hold no input at all: a lower bound lies above the upper one, or a condition on
    /// the inputs alone cannot be met in them. They have no part in [`cases`](Self::cases).
    pub fn empty_boxes(&self) -> usize {
        self.empty
    }

    /// The boxes and their constraints over this network's layers; a counterexample lies in one
    /// of them. None, when every box of the file is empty.
    pub fn cases(&self, signature: &Signature) -> Result<Vec<Case>, Error> {
        let output = signature.answer();
        let outputs = signature.layer(output).map_or(0, |layer| layer.neurons);
        agree("inputs (X)", self.inputs, signature.inputs())?;
        agree("outputs (Y)", self.outputs, outputs)?;
        let mut cases = self.cases.clone();
        for case in &mut cases {
            renumber(&mut case.constraint, output);
        }
        Ok(cases)
    }

    /// The requirement: some input is a counterexample.
    pub fn requirement(&self, signature: &Signature) -> Result<Requirement, Error> {
        let cases = self.cases(signature)?.into_iter().map(Case::formula);
        let mut cases: Vec<Formula> = cases.collect();
        Ok(Requirement {
            name: None,
            quantifier: Quantifier::Exists,
            inputs: Inputs::One,
            formula: match cases.len() {
                1 => cases.swap_remove(0),
                _ => Formula::Or(cases),
            },
        })
    }
}

fn agree(what: &'static str, declared: usize, actual: usize) -> Result<(), Error> {
    if declared == actual {
        return Ok(());
    }
    Err(Error::Shape {
        what,
        declared,
        actual,
    })
}

/// Gives the outputs the number their layer has in the network.
fn renumber(formula: &mut Formula, output: usize) {
    match formula {
        Formula::Compare(comparison) => {
            for (_, var) in &mut comparison.linear.terms {
                if var.layer == OUTPUT {
                    var.layer = output;
                }
            }
        }
        Formula::And(parts) | Formula::Or(parts) | Formula::Count { of: parts, .. } => {
            for part in parts {
                renumber(part, output);
            }
        }
        Formula::Not(inner) => renumber(inner, output),
        Formula::Iff(a, b) | Formula::Xor(a, b) => {
            renumber(a, output);
            renumber(b, output);
        }
        Formula::Within { .. } | Formula::Distance { .. } => {}
    }
}

fn expanded(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    let mut reader = MultiGzDecoder::new(bytes).take(LARGEST + 1);
    reader.read_to_end(&mut text).map_err(Error::Gzip)?;
    if text.len() as u64 > LARGEST {
        return Err(Error::TooLarge { limit: LARGEST });
    }
    Ok(text)
}

fn read(text: &str) -> Checked<Property> {
    let script = Script::read(&sexpr::parse(text)?)?;
    let inputs = script.declared(1)?;
    let outputs = script.declared(OUTPUT)?.len();
    if inputs.is_empty() {
        let fault = Fault::new(Span::default(), "this property declares no input");
        return Err(fault.hint("an input is declared by (declare-const X_0 Real)"));
    }
    let partials = bounds::cases(&Formula::And(script.asserts).nnf());
    let boxes = partials.len();
    let mut cases = Vec::new();
    for partial in partials {
        cases.extend(case(partial, &inputs)?);
    }
    Ok(Property {
        inputs: inputs.len(),
        outputs,
        empty: boxes - cases.len(),
        cases,
    })
}

/// The case, unless its box is empty; every input must be bounded.
fn case(partial: Partial, declared: &[Span]) -> Checked<Option<Case>> {
    let mut lower = vec![f64::NEG_INFINITY; declared.len()];
    let mut upper = vec![f64::INFINITY; declared.len()];
    for (input, limit) in partial.limits {
        match limit {
            Limit::Lower(limit) => lower[input] = lower[input].max(limit),
            Limit::Upper(limit) => upper[input] = upper[input].min(limit),
        }
    }
    if lower.iter().zip(&upper).any(|(lower, upper)| lower > upper) {
        return Ok(None);
    }
    for (input, &span) in declared.iter().enumerate() {
        let (side, sign) = match (lower[input].is_finite(), upper[input].is_finite()) {
            (true, true) => continue,
            (true, false) => ("upper", "<="),
            (false, _) => ("lower", ">="),
        };
        let fault = Fault::new(span, format!("input X_{input} has no {side} bound"));
        return Err(fault.hint(format!(
            "every input needs both, as in (assert ({sign} X_{input} 1.0)), in each case of an `or`"
        )));
    }
    if partial
        .rest
        .iter()
        .any(|rest| bounds::excludes(rest, &lower, &upper))
    {
        return Ok(None);
    }
    Ok(Some(Case {
        region: InputBox {
            lower: Bound::PerElement(Arc::from(lower)),
            upper: Bound::PerElement(Arc::from(upper)),
        },
        constraint: Formula::And(partial.rest),
    }))
}
