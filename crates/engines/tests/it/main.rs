//! The engine against a slow reference, and its witnesses against plain execution.

mod every_engine;
mod mlp;
mod nearest;
mod pairs;
mod reference;
mod witnesses;
