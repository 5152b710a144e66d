//! Makes one requirement from a statement, its index variables having values.

use super::scope::{Interval, Scope};
use super::syntax::{self, Each, Members, Statement};
use super::{
    Activation, Bound, Formula, Input, InputBox, Inputs, Linear, Relation, Requirement, Var, lower,
};
use crate::diagnostic::{Checked, Fault, Span};

/// Most conditions one requirement may spell out.
const LARGEST: usize = 1_000_000;

/// Deepest nesting of `=`, `!=` between conditions and of cardinalities with `=`, `!=`: each
/// level doubles the normal form.
const DOUBLINGS: usize = 3;

/// The requirement a statement makes of the index values in scope.
pub(super) fn instantiate<'a>(
    statement: &'a Statement,
    scope: &mut Scope<'a>,
) -> Checked<Requirement> {
    let name = statement.name.as_ref().map(|name| member_name(name, scope));
    let mut making = Making {
        span: statement.span,
        scope,
        room: LARGEST,
        doublings: 0,
    };
    Ok(Requirement {
        name,
        quantifier: statement.quantifier,
        inputs: match statement.inputs.len() {
            1 => Inputs::One,
            _ => Inputs::Two,
        },
        formula: making.formula(&statement.formula)?,
    })
}

/// `safe[k=2, i=7]`
fn member_name(name: &str, scope: &Scope<'_>) -> String {
    if scope.bound().is_empty() {
        return name.to_owned();
    }
    let bound = scope.bound().iter();
    let values: Vec<String> = bound
        .map(|(name, at)| format!("{name}={}", at.low))
        .collect();
    format!("{name}[{}]", values.join(", "))
}

struct Making<'a, 'b> {
    span: Span,
    scope: &'b mut Scope<'a>,
    /// How many more conditions may be made.
    room: usize,
    doublings: usize,
}

