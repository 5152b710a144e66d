//! The syntax tree of a requirement file, as written: names, index variables, families and sugar
//! are still there. `instantiate.rs` turns a statement into requirements.
//!
//! Sums, products, `and` and `or` hold lists, not pairs: a sum of a million terms is long but not
//! deep, so no recursion over a tree can exhaust the stack once the parser limits its depth.

use std::fmt;
use std::sync::Arc;

use deepconcolic_geometry::Norm;

use super::{Activation, Input, Quantifier, Relation};
use crate::diagnostic::Span;

/// Words of the language; none can name an input or an index.
pub(super) const RESERVED: [&str; 28] = [
    "require", "for", "in", "if", "exists", "forall", "and", "or", "not", "iff", "xor", "true",
    "false", "all", "any", "ap", "u", "v", "abs", "dist", "box", "K", "layers", "hidden",
    "neurons", "input", "output", "logits",
];

/// One statement: a requirement, or a family of them when it has binders.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Statement {
    pub span: Span,
    pub name: Option<String>,
    pub binders: Vec<Binder>,
    pub quantifier: Quantifier,
    /// One or two names.
    pub inputs: Vec<Name>,
    pub formula: Formula,
}

/// A word and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Name {
    pub text: Box<str>,
    pub span: Span,
}

/// `i in neurons(2)`
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Binder {
    pub variable: Name,
    pub domain: Domain,
    pub span: Span,
}

/// What an index ranges over.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Domain {
    /// Every layer, input and logits included.
    Layers,
    /// The hidden layers.
    Hidden,
    /// The neurons of a layer.
    Neurons(Layer),
    /// `from..to`, or `from..=to` when inclusive.
    Range {
        from: Index,
        to: Index,
        inclusive: bool,
    },
    /// `{2, 3, "conv1"}`
    Set(Vec<Layer>),
}

/// A layer, or an element of a set of indices, which may be a layer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layer {
    pub span: Span,
    pub kind: LayerKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum LayerKind {
    /// `input`
    Input,
    /// `logits`
    Logits,
    /// `output`
    Output,
    /// A name in quotes.
    Quoted(String),
    /// A number. A bare word that is no index variable is taken as a layer's name.
    Index(Index),
}

/// Integer arithmetic over index variables.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Index {
    Integer(i64),
    Variable(Name),
    /// `K`, the number of the logits.
    Depth,
    Negative(Box<Index>),
    /// Signs and parts; the first sign is `+`.
    Sum(Vec<(Sign, Index)>),
    Product(Vec<Index>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Sign {
    Plus,
    Minus,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Operation {
    Times,
    Over,
}

/// `[x][k,i]` after `u`, `v` or `ap`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Neuron {
    pub input: Input,
    pub layer: Layer,
    pub index: Index,
    pub index_span: Span,
}

/// Arithmetic, not yet known to be linear.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Expr {
    pub span: Span,
    pub kind: ExprKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ExprKind {
    /// Finite and not negative.
    Number(f64),
    /// An index variable, as a number.
    Variable(Name),
    Value(Activation, Box<Neuron>),
    Abs(Box<Expr>),
    Negative(Box<Expr>),
    /// Signs and parts; the first sign is `+`.
    Sum(Vec<(Sign, Expr)>),
    /// Operations and parts; the first operation is `*`.
    Product(Vec<(Operation, Expr)>),
}

/// A Boolean formula with its sugar.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Formula {
    Constant(bool),
    Active(Box<Neuron>),
    /// `first ⋈ e2 ⋈ e3 ...`: every neighbouring pair compares.
    Compare {
        first: Expr,
        rest: Vec<(Relation, Expr)>,
    },
    Within {
        input: Input,
        lower: Bound,
        upper: Bound,
        span: Span,
    },
    Distance {
        norm: Norm,
        relation: Relation,
        radius: Expr,
    },
    Not(Box<Formula>),
    And(Vec<Formula>),
    Or(Vec<Formula>),
    Implies(Box<Formula>, Box<Formula>),
    Iff(Box<Formula>, Box<Formula>, Span),
    Xor(Box<Formula>, Box<Formula>, Span),
    All(Members),
    Any(Members),
    Count {
        members: Members,
        relation: Relation,
        count: Index,
        span: Span,
    },
}

/// What stands in braces.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Members {
    /// `{F1, F2}`
    List(Vec<Formula>),
    /// `{F for i in D if i != j}`
    Each(Box<Each>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Each {
    pub body: Formula,
    pub binders: Vec<Binder>,
    /// Joined by `and`.
    pub filter: Vec<(Index, Relation, Index)>,
    pub span: Span,
}

/// One side of a box.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Bound {
    Scalar(f64),
    /// Shared with every requirement made from the statement.
    List(Arc<[f64]>),
}

/// A name in quotes, with what would end or break it escaped.
pub(super) fn quoted(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 2);
    text.push('"');
    for c in name.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

/// Numbers in brackets, with commas between them.
pub(super) fn write_numbers(f: &mut fmt::Formatter<'_>, numbers: &[f64]) -> fmt::Result {
    f.write_str("[")?;
    for (index, &number) in numbers.iter().enumerate() {
        f.write_str(if index > 0 { ", " } else { "" })?;
        write_number(f, number)?;
    }
    f.write_str("]")
}

/// The shortest decimal that reads back as the same number.
pub(super) fn write_number(f: &mut fmt::Formatter<'_>, number: f64) -> fmt::Result {
    if number == 0.0 || (1e-5..1e16).contains(&number.abs()) {
        write!(f, "{number}")
    } else {
        write!(f, "{number:e}")
    }
}
