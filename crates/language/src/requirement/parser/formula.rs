//! The operators between conditions, from the loosest to the tightest.

use super::super::Relation;
use super::super::syntax::Formula;
use super::Parser;
use super::arithmetic::Operand;
use crate::diagnostic::{Checked, Fault};

impl Parser<'_> {
    /// A formula that is a condition.
    pub(super) fn condition(&mut self) -> Checked<Formula> {
        self.formula()?.condition()
    }

    /// `disjunction [("=>" | "iff" | "xor") disjunction]`
    pub(super) fn formula(&mut self) -> Checked<Operand> {
        let start = self.token.span.start;
        let left = self.disjunction()?;
        let operators = ["=>", "iff", "xor"];
        let Some(operator) = operators.into_iter().find(|operator| self.at(operator)) else {
            return Ok(left);
        };
        self.advance()?;
        let left = Box::new(left.condition()?);
        let right = Box::new(self.disjunction()?.condition()?);
        if operators.iter().any(|operator| self.at(operator)) {
            let fault = self.expected("the end of the condition");
            return Err(fault.hint("say with brackets which of `=>`, `iff`, `xor` comes first"));
        }
        let span = self.since(start);
        let formula = match operator {
            "=>" => Formula::Implies(left, right),
            "iff" => Formula::Iff(left, right, span),
            _ => Formula::Xor(left, right, span),
        };
        Ok(Operand::Condition(formula, span))
    }

    /// `conjunction ("or" conjunction)*`
    fn disjunction(&mut self) -> Checked<Operand> {
        self.joined("or", Self::conjunction, Formula::Or)
    }

    /// `negation ("and" negation)*`
    fn conjunction(&mut self) -> Checked<Operand> {
        self.joined("and", Self::negation, Formula::And)
    }

    fn joined(
        &mut self,
        operator: &str,
        part: fn(&mut Self) -> Checked<Operand>,
        join: fn(Vec<Formula>) -> Formula,
    ) -> Checked<Operand> {
        let start = self.token.span.start;
        let first = part(self)?;
        if !self.at(operator) {
            return Ok(first);
        }
        let mut parts = vec![first.condition()?];
        while self.eat(operator)? {
            parts.push(part(self)?.condition()?);
        }
        Ok(Operand::Condition(join(parts), self.since(start)))
    }

    /// `"not" negation | comparison`
    fn negation(&mut self) -> Checked<Operand> {
        let start = self.token.span.start;
        if !self.eat("not")? {
            return self.comparison();
        }
        let inner = self.nested(Self::negation)?.condition()?;
        let formula = Formula::Not(Box::new(inner));
        Ok(Operand::Condition(formula, self.since(start)))
    }

    /// `sum (relation sum)*`, or `=` or `!=` between two conditions
    fn comparison(&mut self) -> Checked<Operand> {
        let start = self.token.span.start;
        let left = self.sum()?;
        let Some(relation) = self.relation() else {
            return Ok(left);
        };
        match left {
            Operand::Condition(left, _) => self.equivalence(left, relation, start),
            Operand::Number(first) => {
                let mut rest = Vec::new();
                while let Some(relation) = self.relation() {
                    self.advance()?;
                    self.forbid_on_the_right()?;
                    rest.push((relation, self.number_by(Self::sum)?));
                }
                let formula = Formula::Compare { first, rest };
                Ok(Operand::Condition(formula, self.since(start)))
            }
        }
    }

    fn equivalence(&mut self, left: Formula, relation: Relation, start: usize) -> Checked<Operand> {
        if !matches!(relation, Relation::Eq | Relation::Ne) {
            let symbol = relation.symbol();
            let message = format!("`{symbol}` compares numbers, but its left side is a condition");
            let fault = Fault::new(self.token.span, message);
            return Err(fault.hint("conditions are compared with `=` and `!=`"));
        }
        self.advance()?;
        let right = Box::new(self.sum()?.condition()?);
        if self.relation().is_some() {
            let fault = self.expected("the end of the comparison");
            return Err(fault.hint("say with brackets which comparison comes first"));
        }
        let left = Box::new(left);
        let span = self.since(start);
        let formula = match relation {
            Relation::Eq => Formula::Iff(left, right, span),
            _ => Formula::Xor(left, right, span),
        };
        Ok(Operand::Condition(formula, span))
    }

    /// A distance or a cardinality stands on the left only; say so rather than "expected".
    fn forbid_on_the_right(&self) -> Checked<()> {
        let (what, example) = if self.at("dist") {
            ("distance", "dist(x1, x2) <= 0.1")
        } else if self.at("|") {
            ("cardinality", "|{...}| >= 2")
        } else {
            return Ok(());
        };
        let message = format!("a {what} stands on the left of its comparison");
        let fault = Fault::new(self.token.span, message);
        Err(fault.hint(format!("turn it round, as in `{example}`")))
    }
}
