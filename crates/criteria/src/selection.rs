//! Which neurons requirements are wanted for: `--layers` and `--neurons`.

use deepconcolic_network::{BitSet, Network};

/// For each hidden layer, all of it, none of it, or some neurons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection(Vec<Choice>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Choice {
    All,
    None,
    Some(BitSet),
}

impl Selection {
    /// Every neuron.
    pub fn everything(network: &Network) -> Self {
        Self(vec![Choice::All; network.layers().len()])
    }

    /// What `--layers A,B` (by name or number) and `--neurons LAYER:I,J` select; everything when
    /// neither is given.
    ///
    /// ```
    /// use deepconcolic_criteria::Selection;
    /// # let network = deepconcolic_testing::network(deepconcolic_testing::Family::Relu, 1);
    /// let selection = Selection::parse(&network, &["act0"], &["act1:0,2"])?;
    /// assert!(selection.has(0, 1) && selection.has(1, 2) && !selection.has(1, 1));
    /// assert!(Selection::parse(&network, &["nothing"], &[]).is_err());
    /// # Ok::<(), String>(())
    /// ```
    pub fn parse(network: &Network, layers: &[&str], neurons: &[&str]) -> Result<Self, String> {
        if layers.is_empty() && neurons.is_empty() {
            return Ok(Self::everything(network));
        }
        let mut selection = Self(vec![Choice::None; network.layers().len()]);
        for name in layers {
            selection.0[find(network, name)?] = Choice::All;
        }
        for text in neurons {
            let (name, list) = text.rsplit_once(':').ok_or_else(|| {
                format!("`{text}` is not of the form LAYER:I,J (a layer, then neuron numbers)")
            })?;
            selection.add_neurons(network, find(network, name)?, list)?;
        }
        Ok(selection)
    }

    fn add_neurons(&mut self, network: &Network, layer: usize, list: &str) -> Result<(), String> {
        let count = network.layers()[layer].neurons();
        if self.0[layer] == Choice::None {
            self.0[layer] = Choice::Some(BitSet::new(count));
        }
        for item in list.split(',') {
            let neuron: usize = item
                .trim()
                .parse()
                .map_err(|_| format!("`{item}` is not a neuron number"))?;
            if neuron >= count {
                return Err(format!(
                    "neuron {neuron} is outside layer `{}`, whose neurons are 0..{}",
                    network.layers()[layer].name(),
                    count.saturating_sub(1)
                ));
            }
            if let Choice::Some(chosen) = &mut self.0[layer] {
                chosen.insert(neuron);
            }
        }
        Ok(())
    }

    /// Whether anything of a layer is selected.
    pub fn has_layer(&self, layer: usize) -> bool {
        self.0[layer] != Choice::None
    }

    /// Whether a neuron is selected.
    pub fn has(&self, layer: usize, neuron: usize) -> bool {
        match &self.0[layer] {
            Choice::All => true,
            Choice::None => false,
            Choice::Some(chosen) => chosen.contains(neuron),
        }
    }

    /// The layers of which anything is selected.
    pub fn layers(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.0.len()).filter(|&layer| self.has_layer(layer))
    }
}

fn find(network: &Network, name: &str) -> Result<usize, String> {
    network.layer_named(name).ok_or_else(|| {
        let layers: Vec<String> = network
            .layers()
            .iter()
            .enumerate()
            .map(|(index, layer)| format!("  {} {}", index + 2, layer.name()))
            .collect();
        format!(
            "no hidden layer `{name}`; there are:\n{}",
            layers.join("\n")
        )
    })
}
