//! Search regions: where generated tests may lie. Each kind is one file and its lines in `extent.rs`; no other
//! crate asks which kind it has.

mod balls;
mod boxes;
mod extent;
mod kind;
mod pivots;
mod whole;

pub use extent::Extent;
pub(crate) use kind::RegionKind;
pub use kind::{Cover, Hull, Part, Room, ScopeWords, Which};
