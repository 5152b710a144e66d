//! Tests of the crate from outside: what it says of executions, and what it must not accept.

mod eliminated;
mod executions;
mod layers;
mod overflow;
mod rejections;
mod slopes;
mod steepness;
