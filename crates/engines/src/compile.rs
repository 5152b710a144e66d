//! From a formula to a tree: negation pushed to the atoms, cardinalities turned to "at least".

use std::collections::BTreeMap;

use deepconcolic_language::{Comparison, Formula, Input, Relation};

use crate::atom::Scales;
use crate::goal::Reason;
use crate::same_signs::SameSigns;
use crate::tree::Tree;

impl Tree {
    /// The tree of a formula, or of its negation when `wanted` is false.
    pub fn compile(formula: &Formula, wanted: bool, scales: &Scales<'_>) -> Result<Self, Reason> {
        let compile = |part: &Formula, wanted| Self::compile(part, wanted, scales);
        let parts = |of: &[Formula], wanted: bool| -> Result<Vec<Self>, Reason> {
            of.iter().map(|part| compile(part, wanted)).collect()
        };
        Ok(match formula {
            Formula::Compare(comparison) => compare(comparison, wanted, scales)?,
            Formula::Within { input, region } if wanted => {
                Self::Within(usize::from(*input == Input::Second), region.clone())
            }
            Formula::Within { .. } => Self::Check(Formula::Not(Box::new(formula.clone()))),
            &Formula::Distance {
                norm,
                relation,
                radius,
            } => {
                let relation = if wanted { relation } else { relation.negated() };
                match relation {
                    // In such a norm being near is a box, which a search can keep to.
                    Relation::Le | Relation::Lt if norm.is_box() => Self::Near(radius),
                    _ => Self::Check(Formula::Distance {
                        norm,
                        relation,
                        radius,
                    }),
                }
            }
            Formula::Not(inner) => compile(inner, !wanted)?,
            Formula::And(of) if wanted => conjunction(of, scales)?,
            Formula::And(of) => Self::Any(parts(of, false)?),
            Formula::Or(of) if wanted => Self::Any(parts(of, true)?),
            Formula::Or(of) => Self::All(parts(of, false)?),
            Formula::Iff(a, b) | Formula::Xor(a, b) => {
                let same = matches!(formula, Formula::Iff(..)) == wanted;
                let case = |truth: bool| -> Result<Self, Reason> {
                    Ok(Self::All(vec![
                        compile(a, truth)?,
                        compile(b, truth == same)?,
                    ]))
                };
                Self::Any(vec![case(true)?, case(false)?])
            }
            Formula::Count {
                of,
                relation,
                count,
            } => {
                let relation = if wanted {
                    *relation
                } else {
                    relation.negated()
                };
                cardinality(of, relation, *count, scales)?
            }
        })
    }
}

fn compare(comparison: &Comparison, wanted: bool, scales: &Scales<'_>) -> Result<Tree, Reason> {
    let relation = if wanted {
        comparison.relation
    } else {
        comparison.relation.negated()
    };
    let with = |relation| {
        let linear = comparison.linear.clone();
        scales
            .compile(&Comparison { linear, relation })
            .map(Tree::Atom)
    };
    match relation {
        Relation::Ne => Ok(Tree::Any(vec![with(Relation::Lt)?, with(Relation::Gt)?])),
        relation => with(relation),
    }
}

/// A conjunction, with "same sign on both inputs" gathered by layer.
fn conjunction(of: &[Formula], scales: &Scales<'_>) -> Result<Tree, Reason> {
    let mut parts = Vec::new();
    let mut same: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for part in of {
        match SameSigns::recognise(part) {
            Some((layer, neuron)) if layer < scales.network.layers().len() => {
                same.entry(layer).or_default().push(neuron);
            }
            _ => parts.push(Tree::compile(part, true, scales)?),
        }
    }
    for (layer, neurons) in same {
        parts.push(Tree::Same(SameSigns::new(layer, neurons, scales)?));
    }
    Ok(Tree::All(parts))
}

fn cardinality(
    of: &[Formula],
    relation: Relation,
    count: usize,
    scales: &Scales<'_>,
) -> Result<Tree, Reason> {
    let at_least = |count: usize, wanted: bool| -> Result<Tree, Reason> {
        if count == 0 {
            return Ok(Tree::All(Vec::new()));
        }
        if count > of.len() {
            return Ok(Tree::Any(Vec::new()));
        }
        let parts: Result<Vec<Tree>, Reason> = of
            .iter()
            .map(|part| Tree::compile(part, wanted, scales))
            .collect();
        Ok(Tree::AtLeast(count, parts?))
    };
    // At most `maximum` true is at least all but `maximum` false.
    let at_most = |maximum: usize| at_least(of.len().saturating_sub(maximum), false);
    match relation {
        Relation::Ge => at_least(count, true),
        Relation::Gt => at_least(count.saturating_add(1), true),
        Relation::Le => at_most(count),
        Relation::Lt => match count.checked_sub(1) {
            Some(maximum) => at_most(maximum),
            None => Ok(Tree::Any(Vec::new())),
        },
        Relation::Eq => Ok(Tree::All(vec![at_least(count, true)?, at_most(count)?])),
        Relation::Ne => {
            let more = at_least(count.saturating_add(1), true)?;
            Ok(match count.checked_sub(1) {
                Some(maximum) => Tree::Any(vec![at_most(maximum)?, more]),
                None => more,
            })
        }
    }
}
