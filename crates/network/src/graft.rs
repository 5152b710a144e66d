//! Several networks with a shared input as one network: for properties of two networks, and for
//! comparing what they do.

use std::ops::Range;

use thiserror::Error;

use crate::ops::{Concat, View};
use crate::{Network, NetworkBuilder, Point, Shape, Tensor};

/// Why networks cannot be grafted.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum GraftError {
    /// There is no network.
    #[error("there is no network to graft; name at least one")]
    Nothing,
    /// A prefix that would not tell the layers of the parts apart, or that is hard to write.
    #[error(
        "`{prefix}`, the prefix of network {number}, is no word; \
         use one or more letters, digits, `_` and `-`"
    )]
    Prefix {
        /// The prefix as it was given.
        prefix: String,
        /// Which network, counted from 1.
        number: usize,
    },
    /// Two networks have the same prefix.
    #[error("networks {first} and {second} both have the prefix `{prefix}`; rename one")]
    PrefixTwice {
        /// The prefix.
        prefix: String,
        /// Which network has it first, counted from 1.
        first: usize,
        /// Which has it again.
        second: usize,
    },
    /// The inputs are not one input.
    #[error(
        "the input of `{first}` is {first_shape} and that of `{second}` is {second_shape}; \
         networks share an input only if its shapes are equal: export both with the same one"
    )]
    InputShape {
        /// Prefix of the first network.
        first: String,
        /// Shape of its input.
        first_shape: Shape,
        /// Prefix of the network that does not fit.
        second: String,
        /// Shape of its input.
        second_shape: Shape,
    },
    /// The logits of all parts are too many for one tensor.
    #[error("the logits of the networks do not fit in one tensor: {0}; graft fewer networks")]
    Logits(String),
}

/// Several networks as one, and where each of them is found in it.
#[derive(Debug, Clone)]
pub struct Graft {
    /// All the networks, run on one input.
    pub network: Network,
    /// The networks it was made from, in the order they were given.
    pub parts: Vec<Part>,
}

/// One of the networks a [`Graft`] was made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What its names begin with, before a dot.
    pub prefix: String,
    /// Its hidden layers among those of the whole, counted from 0.
    pub layers: Range<usize>,
    /// Its logits among those of the whole.
    pub logits: Range<usize>,
    /// Its outputs among those of the whole, without its logits, which come after them.
    pub outputs: Range<usize>,
    /// Which of the part's own outputs is its answer.
    primary: usize,
}

impl Part {
    /// The tensor of the whole network that is this tensor of the part.
    pub fn point(&self, of_part: Point) -> Point {
        match of_part {
            Point::Input => Point::Input,
            Point::Pre(layer) => Point::Pre(self.layers.start + layer),
            Point::Post(layer) => Point::Post(self.layers.start + layer),
            Point::Logits => Point::Output(self.outputs.end),
            Point::Answer => Point::Output(self.outputs.start + self.primary),
            Point::Output(output) => Point::Output(self.outputs.start + output),
        }
    }
}

