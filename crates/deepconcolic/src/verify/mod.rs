//! Properties of the verification competition: decided, written to a folder, and judged again from there.

pub mod check;
mod decide;
pub mod folder;
pub mod question;

pub use check::AnswerFindings;
pub use decide::{Verification, VerifyJob};
pub use folder::{AnswerRecord, BoxEnds};
