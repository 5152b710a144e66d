//! Where inputs lie and how far apart they are: norms, the domain of inputs, search regions.
//!
//! A [`Norm`] measures the difference of two inputs in units of the [`Domain`]'s width. A
//! [`SearchSpace`] says what a generated test must be to count, whatever requirement it is for; a
//! [`AllowedRegion`] is how a search keeps to it. Nothing here knows of formulas or criteria.

mod allowed_region;
mod domain;
mod norm;
mod random;
mod region;
mod search_space;
mod similarity;
mod together;
mod whole_numbers;

pub use allowed_region::AllowedRegion;
pub use domain::Domain;
pub use norm::{
    Ball, ConvexNorm, Ends, InputSpace, LANES, Lanes, LinearForm, Norm, NormKind, Pixels, Screen,
    Sight, Unsupported,
};
pub use random::Random;
pub use region::{Cover, Extent, Hull, Part, Room, ScopeWords, Which};
pub use search_space::{SearchSpace, Validity};
pub use similarity::ImageShape;
pub use together::Together;
pub use whole_numbers::WholeNumbers;
