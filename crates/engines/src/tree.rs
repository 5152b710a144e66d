//! The goal's formula as a tree of atoms, and the choice of a conjunction in it.
//!
//! Negation is pushed to the atoms while the tree is built. "These neurons have the same sign on both
//! inputs" is one node for a whole layer, however many neurons it has: pair criteria ask that of
//! thousands, of which a step disturbs a few.

use std::collections::BTreeMap;

use deepconcolic_network::Point;
use deepconcolic_spec::{Comparison, Formula, Input, InputBox, Norm, Relation};

use crate::atom::{Atom, Scales};
use crate::goal::Reason;
use crate::observed::Observed;
use crate::same_signs::SameSigns;

/// A formula without negation.
#[derive(Debug, Clone)]
pub(crate) enum Tree {
    Atom(Atom),
    All(Vec<Tree>),
    Any(Vec<Tree>),
    AtLeast(usize, Vec<Tree>),
    Same(SameSigns),
    Within(usize, InputBox),
    /// No element of the two inputs further apart than this.
    Near(f64),
    /// What can be checked and not steered towards.
    Check(Formula),
}

/// What one way of meeting the tree asks for.
#[derive(Debug)]
pub(crate) struct Demands {
    /// Atoms that do not hold yet.
    pub unmet: Vec<Atom>,
    /// Atoms that do.
    pub met: Vec<Atom>,
    /// Signs that must agree on both inputs and do not, as atoms.
    pub signs: Vec<Atom>,
    pub boxes: Vec<(usize, InputBox)>,
    /// How far apart the two inputs may be in L-infinity.
    pub near: f64,
}

impl Default for Demands {
    fn default() -> Self {
        Self {
            unmet: Vec::new(),
            met: Vec::new(),
            signs: Vec::new(),
            boxes: Vec::new(),
            near: f64::INFINITY,
        }
    }
}

impl Demands {
    pub fn is_met(&self) -> bool {
        self.unmet.is_empty() && self.signs.is_empty()
    }

    /// By how much the atoms are missed, each in units of its scale.
    pub fn cost(&self, observed: &Observed) -> f64 {
        let missing = |atom: &Atom| (atom.margin - observed.value(atom)).max(0.0) / atom.scale;
        self.unmet.iter().chain(&self.signs).map(missing).sum()
    }
}

