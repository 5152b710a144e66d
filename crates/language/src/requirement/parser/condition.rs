//! Conditions that are no comparison of numbers: regions, distances, cardinalities, `all`, `any`.

use deepconcolic_geometry::Norm;

use super::super::Relation;
use super::super::syntax::{Bound, Each, Formula, Index, Members};
use super::super::token::Kind;
use super::Parser;
use super::arithmetic::Operand;
use crate::diagnostic::{Checked, Fault, Span};
use crate::suggestion::nearest;

impl Parser<'_> {
    /// Conditions without an operator outside brackets.
    pub(super) fn primary_condition(&mut self, start: usize) -> Checked<Operand> {
        let formula = match self.token.kind {
            Kind::Word(truth @ ("true" | "false")) => {
                self.advance()?;
                Formula::Constant(truth == "true")
            }
            Kind::Word("ap") => {
                self.advance()?;
                Formula::Active(Box::new(self.neuron()?))
            }
            Kind::Word("all") => {
                self.advance()?;
                Formula::All(self.members()?)
            }
            Kind::Word("any") => {
                self.advance()?;
                Formula::Any(self.members()?)
            }
            Kind::Word("dist") => self.distance()?,
            Kind::Sign("|") => self.cardinality(start)?,
            Kind::Word(word) if self.input(word).is_some() => self.within(start)?,
            Kind::Word("exists" | "forall") => {
                let fault = self.expected("a condition");
                return Err(
                    fault.hint("quantifiers do not nest; `exists x1, x2:` binds two inputs")
                );
            }
            _ => return Err(self.expected("a condition or a number")),
        };
        Ok(Operand::Condition(formula, self.since(start)))
    }

    /// `input "in" "box" "(" bound "," bound ")"`
    fn within(&mut self, start: usize) -> Checked<Formula> {
        let input = self.input_mention()?;
        if !self.eat("in")? {
            let fault = self.expected("`in`");
            return Err(
                fault.hint("an input element is `v[x][input,i]`, a region `x in box(0, 1)`")
            );
        }
        self.expect("box")?;
        self.expect("(")?;
        let lower = self.bound()?;
        self.expect(",")?;
        let upper = self.bound()?;
        self.expect(")")?;
        Ok(Formula::Within {
            input,
            lower,
            upper,
            span: self.since(start),
        })
    }

    /// `["-"] number | "[" numbers "]"`
    fn bound(&mut self) -> Checked<Bound> {
        if !self.eat("[")? {
            return self.signed_number().map(Bound::Scalar);
        }
        let numbers = self.separated(Self::signed_number)?;
        self.expect("]")?;
        Ok(Bound::List(numbers.into()))
    }

    /// `"dist" ["[" norm "]"] "(" input "," input ")" relation sum`
    fn distance(&mut self) -> Checked<Formula> {
        self.advance()?;
        let norm = if self.eat("[")? {
            let norm = self.norm()?;
            self.expect("]")?;
            norm
        } else {
            Norm::default()
        };
        self.expect("(")?;
        let start = self.token.span.start;
        let first = self.input_mention()?;
        self.expect(",")?;
        let second = self.input_mention()?;
        if first == second {
            let fault = Fault::new(self.since(start), "a distance needs two different inputs");
            return Err(fault.hint("quantify over two: `exists x1, x2: ... dist(x1, x2) <= 0.1`"));
        }
        self.expect(")")?;
        let relation = self.expected_relation()?;
        let radius = self.number_by(Self::sum)?;
        Ok(Formula::Distance {
            norm,
            relation,
            radius,
        })
    }

    /// The name of a norm; a hyphen in it, as in `l0-elements`, is a sign of its own.
    fn norm(&mut self) -> Checked<Norm> {
        let Kind::Word(word) = self.token.kind else {
            return Err(self.expected("a norm"));
        };
        let span = self.advance()?.span;
        let mut name = word.to_owned();
        if self.at("-") {
            self.advance()?;
            if let Kind::Word(rest) = self.token.kind {
                self.advance()?;
                name = format!("{name}-{rest}");
            }
        }
        Norm::from_name(&name).ok_or_else(|| {
            let names = Norm::ALL.map(|norm| norm.name());
            let meant = nearest(&name, names).map(|meant| format!("did you mean `{meant}`? "));
            let span = Span::new(span.start, self.behind);
            Fault::new(span, format!("unknown norm `{name}`")).hint(format!(
                "{}there are {}",
                meant.unwrap_or_default(),
                names.join(", ")
            ))
        })
    }

    fn expected_relation(&mut self) -> Checked<Relation> {
        let Some(relation) = self.relation() else {
            return Err(self.expected("a comparison, such as `<=`"));
        };
        self.advance()?;
        Ok(relation)
    }

    /// `"|" members "|" relation index`
    fn cardinality(&mut self, start: usize) -> Checked<Formula> {
        self.advance()?;
        if !self.at("{") {
            let fault = self.expected("`{`");
            return Err(fault.hint("the absolute value of a number is `abs(...)`"));
        }
        let members = self.members()?;
        self.expect("|")?;
        let relation = self.expected_relation()?;
        let count = self.index()?;
        Ok(Formula::Count {
            members,
            relation,
            count,
            span: self.since(start),
        })
    }

    /// `"{" [formula ("," formula)*] "}" | "{" formula "for" binders ["if" filter] "}"`
    fn members(&mut self) -> Checked<Members> {
        let start = self.token.span.start;
        self.expect("{")?;
        if self.eat("}")? {
            return Ok(Members::List(Vec::new()));
        }
        let mut list = vec![self.nested(Self::condition)?];
        if self.eat("for")? {
            let body = list.swap_remove(0);
            return self.comprehension(body, start);
        }
        while self.eat(",")? {
            list.push(self.nested(Self::condition)?);
        }
        if !self.eat("}")? {
            return Err(self.expected("`,`, `for` or `}`"));
        }
        Ok(Members::List(list))
    }

    fn comprehension(&mut self, body: Formula, start: usize) -> Checked<Members> {
        let binders = self.binders()?;
        let filter = if self.eat("if")? {
            self.filter()?
        } else {
            Vec::new()
        };
        if !self.eat("}")? {
            return Err(self.expected("`,`, `if` or `}`"));
        }
        Ok(Members::Each(Box::new(Each {
            body,
            binders,
            filter,
            span: self.since(start),
        })))
    }

    /// `index relation index ("and" index relation index)*`
    fn filter(&mut self) -> Checked<Vec<(Index, Relation, Index)>> {
        let mut conditions = Vec::new();
        loop {
            let left = self.index()?;
            let relation = self.expected_relation()?;
            conditions.push((left, relation, self.index()?));
            if !self.eat("and")? {
                return Ok(conditions);
            }
        }
    }
}
