//! Arithmetic as written becomes linear sums; absolute values become case distinctions.

use super::scope::Scope;
use super::syntax::{Expr, ExprKind, Operation, Sign};
use super::{Formula, Linear, Relation, Var};
use crate::diagnostic::{Checked, Fault, Span};

/// Most absolute values in one comparison; each doubles the atoms it becomes.
const ABSOLUTES: usize = 6;

/// A linear sum plus multiples of absolute values of linear sums.
#[derive(Debug, Clone, Default)]
struct Sum {
    linear: Linear,
    absolutes: Vec<(f64, Linear)>,
}

impl Sum {
    fn number(&self) -> Option<f64> {
        let constant = self.linear.terms.is_empty() && self.absolutes.is_empty();
        constant.then_some(self.linear.constant)
    }

    fn add(&mut self, factor: f64, other: &Self) {
        self.linear.add(factor, &other.linear);
        let scaled = other.absolutes.iter();
        self.absolutes
            .extend(scaled.map(|(c, inner)| (factor * c, inner.clone())));
    }

    fn scaled(mut self, factor: f64) -> Self {
        self.linear = self.linear.scaled(factor);
        for (coefficient, _) in &mut self.absolutes {
            *coefficient *= factor;
        }
        self
    }
}

/// `left ⋈ right` as a formula of linear atoms.
pub(super) fn compare(
    scope: &Scope<'_>,
    left: &Expr,
    relation: Relation,
    right: &Expr,
) -> Checked<Formula> {
    let span = Span::new(left.span.start, right.span.end);
    let mut difference = sum(scope, left)?;
    difference.add(-1.0, &sum(scope, right)?);
    if difference.absolutes.len() > ABSOLUTES {
        let message = format!("more than {ABSOLUTES} absolute values in one comparison");
        return Err(Fault::new(span, message).hint("split it into several comparisons"));
    }
    let finite = |linear: &Linear| linear.is_finite();
    let absolutes = difference.absolutes.iter();
    let mut parts = absolutes.map(|(c, inner)| c.is_finite() && finite(inner));
    if !finite(&difference.linear) || !parts.all(|finite| finite) {
        return Err(Fault::new(span, "a number in this comparison is too large"));
    }
    Ok(split(&difference, relation))
}

/// The value of an expression without neurons.
pub(super) fn constant(scope: &Scope<'_>, expr: &Expr) -> Checked<f64> {
    let value = sum(scope, expr)?.number().filter(|value| value.is_finite());
    value.ok_or_else(|| Fault::new(expr.span, "expected a plain number here"))
}

/// `sum ⋈ 0` without absolute values: `|e|` is the larger of `e` and `-e`, so where more of it
/// makes the comparison true either sign will do, and where less of it does both signs must.
fn split(sum: &Sum, relation: Relation) -> Formula {
    if sum.absolutes.is_empty() {
        return Formula::compare(sum.linear.clone().simplified(), relation);
    }
    match relation {
        Relation::Ge | Relation::Gt => signs(&sum.linear, &sum.absolutes, relation),
        Relation::Le => split(&sum.clone().scaled(-1.0), Relation::Ge),
        Relation::Lt => split(&sum.clone().scaled(-1.0), Relation::Gt),
        Relation::Eq => Formula::And(vec![split(sum, Relation::Ge), split(sum, Relation::Le)]),
        Relation::Ne => Formula::Or(vec![split(sum, Relation::Gt), split(sum, Relation::Lt)]),
    }
}

fn signs(linear: &Linear, absolutes: &[(f64, Linear)], relation: Relation) -> Formula {
    let Some(((coefficient, inner), rest)) = absolutes.split_first() else {
        return Formula::compare(linear.clone().simplified(), relation);
    };
    let with = |sign: f64| {
        let mut linear = linear.clone();
        linear.add(sign * coefficient, inner);
        signs(&linear, rest, relation)
    };
    let cases = vec![with(1.0), with(-1.0)];
    if *coefficient > 0.0 {
        Formula::Or(cases)
    } else {
        Formula::And(cases)
    }
}

fn sum(scope: &Scope<'_>, expr: &Expr) -> Checked<Sum> {
    match &expr.kind {
        ExprKind::Number(number) => Ok(number_sum(*number)),
        ExprKind::Variable(name) => Ok(number_sum(scope.variable(name)?.low as f64)),
        ExprKind::Value(activation, neuron) => {
            let (layer, index) = scope.neuron(neuron)?;
            let var = Var {
                input: neuron.input,
                activation: *activation,
                layer: layer.number,
                neuron: index.low as usize,
            };
            Ok(Sum {
                linear: Linear::variable(var),
                absolutes: Vec::new(),
            })
        }
        ExprKind::Abs(inner) => absolute(sum(scope, inner)?, expr.span),
        ExprKind::Negative(inner) => Ok(sum(scope, inner)?.scaled(-1.0)),
        ExprKind::Sum(parts) => parts.iter().try_fold(Sum::default(), |mut total, part| {
            let sign = match part.0 {
                Sign::Plus => 1.0,
                Sign::Minus => -1.0,
            };
            total.add(sign, &sum(scope, &part.1)?);
            Ok(total)
        }),
        ExprKind::Product(parts) => {
            parts
                .iter()
                .try_fold(number_sum(1.0), |product, (operation, part)| {
                    multiply(product, *operation, sum(scope, part)?, part.span)
                })
        }
    }
}

fn number_sum(number: f64) -> Sum {
    Sum {
        linear: Linear::constant(number),
        absolutes: Vec::new(),
    }
}

fn absolute(inner: Sum, span: Span) -> Checked<Sum> {
    if let Some(number) = inner.number() {
        return Ok(number_sum(number.abs()));
    }
    if !inner.absolutes.is_empty() {
        return Err(Fault::new(span, "an absolute value inside another"));
    }
    Ok(Sum {
        linear: Linear::default(),
        absolutes: vec![(1.0, inner.linear)],
    })
}

fn multiply(left: Sum, operation: Operation, right: Sum, span: Span) -> Checked<Sum> {
    match (operation, left.number(), right.number()) {
        (Operation::Over, _, Some(0.0)) => Err(Fault::new(span, "division by zero")),
        (Operation::Over, _, Some(divisor)) => Ok(divided(left, divisor)),
        (Operation::Over, _, None) => {
            let fault = Fault::new(span, "cannot divide by a neuron's value");
            Err(fault.hint("arithmetic is linear: divide by plain numbers only"))
        }
        (Operation::Times, _, Some(factor)) => Ok(left.scaled(factor)),
        (Operation::Times, Some(factor), None) => Ok(right.scaled(factor)),
        (Operation::Times, None, None) => {
            let fault = Fault::new(span, "cannot multiply two neuron values");
            Err(fault.hint("arithmetic is linear: one side of `*` must be a plain number"))
        }
    }
}

/// Divides each number, since multiplying by the reciprocal rounds twice: `u/3*3` should be `u`.
fn divided(mut sum: Sum, divisor: f64) -> Sum {
    for (coefficient, _) in &mut sum.linear.terms {
        *coefficient /= divisor;
    }
    for (coefficient, _) in &mut sum.absolutes {
        *coefficient /= divisor;
    }
    sum.linear.constant /= divisor;
    sum
}
