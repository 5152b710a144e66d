//! `run` and `replay` from outside: what is written holds under arithmetic of the tests' own, comes out
//! the same however often the process is killed, and what cannot be done is refused with a reason.

pub mod bed;
mod checks_end;
mod contract;
mod decisions;
mod disk;
mod edits;
mod features;
mod few_pixels;
mod gates;
mod journal;
mod kills;
mod lipschitz;
mod nearest_adversarial;
mod onnx;
mod parts;
mod picture;
mod pictures;
mod pipes;
mod proofs;
mod refusals;
mod regions;
mod replays;
mod requirements;
mod resumed_proofs;
mod resumes;
mod several;
mod several_slopes;
mod suites;
mod twins;
mod two_inputs;
