//! Tests of the crate from outside: whole networks, as they run and as plain data.

mod networks;
mod plain;
