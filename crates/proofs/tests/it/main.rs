//! Tests of the crate from outside: what is claimed against exact answers, executions and the checker.

mod agreement;
mod changes;
mod corner;
mod exact;
mod graft;
mod joint;
mod neurons;
mod pairs;
mod place;
mod slope_mutations;
mod slopes;
mod tampering;
