//! Statements as text: parsing what is printed gives the same syntax tree.

use std::fmt::{self, Display, Formatter};

use super::syntax::{
    Binder, Bound, Domain, Each, Expr, ExprKind, Formula, Index, Layer, LayerKind, Members, Neuron,
    Operation, Sign, Statement, quoted, write_number, write_numbers,
};
use super::{Activation, Input, Quantifier};

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "require {}: ", quoted(name))?;
        }
        if !self.binders.is_empty() {
            write!(f, "for {}: ", Commas(&self.binders))?;
        }
        f.write_str(match self.quantifier {
            Quantifier::Exists => "exists ",
            Quantifier::Forall => "forall ",
        })?;
        let names: Vec<&str> = self.inputs.iter().map(|name| &*name.text).collect();
        write!(f, "{}: ", names.join(", "))?;
        let formula = WithNames(&self.formula, &names);
        write!(f, "{formula}")
    }
}

/// A node that mentions inputs, with what the statement calls them.
struct WithNames<'a, T>(&'a T, &'a [&'a str]);

impl<'a, T> WithNames<'a, T> {
    fn name(&self, input: Input) -> &'a str {
        match input {
            Input::First => self.1[0],
            Input::Second => self.1[self.1.len() - 1],
        }
    }

    fn of<U>(&self, node: &'a U) -> WithNames<'a, U> {
        WithNames(node, self.1)
    }
}

/// Things with commas between.
struct Commas<'a, T>(&'a [T]);

impl<T: Display> Display for Commas<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if index > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

impl Display for Binder {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.variable.text, self.domain)
    }
}

impl Display for Domain {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layers => f.write_str("layers"),
            Self::Hidden => f.write_str("hidden"),
            Self::Neurons(layer) => write!(f, "neurons({layer})"),
            Self::Range {
                from,
                to,
                inclusive,
            } => write!(f, "{from}..{}{to}", if *inclusive { "=" } else { "" }),
            Self::Set(items) => write!(f, "{{{}}}", Commas(items)),
        }
    }
}

impl Display for Layer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            LayerKind::Input => f.write_str("input"),
            LayerKind::Logits => f.write_str("logits"),
            LayerKind::Output => f.write_str("output"),
            LayerKind::Quoted(name) => f.write_str(&quoted(name)),
            LayerKind::Index(index) => write!(f, "{index}"),
        }
    }
}

/// Writes in brackets what would otherwise be read as something else.
fn bracketed(f: &mut Formatter<'_>, needed: bool, node: impl Display) -> fmt::Result {
    if needed {
        write!(f, "({node})")
    } else {
        write!(f, "{node}")
    }
}

fn sign(index: usize, sign: Sign) -> &'static str {
    match (index, sign) {
        (0, _) => "",
        (_, Sign::Plus) => " + ",
        (_, Sign::Minus) => " - ",
    }
}

impl Display for Index {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            Self::Variable(name) => f.write_str(&name.text),
            Self::Depth => f.write_str("K"),
            Self::Negative(inner) => {
                f.write_str("-")?;
                bracketed(f, matches!(**inner, Self::Sum(_) | Self::Product(_)), inner)
            }
            Self::Sum(parts) => parts.iter().enumerate().try_for_each(|(at, (s, part))| {
                f.write_str(sign(at, *s).trim())?;
                bracketed(f, matches!(part, Self::Sum(_)), part)
            }),
            Self::Product(parts) => parts.iter().enumerate().try_for_each(|(at, part)| {
                f.write_str(if at > 0 { "*" } else { "" })?;
                bracketed(f, matches!(part, Self::Sum(_) | Self::Product(_)), part)
            }),
        }
    }
}

impl Display for WithNames<'_, Neuron> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Neuron {
            input,
            layer,
            index,
            ..
        } = self.0;
        write!(f, "[{}][{layer},{index}]", self.name(*input))
    }
}

impl Display for WithNames<'_, Expr> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        use ExprKind::{Abs, Negative, Number, Product, Sum, Value, Variable};
        match &self.0.kind {
            Number(number) => write_number(f, *number),
            Variable(name) => f.write_str(&name.text),
            Value(Activation::Pre, neuron) => write!(f, "u{}", self.of(&**neuron)),
            Value(Activation::Post, neuron) => write!(f, "v{}", self.of(&**neuron)),
            Abs(inner) => write!(f, "abs({})", self.of(&**inner)),
            Negative(inner) => {
                f.write_str("-")?;
                let needed = matches!(inner.kind, Sum(_) | Product(_));
                bracketed(f, needed, self.of(&**inner))
            }
            Sum(parts) => parts.iter().enumerate().try_for_each(|(at, (s, part))| {
                f.write_str(sign(at, *s))?;
                bracketed(f, matches!(part.kind, Sum(_)), self.of(part))
            }),
            Product(parts) => parts.iter().enumerate().try_for_each(|(at, (op, part))| {
                f.write_str(match (at, op) {
                    (0, _) => "",
                    (_, Operation::Times) => "*",
                    (_, Operation::Over) => "/",
                })?;
                bracketed(f, matches!(part.kind, Sum(_) | Product(_)), self.of(part))
            }),
        }
    }
}

