//! Targets of the symbolic engines.

mod nearest;
mod nearest_adversarial;
mod pairs;
mod pgd;

pub use nearest::run as nearest;
pub use nearest_adversarial::run as nearest_adversarial;
pub use pairs::{layer, run as pairs};