impl<'a> Making<'a, '_> {
    fn spend(&mut self, cost: usize) -> Checked<()> {
        self.room = self.room.checked_sub(cost).ok_or_else(|| {
            let message = format!("this requirement spells out more than {LARGEST} conditions");
            Fault::new(self.span, message).hint("let the indices range over less")
        })?;
        Ok(())
    }

    fn formula(&mut self, formula: &'a syntax::Formula) -> Checked<Formula> {
        use syntax::Formula as Syntax;
        self.spend(1)?;
        Ok(match formula {
            Syntax::Constant(truth) => Formula::constant(*truth),
            Syntax::Active(neuron) => {
                let (layer, index) = self.scope.neuron(neuron)?;
                let var = Var {
                    input: neuron.input,
                    activation: Activation::Pre,
                    layer: layer.number,
                    neuron: index.low as usize,
                };
                Formula::compare(Linear::variable(var), Relation::Ge)
            }
            Syntax::Compare { first, rest } => self.chain(first, rest)?,
            Syntax::Within {
                input,
                lower,
                upper,
                span,
            } => self.within(*input, lower, upper, *span)?,
            Syntax::Distance {
                norm,
                relation,
                radius,
            } => Formula::Distance {
                norm: *norm,
                relation: *relation,
                radius: lower::constant(self.scope, radius)?,
            },
            Syntax::Not(inner) => Formula::Not(Box::new(self.formula(inner)?)),
            Syntax::And(parts) => Formula::And(self.formulas(parts)?),
            Syntax::Or(parts) => Formula::Or(self.formulas(parts)?),
            Syntax::Implies(a, b) => {
                let premise = Formula::Not(Box::new(self.formula(a)?));
                Formula::Or(vec![premise, self.formula(b)?])
            }
            Syntax::Iff(a, b, span) => {
                let (a, b) = self.pair(a, b, *span)?;
                Formula::Iff(a, b)
            }
            Syntax::Xor(a, b, span) => {
                let (a, b) = self.pair(a, b, *span)?;
                Formula::Xor(a, b)
            }
            Syntax::All(members) => Formula::And(self.members(members)?),
            Syntax::Any(members) => Formula::Or(self.members(members)?),
            Syntax::Count {
                members,
                relation,
                count,
                span,
            } => self.cardinality(members, *relation, count, *span)?,
        })
    }

    fn formulas(&mut self, parts: &'a [syntax::Formula]) -> Checked<Vec<Formula>> {
        parts.iter().map(|part| self.formula(part)).collect()
    }

    /// `a < b <= c` asks for both comparisons.
    fn chain(
        &mut self,
        first: &'a syntax::Expr,
        rest: &'a [(Relation, syntax::Expr)],
    ) -> Checked<Formula> {
        let mut left = first;
        let mut parts = Vec::with_capacity(rest.len());
        for (relation, right) in rest {
            let part = lower::compare(self.scope, left, *relation, right)?;
            self.spend(size(&part))?;
            parts.push(part);
            left = right;
        }
        Ok(match parts.len() {
            1 => parts.swap_remove(0),
            _ => Formula::And(parts),
        })
    }

    fn within(
        &self,
        input: Input,
        lower: &syntax::Bound,
        upper: &syntax::Bound,
        span: Span,
    ) -> Checked<Formula> {
        let elements = self.scope.signature.inputs();
        let region = InputBox {
            lower: bound(lower, elements, span)?,
            upper: bound(upper, elements, span)?,
        };
        let empty = (0..elements).find(|&at| region.lower.at(at) > region.upper.at(at));
        if let Some(at) = empty {
            let (low, high) = (region.lower.at(at), region.upper.at(at));
            let message = format!("this box is empty: element {at} from {low} to {high}");
            return Err(Fault::new(span, message).hint("write the smaller bound first"));
        }
        Ok(Formula::Within { input, region })
    }

    fn pair(
        &mut self,
        a: &'a syntax::Formula,
        b: &'a syntax::Formula,
        span: Span,
    ) -> Checked<(Box<Formula>, Box<Formula>)> {
        self.doubled(span, |making| {
            Ok((Box::new(making.formula(a)?), Box::new(making.formula(b)?)))
        })
    }

    /// Runs a step inside something whose normal form is twice as long.
    fn doubled<T>(&mut self, span: Span, step: impl FnOnce(&mut Self) -> Checked<T>) -> Checked<T> {
        if self.doublings == DOUBLINGS {
            let message = format!("`=` and `!=` nested more than {DOUBLINGS} deep");
            return Err(Fault::new(span, message).hint("spell the cases out with `and` and `or`"));
        }
        self.doublings += 1;
        let result = step(self);
        self.doublings -= 1;
        result
    }

    fn cardinality(
        &mut self,
        members: &'a Members,
        relation: Relation,
        count: &syntax::Index,
        span: Span,
    ) -> Checked<Formula> {
        let of = match relation {
            Relation::Eq | Relation::Ne => self.doubled(span, |making| making.members(members))?,
            _ => self.members(members)?,
        };
        let number = self.scope.index(count, span)?.low;
        let count = usize::try_from(number).map_err(|_| {
            Fault::new(span, format!("a number of conditions is never {number}"))
                .hint("compare with 0 or more")
        })?;
        Ok(Formula::Count {
            of,
            relation,
            count,
        })
    }

    fn members(&mut self, members: &'a Members) -> Checked<Vec<Formula>> {
        match members {
            Members::List(list) => self.formulas(list),
            Members::Each(each) => {
                let mut made = Vec::new();
                self.each(each, &each.binders, &mut made)?;
                Ok(made)
            }
        }
    }

    fn each(
        &mut self,
        each: &'a Each,
        binders: &'a [syntax::Binder],
        made: &mut Vec<Formula>,
    ) -> Checked<()> {
        self.spend(1)?;
        let Some((binder, rest)) = binders.split_first() else {
            if self.admits(each)? {
                made.push(self.formula(&each.body)?);
            }
            return Ok(());
        };
        for value in self.scope.domain(&binder.domain, binder.span)?.iter() {
            self.scope.bind(&binder.variable, Interval::point(value))?;
            let result = self.each(each, rest, made);
            self.scope.unbind();
            result?;
        }
        Ok(())
    }

    fn admits(&self, each: &Each) -> Checked<bool> {
        for (left, relation, right) in &each.filter {
            let left = self.scope.index(left, each.span)?.low;
            let right = self.scope.index(right, each.span)?.low;
            if !relation.holds(&left, &right) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn bound(bound: &syntax::Bound, elements: usize, span: Span) -> Checked<Bound> {
    match bound {
        syntax::Bound::Scalar(bound) => Ok(Bound::Uniform(*bound)),
        syntax::Bound::List(bounds) if bounds.len() == elements => {
            Ok(Bound::PerElement(bounds.clone()))
        }
        syntax::Bound::List(bounds) => {
            let given = bounds.len();
            let message = format!("this box has {given} bounds, the input has {elements} elements");
            Err(Fault::new(span, message).hint("one number alone bounds every element"))
        }
    }
}

/// How much of the room a comparison takes: its atoms and their terms.
fn size(formula: &Formula) -> usize {
    match formula {
        Formula::Compare(comparison) => 1 + comparison.linear.terms.len(),
        Formula::And(parts) | Formula::Or(parts) => 1 + parts.iter().map(size).sum::<usize>(),
        _ => 1,
    }
}
