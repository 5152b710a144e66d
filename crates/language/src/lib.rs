//! What is asked of a network, as formulas: pure data.
//!
//! [`requirement`] holds the language DR of the paper's Section 4.2 with its parser, printer,
//! meaning over a test suite and ranking value; [`vnnlib`] imports properties of the verification
//! competition as one requirement each. A caller describes a network by a [`Signature`] and lets
//! [`Observations`] tell what its neurons did.

pub mod diagnostic;
pub mod error;
pub mod requirement;
pub mod signature;
mod suggestion;
pub mod vnnlib;

pub use diagnostic::Diagnostic;
pub use error::Error;
pub use requirement::{
    Activation, Assignment, Bound, Comparison, Evaluator, Formula, Input, InputBox, Inputs, Linear,
    Observations, Quantifier, Ranked, RecordedTest, Recording, Relation, Requirement,
    RequirementFamily, RequirementFile, RequirementSet, TOLERANCE, Var, has_single, with_single,
};
pub use signature::{LayerSignature, Signature};
pub use vnnlib::Property;
