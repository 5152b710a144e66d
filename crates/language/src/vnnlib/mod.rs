//! Properties of the verification competition (VNN-LIB 1.0), plain or gzip, as requirements.
//!
//! A property declares inputs `X_i` and outputs `Y_j` and asserts what a counterexample looks
//! like: a box of inputs, and nested `and`/`or` of linear constraints. It becomes
//! `exists x: x in box(...) and ...`; where a file lists several boxes, a disjunction of these.

mod bounds;
mod property;
mod sexpr;
mod term;

pub use property::{Case, Property};
