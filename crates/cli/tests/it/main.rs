//! The command from outside, by the real binary, and the documents that describe it.

mod browser;
mod cli;
mod commands;
mod coverage;
mod inputs;
mod inputs_go_on;
mod readme;
mod report;
mod run;
mod schemas;
mod second_checker;
mod verify;
