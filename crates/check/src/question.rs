//! A requirement as alternatives: boxes of inputs with linear conditions on neurons. Each must be
//! refuted on its own. Conditions that are not linear in the neurons of one input (distances, inputs
//! outside a box) are left out, which makes an alternative easier to meet and a refutation stronger.
//! Conditions on the answer of a Softmax or Sigmoid become conditions on the logits.

use std::collections::BTreeMap;

use deepconcolic_language::{Comparison, Formula, Inputs, Relation, Requirement, Signature, Var};
use deepconcolic_network::{Network, Point};

use crate::answer::on_logits;
use crate::certificate::{Changes, Region};
use crate::error::Unsupported;

/// Most alternatives of a formula.
const MAX: usize = 1 << 10;

/// A multiple of one element of a tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// Which tensor.
    pub point: Point,
    /// Which element, in the model file's order.
    pub element: usize,
    /// Its coefficient.
    pub weight: f64,
}

/// A linear condition: the sum of the terms and the constant is at least 0.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Atom {
    /// The terms.
    pub terms: Vec<Term>,
    /// The constant.
    pub constant: f64,
    /// Whether the sum must be more than 0.
    pub strict: bool,
}

/// One alternative: a box and conditions that all hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Where the input lies.
    pub region: Region,
    /// What holds of it.
    pub atoms: Vec<Atom>,
    /// Whether conditions on the answer of a Softmax or Sigmoid were replaced by conditions on the logits.
    pub replaced: bool,
}

/// The alternatives of a requirement's goal over a region. Empty boxes are left out; if none is
/// left, nothing can meet the requirement.
pub fn cases(
    requirement: &Requirement,
    network: &Network,
    region: &Region,
) -> Result<Vec<Case>, Unsupported> {
    if requirement.inputs == Inputs::Two {
        return Err(Unsupported::TwoInputs);
    }
    let reader = Reader {
        depth: Signature::of(network).depth(),
    };
    let (goal, replaced) = on_logits(requirement, network);
    let start = Case {
        region: region.clone(),
        atoms: Vec::new(),
        replaced: replaced.total() > 0,
    };
    let mut cases = reader.narrow(&goal, vec![start])?;
    cases.retain(|case| {
        let mut ends = case.region.lower.iter().zip(&case.region.upper);
        ends.all(|(l, u)| l <= u)
    });
    for case in &cases {
        let mut ends = case.region.lower.iter().zip(&case.region.upper);
        if let Some(at) = ends.position(|(l, u)| !l.is_finite() || !u.is_finite()) {
            return Err(Unsupported::Unbounded(at));
        }
    }
    Ok(cases)
}

/// Reads conditions of a network with so many layers.
#[derive(Debug, Clone)]
pub(crate) struct Reader {
    pub depth: usize,
}

/// Numbers from 0 in the order of their first occurrence in place of any others.
pub(crate) fn numbered<N: Copy + Ord>(names: &[N]) -> Vec<u32> {
    let mut numbers: BTreeMap<N, u32> = BTreeMap::new();
    let number = |&name: &N| {
        let next = numbers.len() as u32;
        *numbers.entry(name).or_insert(next)
    };
    names.iter().map(number).collect()
}

