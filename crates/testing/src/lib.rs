//! What tests of several crates need: a small deterministic random number generator and random
//! networks that exercise every structure the analyses must handle.

mod networks;
mod random;

pub use networks::{Family, network};
pub use random::Random;
