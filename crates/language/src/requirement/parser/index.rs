//! Integer arithmetic over indices, and layers.

use super::super::syntax::{Index, Layer, LayerKind, Name, RESERVED, Sign};
use super::super::token::{Kind, unescaped};
use super::Parser;
use crate::diagnostic::{Checked, Fault};

impl Parser<'_> {
    /// `"input" | "output" | "logits" | quoted | index`
    pub(super) fn layer(&mut self) -> Checked<Layer> {
        let start = self.token.span.start;
        let kind = match self.token.kind {
            Kind::Text(raw) => {
                self.advance()?;
                LayerKind::Quoted(unescaped(raw))
            }
            Kind::Word("input") => {
                self.advance()?;
                LayerKind::Input
            }
            Kind::Word("output") => {
                self.advance()?;
                LayerKind::Output
            }
            Kind::Word("logits") => {
                self.advance()?;
                LayerKind::Logits
            }
            _ => LayerKind::Index(self.index()?),
        };
        let span = self.since(start);
        Ok(Layer { span, kind })
    }

    /// `product (("+" | "-") product)*`
    pub(super) fn index(&mut self) -> Checked<Index> {
        let first = self.index_product()?;
        if !self.at("+") && !self.at("-") {
            return Ok(first);
        }
        let mut parts = vec![(Sign::Plus, first)];
        loop {
            let sign = if self.eat("+")? {
                Sign::Plus
            } else if self.eat("-")? {
                Sign::Minus
            } else {
                return Ok(Index::Sum(parts));
            };
            parts.push((sign, self.index_product()?));
        }
    }

    /// `unary ("*" unary)*`
    fn index_product(&mut self) -> Checked<Index> {
        let first = self.index_unary()?;
        if !self.at("*") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.eat("*")? {
            parts.push(self.index_unary()?);
        }
        Ok(Index::Product(parts))
    }

    /// `"-" unary | integer | "K" | name | "(" index ")"`
    fn index_unary(&mut self) -> Checked<Index> {
        if self.eat("-")? {
            let inner = self.nested(Self::index_unary)?;
            return Ok(Index::Negative(Box::new(inner)));
        }
        if self.eat("(")? {
            let inner = self.nested(Self::index)?;
            self.expect(")")?;
            return Ok(inner);
        }
        match self.token.kind {
            Kind::Number(digits) => self.integer(digits).map(Index::Integer),
            Kind::Word("K") => {
                self.advance()?;
                Ok(Index::Depth)
            }
            Kind::Word(word) if !RESERVED.contains(&word) => {
                let span = self.advance()?.span;
                let text = word.into();
                Ok(Index::Variable(Name { text, span }))
            }
            Kind::Word(word) => {
                let fault = self.expected("an index or a layer");
                Err(fault.hint(format!("a layer of this name goes in quotes: \"{word}\"")))
            }
            _ => Err(self.expected("an index or a layer")),
        }
    }

    fn integer(&mut self, digits: &str) -> Checked<i64> {
        let Ok(value) = digits.parse() else {
            let what = if digits.bytes().all(|c| c.is_ascii_digit()) {
                "too large for an index"
            } else {
                "not a whole number"
            };
            return Err(Fault::new(self.token.span, format!("{digits} is {what}")));
        };
        self.advance()?;
        Ok(value)
    }
}