/// Which way to meet a tree: the best by value where there is a choice, or, for other variants, the
/// next best, one digit a choice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variant(pub usize);

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
                match (norm, relation) {
                    (Norm::Linf, Relation::Le | Relation::Lt) => Self::Near(radius),
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

    /// The tensors it looks at.
    pub fn points(&self, into: &mut Vec<Point>) {
        match self {
            Self::Atom(atom) => {
                for term in &atom.terms {
                    add_point(term.point, into);
                }
            }
            Self::All(of) | Self::Any(of) | Self::AtLeast(_, of) => {
                for part in of {
                    part.points(into);
                }
            }
            Self::Same(same) => add_point(same.point, into),
            Self::Within(..) | Self::Near(_) | Self::Check(_) => {}
        }
    }

    /// How near it is to being met: above 0 it is. Of an atom, its value in units of its scale;
    /// what can no longer change is worth plus or minus infinity.
    pub fn value(&self, observed: &Observed) -> f64 {
        match self {
            Self::Atom(atom) => {
                if observed.can_change(atom) {
                    (observed.value(atom) - atom.margin) / atom.scale
                } else if observed.meets(atom) {
                    f64::INFINITY
                } else {
                    f64::NEG_INFINITY
                }
            }
            Self::All(of) => of
                .iter()
                .map(|part| part.value(observed))
                .fold(f64::INFINITY, f64::min),
            Self::Any(of) => of
                .iter()
                .map(|part| part.value(observed))
                .fold(f64::NEG_INFINITY, f64::max),
            Self::AtLeast(count, of) => {
                let mut values: Vec<f64> = of.iter().map(|part| part.value(observed)).collect();
                values.sort_by(|a, b| b.total_cmp(a));
                values[count - 1]
            }
            Self::Same(same) => same.value(observed),
            Self::Within(..) | Self::Near(_) | Self::Check(_) => f64::INFINITY,
        }
    }

    /// A part that can be checked and not steered towards.
    pub fn unsteered(&self) -> Option<&Formula> {
        match self {
            Self::Check(formula) => Some(formula),
            Self::All(of) | Self::Any(of) | Self::AtLeast(_, of) => {
                of.iter().find_map(Self::unsteered)
            }
            _ => None,
        }
    }

    /// How many ways there are to meet it, up to a limit.
    pub fn variants(&self, most: usize) -> usize {
        match self {
            Self::All(of) => of.iter().fold(1, |product: usize, part| {
                (product * part.variants(most)).min(most)
            }),
            Self::Any(of) => of.len().min(most).max(1),
            Self::AtLeast(count, of) if *count < of.len() => 2,
            _ => 1,
        }
    }

    /// The atoms of one way to meet the tree. Choices are made by the values at `reference`; whether
    /// atoms hold is asked of `now`. `false` when what cannot change stands in the way.
    pub fn demands(
        &self,
        reference: &Observed,
        now: &Observed,
        scales: &Scales<'_>,
        variant: &mut Variant,
        into: &mut Demands,
    ) -> bool {
        match self {
            Self::Atom(atom) => {
                let meets = now.meets(atom);
                if !now.can_change(atom) {
                    return meets;
                }
                let list = if meets {
                    &mut into.met
                } else {
                    &mut into.unmet
                };
                list.push(atom.clone());
                true
            }
            Self::All(of) => of
                .iter()
                .all(|part| part.demands(reference, now, scales, variant, into)),
            Self::Any(of) => {
                let ranked = ranked(of, reference);
                if ranked.is_empty() {
                    return false;
                }
                let digit = variant.0 % ranked.len();
                variant.0 /= ranked.len();
                of[ranked[digit]].demands(reference, now, scales, variant, into)
            }
            Self::AtLeast(count, of) => {
                let ranked = ranked(of, reference);
                if ranked.len() < *count {
                    return false;
                }
                // The other variant leaves out the best and takes the next instead.
                let skip = (variant.0 % 2).min(ranked.len() - count);
                variant.0 /= 2;
                ranked[skip..skip + count]
                    .iter()
                    .all(|&part| of[part].demands(reference, now, scales, variant, into))
            }
            Self::Same(same) => {
                same.demands(reference, now, scales, into);
                true
            }
            Self::Within(input, region) => {
                into.boxes.push((*input, region.clone()));
                true
            }
            Self::Near(radius) => {
                into.near = into.near.min(*radius);
                true
            }
            Self::Check(_) => true,
        }
    }
}

fn add_point(point: Point, into: &mut Vec<Point>) {
    if !into.contains(&point) {
        into.push(point);
    }
}

/// Parts that can still be met, the nearest first.
fn ranked(of: &[Tree], observed: &Observed) -> Vec<usize> {
    let values: Vec<f64> = of.iter().map(|part| part.value(observed)).collect();
    let mut order: Vec<usize> = (0..of.len())
        .filter(|&part| values[part] > f64::NEG_INFINITY)
        .collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    order
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
    // At most `most` true is at least all but `most` false.
    let at_most = |most: usize| at_least(of.len().saturating_sub(most), false);
    match relation {
        Relation::Ge => at_least(count, true),
        Relation::Gt => at_least(count.saturating_add(1), true),
        Relation::Le => at_most(count),
        Relation::Lt => match count.checked_sub(1) {
            Some(most) => at_most(most),
            None => Ok(Tree::Any(Vec::new())),
        },
        Relation::Eq => Ok(Tree::All(vec![at_least(count, true)?, at_most(count)?])),
        Relation::Ne => {
            let more = at_least(count.saturating_add(1), true)?;
            Ok(match count.checked_sub(1) {
                Some(most) => Tree::Any(vec![at_most(most)?, more]),
                None => more,
            })
        }
    }
}
