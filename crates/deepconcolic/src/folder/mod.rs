//! The folder of a run: what its files are called, and how those that others than the archive know are read
//! and written.

pub mod certificates;
pub mod date;
pub mod fingerprints;
pub mod kept;
pub mod paths;
pub mod profile_file;
pub mod region_file;
pub mod saved_run;

/// The suite.
pub const SUITE: &str = "suite.npz";
/// How every requirement ended.
pub const REQUIREMENTS: &str = "requirements.npz";
/// How every requirement of one of several criteria ended.
pub fn requirements_of(criterion: &str) -> String {
    format!("requirements-{criterion}.npz")
}

/// What the suite shows of neurons.
pub const NEURONS: &str = "neurons.npz";
/// What was asked, and what came of it.
pub const SUMMARY: &str = "run.json";
/// The ranges of neurons.
pub const PROFILE: &str = "profile.npz";
/// The page for an assessor.
pub const STATEMENT: &str = "statement.md";
/// How many regions each constant is refuted or proven in.
pub const SLOPES: &str = "lipschitz.csv";
/// The nearest witnesses.
pub const NEAREST: &str = "nearest.npz";
/// The folder of adversarial tests.
pub const ADVERSARIAL: &str = "adversarial";
/// The folder of nearest adversarial inputs.
pub const NEAREST_ADVERSARIAL: &str = "nearest-adversarial";
/// The folder of certificates.
pub const CERTIFICATES: &str = "certificates";
