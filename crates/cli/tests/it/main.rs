//! The command from outside, by the real binary, and the documents that describe it.

mod cli;
mod coverage;
mod readme;
mod run;
mod second_checker;
mod verify;
