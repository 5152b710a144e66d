//! What a network's answer is: the one place that turns outputs into a class or a quantity.
//!
//! A rule speaks of the outputs of the model file. Everything here is computed from the logits, which a
//! final Softmax or Sigmoid keeps the order of: a threshold of a Sigmoid is a threshold of its logit.
//! Accuracy, safety and verdicts on tests go by the decision and nothing else.

mod departure;
mod rule;

use deepconcolic_network::{Head, Network, Point};

pub use departure::Departure;
pub use rule::Rule;

use departure::{Cut, Way, lowered, raised, sigmoid, sum};

/// What to do about a network whose outputs nobody has said how to read.
pub const UNSTATED: &str = "the model has one output, and nothing says how it is read: give --decision threshold:T (class 1 \
     where the output is at least T) or --decision within:D (a quantity; off by more than D is wrong)";

/// A rule for the outputs of one network, or that there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    rule: Option<Rule>,
    head: Head,
    outputs: usize,
    /// Where the logit of a threshold lies.
    cut: Cut,
}

/// What a network says of an input.
#[derive(Clone, Debug, PartialEq)]
pub enum Prediction {
    /// A class, counted from 0.
    Class(usize),
    /// Quantities: the outputs.
    Values(Vec<f64>),
    /// Nothing, for want of a rule.
    Unstated,
    /// Nothing: an output is NaN or infinite.
    NotFinite,
}

impl Prediction {
    /// The class; -1 where there is none.
    pub fn label(&self) -> i64 {
        match self {
            Self::Class(class) => i64::try_from(*class).unwrap_or(i64::MAX),
            Self::Values(_) | Self::Unstated | Self::NotFinite => -1,
        }
    }

    /// The class, if it is one.
    pub fn class(&self) -> Option<usize> {
        match self {
            Self::Class(class) => Some(*class),
            Self::Values(_) | Self::Unstated | Self::NotFinite => None,
        }
    }

    /// The outputs of a regression; none otherwise.
    pub fn values(&self) -> &[f64] {
        match self {
            Self::Values(values) => values,
            Self::Class(_) | Self::Unstated | Self::NotFinite => &[],
        }
    }

    /// Itself as what another input should be predicted as.
    pub fn as_truth(&self) -> Option<Truth> {
        match self {
            Self::Class(_) => Some(Truth::Class(self.label())),
            Self::Values(values) => Some(Truth::Values(values.clone())),
            Self::Unstated | Self::NotFinite => None,
        }
    }
}

/// What an input should be predicted as.
#[derive(Clone, Debug, PartialEq)]
pub enum Truth {
    /// A class; data may hold numbers that no class has.
    Class(i64),
    /// A value for each output.
    Values(Vec<f64>),
}

impl Decision {
    /// The rule for a network: the one given, or the one that the model itself shows. One output
    /// without a final Sigmoid shows none.
    ///
    /// # Errors
    /// When the rule given does not fit the network, with the reason and the way out.
    pub fn of(network: &Network, given: Option<Rule>) -> Result<Self, String> {
        match given {
            Some(rule) => Self::new(rule, network.head(), network.elements(Point::Logits)),
            None => Ok(Self::shown(network)),
        }
    }

    /// The rule that the model itself shows: argmax of several outputs, 0.5 for one that is a Sigmoid,
    /// none for one that is not.
    pub fn shown(network: &Network) -> Self {
        let (head, outputs) = (network.head(), network.elements(Point::Logits));
        let rule = match head {
            _ if outputs != 1 => Some(Rule::Argmax),
            Head::Sigmoid => Some(Rule::Threshold(0.5)),
            Head::Identity | Head::Softmax | Head::LogSoftmax => None,
        };
        Self {
            rule,
            head,
            outputs,
            cut: Cut::ZERO,
        }
    }

    fn new(rule: Rule, head: Head, outputs: usize) -> Result<Self, String> {
        let mut decision = Self {
            rule: Some(rule),
            head,
            outputs,
            cut: Cut::ZERO,
        };
        match rule {
            Rule::Argmax if outputs == 1 => {
                return Err(
                    "argmax is for several outputs, and the model has one; give threshold:T or within:D".into(),
                );
            }
            Rule::Threshold(_) if outputs != 1 => {
                return Err(format!(
                    "threshold:T is for one output, and the model has {outputs}; give argmax or within:D"
                ));
            }
            Rule::Threshold(threshold) => {
                decision.cut =
                    Cut::at(head, threshold).ok_or_else(|| match head {
                        Head::Sigmoid => format!(
                            "threshold:{threshold}: the model's output is a Sigmoid, always between 0 and 1; give \
                             a threshold between these"
                        ),
                        _ => always(head),
                    })?;
            }
            Rule::Within(_) if matches!(head, Head::Softmax | Head::LogSoftmax) => {
                return Err(if outputs == 1 {
                    always(head)
                } else {
                    format!(
                        "within:D is for quantities, and the model ends in a {}; give argmax",
                        head.kind().unwrap_or_default()
                    )
                });
            }
            _ => {}
        }
        Ok(decision)
    }

