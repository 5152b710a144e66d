//! Commands and terms of VNN-LIB: declarations, linear arithmetic, nested `and` and `or`.
//!
//! The network is a box with two layers here: 1 the inputs `X`, [`OUTPUT`] the outputs `Y`. The
//! outputs get their true layer number when a property meets a network.

use std::collections::HashMap;

use super::sexpr::Node;
use crate::diagnostic::{Checked, Fault, Span};
use crate::requirement::{Formula, Input, Linear, Relation, Var};
use crate::suggestion::nearest;

/// The number outputs have until the network is known.
pub(super) const OUTPUT: usize = 2;

/// What a text declares and asserts.
#[derive(Debug, Default)]
pub(super) struct Script<'s> {
    variables: HashMap<&'s str, (Var, Span)>,
    pub asserts: Vec<Formula>,
}

impl<'s> Script<'s> {
    pub fn read(nodes: &[Node<'s>]) -> Checked<Self> {
        let mut script = Self::default();
        for node in nodes {
            script.command(node)?;
        }
        Ok(script)
    }

    fn command(&mut self, node: &Node<'s>) -> Checked<()> {
        match node.call() {
            Some(("declare-const", [Node::Atom(name, span), sort])) => {
                self.declare(name, *span, sort)
            }
            Some(("declare-fun", [Node::Atom(name, span), Node::List(of, _), sort]))
                if of.is_empty() =>
            {
                self.declare(name, *span, sort)
            }
            Some(("declare-const" | "declare-fun", _)) => Err(malformed(
                node,
                "this declaration",
                "(declare-const X_0 Real)",
            )),
            Some(("assert", [term])) => {
                let formula = self.formula(term)?;
                self.asserts.push(formula);
                Ok(())
            }
            Some(("assert", _)) => Err(malformed(node, "this assertion", "(assert (<= X_0 1.0))")),
            // Harmless commands some writers leave in.
            Some(("set-logic" | "set-info" | "set-option" | "check-sat" | "exit", _)) => Ok(()),
            _ => {
                let fault = Fault::new(
                    node.span(),
                    "expected `(declare-const ...)` or `(assert ...)`",
                );
                Err(match node {
                    Node::Atom(..) => fault.hint("every command stands in brackets"),
                    Node::List(..) => fault,
                })
            }
        }
    }

    fn declare(&mut self, name: &'s str, span: Span, sort: &Node<'_>) -> Checked<()> {
        if !matches!(sort, Node::Atom("Real", _)) {
            return Err(Fault::new(sort.span(), "only `Real` variables are known"));
        }
        let Some(var) = variable(name) else {
            let fault = Fault::new(span, format!("`{name}` is neither an input nor an output"));
            return Err(fault.hint("inputs are X_0, X_1, ..., outputs Y_0, Y_1, ..."));
        };
        if self.variables.insert(name, (var, span)).is_some() {
            return Err(Fault::new(span, format!("`{name}` is declared twice")));
        }
        Ok(())
    }

    /// The places where the variables of a layer are declared, by index; none may be missing.
    pub fn declared(&self, layer: usize) -> Checked<Vec<Span>> {
        let of_layer = self
            .variables
            .iter()
            .filter(|(_, (var, _))| var.layer == layer);
        let mut found: Vec<(usize, &str, Span)> = of_layer
            .map(|(name, (var, span))| (var.neuron, *name, *span))
            .collect();
        found.sort_unstable_by_key(|&(index, ..)| index);
        for (place, &(index, name, span)) in found.iter().enumerate() {
            if index != place {
                let missing = format!("{}_{place}", &name[..1]);
                let message = format!("`{name}` is declared but `{missing}` is not");
                return Err(Fault::new(span, message).hint("number the variables from 0 on"));
            }
        }
        Ok(found.into_iter().map(|(.., span)| span).collect())
    }

    fn formula(&self, node: &Node<'s>) -> Checked<Formula> {
        let parts = |nodes: &[Node<'s>]| -> Checked<Vec<Formula>> {
            nodes.iter().map(|node| self.formula(node)).collect()
        };
        match (node, node.call()) {
            (Node::Atom("true", _), _) => Ok(Formula::constant(true)),
            (Node::Atom("false", _), _) => Ok(Formula::constant(false)),
            (_, Some(("and", of))) => Ok(Formula::And(parts(of)?)),
            (_, Some(("or", of))) => Ok(Formula::Or(parts(of)?)),
            (_, Some(("not", [inner]))) => Ok(Formula::Not(Box::new(self.formula(inner)?))),
            (_, Some(("=>", [premise, conclusion]))) => {
                let premise = Formula::Not(Box::new(self.formula(premise)?));
                Ok(Formula::Or(vec![premise, self.formula(conclusion)?]))
            }
            (_, Some((symbol @ ("<=" | ">=" | "<" | ">" | "="), of))) if of.len() > 1 => {
                let relation = Relation::from_symbol(symbol).unwrap_or(Relation::Eq);
                self.comparison(of, relation, node.span())
            }
            (_, Some((head @ ("<=" | ">=" | "<" | ">" | "=" | "not" | "=>"), _))) => {
                let message = format!("`{head}` has the wrong number of arguments");
                Err(Fault::new(node.span(), message))
            }
            _ => {
                let fault = Fault::new(node.span(), "expected a condition");
                Err(fault.hint("conditions are built of <=, >=, <, >, =, and, or, not, =>"))
            }
        }
    }

    /// `(<= a b c)` asks for `a <= b` and `b <= c`.
    fn comparison(&self, of: &[Node<'s>], relation: Relation, span: Span) -> Checked<Formula> {
        let sides: Checked<Vec<Linear>> = of.iter().map(|node| self.linear(node)).collect();
        let mut parts = Vec::with_capacity(of.len() - 1);
        for pair in sides?.windows(2) {
            let mut difference = pair[0].clone();
            difference.add(-1.0, &pair[1]);
            if !difference.is_finite() {
                return Err(Fault::new(span, "a number in this comparison is too large"));
            }
            parts.push(Formula::compare(difference.simplified(), relation));
        }
        Ok(match parts.len() {
            1 => parts.swap_remove(0),
            _ => Formula::And(parts),
        })
    }

    fn linear(&self, node: &Node<'s>) -> Checked<Linear> {
        match (node, node.call()) {
            (Node::Atom(text, span), _) => self.atom(text, *span),
            (_, Some(("+", of))) if !of.is_empty() => self.sum(of, 1.0),
            (_, Some(("-", [inner]))) => Ok(self.linear(inner)?.scaled(-1.0)),
            (_, Some(("-", of))) if !of.is_empty() => self.sum(of, -1.0),
            (_, Some(("*", of))) if !of.is_empty() => self.product(of),
            _ => {
                let fault = Fault::new(node.span(), "expected a number or a variable");
                Err(fault.hint("arithmetic is built of +, - and * with constants"))
            }
        }
    }

    /// The first part, plus `sign` times each of the others.
    fn sum(&self, of: &[Node<'s>], sign: f64) -> Checked<Linear> {
        let mut sum = Linear::default();
        for (index, node) in of.iter().enumerate() {
            let factor = if index == 0 { 1.0 } else { sign };
            sum.add(factor, &self.linear(node)?);
        }
        Ok(sum)
    }

    fn product(&self, of: &[Node<'s>]) -> Checked<Linear> {
        let mut product = Linear::constant(1.0);
        for node in of {
            let factor = self.linear(node)?;
            product = if factor.terms.is_empty() {
                product.scaled(factor.constant)
            } else if product.terms.is_empty() {
                factor.scaled(product.constant)
            } else {
                let fault = Fault::new(node.span(), "this multiplies two variables");
                return Err(fault.hint("constraints must be linear"));
            };
        }
        Ok(product)
    }

    fn atom(&self, text: &str, span: Span) -> Checked<Linear> {
        if let Some((var, _)) = self.variables.get(text) {
            return Ok(Linear::variable(*var));
        }
        if let Some(number) = number(text) {
            return Ok(Linear::constant(number));
        }
        let fault = Fault::new(span, format!("`{text}` is neither a number nor declared"));
        let declared = self.variables.keys().copied();
        Err(match variable(text) {
            Some(_) => fault.hint(format!("declare it first: (declare-const {text} Real)")),
            None => match nearest(text, declared) {
                Some(meant) => fault.hint(format!("did you mean `{meant}`?")),
                None => fault,
            },
        })
    }
}

fn malformed(node: &Node<'_>, what: &str, example: &str) -> Fault {
    let message = format!("{what} is not complete, or has too much");
    Fault::new(node.span(), message).hint(format!("it looks like {example}"))
}

/// `X_3` is input 3, `Y_0` output 0.
fn variable(name: &str) -> Option<Var> {
    let (kind, index) = name.split_once('_')?;
    let plain = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    // `X_01` would be a second name of X_1.
    let canonical = plain && (index == "0" || !index.starts_with('0'));
    let index = index.parse().ok().filter(|_| canonical)?;
    match kind {
        "X" => Some(Var::v(Input::First, 1, index)),
        "Y" => Some(Var::v(Input::First, OUTPUT, index)),
        _ => None,
    }
}

/// A finite decimal; Rust would also read `inf` and `nan`.
fn number(text: &str) -> Option<f64> {
    let decimal = |byte: u8| matches!(byte, b'0'..=b'9' | b'.' | b'+' | b'-' | b'e' | b'E');
    let number: f64 = text.bytes().all(decimal).then(|| text.parse().ok())??;
    number.is_finite().then_some(number)
}
