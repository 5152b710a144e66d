//! The engine against a slow reference, and its witnesses against plain execution.

mod boundary;
mod every_engine;
mod mlp;
mod nearest;
mod pairs;
mod published;
mod reference;
mod slopes;
mod sparse;
mod witnesses;
