//! Plots, drawn here: geometry in attributes, colours by class from the style sheet. Each is complete without a
//! script and has a table behind it where it is used.

mod bars;
mod frame;
mod histogram;
mod lines;
mod map;
mod matrix;
mod strip;

pub use bars::{Bar, Meaning, bars, words as bar_words};
pub use frame::definitions;
pub use histogram::histogram;
pub use lines::{Axis, Line, LinePlot, Mark};
pub use map::{Cell, CellMap};
pub use matrix::Matrix;
pub use strip::{Seed, strip};
