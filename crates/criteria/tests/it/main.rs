//! The crate from outside: every criterion of the table, decisions, how searches are steered.

mod criteria;
mod decision;
mod steering;
