//! Negation normal form: only `and`, `or`, "at least q of" and atoms, so that a bound on the
//! atoms is a bound on the formula.

use super::{Comparison, Formula, Relation};

impl Formula {
    /// An equivalent formula without `Iff`, `Xor` and `!=`, whose cardinalities are all `>=`, and
    /// whose only negation, if any, stands directly before a region condition `x in box(...)`.
    ///
    /// It has the same truth on observations without NaN, and the same ranking value. `Iff`,
    /// `Xor`, and cardinalities with `=` or `!=` are spelled out, which doubles their parts at
    /// each level of nesting.
    ///
    /// ```
    /// use deepconcolic_language::{RequirementFile, Signature};
    ///
    /// let signature = Signature::feed_forward([("in", 1), ("relu", 2), ("out", 1)]);
    /// let file = RequirementFile::parse("exists x: not (ap[x][2,0] and v[x][2,1] = 0)").unwrap();
    /// let requirement = file.resolve(&signature).unwrap().get(0).unwrap();
    /// let normal = requirement.formula.nnf();
    /// assert_eq!(
    ///     normal.to_string(),
    ///     "u[x1][2,0] < 0 or (v[x1][2,1] < 0 or v[x1][2,1] > 0)"
    /// );
    /// ```
    #[must_use]
    pub fn nnf(&self) -> Self {
        self.normal(true)
    }

    /// The normal form of the negation.
    #[must_use]
    pub fn nnf_of_negation(&self) -> Self {
        self.normal(false)
    }

    /// The normal form of this formula, or of its negation when `wanted` is false.
    fn normal(&self, wanted: bool) -> Self {
        match self {
            Self::Compare(comparison) => compare(comparison, wanted),
            Self::Within { .. } if wanted => self.clone(),
            Self::Within { .. } => Self::Not(Box::new(self.clone())),
            &Self::Distance {
                norm,
                relation,
                radius,
            } => Self::Distance {
                norm,
                relation: oriented(relation, wanted),
                radius,
            },
            Self::Not(inner) => inner.normal(!wanted),
            Self::And(of) | Self::Or(of) => {
                let parts = all(of, wanted);
                if matches!(self, Self::And(_)) == wanted {
                    Self::And(parts)
                } else {
                    Self::Or(parts)
                }
            }
            Self::Iff(a, b) => alike(a, b, wanted),
            Self::Xor(a, b) => alike(a, b, !wanted),
            Self::Count {
                of,
                relation,
                count,
            } => cardinality(of, oriented(*relation, wanted), *count),
        }
    }
}

fn oriented(relation: Relation, wanted: bool) -> Relation {
    if wanted { relation } else { relation.negated() }
}

fn all(formulas: &[Formula], wanted: bool) -> Vec<Formula> {
    formulas.iter().map(|part| part.normal(wanted)).collect()
}

fn compare(comparison: &Comparison, wanted: bool) -> Formula {
    let with = |relation| Formula::compare(comparison.linear.clone(), relation);
    match oriented(comparison.relation, wanted) {
        Relation::Ne => Formula::Or(vec![with(Relation::Lt), with(Relation::Gt)]),
        relation => with(relation),
    }
}

/// Both parts true or both false; exactly one true when `same` is false.
fn alike(a: &Formula, b: &Formula, same: bool) -> Formula {
    let case = |truth: bool| Formula::And(vec![a.normal(truth), b.normal(truth == same)]);
    Formula::Or(vec![case(true), case(false)])
}

fn cardinality(of: &[Formula], relation: Relation, count: usize) -> Formula {
    match relation {
        Relation::Ge => at_least(of, true, count),
        Relation::Gt => at_least(of, true, count.saturating_add(1)),
        // At most `count` true is at least all but `count` false.
        Relation::Le => at_least(of, false, of.len().saturating_sub(count)),
        Relation::Lt => match count.checked_sub(1) {
            Some(maximum) => cardinality(of, Relation::Le, maximum),
            None => Formula::constant(false),
        },
        Relation::Eq => Formula::And(vec![
            cardinality(of, Relation::Ge, count),
            cardinality(of, Relation::Le, count),
        ]),
        Relation::Ne => Formula::Or(vec![
            cardinality(of, Relation::Lt, count),
            cardinality(of, Relation::Gt, count),
        ]),
    }
}

