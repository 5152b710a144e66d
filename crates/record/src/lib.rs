//! The folder of a run. While a run works, its [`Journal`] holds every round; when it ends, the suite,
//! the state of the requirements and a summary are written beside it. All files are complete or absent.

mod adversarial;
mod column;
mod error;
pub mod finite;
mod folder;
mod journal;
mod nearest_adversarial;
mod neurons;
mod part;
mod picture;
mod provenance;
mod requirements;
mod slopes;
mod suite;
mod summary;

pub use adversarial::{ADVERSARIAL_TABLE, AdversarialTable, Drawn, draw, write_adversarial};
pub use column::Column;
pub use error::{ArchiveError, Lost};
pub use folder::{JOURNAL, LOCK, RunFolder, differences};
pub use journal::{Journal, JournalEntry, JournalStep, OnDamage, ProofRecord};
pub use nearest_adversarial::{
    NEAREST_ADVERSARIAL_TABLE, NearestAdversarialTable, nearest_certificate_name,
    write_nearest_adversarial,
};
pub use neurons::NeuronRanges;
pub use part::Part;
pub use picture::Picture;
pub use provenance::{Misfit, ProvenanceColumns};
pub use requirements::{FIRST_HIDDEN, PairColumns, PairRow, RequirementTable, State};
pub use slopes::{ConstantCounts, SlopeSummary, changes, constants, csv};
pub use suite::SuiteTable;
pub use summary::{
    AdversarialSummary, AskedSummary, Baseline, ClassSummary, CriterionSummary, Executions,
    GateSummary, LayerControls, LayerSummary, ModelSummary, NearestAdversarialSummary,
    PropertySummary, RequirementSummary, RowGroup, Spread, Summary, TestSummary, Times,
};
