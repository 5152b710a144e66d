//! A requirement as alternatives: boxes of inputs with linear conditions on neurons. Each must be
//! refuted on its own. Conditions that are not linear in the neurons of one input (distances, inputs
//! outside a box) are left out, which makes an alternative easier to meet and a refutation stronger.
//! Conditions on the answer of a Softmax or Sigmoid become conditions on the logits.

use deepconcolic_language::{Comparison, Formula, Inputs, Relation, Requirement, Signature, Var};
use deepconcolic_network::{Network, Point};

use crate::answer::on_logits;
use crate::certificate::Region;
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
                    let Region { lower, upper } = &mut case.region;
                    for (element, (l, u)) in lower.iter_mut().zip(upper).enumerate() {
                        *l = l.max(region.lower.at(element));
                        *u = u.min(region.upper.at(element));
                    }
                }
                Ok(cases)
            }
            Formula::Count { of, count, .. } if *count == of.len() => of
                .iter()
                .try_fold(cases, |cases, part| self.narrow(part, cases)),
            Formula::Count { of, count: 1, .. } => self.narrow(&Formula::Or(of.clone()), cases),
            // Weaker is safe: the refutation is then of more than was asked.
            Formula::Count { .. }
            | Formula::Distance { .. }
            | Formula::Not(_)
            | Formula::Iff(..)
            | Formula::Xor(..) => Ok(cases),
        }
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
