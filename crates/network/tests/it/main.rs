//! Tests of the crate from outside: whole networks, as they run and as plain data.

mod graft;
mod networks;
mod plain;
