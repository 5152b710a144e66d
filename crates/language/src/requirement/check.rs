//! Checks every member of a family against the network without making them.
//!
//! Each index is first taken as an interval over its whole domain: if all layers and neurons
//! exist even so, the family is sound. Where that is too coarse, as for a layer index, the values
//! are looked at one by one. Sign-sign coverage of ten million pairs so costs a look per layer.

use super::scope::{Interval, Scope};
use super::syntax::{Binder, Each, Expr, ExprKind, Formula, Members, Neuron, Statement};
use crate::diagnostic::Checked;
use crate::signature::Signature;

/// Most steps of one check. A family that needs more (indices that depend on each other in a way
/// intervals do not see) is checked member by member as they are made.
const STEPS: usize = 2_000_000;

/// Whether every layer, neuron and index a statement mentions exists.
pub(super) fn check(statement: &Statement, signature: &Signature) -> Checked<()> {
    let mut checker = Checker {
        scope: Scope::new(signature),
        exact: true,
        steps: STEPS,
    };
    checker.each(&statement.binders, &mut |checker| {
        checker.formula(&statement.formula)
    })
}

struct Checker<'a> {
    scope: Scope<'a>,
    /// Whether every variable in scope has one value, so that a fault found is a true one.
    exact: bool,
    steps: usize,
}

type Inside<'a, 'f> = &'f mut dyn FnMut(&mut Checker<'a>) -> Checked<()>;

impl<'a> Checker<'a> {
    /// Checks `inside` for every value of the binders.
    fn each(&mut self, binders: &'a [Binder], inside: Inside<'a, '_>) -> Checked<()> {
        let Some((binder, rest)) = binders.split_first() else {
            return inside(self);
        };
        let values = self.scope.domain(&binder.domain, binder.span)?;
        let Some(hull) = values.hull() else {
            return Ok(());
        };
        let coarse = self.with(binder, hull, rest, inside);
        if coarse.is_ok() || !self.exact || hull.low == hull.high {
            return coarse;
        }
        for value in values.iter() {
            if self.steps == 0 {
                break;
            }
            self.with(binder, Interval::point(value), rest, inside)?;
        }
        Ok(())
    }

    fn with(
        &mut self,
        binder: &'a Binder,
        value: Interval,
        rest: &'a [Binder],
        inside: Inside<'a, '_>,
    ) -> Checked<()> {
        self.steps = self.steps.saturating_sub(1);
        self.scope.bind(&binder.variable, value)?;
        let exact = self.exact;
        self.exact &= value.low == value.high;
        let result = self.each(rest, inside);
        self.exact = exact;
        self.scope.unbind();
        result
    }

    fn formula(&mut self, formula: &'a Formula) -> Checked<()> {
        match formula {
            Formula::Constant(_) | Formula::Within { .. } => Ok(()),
            Formula::Active(neuron) => self.neuron(neuron),
            Formula::Compare { first, rest } => {
                self.expr(first)?;
                rest.iter().try_for_each(|(_, expr)| self.expr(expr))
            }
            Formula::Distance { radius, .. } => self.expr(radius),
            Formula::Not(inner) => self.formula(inner),
            Formula::And(parts) | Formula::Or(parts) => {
                parts.iter().try_for_each(|part| self.formula(part))
            }
            Formula::Implies(a, b) | Formula::Iff(a, b, _) | Formula::Xor(a, b, _) => {
                self.formula(a)?;
                self.formula(b)
            }
            Formula::All(members) | Formula::Any(members) => self.members(members),
            Formula::Count {
                members,
                count,
                span,
                ..
            } => {
                self.scope.index(count, *span)?;
                self.members(members)
            }
        }
    }

    fn members(&mut self, members: &'a Members) -> Checked<()> {
        match members {
            Members::List(list) => list.iter().try_for_each(|part| self.formula(part)),
            Members::Each(each) => self.each(&each.binders, &mut |checker| {
                if checker.filtered_out(each)? {
                    return Ok(());
                }
                checker.formula(&each.body)
            }),
        }
    }

    /// Whether the filter is known to leave this member out.
    fn filtered_out(&self, each: &Each) -> Checked<bool> {
        let mut out = false;
        for (left, relation, right) in &each.filter {
            let left = self.scope.index(left, each.span)?;
            let right = self.scope.index(right, each.span)?;
            out |= self.exact && !relation.holds(&left.low, &right.low);
        }
        Ok(out)
    }

    fn neuron(&mut self, neuron: &Neuron) -> Checked<()> {
        self.steps = self.steps.saturating_sub(1);
        self.scope.neuron(neuron).map(|_| ())
    }

    fn expr(&mut self, expr: &'a Expr) -> Checked<()> {
        match &expr.kind {
            ExprKind::Number(_) => Ok(()),
            ExprKind::Variable(name) => self.scope.variable(name).map(|_| ()),
            ExprKind::Value(_, neuron) => self.neuron(neuron),
            ExprKind::Abs(inner) | ExprKind::Negative(inner) => self.expr(inner),
            ExprKind::Sum(parts) => parts.iter().try_for_each(|(_, part)| self.expr(part)),
            ExprKind::Product(parts) => parts.iter().try_for_each(|(_, part)| self.expr(part)),
        }
    }
}
