//! What is asked of a network: requirements, pure data.
//!
//! [`requirement`] holds the language DR of the paper's Section 4.2 with its parser, printer,
//! meaning over a test suite and ranking value; [`vnnlib`] imports properties of the verification
//! competition as one requirement each. A caller describes a network by a [`Signature`] and lets
//! [`Observations`] tell what its neurons did. [`criteria`] holds the criteria of the field by
//! name, each a family of such requirements that measures itself on traces of a network.

pub mod criteria;
mod decision;
pub mod diagnostic;
mod domain;
pub mod error;
pub mod norm;
pub mod requirement;
mod search_space;
pub mod signature;
mod similarity;
mod suggestion;
mod together;
pub mod vnnlib;

pub use decision::{Decision, Departure, Prediction, Rule, Truth, UNSTATED};
pub use diagnostic::Diagnostic;
pub use domain::Domain;
pub use error::Error;
pub use norm::{InputSpace, Norm, Pixels};
pub use requirement::{
    Activation, Assignment, Bound, Comparison, Evaluator, Family, Formula, Input, InputBox, Inputs,
    Linear, Observations, Quantifier, Ranked, RecordedTest, Recording, Relation, Requirement,
    RequirementFile, RequirementSet, TOLERANCE, Var, has_single, with_single,
};
pub use search_space::{Extent, SearchSpace, Validity, inward};
pub use signature::{LayerSignature, Signature};
pub use similarity::ImageShape;
pub use together::Together;
pub use vnnlib::Property;
