//! Which single conditions must be impossible for a requirement to be: of a conjunction one part, of a
//! disjunction every part, of "at least q of m" all but q - 1. Executions tell which have a chance: a
//! condition that one of them meets is possible.

use deepconcolic_network::{Point, Trace};
use deepconcolic_spec::{
    Comparison, Formula, Input, Inputs, Quantifier, Relation, Requirement, Var,
};

use crate::thresholds::Vain;

/// Conditions whose refutation refutes a requirement, judging by the executions of a trace in a network
/// with so many hidden layers, without those that were asked about in vain. None if there are no such
/// conditions.
pub(crate) fn needs(
    requirement: &Requirement,
    trace: &Trace<f32>,
    hidden: usize,
    vain: &Vain,
) -> Option<Vec<Comparison>> {
    let sight = Sight {
        trace,
        hidden,
        vain,
    };
    let (_, mut needs) = sight.needs(&requirement.goal().nnf())?;
    for var in needs.iter_mut().flat_map(|c| &mut c.linear.terms) {
        var.1.input = Input::First;
    }
    Some(needs)
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
    vain: &'a Vain,
}

/// How near executions come to meeting conditions, and the conditions.
type Found = (f64, Vec<Comparison>);

impl Sight<'_> {
    fn needs(&self, formula: &Formula) -> Option<Found> {
        match formula {
            Formula::Compare(comparison) => self.condition(comparison),
            Formula::And(of) => {
                let parts = of.iter().filter_map(|part| self.needs(part));
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
        let mut parts: Vec<Found> = of.iter().filter_map(|part| self.needs(part)).collect();
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
            return self.needs(&Formula::And(vec![side(Relation::Ge), side(Relation::Le)]));
        }
        let terms = &comparison.linear.terms;
        let (_, first) = terms.first()?;
        let is_asked =
            |var: &Var| var.input == first.input && var.point(self.hidden) != Point::Input;
        if !terms.iter().all(|(_, var)| is_asked(var)) || self.vain.has(comparison) {
            return None;
        }
        let sign = match comparison.relation {
            Relation::Ge | Relation::Gt => 1.0,
            _ => -1.0,
        };
        let mut nearest = f64::NEG_INFINITY;
        for sample in 0..self.trace.samples() {
            let value = |var: &Var| self.trace.sample(var.point(self.hidden), sample)[var.neuron];
            let terms = terms
                .iter()
                .map(|(weight, var)| weight * f64::from(value(var)));
            let left = terms.sum::<f64>() + comparison.linear.constant;
            if comparison.relation.holds(&left, &0.0) {
                return None;
            }
            nearest = nearest.max(sign * left);
        }
        Some((nearest, vec![comparison.clone()]))
    }
}