/// Joins networks that have inputs of the same shape into one network that runs all of them on the
/// same input. Each comes with a prefix, a word that no other has.
///
/// - The input has the name it has in the first network.
/// - The hidden layers are those of the first network in its order, then those of the second, and so on.
///   Layer `relu1` of the network with prefix `old` is called `old.relu1`; its neurons keep their numbers.
/// - The logits are those of all networks one after the other, and they are the answer too: there is no
///   [`crate::Head`], since a Softmax of one network is no Softmax of all of them.
/// - The other outputs are, network by network, its own outputs, with its own Softmax or Sigmoid, called
///   `old.name`, and its logits, called `old`. [`Part::point`] finds them.
///
/// Every number is the one that the network computes alone, and so are derivatives and bounds of the tensors
/// that belong to one network. Weights are shared with the networks, not copied.
///
/// In a requirement, layers are called by the names above, and `output` is the logits of all networks, those
/// of the second from where those of the first end:
///
/// ```
/// use deepconcolic_language::{RequirementFile, Signature};
/// use deepconcolic_network::{Network, NetworkBuilder, Pass, Point, Shape, graft, ops};
///
/// /// One input, one neuron, two scores.
/// fn network(weight: f64) -> Result<Network, String> {
///     let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, 1])?);
///     let u = builder.add(ops::Dense::new(1, 1, vec![weight], vec![0.0])?, &[x], "dense")?;
///     let v = builder.add(ops::Elementwise::new(ops::Relu), &[u], "relu")?;
///     let y = builder.add(ops::Dense::new(1, 2, vec![1.0, 0.0], vec![0.0, 1.0])?, &[v], "scores")?;
///     let answer = builder.add(ops::Softmax::new(1), &[y], "softmax")?;
///     builder.finish(&[("y", answer)], 0)
/// }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let both = graft(&[("old", &network(-1.0)?), ("new", &network(3.0)?)])?;
/// let names: Vec<&str> = both.network.layers().iter().map(|layer| layer.name()).collect();
/// assert_eq!(names, ["old.relu", "new.relu"]);
///
/// let new = both.parts[1].point(Point::Answer);
/// let trace = both.network.forward(&[0.5f32], &Pass::keep([Point::Logits, Point::Pre(0), new]));
/// assert_eq!(trace.get(Point::Logits), [0.0, 1.0, 1.5, 1.0]);
/// assert_eq!(trace.get(Point::Pre(0)), [-0.5]);
/// assert_eq!(trace.get(new).iter().sum::<f32>(), 1.0);
///
/// // The two disagree, and the neuron of the old one is inactive: so it is for the input above.
/// let disagree = RequirementFile::parse(
///     "exists x: v[x][output,0] < v[x][output,1] and v[x][output,2] > v[x][output,3]
///         and u[x][\"old.relu\",0] < 0",
/// )?;
/// assert_eq!(disagree.resolve(&Signature::of(&both.network))?.len(), 1);
/// # Ok(()) }
/// ```
pub fn graft(networks: &[(&str, &Network)]) -> Result<Graft, GraftError> {
    check(networks)?;
    let (_, first) = networks[0];
    let (mut builder, _) = NetworkBuilder::new(first.input_name(), first.input_shape());
    builder.declare_inputs(first.inputs().to_vec());
    let mut parts: Vec<Part> = Vec::new();
    let mut outputs: Vec<(String, Tensor)> = Vec::new();
    let mut all_logits = Vec::new();
    for (prefix, network) in networks {
        let named = |name: &str| format!("{prefix}.{name}");
        let (logits, answers) = builder.append(network, named);
        let before = parts.last();
        let layers = before.map_or(0, |part| part.layers.end);
        let elements = before.map_or(0, |part| part.logits.end);
        // Number 0 is the answer of the whole.
        let at = 1 + outputs.len();
        parts.push(Part {
            prefix: (*prefix).to_owned(),
            layers: layers..layers + network.layers().len(),
            logits: elements..elements + network.elements(Point::Logits),
            outputs: at..at + answers.len(),
            primary: network.primary_output(),
        });
        outputs.extend(network.outputs().map(|(name, _)| named(name)).zip(answers));
        outputs.push(((*prefix).to_owned(), logits));
        all_logits.push(logits);
    }
    let answer = join(&mut builder, &all_logits).map_err(GraftError::Logits)?;
    // No output of a part has this name: it has a dot or is a word.
    let prefixes: Vec<&str> = networks.iter().map(|(prefix, _)| *prefix).collect();
    let whole = (prefixes.join("+"), answer);
    let outputs: Vec<(&str, Tensor)> = (std::iter::once(&whole).chain(&outputs))
        .map(|(name, tensor)| (name.as_str(), *tensor))
        .collect();
    let network = builder.finish(&outputs, 0).map_err(GraftError::Logits)?;
    Ok(Graft { network, parts })
}

/// Refuses what cannot be told apart or shares no input.
fn check(networks: &[(&str, &Network)]) -> Result<(), GraftError> {
    let Some((first, first_network)) = networks.first() else {
        return Err(GraftError::Nothing);
    };
    for (at, (prefix, network)) in networks.iter().enumerate() {
        // Without a dot in prefixes, no two names that begin with different ones are equal.
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        if prefix.is_empty() || !prefix.chars().all(is_word) {
            return Err(GraftError::Prefix {
                prefix: (*prefix).to_owned(),
                number: at + 1,
            });
        }
        if let Some(before) = networks[..at].iter().position(|(other, _)| other == prefix) {
            return Err(GraftError::PrefixTwice {
                prefix: (*prefix).to_owned(),
                first: before + 1,
                second: at + 1,
            });
        }
        if network.input_shape() != first_network.input_shape() {
            return Err(GraftError::InputShape {
                first: (*first).to_owned(),
                first_shape: first_network.input_shape(),
                second: (*prefix).to_owned(),
                second_shape: network.input_shape(),
            });
        }
    }
    Ok(())
}

/// All elements of some tensors, one after the other.
fn join(builder: &mut NetworkBuilder, tensors: &[Tensor]) -> Result<Tensor, String> {
    let flat: Result<Vec<Tensor>, String> = (tensors.iter())
        .map(|&tensor| {
            let elements = builder.shape(tensor).elements();
            builder.add(View::new(Shape::new([1, elements])?), &[tensor], "")
        })
        .collect();
    builder.add(Concat::new(1), &flat?, "logits")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::network::Source;
    use crate::ops::{Add, Binary, Dense};

    #[test]
    fn weights_and_constants_are_shared_not_copied() -> Result<(), String> {
        let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, 2])?);
        let dense = Dense::new(2, 2, vec![1.0; 4], vec![0.0; 2])?;
        let y = builder.add(dense, &[x], "dense")?;
        let bias = builder.constant(Shape::new([1, 2])?, vec![1.0, 2.0])?;
        let y = builder.add(Binary::new(Add), &[y, bias], "add")?;
        let alone = builder.finish(&[("y", y)], 0)?;
        let whole = graft(&[("a", &alone), ("b", &alone)]).unwrap().network;
        for node in [0, 2] {
            assert!(Arc::ptr_eq(&whole.nodes[node].op, &alone.nodes[0].op));
        }
        let constants = |network: &Network| -> Vec<_> {
            let sources = network.values.iter().map(|value| &value.source);
            sources
                .filter_map(|source| match source {
                    Source::Constant(constant) => Some(Arc::as_ptr(constant)),
                    _ => None,
                })
                .collect()
        };
        assert_eq!(constants(&whole), [constants(&alone)[0]; 2]);
        Ok(())
    }
}
