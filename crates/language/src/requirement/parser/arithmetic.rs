//! Sums, products and neuron values.
//!
//! A bracket may hold a number or a condition, which is known only once it is read; so these
//! rules pass on an [`Operand`], and each operator asks for the kind it needs.

use super::super::syntax::{Expr, ExprKind, Formula, Neuron, Operation, RESERVED, Sign};
use super::super::token::Kind;
use super::super::{Activation, Input};
use super::Parser;
use crate::diagnostic::{Checked, Fault, Span};
use crate::suggestion::nearest;

/// What a bracket, or anything without operators, turned out to be.
pub(super) enum Operand {
    Number(Expr),
    Condition(Formula, Span),
}

impl Operand {
    pub fn number(self) -> Checked<Expr> {
        match self {
            Self::Number(expr) => Ok(expr),
            Self::Condition(_, span) => {
                let fault = Fault::new(span, "expected a number, found a condition");
                Err(fault.hint("conditions are joined by `and`, `or`, `=` and `!=`"))
            }
        }
    }

    pub fn condition(self) -> Checked<Formula> {
        match self {
            Self::Condition(formula, _) => Ok(formula),
            Self::Number(expr) => {
                let fault = Fault::new(expr.span, "expected a condition, found a number");
                Err(fault.hint("compare it with another number, as in `... >= 0`"))
            }
        }
    }
}

