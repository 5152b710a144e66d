//! One statement as a family of requirements: its size, and the member with a given index.
//!
//! Members are numbered in the order of nested loops, the last binder running fastest. Where no
//! later domain mentions an index, its values all lead to the same number of members and nothing
//! is enumerated; `for k in hidden, i in neurons(k), j in neurons(k+1)` looks at each layer only.

use super::file::RequirementSet;
use super::instantiate::instantiate;
use super::scope::{Interval, Scope};
use super::syntax::{Binder, Domain, Index, Layer, LayerKind, Statement};
use super::{Inputs, Quantifier, Requirement};
use crate::diagnostic::{Checked, Fault};
use crate::error::Error;
use crate::signature::Signature;

/// Most values looked at while counting a family.
const STEPS: usize = 2_000_000;

/// The requirements of one statement.
///
/// ```
/// use deepconcolic_language::{RequirementFile, Signature};
///
/// let signature = Signature::feed_forward([("in", 4), ("relu", 3), ("out", 2)]);
/// let text = "require \"nc\": for k in hidden, i in neurons(k): exists x: ap[x][k,i]";
/// let set = RequirementFile::parse(text).unwrap().resolve(&signature).unwrap();
/// let family = set.families().next().unwrap();
/// assert_eq!((family.name(), family.len(), family.line()), (Some("nc"), 3, 1));
/// assert_eq!(
///     family.get(2).unwrap().to_string(),
///     "require \"nc[k=2, i=2]\": exists x: ap[x][2,2]"
/// );
/// ```
#[derive(Debug, Clone, Copy)]
pub struct RequirementFamily<'a> {
    pub(super) set: &'a RequirementSet,
    pub(super) statement: usize,
}

impl<'a> RequirementFamily<'a> {
    fn statement(&self) -> &'a Statement {
        &self.set.source.statements[self.statement]
    }

    /// What the statement is called, if it is.
    pub fn name(&self) -> Option<&'a str> {
        self.statement().name.as_deref()
    }

    /// The line it starts on.
    pub fn line(&self) -> usize {
        let before = &self.set.source.text[..self.statement().span.start];
        before.matches('\n').count() + 1
    }

    /// Some or all.
    pub fn quantifier(&self) -> Quantifier {
        self.statement().quantifier
    }

    /// One input or two.
    pub fn inputs(&self) -> Inputs {
        match self.statement().inputs.len() {
            1 => Inputs::One,
            _ => Inputs::Two,
        }
    }

    /// How many requirements it stands for; one, unless it has a `for`.
    pub fn len(&self) -> usize {
        self.set.len_of(self.statement)
    }

    /// Whether it stands for none, as when an index ranges over nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The member with this index.
    pub fn get(&self, index: usize) -> Result<Requirement, Error> {
        let len = self.len();
        if index >= len {
            return Err(Error::NoSuchRequirement { index, len });
        }
        member(self.statement(), &self.set.signature, index)
            .map_err(|fault| fault.locate(&self.set.source.text).into())
    }
}

/// The statement as the language writes it.
impl std::fmt::Display for RequirementFamily<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.statement().fmt(f)
    }
}

/// How many requirements a statement stands for.
pub(super) fn size(statement: &Statement, signature: &Signature) -> Checked<usize> {
    let mut steps = STEPS;
    count(&mut Scope::new(signature), &statement.binders, &mut steps)
}

/// The requirement with this index, which must be below the size.
pub(super) fn member(
    statement: &Statement,
    signature: &Signature,
    mut index: usize,
) -> Checked<Requirement> {
    let mut scope = Scope::new(signature);
    let mut steps = STEPS;
    let mut binders = &statement.binders[..];
    while let Some((binder, rest)) = binders.split_first() {
        index = enter(&mut scope, binder, rest, index, &mut steps)?;
        binders = rest;
    }
    instantiate(statement, &mut scope)
}

fn count<'a>(scope: &mut Scope<'a>, binders: &'a [Binder], steps: &mut usize) -> Checked<usize> {
    let Some((binder, rest)) = binders.split_first() else {
        return Ok(1);
    };
    let values = scope.domain(&binder.domain, binder.span)?;
    let overflow = || Fault::new(binder.span, "this family is too large to count");
    if values.len() == 0 {
        return Ok(0);
    }
    if !mentioned(&binder.variable.text, rest) {
        let inner = count_at(scope, binder, values.get(0), rest, steps)?;
        return values.len().checked_mul(inner).ok_or_else(overflow);
    }
    let mut total = 0_usize;
    for value in values.iter() {
        let inner = count_at(scope, binder, value, rest, steps)?;
        total = total.checked_add(inner).ok_or_else(overflow)?;
    }
    Ok(total)
}

fn count_at<'a>(
    scope: &mut Scope<'a>,
    binder: &'a Binder,
    value: i64,
    rest: &'a [Binder],
    steps: &mut usize,
) -> Checked<usize> {
    *steps = steps.checked_sub(1).ok_or_else(|| {
        Fault::new(binder.span, "this family takes too long to count")
            .hint("let fewer ranges depend on this index, or make it range over less")
    })?;
    scope.bind(&binder.variable, Interval::point(value))?;
    let inner = count(scope, rest, steps);
    scope.unbind();
    inner
}

/// Binds the value under which member `index` lies and returns its index among those.
fn enter<'a>(
    scope: &mut Scope<'a>,
    binder: &'a Binder,
    rest: &'a [Binder],
    mut index: usize,
    steps: &mut usize,
) -> Checked<usize> {
    let values = scope.domain(&binder.domain, binder.span)?;
    if !mentioned(&binder.variable.text, rest) && values.len() > 0 {
        let inner = count_at(scope, binder, values.get(0), rest, steps)?.max(1);
        let value = values.get((index / inner).min(values.len() - 1));
        scope.bind(&binder.variable, Interval::point(value))?;
        return Ok(index % inner);
    }
    for value in values.iter() {
        let inner = count_at(scope, binder, value, rest, steps)?;
        if index < inner {
            scope.bind(&binder.variable, Interval::point(value))?;
            return Ok(index);
        }
        index -= inner;
    }
    Err(Fault::new(binder.span, "this family has no such member"))
}

/// Whether a later domain depends on this variable.
fn mentioned(variable: &str, binders: &[Binder]) -> bool {
    let in_layer = |layer: &Layer| match &layer.kind {
        LayerKind::Index(index) => in_index(variable, index),
        _ => false,
    };
    binders.iter().any(|binder| match &binder.domain {
        Domain::Layers | Domain::Hidden => false,
        Domain::Neurons(layer) => in_layer(layer),
        Domain::Range { from, to, .. } => in_index(variable, from) || in_index(variable, to),
        Domain::Set(items) => items.iter().any(in_layer),
    })
}

fn in_index(variable: &str, index: &Index) -> bool {
    match index {
        Index::Integer(_) | Index::Depth => false,
        Index::Variable(name) => *name.text == *variable,
        Index::Negative(inner) => in_index(variable, inner),
        Index::Sum(parts) => parts.iter().any(|(_, part)| in_index(variable, part)),
        Index::Product(parts) => parts.iter().any(|part| in_index(variable, part)),
    }
}
