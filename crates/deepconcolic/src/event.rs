//! What a session tells while it works: one enum for everything that can be shown, counted or logged.

use std::time::Duration;

use deepconcolic_campaign::{Stage, Stop};

use crate::gate::Counts;

/// Something that happened. Events come in an order that depends on the job alone, apart from [`Progress`]'s
/// times; what an event says is already recorded, so that nothing that was shown is lost.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// Something the user should know, as soon as it is known.
    Note(String),
    /// A stage of the work begins.
    Stage(Stage),
    /// A test entered the suite.
    Test {
        /// Its number there.
        number: usize,
        /// The stage that made it.
        stage: Stage,
        /// Its root seed, by its number in the data.
        seed: usize,
        /// How far from its root it is.
        distance: f64,
        /// The label that the network gives it; -1 where its answer is no class.
        label: i64,
    },
    /// A round ended.
    Round {
        /// The stage it belongs to.
        stage: Stage,
        /// Tests that it added.
        tests: usize,
        /// Requirements met for the first time.
        gain: usize,
    },
    /// Provers answered a question.
    Proof {
        /// Parts of the region that were bounded for it.
        nodes: usize,
        /// Whether it led to a certificate.
        certificate: bool,
        /// Whether time was up before all of it was tried.
        cut: bool,
    },
    /// Where the session is.
    Progress(Progress),
    /// The search ended.
    Stopped(Stop),
}

/// Figures of a session under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// Requirements that want a witness.
    pub goals: Counts,
    /// Requirements that want none.
    pub properties: Counts,
    /// Tests so far.
    pub tests: usize,
    /// How many of them are known to be adversarial, if tests are judged at all.
    pub adversarial: Option<usize>,
    /// Passes so far.
    pub passes: usize,
    /// How many passes there may be.
    pub max_passes: Option<usize>,
    /// Time left, if there is a limit.
    pub left: Option<Duration>,
}
