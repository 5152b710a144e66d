//! A coverage requirement: a quantifier over one or two inputs, and a formula.

use super::Formula;

/// Whether some input or every input is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// Met when some test of the suite (or pair of tests) satisfies the formula.
    Exists,
    /// Met when every test of the suite (or pair of tests) does.
    Forall,
}

/// How many inputs a requirement speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Inputs {
    /// `x`
    One,
    /// `x1, x2`: all ordered pairs, a test paired with itself included, as in the paper.
    Two,
}

/// One requirement on a test suite (the paper's `r`), every index resolved.
///
/// ```
/// use deepconcolic_language::{Formula, Input, Inputs, Quantifier, Requirement};
///
/// let requirement = Requirement {
///     name: None,
///     quantifier: Quantifier::Exists,
///     inputs: Inputs::One,
///     formula: Formula::active(Input::First, 2, 7),
/// };
/// assert_eq!(requirement.to_string(), "exists x: ap[x][2,7]");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement {
    /// What the file calls it; a family's member has its index values appended.
    pub name: Option<String>,
    /// Some or all.
    pub quantifier: Quantifier,
    /// One input or two.
    pub inputs: Inputs,
    /// What is asked of them.
    pub formula: Formula,
}

impl Requirement {
    /// Whether it lies in DR+, the fragment without negation.
    pub fn is_dr_plus(&self) -> bool {
        self.formula.is_negation_free()
    }

    /// The formula to search an input for: its own for `exists`; for `forall` the negation, in
    /// normal form, since a `forall` is decided by refuting it.
    pub fn goal(&self) -> Formula {
        match self.quantifier {
            Quantifier::Exists => self.formula.clone(),
            Quantifier::Forall => self.formula.nnf_of_negation(),
        }
    }
}
