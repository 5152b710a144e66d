//! Requirements and formulas as text of the language; what is printed parses back to the same.

use std::fmt;

use super::syntax::{quoted, write_number, write_numbers};
use super::{
    Activation, Bound, Comparison, Formula, Input, InputBox, Inputs, Linear, Quantifier, Relation,
    Requirement, Var,
};

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "require {}: ", quoted(name))?;
        }
        let quantifier = match self.quantifier {
            Quantifier::Exists => "exists",
            Quantifier::Forall => "forall",
        };
        let inputs = match self.inputs {
            Inputs::One => "x",
            Inputs::Two => "x1, x2",
        };
        write!(f, "{quantifier} {inputs}: ")?;
        self.formula.write(f, self.inputs)
    }
}

/// A formula alone is printed as if over two inputs, `x1` and `x2`.
impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, Inputs::Two)
    }
}

impl Formula {
    fn write(&self, f: &mut fmt::Formatter<'_>, inputs: Inputs) -> fmt::Result {
        match self {
            Self::Compare(comparison) => write_comparison(f, comparison, inputs),
            Self::Within { input, region } => {
                write!(f, "{} in {region}", name(*input, inputs))
            }
            Self::Distance {
                norm,
                relation,
                radius,
            } => {
                write!(f, "dist[{norm}](x1, x2) {} ", relation.symbol())?;
                write_number(f, *radius)
            }
            Self::Not(inner) => {
                f.write_str("not ")?;
                inner.write_operand(f, inputs)
            }
            Self::And(of) => write_connective(f, of, inputs, ("true", "all", " and ")),
            Self::Or(of) => write_connective(f, of, inputs, ("false", "any", " or ")),
            Self::Iff(a, b) => write_pair(f, a, " = ", b, inputs),
            Self::Xor(a, b) => write_pair(f, a, " != ", b, inputs),
            Self::Count {
                of,
                relation,
                count,
            } => {
                f.write_str("|{")?;
                write_list(f, of, inputs)?;
                write!(f, "}}| {} {count}", relation.symbol())
            }
        }
    }

    /// Whether it stands as it is after `not` and beside `=`.
    fn is_primary(&self) -> bool {
        match self {
            Self::Compare(comparison) => activated(comparison).is_some(),
            Self::Within { .. } => true,
            Self::And(of) | Self::Or(of) => of.len() < 2,
            _ => false,
        }
    }

    fn write_operand(&self, f: &mut fmt::Formatter<'_>, inputs: Inputs) -> fmt::Result {
        if self.is_primary() {
            return self.write(f, inputs);
        }
        f.write_str("(")?;
        self.write(f, inputs)?;
        f.write_str(")")
    }
}

/// `a and b`; a lone part is written `all{a}`, so that the tree survives.
fn write_connective(
    f: &mut fmt::Formatter<'_>,
    of: &[Formula],
    inputs: Inputs,
    (none, keyword, operator): (&str, &str, &str),
) -> fmt::Result {
    if of.is_empty() {
        return f.write_str(none);
    }
    if of.len() == 1 {
        write!(f, "{keyword}{{")?;
        write_list(f, of, inputs)?;
        return f.write_str("}");
    }
    for (index, part) in of.iter().enumerate() {
        if index > 0 {
            f.write_str(operator)?;
        }
        match part {
            Formula::And(of) | Formula::Or(of) if of.len() > 1 => part.write_operand(f, inputs)?,
            _ => part.write(f, inputs)?,
        }
    }
    Ok(())
}

fn write_list(f: &mut fmt::Formatter<'_>, of: &[Formula], inputs: Inputs) -> fmt::Result {
    for (index, part) in of.iter().enumerate() {
        f.write_str(if index > 0 { ", " } else { "" })?;
        part.write(f, inputs)?;
    }
    Ok(())
}

fn write_pair(
    f: &mut fmt::Formatter<'_>,
    a: &Formula,
    operator: &str,
    b: &Formula,
    inputs: Inputs,
) -> fmt::Result {
    a.write_operand(f, inputs)?;
    f.write_str(operator)?;
    b.write_operand(f, inputs)
}

fn name(input: Input, inputs: Inputs) -> &'static str {
    match (inputs, input) {
        (Inputs::One, _) => "x",
        (Inputs::Two, Input::First) => "x1",
        (Inputs::Two, Input::Second) => "x2",
    }
}

/// The neuron, when the comparison is just `ap`.
fn activated(comparison: &Comparison) -> Option<Var> {
    match (&comparison.linear.terms[..], comparison.relation) {
        (&[(1.0, var)], Relation::Ge) if comparison.linear.constant == 0.0 => {
            (var.activation == Activation::Pre).then_some(var)
        }
        _ => None,
    }
}

fn write_comparison(
    f: &mut fmt::Formatter<'_>,
    comparison: &Comparison,
    inputs: Inputs,
) -> fmt::Result {
    if let Some(var) = activated(comparison) {
        return write_var(f, "ap", var, inputs);
    }
    write_linear(f, &comparison.linear, inputs)?;
    write!(f, " {} 0", comparison.relation.symbol())
}

fn write_linear(f: &mut fmt::Formatter<'_>, linear: &Linear, inputs: Inputs) -> fmt::Result {
    for (index, &(coefficient, var)) in linear.terms.iter().enumerate() {
        write_sign(f, coefficient, index)?;
        if coefficient.abs().to_bits() != 1.0_f64.to_bits() {
            write_number(f, coefficient.abs())?;
            f.write_str("*")?;
        }
        let symbol = match var.activation {
            Activation::Pre => "u",
            Activation::Post => "v",
        };
        write_var(f, symbol, var, inputs)?;
    }
    if linear.constant != 0.0 || linear.terms.is_empty() {
        write_sign(f, linear.constant, linear.terms.len())?;
        write_number(f, linear.constant.abs())?;
    }
    Ok(())
}

fn write_sign(f: &mut fmt::Formatter<'_>, number: f64, index: usize) -> fmt::Result {
    f.write_str(match (index, number < 0.0) {
        (0, false) => "",
        (0, true) => "-",
        (_, false) => " + ",
        (_, true) => " - ",
    })
}

fn write_var(f: &mut fmt::Formatter<'_>, symbol: &str, var: Var, inputs: Inputs) -> fmt::Result {
    let input = name(var.input, inputs);
    write!(f, "{symbol}[{input}][{},{}]", var.layer, var.neuron)
}

impl fmt::Display for InputBox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "box({}, {})", self.lower, self.upper)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform(bound) => write_number(f, *bound),
            Self::PerElement(bounds) => write_numbers(f, bounds),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::requirement::{RequirementFile, arbitrary};

    proptest! {
        #[test]
        fn a_printed_requirement_parses_back(requirement in arbitrary::requirement()) {
            let text = requirement.to_string();
            let set = RequirementFile::parse(&text)
                .and_then(|file| file.resolve(&arbitrary::signature()));
            let set = set.map_err(|error| TestCaseError::fail(format!("{text}\n{error}")))?;
            prop_assert_eq!(set.get(0).unwrap(), requirement, "{}", text);
        }
    }
}
