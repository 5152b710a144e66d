//! Faults: what kinds there are, and one fault as the numbers that differ from the model's.

use std::collections::BTreeMap;

use serde::Serialize;

/// The constants of a model file that a fault changes, with their new numbers.
pub type Changes = BTreeMap<String, Vec<f32>>;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// Noise on all weights of one layer.
    Noise,
    /// All weights of one neuron or channel with the other sign.
    Sign,
    /// All weights of one neuron or channel, and its bias, 0.
    Zero,
    /// The bias of one neuron or channel shifted.
    Bias,
    /// The last layer trained on data where one class has the label of another.
    LabelFlip,
    /// The last layer trained so that a bright patch in a corner leads to one class.
    Backdoor,
}

/// Every kind there is.
pub const ALL: [FaultKind; 6] = [
    FaultKind::Noise,
    FaultKind::Sign,
    FaultKind::Zero,
    FaultKind::Bias,
    FaultKind::LabelFlip,
    FaultKind::Backdoor,
];

impl FaultKind {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Noise => "noise",
            Self::Sign => "sign",
            Self::Zero => "zero",
            Self::Bias => "bias",
            Self::LabelFlip => "label-flip",
            Self::Backdoor => "backdoor",
        }
    }

    /// Whether the last layer is trained to have it.
    pub fn is_planted(self) -> bool {
        matches!(self, Self::LabelFlip | Self::Backdoor)
    }
}

/// A fault.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Its kind.
    pub kind: FaultKind,
    /// What was done, in words.
    pub what: String,
    /// The numbers that differ.
    pub changes: Changes,
    /// How many of the samples looked at get another answer.
    pub shown_by: usize,
    /// Of a fault that was planted: the share of the inputs meant for it that get the answer wanted, of the model as
    /// it was and with the fault.
    pub planted: Option<[f64; 2]>,
}
