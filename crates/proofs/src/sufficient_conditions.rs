//! Which single conditions must be impossible for a requirement to be: of a conjunction one part, of a
//! disjunction every part, of "at least q of m" all but q - 1. Executions tell which have a chance: a
//! condition that one of them meets is possible. A condition that compares two inputs hangs on one for
//! each.

use deepconcolic_language::{
    Comparison, Formula, Input, Inputs, Linear, Quantifier, Relation, Requirement, Var,
};
use deepconcolic_network::{Point, Trace};

use crate::thresholds::FailedAttempts;

/// A little less than a half, so that two of them are less than the whole.
const HALF: f64 = 0.499;

/// Conditions whose refutation refutes a requirement, judging by the executions of a trace in a network
/// with so many hidden layers, without those that were asked about in vain. None if there are no such
/// conditions.
pub(crate) fn sufficient_conditions(
    requirement: &Requirement,
    trace: &Trace<f32>,
    hidden: usize,
    vain: &FailedAttempts,
) -> Option<Vec<Comparison>> {
    let sight = Sight {
        trace,
        hidden,
        vain,
    };
    let (_, mut sufficient_conditions) = sight.sufficient_conditions(&requirement.goal().nnf())?;
    for var in sufficient_conditions
        .iter_mut()
        .flat_map(|c| &mut c.linear.terms)
    {
        var.1.input = Input::First;
    }
    Some(sufficient_conditions)
}

/// The execution of a trace that meets a requirement on one input, if one does: what shows that the
/// requirement is possible is a witness.
pub(crate) fn shown(requirement: &Requirement, trace: &Trace<f32>, hidden: usize) -> Option<usize> {
    if requirement.inputs != Inputs::One {
        return None;
    }
    let goal = requirement.goal().nnf();
    (0..trace.samples()).find(|&sample| meets(&goal, trace, sample, hidden))
}

/// Whether an execution meets a formula in normal form. No for conditions on the input itself.
fn meets(formula: &Formula, trace: &Trace<f32>, sample: usize, hidden: usize) -> bool {
    let part = |part: &Formula| meets(part, trace, sample, hidden);
    match formula {
        Formula::Compare(comparison) => {
            let mut value = comparison.linear.constant;
            for (weight, var) in &comparison.linear.terms {
                let point = var.point(hidden);
                if point == Point::Input {
                    return false;
                }
                value += weight * f64::from(trace.sample(point, sample)[var.neuron]);
            }
            comparison.relation.holds(&value, &0.0)
        }
        Formula::And(of) => of.iter().all(part),
        Formula::Or(of) => of.iter().any(part),
        Formula::Count {
            of,
            relation: Relation::Ge,
            count,
        } => of.iter().filter(|f| part(f)).count() >= *count,
        Formula::Count { .. }
        | Formula::Within { .. }
        | Formula::Distance { .. }
        | Formula::Not(_)
        | Formula::Iff(..)
        | Formula::Xor(..) => false,
    }
}

/// The requirement that some input meets a condition.
pub fn exists(condition: Comparison) -> Requirement {
    Requirement {
        name: None,
        quantifier: Quantifier::Exists,
        inputs: Inputs::One,
        formula: Formula::Compare(condition),
    }
}

struct Sight<'a> {
    trace: &'a Trace<f32>,
    hidden: usize,
    vain: &'a FailedAttempts,
}

/// How near executions come to meeting conditions, and the conditions.
type Found = (f64, Vec<Comparison>);