/// Whether a formula stands as it is after `not` and beside `=`.
fn is_primary(formula: &Formula) -> bool {
    use Formula::{Active, All, Any, Constant, Within};
    matches!(
        formula,
        Constant(_) | Active(_) | Within { .. } | All(_) | Any(_)
    )
}

/// Whether a formula stands as it is beside `and`, `or` and `=>`.
fn is_part(formula: &Formula) -> bool {
    use Formula::{And, Implies, Or};
    !matches!(formula, And(_) | Or(_) | Implies(..))
}

impl WithNames<'_, Formula> {
    fn joined(&self, f: &mut Formatter<'_>, parts: &[Formula], operator: &str) -> fmt::Result {
        parts.iter().enumerate().try_for_each(|(at, part)| {
            f.write_str(if at > 0 { operator } else { "" })?;
            bracketed(f, !is_part(part), WithNames(part, self.1))
        })
    }

    fn pair(&self, f: &mut Formatter<'_>, a: &Formula, operator: &str, b: &Formula) -> fmt::Result {
        bracketed(f, !is_primary(a), WithNames(a, self.1))?;
        f.write_str(operator)?;
        bracketed(f, !is_primary(b), WithNames(b, self.1))
    }
}

impl Display for WithNames<'_, Formula> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Formula::Constant(truth) => write!(f, "{truth}"),
            Formula::Active(neuron) => write!(f, "ap{}", self.of(&**neuron)),
            Formula::Compare { first, rest } => {
                write!(f, "{}", self.of(first))?;
                rest.iter().try_for_each(|(relation, next)| {
                    write!(f, " {} {}", relation.symbol(), self.of(next))
                })
            }
            Formula::Within {
                input,
                lower,
                upper,
                ..
            } => write!(f, "{} in box({lower}, {upper})", self.name(*input)),
            Formula::Distance {
                norm,
                relation,
                radius,
            } => {
                let (a, b) = (self.name(Input::First), self.name(Input::Second));
                let radius = self.of(radius);
                write!(f, "dist[{norm}]({a}, {b}) {} {radius}", relation.symbol())
            }
            Formula::Not(inner) => {
                f.write_str("not ")?;
                bracketed(f, !is_primary(inner), self.of(&**inner))
            }
            Formula::And(parts) => self.joined(f, parts, " and "),
            Formula::Or(parts) => self.joined(f, parts, " or "),
            Formula::Implies(a, b) => {
                bracketed(f, !is_part(a), self.of(&**a))?;
                f.write_str(" => ")?;
                bracketed(f, !is_part(b), self.of(&**b))
            }
            Formula::Iff(a, b, _) => self.pair(f, a, " = ", b),
            Formula::Xor(a, b, _) => self.pair(f, a, " != ", b),
            Formula::All(members) => write!(f, "all{}", self.of(members)),
            Formula::Any(members) => write!(f, "any{}", self.of(members)),
            Formula::Count {
                members,
                relation,
                count,
                ..
            } => {
                let members = self.of(members);
                write!(f, "|{members}| {} {count}", relation.symbol())
            }
        }
    }
}

impl Display for WithNames<'_, Members> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Members::List(list) => {
                let list: Vec<_> = list.iter().map(|part| self.of(part)).collect();
                write!(f, "{{{}}}", Commas(&list))
            }
            Members::Each(each) => write!(f, "{{{}}}", self.of(&**each)),
        }
    }
}

impl Display for WithNames<'_, Each> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Each {
            body,
            binders,
            filter,
            ..
        } = self.0;
        write!(f, "{} for {}", self.of(body), Commas(binders))?;
        filter
            .iter()
            .enumerate()
            .try_for_each(|(at, (a, relation, b))| {
                let lead = if at > 0 { "and" } else { "if" };
                write!(f, " {lead} {a} {} {b}", relation.symbol())
            })
    }
}

impl Display for Bound {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(bound) => write_number(f, *bound),
            Self::List(bounds) => write_numbers(f, bounds),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::arbitrary;
    use super::super::parser::parse;
    use super::*;

    proptest! {
        #[test]
        fn printed_statements_parse_back(statements in vec(arbitrary::statement(), 1..3)) {
            let lines: Vec<String> = statements.iter().map(Statement::to_string).collect();
            let text = lines.join("\n");
            let parsed = parse(&text).map_err(|fault| {
                TestCaseError::fail(format!("{text}\n{}", fault.locate(&text)))
            })?;
            prop_assert_eq!(parsed, statements, "{}", text);
        }
    }
}
