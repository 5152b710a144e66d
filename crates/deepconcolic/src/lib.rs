//! Concolic testing for trained neural networks, as a library.
//!
//! A [`Job`] says what is asked: a model, data, a criterion, limits. A [`Session`] does it, step by step, and tells
//! [`Event`]s to whoever listens. What comes of it is a [`Conclusion`]: a suite of tests that were all run again,
//! and for every requirement whether it is covered, proven impossible, or open.
//!
//! # A first session
//!
//! ```
//! use deepconcolic::{Cancel, CoverageJob, Event, Job, SeedRequest, Session};
//!
//! # let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/demo/");
//! let model = format!("{root}fashion_cnn.onnx");
//! let data = format!("{root}fashion_test.npz");
//!
//! // Measure: what do the data cover?
//! let measured = CoverageJob::new(&model, &data, &["nc"]).run(&mut |_| {})?;
//! assert_eq!(measured.criteria[0].total, 1816);
//!
//! // Run: make the tests that are missing near one seed, and watch.
//! let mut job = Job::new(&model, &data, "nc");
//! job.seeds = SeedRequest::First(1);
//! job.max_executions = Some(600);
//! job.proofs = false;
//! let mut rounds = 0;
//! let mut listen = |event: Event| {
//!     if let Event::Round { .. } = event {
//!         rounds += 1;
//!     }
//! };
//! let cancel = Cancel::default();
//! let mut session = Session::new(job, &cancel, &mut listen)?;
//! session.run(&mut listen)?;
//! let (conclusion, _) = session.conclude()?;
//! assert!(rounds > 0);
//!
//! // Read the suite: inputs one after the other, and what the network says of each.
//! let suite = &conclusion.suite;
//! assert_eq!(suite.x.len(), suite.len() * 28 * 28);
//! assert!(suite.label.iter().all(|&label| (0..10).contains(&label)));
//! let summary = conclusion.summary();
//! assert!(summary.coverage > 0.5);
//! # Ok::<(), deepconcolic::Error>(())
//! ```
//!
//! A session made by [`Session::create`] keeps a journal in a folder and can be resumed there after it was stopped or
//! killed; [`Conclusion::write`] leaves the results beside it, and [`check`] judges such a folder from its files
//! alone. Runs that each took a part of the requirements, on as many machines, are one run after [`Merge`]. A
//! [`Cancel`] ends a session from another thread. Nothing here prints or exits.

mod audit;
mod conclude;
mod coverage;
mod criterion;
mod error;
mod eval;
mod event;
mod faults;
mod features;
mod folder;
mod gate;
mod inspect;
mod job;
mod least_time;
mod memory;
mod merge;
mod model;
mod model_inputs;
pub mod notation;
mod oracle;
mod plan;
mod prepare;
mod prove;
mod replay;
mod requirements;
mod samples;
mod session;
mod settings;
mod suite;
mod tables;
mod two_inputs;
mod verify;

/// What is said of a test, by which oracles.
pub use deepconcolic_campaign::oracle::{ALL as ORACLES, Oracle, Verdict};
/// Why a session ended, the stages it goes through, the work it did, and its tests.
pub use deepconcolic_campaign::{Filter, Passes, Stage, Stop, Suite, percent};
/// One of several parts of the requirements; whether a witness is wanted.
pub use deepconcolic_criteria::{Partition, Polarity};
/// How outputs are read.
pub use deepconcolic_criteria::{Rule, UNSTATED};
/// What to do where a journal is damaged; the folder of a run; its figures; how a requirement ended.
pub use deepconcolic_record::{
    GateSummary, NearestAdversarialSummary, OnDamage, PropertySummary, RunFolder, SlopeSummary,
    Spread, State, Summary, Times,
};

pub use audit::{CHECK_BUDGET, CheckReport, Finding, LeftOut, OtherFiles, RunFindings, check};
pub use conclude::Conclusion;
pub use conclude::certified_distance::{CertifiedDistance, SeedAnswer};
pub use conclude::minimise::{Minimised, Near};
pub use coverage::{
    CoverageJob, CoveragePart, CoverageReport, CriterionReport, LayerReport, Refutation,
    RequirementReport, share,
};
pub use criterion::{find as find_criterion, is_about_pairs, nearest as nearest_name, polarity};
pub use error::Error;
pub use eval::{EvalJob, Evaluation};
pub use event::{Event, Progress};
pub use faults::{
    AuditJob, AuditReport, Comparison, Difference, FAULT_KINDS, FaultKind, FaultReport,
    SuiteReport, Verdict as AuditVerdict,
};
pub use features::FeatureSettings;
pub use folder::kept::{KEPT_DATA, KEPT_MODEL};
pub use folder::paths::{command_line, serialize as serialize_path, storable};
pub use folder::saved_run::SavedRun;
pub use gate::{Account, Adversarial, Counts, FailOn, FailUnder, Gates};
pub use inspect::{HiddenLayer, InputReport, Inspection, TensorReport};
pub use job::{Job, Radius, STRATEGIES, SeedRequest};
pub use merge::Merge;
pub use model_inputs::{extent as open_axis, fixed as fixed_input};
pub use prepare::Prepared;
pub use replay::coverage_change::{CoverageChange, ThenAndNow};
pub use replay::{Replay, ReplayReport};
pub use session::{Cancel, Listener, Resumption, Session};
pub use settings::{
    CriterionSettings, DataNames, DataSettings, DomainSettings, LipschitzName, ModelSettings,
    RequirementText, ScopeName, SeedChoice, Settings, Shapes,
};
pub use suite::{
    EXPORTS, ExportForm, Exported, MINIMAL, MinimalSuite, SuiteExport, SuiteMinimisation,
};
pub use tables::Table;
pub use verify::{AnswerFindings, AnswerRecord, BoxEnds, Verification, VerifyJob};
