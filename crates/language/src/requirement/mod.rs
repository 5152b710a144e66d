//! The requirement language DR (paper, Section 4.2): text, meaning, ranking value.
//!
//! A text becomes a [`RequirementFile`] (syntax alone), which becomes a [`RequirementSet`] once it
//! is checked against a network's [`Signature`](crate::Signature). The set stays lazy: it makes a
//! [`Requirement`], a plain tree of linear comparisons, when asked for one.
//! `docs/requirements.md` is the guide to the language.

mod check;
mod display;
mod evaluate;
mod family;
mod file;
mod formula;
mod instantiate;
mod linear;
mod lower;
mod normal_form;
mod observe;
mod parser;
mod printer;
mod quantified;
mod relation;
mod scope;
mod single;
mod syntax;
mod token;
mod value;

#[cfg(test)]
mod arbitrary;

pub use evaluate::Evaluator;
pub use family::RequirementFamily;
pub(crate) use file::decode;
pub use file::{RequirementFile, RequirementSet};
pub use formula::{Bound, Formula, InputBox};
pub use linear::{Activation, Comparison, Input, Linear, Var};
pub use observe::{Assignment, Observations, RecordedTest, Recording};
pub use quantified::{Inputs, Quantifier, Requirement};
pub use relation::Relation;
pub use single::{TOLERANCE, has_single, with_single};
pub use value::Ranked;