    /// The rule; none where nobody has said it.
    pub fn rule(&self) -> Option<Rule> {
        self.rule
    }

    /// How many classes there are; none for quantities and without a rule.
    pub fn classes(&self) -> usize {
        match self.rule {
            Some(Rule::Argmax) => self.outputs,
            Some(Rule::Threshold(_)) => 2,
            Some(Rule::Within(_)) | None => 0,
        }
    }

    /// Whether one label a sample says what the answer should be.
    pub fn takes_labels(&self) -> bool {
        match self.rule {
            Some(Rule::Argmax | Rule::Threshold(_)) => true,
            Some(Rule::Within(_)) => self.outputs == 1,
            None => false,
        }
    }

    /// What the user should know about how the outputs are read.
    pub fn note(&self) -> Option<String> {
        match self.rule {
            Some(Rule::Argmax) if self.head == Head::Sigmoid => Some(
                "the model ends in a Sigmoid of several outputs; the largest counts as the answer, and that \
                 several may be on at once is not looked at"
                    .into(),
            ),
            Some(Rule::Within(_)) if self.outputs > 1 => Some(
                "the model has several outputs, and a label is one number: labels are not used, and each test \
                 is compared with the network's own outputs for its reference"
                    .into(),
            ),
            _ => None,
        }
    }

    /// What the network says, given its logits for one input.
    pub fn predict(&self, logits: &[f32]) -> Prediction {
        if !logits.iter().all(|logit| logit.is_finite()) {
            return Prediction::NotFinite;
        }
        match self.rule {
            None => Prediction::Unstated,
            Some(Rule::Argmax) => Prediction::Class(first_largest(logits)),
            Some(Rule::Threshold(_)) => {
                Prediction::Class(usize::from(f64::from(logits[0]) >= self.cut.above))
            }
            Some(Rule::Within(_)) => {
                Prediction::Values(logits.iter().map(|&logit| self.output(logit)).collect())
            }
        }
    }

    /// Whether a prediction is right.
    pub fn agrees(&self, prediction: &Prediction, truth: &Truth) -> bool {
        match (prediction, truth, self.rule) {
            (Prediction::Class(_), Truth::Class(class), _) => prediction.label() == *class,
            (Prediction::Values(values), Truth::Values(wanted), Some(Rule::Within(tolerance))) => {
                let near = |(&value, &wanted): (&f64, &f64)| {
                    value <= sum(wanted, tolerance).0 && value >= sum(wanted, -tolerance).1
                };
                values.len() == wanted.len() && values.iter().zip(wanted).all(near)
            }
            _ => false,
        }
    }

    /// When inputs get another answer than the one with these logits: another class, or an output more
    /// than the tolerance away.
    ///
    /// # Errors
    /// When that input has no answer, with the reason.
    pub fn departure(&self, logits: &[f32]) -> Result<Departure, String> {
        let way = |plus, minus, constant, closed| Way {
            plus,
            minus,
            constant,
            closed,
        };
        let ways = match (self.predict(logits), self.rule) {
            (Prediction::NotFinite, _) => {
                return Err("the network's output for a seed is NaN or infinite".into());
            }
            (Prediction::Class(own), Some(Rule::Argmax)) => {
                let others = (0..self.outputs).filter(|&other| other != own);
                // The first of equals is the class.
                others
                    .map(|other| way(Some(other), Some(own), 0.0, other < own))
                    .collect()
            }
            (Prediction::Class(0), _) => vec![way(Some(0), None, -self.cut.below, true)],
            (Prediction::Class(_), _) => vec![way(None, Some(0), self.cut.above, false)],
            (Prediction::Values(_), Some(Rule::Within(tolerance))) => {
                let mut ways = Vec::new();
                for (i, &logit) in logits.iter().enumerate() {
                    if let Some(bound) = raised(self.head, logit, tolerance) {
                        ways.push(way(Some(i), None, -bound, false));
                    }
                    if let Some(bound) = lowered(self.head, logit, tolerance) {
                        ways.push(way(None, Some(i), bound, false));
                    }
                }
                ways
            }
            _ => return Err(UNSTATED.into()),
        };
        Ok(Departure { ways })
    }

    /// The model's output for a logit.
    fn output(&self, logit: f32) -> f64 {
        let logit = f64::from(logit);
        match self.head {
            Head::Sigmoid => f64::midpoint(sigmoid(logit).0, sigmoid(logit).1),
            Head::Identity | Head::Softmax | Head::LogSoftmax => logit,
        }
    }
}

fn always(head: Head) -> String {
    let value = if head == Head::Softmax { "1" } else { "0" };
    format!(
        "the model's one output is a {} of one number, which is always {value}: there is nothing to decide",
        head.kind().unwrap_or_default()
    )
}

fn first_largest(logits: &[f32]) -> usize {
    (1..logits.len()).fold(0, |best, i| if logits[i] > logits[best] { i } else { best })
}