impl Sight<'_> {
    fn sufficient_conditions(&self, formula: &Formula) -> Option<Found> {
        match formula {
            Formula::Compare(comparison) => self.condition(comparison),
            Formula::And(of) => {
                let parts = of
                    .iter()
                    .filter_map(|part| self.sufficient_conditions(part));
                parts.min_by(|a, b| a.0.total_cmp(&b.0))
            }
            Formula::Or(of) => self.all(of, of.len()),
            Formula::Count { of, count, .. } => self.all(of, (of.len() + 1).checked_sub(*count)?),
            Formula::Within { .. }
            | Formula::Distance { .. }
            | Formula::Not(_)
            | Formula::Iff(..)
            | Formula::Xor(..) => None,
        }
    }

    /// So many of the parts, those that are furthest from being met.
    fn all(&self, of: &[Formula], count: usize) -> Option<Found> {
        let mut parts: Vec<Found> = of
            .iter()
            .filter_map(|part| self.sufficient_conditions(part))
            .collect();
        if parts.len() < count {
            return None;
        }
        parts.sort_by(|a, b| a.0.total_cmp(&b.0));
        parts.truncate(count);
        let worst = parts.last().map_or(f64::NEG_INFINITY, |last| last.0);
        Some((worst, parts.into_iter().flat_map(|part| part.1).collect()))
    }

    fn condition(&self, comparison: &Comparison) -> Option<Found> {
        if comparison.relation == Relation::Eq {
            let side = |relation| {
                let linear = comparison.linear.clone();
                Formula::Compare(Comparison { linear, relation })
            };
            return self.sufficient_conditions(&Formula::And(vec![
                side(Relation::Ge),
                side(Relation::Le),
            ]));
        }
        let terms = &comparison.linear.terms;
        let is_neuron = |(_, var): &(f64, Var)| var.point(self.hidden) != Point::Input;
        if terms.is_empty() || !terms.iter().all(is_neuron) {
            return None;
        }
        let sign = match comparison.relation {
            Relation::Ge | Relation::Gt => 1.0,
            _ => -1.0,
        };
        let part = |input: Input| {
            let mine = terms.iter().filter(|(_, var)| var.input == input);
            let terms = mine.map(|&(weight, var)| (sign * weight, var)).collect();
            Linear {
                terms,
                constant: 0.0,
            }
        };
        let parts = [part(Input::First), part(Input::Second)];
        let alone = parts.iter().any(|part| part.terms.is_empty());
        let enough = if alone {
            -sign * comparison.linear.constant
        } else {
            f64::INFINITY
        };
        let [first, second] = parts.each_ref().map(|part| self.maximum(part, enough));
        let nearest = first + second + sign * comparison.linear.constant;
        let strict = matches!(comparison.relation, Relation::Gt | Relation::Lt);
        if nearest > 0.0 || (nearest >= 0.0 && !strict) {
            return None;
        }
        if alone {
            let needed = !self.vain.has(comparison);
            return needed.then(|| (nearest, vec![comparison.clone()]));
        }
        // The inputs are chosen apart: neither part may exceed what was seen by half of the rest.
        let sufficient_conditions = parts.into_iter().zip([first, second]).map(|(part, seen)| {
            let constant = -(seen - HALF * nearest);
            let linear = Linear { constant, ..part };
            let relation = Relation::Ge;
            Comparison { linear, relation }
        });
        let sufficient_conditions: Vec<Comparison> = sufficient_conditions.collect();
        let vain = sufficient_conditions.iter().any(|need| self.vain.has(need));
        (!vain).then_some((nearest, sufficient_conditions))
    }

    /// The largest value of a sum, 0 for a sum of nothing; or any value that is more than enough.
    fn maximum(&self, linear: &Linear, enough: f64) -> f64 {
        if linear.terms.is_empty() {
            return 0.0;
        }
        let mut maximum = f64::NEG_INFINITY;
        for sample in 0..self.trace.samples() {
            let value = |var: &Var| self.trace.sample(var.point(self.hidden), sample)[var.neuron];
            let terms = linear.terms.iter();
            let terms = terms.map(|(weight, var)| weight * f64::from(value(var)));
            maximum = maximum.max(terms.sum());
            if maximum > enough {
                break;
            }
        }
        maximum
    }
}