/// At least `count` of the formulas have the wanted truth.
fn at_least(of: &[Formula], wanted: bool, count: usize) -> Formula {
    if count == 0 || count > of.len() {
        return Formula::constant(count == 0);
    }
    Formula::Count {
        of: all(of, wanted),
        relation: Relation::Ge,
        count,
    }
}

#[cfg(test)]
#[expect(
    clippy::float_cmp,
    reason = "equal formulas have equal values, to the bit"
)]
mod tests {
    use deepconcolic_geometry::InputSpace;
    use proptest::prelude::*;

    use super::super::{Assignment, Evaluator, Inputs, arbitrary};
    use super::*;

    /// Only what engines are promised: no negation but before a region, only `>=` counted.
    fn is_normal(formula: &Formula) -> bool {
        match formula {
            Formula::Compare(comparison) => comparison.relation != Relation::Ne,
            Formula::Within { .. } | Formula::Distance { .. } => true,
            Formula::Not(inner) => matches!(**inner, Formula::Within { .. }),
            Formula::And(of) | Formula::Or(of) => of.iter().all(is_normal),
            Formula::Iff(..) | Formula::Xor(..) => false,
            Formula::Count { of, relation, .. } => {
                *relation == Relation::Ge && of.iter().all(is_normal)
            }
        }
    }

    fn not(formula: Formula) -> Formula {
        Formula::Not(Box::new(formula))
    }

    proptest! {
        #[test]
        fn the_normal_form_means_and_is_worth_the_same(
            formula in arbitrary::formula(Inputs::Two),
            suite in arbitrary::recording(2..3),
            means in arbitrary::means(),
        ) {
            let space = InputSpace::default();
            let evaluator = Evaluator::new(&suite, &space);
            let tests = Assignment::Two(0, 1);
            let truth = evaluator.satisfies(&formula, tests);
            let value = evaluator.value(&formula, tests, &means);
            let (normal, negated) = (formula.nnf(), formula.nnf_of_negation());
            prop_assert!(is_normal(&normal) && is_normal(&negated));
            prop_assert_eq!(evaluator.satisfies(&normal, tests), truth);
            prop_assert_eq!(evaluator.satisfies(&negated, tests), !truth);
            prop_assert_eq!(evaluator.value(&normal, tests, &means), value);
            prop_assert_eq!(evaluator.value(&negated, tests, &means), -value);
        }

        #[test]
        fn negation_is_its_own_inverse_and_de_morgan_holds(
            a in arbitrary::formula(Inputs::One),
            b in arbitrary::formula(Inputs::One),
            suite in arbitrary::recording(1..2),
            means in arbitrary::means(),
        ) {
            let space = InputSpace::default();
            let evaluator = Evaluator::new(&suite, &space);
            let same = |left: &Formula, right: &Formula| {
                let tests = Assignment::One(0);
                let values = [left, right].map(|f| evaluator.value(f, tests, &means));
                let truths = [left, right].map(|f| evaluator.satisfies(f, tests));
                values[0] == values[1] && truths[0] == truths[1]
            };
            prop_assert!(same(&not(not(a.clone())), &a));
            prop_assert_eq!(not(not(a.clone())).nnf(), a.nnf());
            let and = Formula::And(vec![a.clone(), b.clone()]);
            let or = Formula::Or(vec![not(a), not(b)]);
            prop_assert!(same(&not(and.clone()), &or));
            prop_assert_eq!(not(and).nnf(), or.nnf());
        }
    }
}
