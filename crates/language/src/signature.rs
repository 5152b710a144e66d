//! What a requirement needs to know of a network: its layers' names, numbers and sizes.

use deepconcolic_network::{Head, Network, Point};

use crate::suggestion::nearest;

/// How many layer names an error message lists.
const LISTED: usize = 8;

/// One layer of a network, as requirements see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerSignature {
    /// The layer's name in the model file.
    pub name: String,
    /// The paper's number: 1 the input, 2..K-1 the hidden layers, K the logits; K+1 an output that is not
    /// the logits themselves.
    pub number: usize,
    /// How many neurons it has.
    pub neurons: usize,
    /// Whether its neurons are those of an activation operator.
    pub hidden: bool,
}

/// The layers of a network.
///
/// ```
/// use deepconcolic_language::Signature;
///
/// let signature = Signature::feed_forward([("image", 784), ("relu1", 100), ("digits", 10)]);
/// assert_eq!(signature.depth(), 3);
/// assert!(signature.layer(2).unwrap().hidden);
/// assert_eq!(signature.named("digits").unwrap().number, 3);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signature {
    /// The layers, input first and logits last.
    pub layers: Vec<LayerSignature>,
    /// The output, where a final Softmax or Sigmoid makes it from the logits. None if it is the logits.
    pub output: Option<LayerSignature>,
}

impl Signature {
    /// A plain chain of layers: the first is the input, the last the logits, the rest hidden.
    pub fn feed_forward<'a>(layers: impl IntoIterator<Item = (&'a str, usize)>) -> Self {
        let mut layers: Vec<LayerSignature> = layers
            .into_iter()
            .enumerate()
            .map(|(index, (name, neurons))| LayerSignature {
                name: name.to_owned(),
                number: index + 1,
                neurons,
                hidden: index > 0,
            })
            .collect();
        if let Some(logits) = layers.last_mut() {
            logits.hidden = false;
        }
        Self {
            layers,
            output: None,
        }
    }

    /// The layers of a network.
    pub fn of(network: &Network) -> Self {
        let mut layers = vec![LayerSignature {
            name: "input".into(),
            number: 1,
            neurons: network.input_elements(),
            hidden: false,
        }];
        for layer in network.layers() {
            layers.push(LayerSignature {
                name: layer.name().to_owned(),
                number: layers.len() + 1,
                neurons: layer.neurons(),
                hidden: true,
            });
        }
        let last = |name: &str, number: usize, point: Point| LayerSignature {
            name: name.into(),
            number,
            neurons: network.elements(point),
            hidden: false,
        };
        let depth = layers.len() + 1;
        let output = if network.head() == Head::Identity {
            layers.push(last("output", depth, Point::Logits));
            None
        } else {
            layers.push(last("logits", depth, Point::Logits));
            Some(last("output", depth + 1, Point::Answer))
        };
        Self { layers, output }
    }

    /// The paper's K: the number of the logits.
    pub fn depth(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.number)
    }

    /// The number of the output: K where it is the logits, else K+1.
    pub fn answer(&self) -> usize {
        let output = self.output.as_ref();
        output.map_or(self.depth(), |output| output.number)
    }

    /// All layers, the output last.
    fn all(&self) -> impl Iterator<Item = &LayerSignature> {
        self.layers.iter().chain(&self.output)
    }

    /// The layer with this number.
    pub fn layer(&self, number: usize) -> Option<&LayerSignature> {
        let direct = number.checked_sub(1).and_then(|at| self.layers.get(at));
        direct
            .filter(|layer| layer.number == number)
            .or_else(|| self.all().find(|layer| layer.number == number))
    }

    /// The layer with this name in the model file.
    pub fn named(&self, name: &str) -> Option<&LayerSignature> {
        self.all().find(|layer| layer.name == name)
    }

    /// How many input elements there are.
    pub fn inputs(&self) -> usize {
        self.layer(1).map_or(0, |layer| layer.neurons)
    }

    /// The hint after an unknown name: the nearest one, and what there is.
    pub(crate) fn hint(&self, name: &str) -> String {
        let known = self.all().map(|layer| layer.name.as_str());
        match nearest(name, known) {
            Some(meant) => format!("did you mean `{meant}`? {}", self.list()),
            None => self.list(),
        }
    }

    /// What layers there are, in words.
    pub(crate) fn list(&self) -> String {
        let list: Vec<String> = self
            .all()
            .take(LISTED)
            .map(|layer| format!("{} `{}`", layer.number, layer.name))
            .collect();
        let more = match self.all().count().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!(" and {more} more, the last is {}", self.answer()),
        };
        format!("the layers are {}{more}", list.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_names_the_nearest_layer_and_lists_the_others() {
        let signature = Signature::feed_forward([("input", 4), ("conv1", 3), ("logits", 2)]);
        assert_eq!(
            signature.hint("conv"),
            "did you mean `conv1`? the layers are 1 `input`, 2 `conv1`, 3 `logits`"
        );
    }

    #[test]
    fn layers_are_found_by_number_even_when_numbers_have_gaps() {
        let mut signature = Signature::feed_forward([("a", 1), ("b", 2), ("c", 3)]);
        signature.layers[2].number = 7;
        assert_eq!(signature.layer(7).unwrap().name, "c");
        assert!(signature.layer(3).is_none());
        assert!(signature.layer(0).is_none());
    }
}
