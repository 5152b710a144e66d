//! Index variables in scope, and what index expressions, layers and domains come to.
//!
//! A variable stands for an interval. When a member of a family is made every interval is a
//! point; when a whole family is checked at once (`check.rs`) they are as wide as the domains.

use super::syntax::{Domain, Index, Layer, LayerKind, Name, Neuron, Sign};
use crate::diagnostic::{Checked, Fault, Span};
use crate::signature::{LayerSignature, Signature};
use crate::suggestion::nearest;

/// All integers from `low` to `high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub low: i64,
    pub high: i64,
}

impl Interval {
    pub fn point(value: i64) -> Self {
        Self {
            low: value,
            high: value,
        }
    }

    fn add(self, other: Self) -> Option<Self> {
        let low = self.low.checked_add(other.low)?;
        let high = self.high.checked_add(other.high)?;
        Some(Self { low, high })
    }

    fn negated(self) -> Option<Self> {
        let (low, high) = (self.high.checked_neg()?, self.low.checked_neg()?);
        Some(Self { low, high })
    }

    fn times(self, other: Self) -> Option<Self> {
        let mut corners = [0; 4];
        let pairs = [
            (self.low, other.low),
            (self.low, other.high),
            (self.high, other.low),
            (self.high, other.high),
        ];
        for (corner, (a, b)) in corners.iter_mut().zip(pairs) {
            *corner = a.checked_mul(b)?;
        }
        let low = corners.into_iter().min()?;
        let high = corners.into_iter().max()?;
        Some(Self { low, high })
    }
}

/// The values of a domain, in order.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Values {
    /// From the first to before the second; empty when that is not above the first.
    Range(i64, i64),
    List(Vec<i64>),
}

impl Values {
    /// The listed numbers, or a range round them when one of them still varies.
    fn of(numbers: &[Interval]) -> Self {
        if numbers.iter().all(|number| number.low == number.high) {
            return Self::List(numbers.iter().map(|number| number.low).collect());
        }
        let low = numbers.iter().map(|number| number.low).min();
        let high = numbers.iter().map(|number| number.high).max();
        Self::Range(low.unwrap_or(0), high.unwrap_or(0).saturating_add(1))
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Range(from, to) => usize::try_from(to.saturating_sub(*from)).unwrap_or(0),
            Self::List(list) => list.len(),
        }
    }

    pub fn get(&self, index: usize) -> i64 {
        match self {
            Self::Range(from, _) => from + index as i64,
            Self::List(list) => list[index],
        }
    }

    /// The smallest interval round them; none when there are none.
    pub fn hull(&self) -> Option<Interval> {
        match self {
            Self::Range(from, to) => (from < to).then(|| Interval {
                low: *from,
                high: to - 1,
            }),
            Self::List(list) => Some(Interval {
                low: *list.iter().min()?,
                high: *list.iter().max()?,
            }),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }
}

/// The variables bound so far, innermost last.
pub(super) struct Scope<'a> {
    pub signature: &'a Signature,
    bound: Vec<(&'a str, Interval)>,
}

impl<'a> Scope<'a> {
    pub fn new(signature: &'a Signature) -> Self {
        let bound = Vec::new();
        Self { signature, bound }
    }

    pub fn bind(&mut self, variable: &'a Name, value: Interval) -> Checked<()> {
        if self.value(&variable.text).is_some() {
            let message = format!("the index `{}` is already in use", variable.text);
            return Err(Fault::new(variable.span, message).hint("give this one another name"));
        }
        self.bound.push((&variable.text, value));
        Ok(())
    }

    pub fn unbind(&mut self) {
        self.bound.pop();
    }

