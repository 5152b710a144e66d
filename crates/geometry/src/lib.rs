//! Where inputs lie and how far apart they are: norms, the domain of inputs, search regions.
//!
//! A [`Norm`] measures the difference of two inputs in units of the [`Domain`]'s width. A
//! [`SearchSpace`] says what a generated test must be to count, whatever requirement it is for.
//! Nothing here knows of formulas or criteria.

mod domain;
mod norm;
mod search_space;
mod similarity;
mod together;

pub use domain::Domain;
pub use norm::{InputSpace, Norm, Pixels};
pub use search_space::{Extent, SearchSpace, Validity, inward};
pub use similarity::ImageShape;
pub use together::Together;