impl Reader {
    /// The cases in which a formula in normal form holds besides.
    fn narrow(&self, formula: &Formula, cases: Vec<Case>) -> Result<Vec<Case>, Unsupported> {
        match formula {
            Formula::Compare(comparison) => Ok(self.compare(comparison, cases)),
            Formula::And(parts) => parts
                .iter()
                .try_fold(cases, |cases, part| self.narrow(part, cases)),
            Formula::Or(parts) => {
                let mut joined = Vec::new();
                for part in parts {
                    joined.append(&mut self.narrow(part, cases.clone())?);
                    if joined.len() > MAX {
                        return Err(Unsupported::Alternatives(MAX));
                    }
                }
                Ok(joined)
            }
            Formula::Within { region, .. } => {
                let mut cases = cases;
                for case in &mut cases {
                    let (lower, upper) = (&region.lower, &region.upper);
                    case.region.narrow(|e| lower.at(e), |e| upper.at(e));
                }
                Ok(cases)
            }
            Formula::Count { of, count, .. } if *count == of.len() => of
                .iter()
                .try_fold(cases, |cases, part| self.narrow(part, cases)),
            Formula::Count { of, count: 1, .. } => self.narrow(&Formula::Or(of.clone()), cases),
            Formula::Count { of, count, .. } => {
                let limit = self.few_changes(of, of.len().saturating_sub(*count));
                let mut cases = cases;
                if let Some(limit) = limit {
                    let whole = |case: &Case| case.region.lower.len() == limit.centre.len();
                    cases.retain_mut(|case| !whole(case) || case.region.limit(&limit));
                }
                Ok(cases)
            }
            // Weaker is safe: the refutation is then of more than was asked.
            Formula::Distance { .. } | Formula::Not(_) | Formula::Iff(..) | Formula::Xor(..) => {
                Ok(cases)
            }
        }
    }

    /// "All but so many of these hold", where each says of the elements of one position that they have given
    /// values: a limit on changes, if every element up to the last one named occurs once.
    fn few_changes(&self, of: &[Formula], allowed: usize) -> Option<Changes> {
        let mut values: BTreeMap<usize, (f64, usize)> = BTreeMap::new();
        for (position, member) in of.iter().enumerate() {
            let parts = match member {
                Formula::And(parts) => &parts[..],
                single => std::slice::from_ref(single),
            };
            for part in parts {
                let (element, value) = self.fixed(part)?;
                if values.insert(element, (value, position)).is_some() {
                    return None;
                }
            }
        }
        let complete = values.keys().copied().eq(0..values.len());
        let (centre, positions): (Vec<f64>, Vec<usize>) = values.into_values().unzip();
        complete.then(|| Changes {
            centre,
            positions: numbered(&positions).into(),
            allowed: u32::try_from(allowed).unwrap_or(u32::MAX),
        })
    }

    /// The input element that a formula fixes, and where.
    #[expect(
        clippy::float_cmp,
        reason = "only a factor of one leaves the number as it is"
    )]
    fn fixed(&self, formula: &Formula) -> Option<(usize, f64)> {
        let Formula::Compare(comparison) = formula else {
            return None;
        };
        let [(weight, var)] = comparison.linear.terms[..] else {
            return None;
        };
        let plain = comparison.relation == Relation::Eq && weight.abs() == 1.0;
        let is_input = self.point(var) == Point::Input;
        // A factor of one leaves the constant as it is.
        (plain && is_input).then(|| (var.neuron, -comparison.linear.constant * weight))
    }

    fn compare(&self, comparison: &Comparison, mut cases: Vec<Case>) -> Vec<Case> {
        let atoms = self.atoms(comparison);
        for case in &mut cases {
            case.atoms.extend(atoms.iter().cloned());
        }
        cases
    }

    /// The conditions that a comparison is; none for `!=`.
    pub fn atoms(&self, comparison: &Comparison) -> Vec<Atom> {
        match comparison.relation {
            Relation::Ge => vec![self.atom(comparison, 1.0, false)],
            Relation::Gt => vec![self.atom(comparison, 1.0, true)],
            Relation::Le => vec![self.atom(comparison, -1.0, false)],
            Relation::Lt => vec![self.atom(comparison, -1.0, true)],
            Relation::Eq => vec![
                self.atom(comparison, 1.0, false),
                self.atom(comparison, -1.0, false),
            ],
            Relation::Ne => Vec::new(),
        }
    }

    fn atom(&self, comparison: &Comparison, sign: f64, strict: bool) -> Atom {
        let linear = &comparison.linear;
        let terms = linear.terms.iter().map(|&(weight, var)| Term {
            point: self.point(var),
            element: var.neuron,
            weight: sign * weight,
        });
        Atom {
            terms: terms.collect(),
            constant: sign * linear.constant,
            strict,
        }
    }

    fn point(&self, var: Var) -> Point {
        var.point(self.depth.saturating_sub(2))
    }
}
