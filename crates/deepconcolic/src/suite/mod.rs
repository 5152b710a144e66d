//! What can be done with the suite of a run: fewer tests that show the same, and the tests in the forms of others.

mod cover;
mod export;
mod minimise;

pub use export::{EXPORTS, ExportForm, Exported, SuiteExport};
pub use minimise::{MINIMAL, MinimalSuite, SuiteMinimisation};