impl Parser<'_> {
    /// `product (("+" | "-") product)*`
    pub(super) fn sum(&mut self) -> Checked<Operand> {
        let start = self.token.span.start;
        let first = self.product()?;
        if !self.at("+") && !self.at("-") {
            return Ok(first);
        }
        let mut parts = vec![(Sign::Plus, first.number()?)];
        loop {
            let sign = if self.eat("+")? {
                Sign::Plus
            } else if self.eat("-")? {
                Sign::Minus
            } else {
                return Ok(self.expr(start, ExprKind::Sum(parts)));
            };
            parts.push((sign, self.number_by(Self::product)?));
        }
    }

    /// `unary (("*" | "/") unary)*`
    fn product(&mut self) -> Checked<Operand> {
        let start = self.token.span.start;
        let first = self.unary()?;
        if !self.at("*") && !self.at("/") {
            return Ok(first);
        }
        let mut parts = vec![(Operation::Times, first.number()?)];
        loop {
            let operation = if self.eat("*")? {
                Operation::Times
            } else if self.eat("/")? {
                Operation::Over
            } else {
                return Ok(self.expr(start, ExprKind::Product(parts)));
            };
            parts.push((operation, self.number_by(Self::unary)?));
        }
    }

    /// `"-" unary | primary`
    fn unary(&mut self) -> Checked<Operand> {
        let start = self.token.span.start;
        if self.eat("-")? {
            let inner = self.nested(|parser| parser.number_by(Self::unary))?;
            return Ok(self.expr(start, ExprKind::Negative(Box::new(inner))));
        }
        self.primary()
    }

    /// `number | name | ("u" | "v") neuron | "abs" "(" sum ")" | "(" formula ")"` or a condition.
    fn primary(&mut self) -> Checked<Operand> {
        let start = self.token.span.start;
        match self.token.kind {
            Kind::Number(digits) => {
                let kind = ExprKind::Number(self.number(digits)?);
                Ok(self.expr(start, kind))
            }
            Kind::Sign("(") => {
                self.advance()?;
                let inner = self.nested(Self::formula)?;
                self.expect(")")?;
                Ok(inner)
            }
            Kind::Word("u") => self.value(start, Activation::Pre),
            Kind::Word("v") => self.value(start, Activation::Post),
            Kind::Word("abs") => self.absolute(start),
            Kind::Word(word) if !RESERVED.contains(&word) && self.input(word).is_none() => {
                let name = self.name("a number")?;
                if self.at("[") || self.at("(") {
                    return Err(unknown_function(&name.text, name.span));
                }
                Ok(self.expr(start, ExprKind::Variable(name)))
            }
            _ => self.primary_condition(start),
        }
    }

    /// What follows an arithmetic operator: a number and nothing else.
    pub(super) fn number_by(&mut self, rule: fn(&mut Self) -> Checked<Operand>) -> Checked<Expr> {
        let starts = match self.token.kind {
            Kind::Sign(sign) => ["(", "-", "|"].contains(&sign),
            Kind::Word(_) | Kind::Number(_) => true,
            Kind::Text(_) | Kind::End => false,
        };
        if !starts {
            return Err(self.expected("a number"));
        }
        rule(self)?.number()
    }

    fn expr(&self, start: usize, kind: ExprKind) -> Operand {
        let span = self.since(start);
        Operand::Number(Expr { span, kind })
    }

    fn number(&mut self, digits: &str) -> Checked<f64> {
        let value: f64 = digits.parse().unwrap_or(f64::INFINITY);
        if !value.is_finite() {
            let message = format!("{digits} is too large a number");
            return Err(Fault::new(self.token.span, message));
        }
        self.advance()?;
        Ok(value)
    }

    /// `["-"] number`, for the bounds of a box.
    pub(super) fn signed_number(&mut self) -> Checked<f64> {
        let sign = if self.eat("-")? { -1.0 } else { 1.0 };
        match self.token.kind {
            Kind::Number(digits) => Ok(sign * self.number(digits)?),
            _ => Err(self.expected("a number")),
        }
    }

    fn value(&mut self, start: usize, activation: Activation) -> Checked<Operand> {
        self.advance()?;
        let neuron = Box::new(self.neuron()?);
        Ok(self.expr(start, ExprKind::Value(activation, neuron)))
    }

    fn absolute(&mut self, start: usize) -> Checked<Operand> {
        self.advance()?;
        self.expect("(")?;
        let inner = self.nested(|parser| parser.number_by(Self::sum))?;
        self.expect(")")?;
        Ok(self.expr(start, ExprKind::Abs(Box::new(inner))))
    }

    /// `"[" input "]" "[" layer "," index "]"`
    pub(super) fn neuron(&mut self) -> Checked<Neuron> {
        self.expect("[")?;
        let input = self.input_mention()?;
        self.expect("]")?;
        self.expect("[")?;
        let layer = self.layer()?;
        if !self.at(",") {
            let fault = self.expected("`,` and the neuron's index");
            let quotes =
                "a layer name with other signs than letters, digits and `_` goes in quotes";
            return Err(if self.at("]") {
                fault
            } else {
                fault.hint(quotes)
            });
        }
        self.advance()?;
        let start = self.token.span.start;
        let index = self.index()?;
        let index_span = self.since(start);
        self.expect("]")?;
        Ok(Neuron {
            input,
            layer,
            index,
            index_span,
        })
    }

    /// Which of the statement's inputs has this name.
    pub(super) fn input(&self, word: &str) -> Option<Input> {
        let place = self.inputs.iter().position(|name| *name.text == *word)?;
        Some([Input::First, Input::Second][place])
    }

    pub(super) fn input_mention(&mut self) -> Checked<Input> {
        let names: Vec<&str> = self.inputs.iter().map(|name| &*name.text).collect();
        let Kind::Word(word) = self.token.kind else {
            return Err(self.expected(&format!("an input, `{}`", names.join("` or `"))));
        };
        let Some(input) = self.input(word) else {
            let fault = Fault::new(self.token.span, format!("no input is called `{word}`"));
            let hint = format!("this requirement speaks of `{}`", names.join("` and `"));
            return Err(fault.hint(hint));
        };
        self.advance()?;
        Ok(input)
    }
}

fn unknown_function(word: &str, span: Span) -> Fault {
    let known = ["u", "v", "ap", "abs", "dist", "box", "all", "any"];
    let meant = nearest(word, known).map(|meant| format!("did you mean `{meant}`? "));
    Fault::new(span, format!("unknown function `{word}`")).hint(format!(
        "{}there are `u`, `v` and `ap` of a neuron, `abs`, `dist`, `all` and `any`",
        meant.unwrap_or_default()
    ))
}
