//! Sorts a property's formula into cases: a box of inputs each, and what else must hold there.

use crate::requirement::{Comparison, Formula, Linear, Relation};

/// Most bounds and constraints that all cases together may hold. A disjunction that would need
/// more is kept as a formula, which is as true and only less convenient.
const LARGEST: usize = 1_000_000;

/// One side of one input's interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Limit {
    Lower(f64),
    Upper(f64),
}

/// One case while it grows: bounds as met, constraints as met.
#[derive(Debug, Clone, Default)]
pub(super) struct Partial {
    pub limits: Vec<(usize, Limit)>,
    pub rest: Vec<Formula>,
}

impl Partial {
    fn size(&self) -> usize {
        1 + self.limits.len() + self.rest.len()
    }
}

/// The cases of a formula in negation normal form.
pub(super) fn cases(formula: &Formula) -> Vec<Partial> {
    split(formula, vec![Partial::default()])
}

/// Every given case joined with the formula.
fn split(formula: &Formula, mut cases: Vec<Partial>) -> Vec<Partial> {
    match formula {
        // Disjunctions last, so that what they copy has its full size.
        Formula::And(parts) => {
            let (or, plain): (Vec<_>, Vec<_>) = parts
                .iter()
                .partition(|part| matches!(part, Formula::Or(_)));
            let parts = plain.into_iter().chain(or);
            parts.fold(cases, |cases, part| split(part, cases))
        }
        Formula::Or(parts) if parts.iter().any(bounds_an_input) && fits(&cases, parts.len()) => {
            let mut joined = Vec::new();
            for part in parts {
                joined.append(&mut split(part, cases.clone()));
            }
            joined
        }
        formula => {
            let (limits, exact) = limits(formula);
            for case in &mut cases {
                case.limits.extend(&limits);
                if !exact {
                    case.rest.push(formula.clone());
                }
            }
            cases
        }
    }
}

fn fits(cases: &[Partial], copies: usize) -> bool {
    let size: usize = cases.iter().map(Partial::size).sum();
    size.saturating_mul(copies) <= LARGEST
}

fn bounds_an_input(formula: &Formula) -> bool {
    match formula {
        Formula::And(parts) | Formula::Or(parts) => parts.iter().any(bounds_an_input),
        formula => !limits(formula).0.is_empty(),
    }
}

/// The bounds an atom over one input gives, and whether they say all that it says.
fn limits(formula: &Formula) -> (Vec<(usize, Limit)>, bool) {
    let Formula::Compare(Comparison { linear, relation }) = formula else {
        return (Vec::new(), false);
    };
    let Linear { terms, constant } = linear;
    let &[(coefficient, var)] = &terms[..] else {
        return (Vec::new(), false);
    };
    if var.layer != 1 {
        return (Vec::new(), false);
    }
    let exact = coefficient.abs().to_bits() == 1.0_f64.to_bits();
    let edge = -constant / coefficient;
    // A quotient is rounded, so step outwards and keep the atom beside the box.
    let (low, high) = if exact {
        (edge, edge)
    } else {
        (edge.next_down(), edge.next_up())
    };
    let at_least = (var.neuron, Limit::Lower(low));
    let at_most = (var.neuron, Limit::Upper(high));
    let limits = match (relation, coefficient > 0.0) {
        (Relation::Ge | Relation::Gt, true) | (Relation::Le | Relation::Lt, false) => {
            vec![at_least]
        }
        (Relation::Le | Relation::Lt, true) | (Relation::Ge | Relation::Gt, false) => vec![at_most],
        (Relation::Eq, _) => vec![at_least, at_most],
        (Relation::Ne, _) => Vec::new(),
    };
    // A box is closed, so a strict bound stays as an atom too.
    let closed = matches!(relation, Relation::Ge | Relation::Le | Relation::Eq);
    (limits, exact && closed)
}

/// Whether no input of a box meets a comparison, which then speaks of inputs alone.
pub(super) fn excludes(formula: &Formula, lower: &[f64], upper: &[f64]) -> bool {
    let Formula::Compare(Comparison { linear, relation }) = formula else {
        return false;
    };
    if linear.terms.iter().any(|(_, var)| var.layer != 1) {
        return false;
    }
    // The largest value of the sum times the sign, rounded up.
    let maximum = |sign: f64| {
        let terms = linear.terms.iter();
        terms.fold(sign * linear.constant, |sum, &(weight, var)| {
            let (low, high) = (lower[var.neuron], upper[var.neuron]);
            let weight = sign * weight;
            let end = if weight > 0.0 { high } else { low };
            (sum + (weight * end).next_up()).next_up()
        })
    };
    // With one term of weight 1 there is nothing to round.
    let exact = match linear.terms[..] {
        [] => Some(linear.constant..=linear.constant),
        [(weight, var)] if weight.to_bits() == 1.0_f64.to_bits() => {
            Some(lower[var.neuron]..=upper[var.neuron])
        }
        _ => None,
    };
    let at = if linear.terms.is_empty() {
        0.0
    } else {
        -linear.constant
    };
    match (relation, exact) {
        (Relation::Gt, Some(range)) => *range.end() <= at,
        (Relation::Lt, Some(range)) => *range.start() >= at,
        (Relation::Ge | Relation::Gt, _) => maximum(1.0) < 0.0,
        (Relation::Le | Relation::Lt, _) => maximum(-1.0) < 0.0,
        (Relation::Eq, _) => maximum(1.0) < 0.0 || maximum(-1.0) < 0.0,
        (Relation::Ne, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::{Input, Var};

    fn atom(coefficient: f64, constant: f64, relation: Relation) -> Formula {
        let terms = vec![(coefficient, Var::v(Input::First, 1, 0))];
        Formula::compare(Linear { terms, constant }, relation)
    }

    #[test]
    fn a_negative_coefficient_turns_the_bound_round() {
        let (found, exact) = limits(&atom(-1.0, 0.5, Relation::Ge));
        assert_eq!((found, exact), (vec![(0, Limit::Upper(0.5))], true));
    }

    #[test]
    fn a_strict_or_rounded_bound_keeps_its_atom() {
        assert!(!limits(&atom(1.0, -0.5, Relation::Lt)).1);
        let (found, exact) = limits(&atom(3.0, -1.0, Relation::Ge));
        let &[(0, Limit::Lower(low))] = &found[..] else {
            panic!("{found:?}");
        };
        assert!(!exact && low < 1.0 / 3.0);
    }

    #[test]
    fn too_many_cases_stay_a_formula() {
        let or = Formula::Or(vec![
            atom(1.0, 0.0, Relation::Ge),
            atom(1.0, -1.0, Relation::Le),
        ]);
        let many = Formula::And(vec![or; 60]);
        let cases = cases(&many);
        assert!(cases.iter().map(Partial::size).sum::<usize>() < 60 * LARGEST);
        assert!(cases.iter().all(|case| !case.rest.is_empty()));
    }
}
