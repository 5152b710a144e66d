//! Recursive descent over a requirement file, one token ahead.
//!
//! This file holds the parser's hands: the current token, what was expected, how deep we are.
//! The grammar is in the files beside it, each rule quoted at its function, the whole in
//! `docs/requirements.md`.

mod arithmetic;
mod condition;
mod formula;
mod index;
mod statement;

use super::Relation;
use super::syntax::{Name, RESERVED, Statement};
use super::token::{Kind, Lexer, Token};
use crate::diagnostic::{Checked, Fault, Span};
use crate::suggestion::nearest;

/// Deepest nesting of brackets, `not` and unary minus; keeps the stack small for any text.
const DEEPEST: usize = 50;

/// Reads a whole file.
pub(super) fn parse(source: &str) -> Checked<Vec<Statement>> {
    let mut parser = Parser::new(source)?;
    let mut statements = Vec::new();
    loop {
        while parser.eat(";")? {}
        if parser.token.kind == Kind::End {
            return Ok(statements);
        }
        statements.push(parser.statement()?);
    }
}

struct Parser<'s> {
    lexer: Lexer<'s>,
    token: Token<'s>,
    /// Where the token before the current one ends.
    behind: usize,
    depth: usize,
    /// What the current statement calls its inputs.
    inputs: Vec<Name>,
}

impl<'s> Parser<'s> {
    fn new(source: &'s str) -> Checked<Self> {
        let mut lexer = Lexer::new(source);
        let token = lexer.next()?;
        Ok(Self {
            lexer,
            token,
            behind: 0,
            depth: 0,
            inputs: Vec::new(),
        })
    }

    fn advance(&mut self) -> Checked<Token<'s>> {
        let next = self.lexer.next()?;
        self.behind = self.token.span.end;
        Ok(std::mem::replace(&mut self.token, next))
    }

    /// Whether the current token is this sign or word.
    fn at(&self, symbol: &str) -> bool {
        matches!(self.token.kind, Kind::Sign(found) | Kind::Word(found) if found == symbol)
    }

    fn eat(&mut self, symbol: &str) -> Checked<bool> {
        let found = self.at(symbol);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, symbol: &str) -> Checked<()> {
        if self.eat(symbol)? {
            Ok(())
        } else {
            Err(self.expected(&format!("`{symbol}`")))
        }
    }

    /// The fault of finding something else than `what` here.
    fn expected(&self, what: &str) -> Fault {
        let found = match self.token.kind {
            Kind::Word(text) | Kind::Number(text) | Kind::Sign(text) => format!("`{text}`"),
            Kind::Text(text) => format!("\"{text}\""),
            Kind::End => "the end of the text".to_owned(),
        };
        let span = match self.token.kind {
            // Point just behind the text, not past its trailing blank lines.
            Kind::End => Span::new(self.behind, self.behind + 1),
            _ => self.token.span,
        };
        let fault = Fault::new(span, format!("expected {what}, found {found}"));
        match self.token.kind {
            Kind::Word(word) if !RESERVED.contains(&word) => match nearest(word, RESERVED) {
                Some(meant) if meant.len() > 1 => fault.hint(format!("did you mean `{meant}`?")),
                _ => fault,
            },
            _ => fault,
        }
    }

    /// The span from `start` to the end of what was read last.
    fn since(&self, start: usize) -> Span {
        Span::new(start, self.behind.max(start))
    }

    /// Runs a rule one level deeper, unless that is too deep.
    fn nested<T>(&mut self, rule: impl FnOnce(&mut Self) -> Checked<T>) -> Checked<T> {
        if self.depth == DEEPEST {
            let fault = Fault::new(self.token.span, format!("nested more than {DEEPEST} deep"));
            return Err(fault.hint("use fewer brackets, or several requirements"));
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    /// A word that may name an input or an index.
    fn name(&mut self, what: &str) -> Checked<Name> {
        match self.token.kind {
            Kind::Word(word) if RESERVED.contains(&word) => {
                let fault = Fault::new(self.token.span, format!("expected {what}, found `{word}`"));
                Err(fault.hint(format!("`{word}` is a word of the language; use another")))
            }
            Kind::Word(word) => {
                let span = self.advance()?.span;
                let text = word.into();
                Ok(Name { text, span })
            }
            _ => Err(self.expected(what)),
        }
    }

    /// The comparison sign at the current token, if it is one; not consumed.
    fn relation(&self) -> Option<Relation> {
        match self.token.kind {
            Kind::Sign(sign) => Relation::from_symbol(sign),
            _ => None,
        }
    }

    /// `item ("," item)*`
    fn separated<T>(&mut self, mut item: impl FnMut(&mut Self) -> Checked<T>) -> Checked<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat(",")? {
            items.push(item(self)?);
        }
        Ok(items)
    }
}
