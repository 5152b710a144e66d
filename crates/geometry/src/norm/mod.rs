//! Norms: how far apart two inputs are, in units of the domain's width per element, and everything that
//! follows from it. Each norm is one file and its lines here; no other crate asks which norm it has.

mod ball;
mod convex;
mod handle;
mod kind;
mod l0;
mod l1;
mod l2;
#[cfg(test)]
mod laws;
mod linf;
mod screen;
mod space;

pub(crate) use ball::SLACK;
pub use ball::{Ball, Ends};
pub use convex::{ConvexNorm, LinearForm};
pub use handle::Norm;
pub use kind::{NormKind, Unsupported};
pub(crate) use linf::step_each;
pub use screen::{LANES, Lanes, Screen, Sight};
pub use space::{InputSpace, Pixels};

impl Norm {
    /// Every norm: feeds the command line, the language's parser and their messages, and the laws that
    /// norms are tested against.
    pub const ALL: [Self; 5] = [Self::LINF, Self::L1, Self::L2, Self::L0, Self::L0_ELEMENTS];
}
