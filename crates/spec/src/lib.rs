//! What is asked of a network: requirements, pure data.
//!
//! [`requirement`] holds the language DR of the paper's Section 4.2 with its parser, printer,
//! meaning over a test suite and ranking value; [`vnnlib`] imports properties of the verification
//! competition as one requirement each. A caller describes a network by a [`Signature`] and lets
//! [`Observations`] tell what its neurons did. [`criteria`] holds the criteria of the field by
//! name, each a family of such requirements that measures itself on traces of a network.

pub mod criteria;
pub mod diagnostic;
pub mod error;
pub mod norm;
pub mod requirement;
pub mod signature;
mod suggestion;
pub mod vnnlib;

pub use diagnostic::Diagnostic;
pub use error::Error;
pub use norm::{InputSpace, Norm, Pixels};
pub use requirement::{
    Activation, Assignment, Bound, Comparison, Evaluator, Family, Formula, Input, InputBox, Inputs,
    Linear, Observations, Quantifier, Ranked, RecordedTest, Recording, Relation, Requirement,
    RequirementFile, RequirementSet, Var,
};
pub use signature::{LayerSignature, Signature};
pub use vnnlib::Property;
