//! Targets of measuring coverage and of the requirement language.

mod language;
mod large;
mod memory;
mod pairs;
mod paper;
mod speed;

pub use language::run as language;
pub use large::run as large;
pub use memory::run as memory;
pub use pairs::run as pairs;
pub use paper::run as paper;
pub use speed::run as speed;
