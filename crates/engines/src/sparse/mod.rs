//! Witnesses that differ from their root in few pixels: the number of changed pixels is what is minimised.
//!
//! A ball of L0 is a union of boxes: with the pixels that may change chosen, their values are free and all others
//! are the root's. So a search chooses pixels, by what changing them brings, and inside the box of its choice
//! everything that searches boxes works exactly.

mod accumulate;
mod every;
mod fewer;
mod line;
mod paper;
mod pixels;
mod search;
mod support;
mod swap;
mod trial;

pub(crate) use paper::papers_step;
pub(crate) use search::fewest;
pub(crate) use support::{region_of_pixels, region_round_neurons};
