//! Whether coverage means anything for a model: faults are seeded in copies of it, suites of equal size are made by
//! criteria, at random and by gradient attack, and it is counted which suites find which faults.
//!
//! A suite finds a fault when some test's answer differs between the model and the copy with the fault. That is all
//! that is meant by it here: whether either answer is right is not asked.

mod clock;
mod fault;
mod intervals;
mod job;
mod last_layer;
mod planted;
mod report;
mod subject;
mod suites;
mod weight_mutants;

pub use fault::{ALL as FAULT_KINDS, FaultKind};
pub use job::AuditJob;
pub use report::{AuditReport, Comparison, Difference, FaultReport, SuiteReport, Verdict};
