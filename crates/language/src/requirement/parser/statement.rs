//! Statements, binders and what indices range over.

use super::super::Quantifier;
use super::super::syntax::{Binder, Domain, Index, LayerKind, Name, Statement};
use super::super::token::{Kind, unescaped};
use super::Parser;
use crate::diagnostic::{Checked, Fault};

impl Parser<'_> {
    /// `["require" name ":"] ["for" binders ":"] ("exists" | "forall") inputs ":" formula`
    ///
    /// Line ends mean nothing: a statement ends where the next one starts, or at `;`.
    pub(super) fn statement(&mut self) -> Checked<Statement> {
        let start = self.token.span.start;
        let name = self.statement_name()?;
        let binders = if self.eat("for")? {
            let binders = self.binders()?;
            self.expect(":")?;
            binders
        } else {
            Vec::new()
        };
        let quantifier = self.quantifier()?;
        self.inputs = self.input_names()?;
        self.expect(":")?;
        let formula = self.condition()?;
        self.statement_end()?;
        Ok(Statement {
            span: self.since(start),
            name,
            binders,
            quantifier,
            inputs: std::mem::take(&mut self.inputs),
            formula,
        })
    }

    fn statement_name(&mut self) -> Checked<Option<String>> {
        if !self.eat("require")? {
            return Ok(None);
        }
        let name = match self.token.kind {
            Kind::Text(raw) => unescaped(raw),
            Kind::Word(word) => word.to_owned(),
            _ => return Err(self.expected("the requirement's name")),
        };
        self.advance()?;
        self.expect(":")?;
        Ok(Some(name))
    }

    fn quantifier(&mut self) -> Checked<Quantifier> {
        if self.eat("exists")? {
            Ok(Quantifier::Exists)
        } else if self.eat("forall")? {
            Ok(Quantifier::Forall)
        } else {
            Err(self.expected("`exists` or `forall`"))
        }
    }

    /// `name ["," name]`
    fn input_names(&mut self) -> Checked<Vec<Name>> {
        let names = self.separated(|parser| parser.name("a name for the input, such as `x`"))?;
        match &names[..] {
            [_] => Ok(names),
            [first, second] if first.text != second.text => Ok(names),
            [_, second] => {
                let fault = Fault::new(second.span, "the two inputs have the same name");
                Err(fault.hint("call them `x1` and `x2`"))
            }
            [_, _, third, ..] => Err(Fault::new(
                third.span,
                "a requirement speaks of one input or of two",
            )),
            [] => Err(self.expected("a name for the input")),
        }
    }

    /// What may follow a formula: the next statement's first word, `;` or the end.
    fn statement_end(&mut self) -> Checked<()> {
        let starts = ["require", "for", "exists", "forall", ";"];
        if self.token.kind == Kind::End || starts.iter().any(|start| self.at(start)) {
            return Ok(());
        }
        Err(self.expected("`and`, `or`, `;` or the next requirement"))
    }

    /// `name "in" domain ("," name "in" domain)*`
    pub(super) fn binders(&mut self) -> Checked<Vec<Binder>> {
        self.separated(|parser| {
            let start = parser.token.span.start;
            let variable = parser.name("a name for the index, such as `i`")?;
            parser.expect("in")?;
            let domain = parser.domain()?;
            let span = parser.since(start);
            Ok(Binder {
                variable,
                domain,
                span,
            })
        })
    }

    /// `"layers" | "hidden" | "neurons" "(" layer ")" | "{" layer,* "}" | index ".." ["="] index`
    fn domain(&mut self) -> Checked<Domain> {
        if self.eat("layers")? {
            return Ok(Domain::Layers);
        }
        if self.eat("hidden")? {
            return Ok(Domain::Hidden);
        }
        if self.eat("neurons")? {
            self.expect("(")?;
            let layer = self.layer()?;
            self.expect(")")?;
            return Ok(Domain::Neurons(layer));
        }
        if self.eat("{")? {
            let items = self.separated(Self::layer)?;
            self.expect("}")?;
            return Ok(Domain::Set(items));
        }
        self.range()
    }

    fn range(&mut self) -> Checked<Domain> {
        let start = self.token.span;
        let LayerKind::Index(from) = self.layer()?.kind else {
            let fault = Fault::new(
                start,
                "expected what the index ranges over, found one layer",
            );
            return Err(fault.hint("a set is written in braces: `for k in {\"conv1\", 3}: ...`"));
        };
        let inclusive = self.at("..=");
        if !inclusive && !self.at("..") {
            let fault = self.expected("`..`");
            return Err(fault.hint(
                "an index ranges over `layers`, `hidden`, `neurons(k)`, `0..10` or `{2, 3}`",
            ));
        }
        self.advance()?;
        let to: Index = self.index()?;
        Ok(Domain::Range {
            from,
            to,
            inclusive,
        })
    }
}
