//! The goal's formula as a tree of atoms, and the choice of a conjunction in it.
//!
//! "These neurons have the same sign on both
//! inputs" is one node for a whole layer, however many neurons it has: pair criteria ask that of
//! thousands, of which a step disturbs a few.

use deepconcolic_language::{Formula, InputBox};
use deepconcolic_network::Point;

use crate::atom::{Atom, Scales};
use crate::demands::Demands;
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

/// Which way to meet a tree: the best by value where there is a choice, or, for other variants, the
/// next best, one digit a choice.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variant(pub usize);

impl Tree {
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
    pub fn variants(&self, maximum: usize) -> usize {
        match self {
            Self::All(of) => of.iter().fold(1, |product: usize, part| {
                (product * part.variants(maximum)).min(maximum)
            }),
            Self::Any(of) => of.len().min(maximum).max(1),
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
