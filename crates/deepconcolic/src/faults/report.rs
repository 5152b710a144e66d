//! What an audit saw, as plain data.

use serde::Serialize;

use super::fault::FaultKind;

/// What an audit saw.
#[derive(Clone, Debug, Serialize)]
pub struct AuditReport {
    /// Version of this record.
    pub format: u32,
    /// The model.
    pub model: String,
    /// The data.
    pub data: String,
    /// How the model's answer is read.
    pub decision: String,
    /// Seed of the random numbers.
    pub rng_seed: u64,
    /// How many inputs suites start from.
    pub seeds: usize,
    /// Where tests may lie, in words.
    pub region: String,
    /// Tests that were asked for in each suite.
    pub tests: usize,
    /// Samples that faults were tried on.
    pub samples: usize,
    /// The faults.
    pub faults: Vec<FaultReport>,
    /// The suites: controls first.
    pub suites: Vec<SuiteReport>,
    /// What was left out because time was up; what is there then depends on the machine.
    pub cut: Vec<String>,
    /// What else the reader should know.
    pub notes: Vec<String>,
    /// Seconds it took.
    pub time_s: f64,
}

/// A fault.
#[derive(Clone, Debug, Serialize)]
pub struct FaultReport {
    /// Its number, from 1.
    pub number: usize,
    /// Its kind.
    pub kind: FaultKind,
    /// What was done, in words.
    pub what: String,
    /// How many of the samples get another answer.
    pub shown_by_samples: usize,
    /// Of a fault that was planted: the share of the inputs meant for it that get the answer wanted, before and after.
    pub planted: Option<[f64; 2]>,
    /// The model with the fault, if it was written.
    pub file: Option<String>,
}

/// A suite, and what it found.
#[derive(Clone, Debug, Serialize)]
pub struct SuiteReport {
    /// The criterion, or what else it was made by.
    pub name: String,
    /// How it was made, in words.
    pub what: String,
    /// How many tests it has.
    pub tests: usize,
    /// Requirements covered by seeds and tests, and all of them.
    pub coverage: Option<[usize; 2]>,
    /// For each fault, how many tests get another answer from it.
    pub differing: Vec<usize>,
    /// How many faults it found.
    pub found: usize,
    /// The interval of 95 % for the share of faults found.
    pub found_interval: [f64; 2],
    /// The share of tests that get another answer, over all faults.
    pub differing_share: f64,
    /// Beside as many tests drawn at random; none for the random suite and for one without tests.
    pub beside_random: Option<Comparison>,
    /// Beside as many tests by gradient attack.
    pub beside_gradient: Option<Comparison>,
}

/// A suite beside the first so many tests of another.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// How many tests of each.
    pub tests: usize,
    /// How many faults the other found with so many tests.
    pub found_by_other: usize,
    /// The difference of the shares of faults found.
    pub found: Difference,
    /// The difference of the shares of tests that get another answer.
    pub differing: Difference,
}

/// A difference, the suite's figure less the other's.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// The mean over faults.
    pub mean: f64,
    /// Its interval of 95 %, by the bootstrap over faults.
    pub interval: [f64; 2],
    /// What that says.
    pub verdict: Verdict,
}

/// What an interval says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All of it lies above 0.
    Better,
    /// It holds 0: no difference was seen.
    NoBetter,
    /// All of it lies below 0.
    Worse,
    /// Nothing: there are so few tests that another draw of them could say anything, and the interval knows of faults
    /// alone.
    TooFewTests,
}

impl AuditReport {
    /// The version of the record written here.
    pub const FORMAT: u32 = 1;

    /// Faults that no suite found.
    pub fn found_by_none(&self) -> usize {
        let missed = |fault: &usize| self.suites.iter().all(|suite| suite.differing[*fault] == 0);
        (0..self.faults.len()).filter(missed).count()
    }
}