    /// The variables and their values, outermost first.
    pub fn bound(&self) -> &[(&'a str, Interval)] {
        &self.bound
    }

    fn value(&self, name: &str) -> Option<Interval> {
        let found = self.bound.iter().rev().find(|(bound, _)| *bound == name);
        found.map(|&(_, value)| value)
    }

    pub fn variable(&self, name: &Name) -> Checked<Interval> {
        self.value(&name.text).ok_or_else(|| {
            let known: Vec<&str> = self.bound.iter().map(|(name, _)| *name).collect();
            let fault = Fault::new(name.span, format!("unknown index `{}`", name.text));
            match nearest(&name.text, known.iter().copied()) {
                Some(meant) => fault.hint(format!("did you mean `{meant}`?")),
                None if known.is_empty() => {
                    fault.hint("bind it first, as in `for i in neurons(2): exists x: ...`")
                }
                None => fault.hint(format!("the indices here are {}", known.join(", "))),
            }
        })
    }

    pub fn index(&self, index: &Index, span: Span) -> Checked<Interval> {
        let overflow = || Fault::new(span, "this index is too large");
        match index {
            Index::Integer(value) => Ok(Interval::point(*value)),
            Index::Variable(name) => self.variable(name),
            Index::Depth => Ok(Interval::point(self.signature.depth() as i64)),
            Index::Negative(inner) => self.index(inner, span)?.negated().ok_or_else(overflow),
            Index::Sum(parts) => {
                let mut sum = Interval::point(0);
                for (sign, part) in parts {
                    let part = self.index(part, span)?;
                    let signed = match sign {
                        Sign::Plus => Some(part),
                        Sign::Minus => part.negated(),
                    };
                    sum = signed.and_then(|part| sum.add(part)).ok_or_else(overflow)?;
                }
                Ok(sum)
            }
            Index::Product(parts) => {
                let mut product = Interval::point(1);
                for part in parts {
                    let part = self.index(part, span)?;
                    product = product.times(part).ok_or_else(overflow)?;
                }
                Ok(product)
            }
        }
    }

    /// The numbers a layer may have. A bare word that is no index variable is a layer's name.
    pub fn layer_number(&self, layer: &Layer) -> Checked<Interval> {
        match &layer.kind {
            LayerKind::Input => Ok(Interval::point(1)),
            LayerKind::Logits => Ok(Interval::point(self.signature.depth() as i64)),
            LayerKind::Output => Ok(Interval::point(self.signature.answer() as i64)),
            LayerKind::Quoted(name) => self.named(name, layer.span),
            LayerKind::Index(Index::Variable(name)) if self.value(&name.text).is_none() => {
                self.named(&name.text, layer.span)
            }
            LayerKind::Index(index) => self.index(index, layer.span),
        }
    }

    fn named(&self, name: &str, span: Span) -> Checked<Interval> {
        match self.signature.named(name) {
            Some(layer) => Ok(Interval::point(layer.number as i64)),
            None => {
                Err(Fault::new(span, format!("unknown layer `{name}`"))
                    .hint(self.signature.hint(name)))
            }
        }
    }

    /// The one layer meant.
    pub fn layer(&self, layer: &Layer) -> Checked<&'a LayerSignature> {
        let number = self.layer_number(layer)?;
        let found = usize::try_from(number.low)
            .ok()
            .filter(|_| number.low == number.high)
            .and_then(|number| self.signature.layer(number));
        found.ok_or_else(|| {
            Fault::new(layer.span, format!("there is no layer {}", number.low))
                .hint(self.signature.list())
        })
    }

    /// The layer and the neurons meant, which exist.
    pub fn neuron(&self, neuron: &Neuron) -> Checked<(&'a LayerSignature, Interval)> {
        let layer = self.layer(&neuron.layer)?;
        let index = self.index(&neuron.index, neuron.index_span)?;
        let outside = if index.low < 0 { index.low } else { index.high };
        if index.low >= 0 && index.high < layer.neurons as i64 {
            return Ok((layer, index));
        }
        let LayerSignature {
            number,
            name,
            neurons,
            ..
        } = layer;
        let message = format!("layer {number} (`{name}`) has no neuron {outside}");
        let hint = match neurons {
            0 => "it has no neurons at all".to_owned(),
            _ => format!("its {neurons} neurons are 0 to {}", neurons - 1),
        };
        Err(Fault::new(neuron.index_span, message).hint(hint))
    }

    /// What a domain comes to. With intervals in scope it is a range that holds every value.
    pub fn domain(&self, domain: &Domain, span: Span) -> Checked<Values> {
        let layers = || self.signature.layers.iter();
        Ok(match domain {
            Domain::Layers => Values::List(layers().map(|layer| layer.number as i64).collect()),
            Domain::Hidden => Values::List(
                layers()
                    .filter(|layer| layer.hidden)
                    .map(|layer| layer.number as i64)
                    .collect(),
            ),
            Domain::Neurons(layer) => Values::Range(0, self.layer(layer)?.neurons as i64),
            Domain::Range {
                from,
                to,
                inclusive,
            } => {
                let from = self.index(from, span)?.low;
                let to = self.index(to, span)?.high;
                Values::Range(from, to.saturating_add(i64::from(*inclusive)))
            }
            Domain::Set(items) => {
                let numbers: Checked<Vec<Interval>> =
                    items.iter().map(|item| self.layer_number(item)).collect();
                Values::of(&numbers?)
            }
        })
    }
}
