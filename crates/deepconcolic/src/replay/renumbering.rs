//! How the numbers of input elements and neurons in a run become those of another model. Numbers follow the
//! tensors of the model file, so the same network with channels last counts otherwise than with channels
//! first.

use deepconcolic_criteria::{Family, Profile};
use deepconcolic_dataset::Layout;
use deepconcolic_network::Network;
use deepconcolic_record::{FIRST_HIDDEN, RequirementTable, SuiteTable};

use crate::error::Error;
use crate::folder::region_file;
use crate::settings::{Settings, Shapes};

/// From the model of a run to another.
pub struct Renumbering {
    input: Layout,
    /// For each hidden layer; or why its neurons cannot be told.
    layers: Vec<Result<Layout, String>>,
}

impl Renumbering {
    /// Between a run, whose suite has inputs of this shape, and a model.
    pub fn between(settings: &Settings, suite: &[usize], network: &Network) -> Result<Self, Error> {
        let shapes = Shapes::of(network);
        let input = Layout::between_models(suite, &shapes.input).map_err(|why| {
            Error::Request(format!(
                "the suite cannot be given to this model: inputs of the run and of the model, {why}; name \
                 a model with inputs of the shape that the run's model has"
            ))
        })?;
        let unknown = || {
            vec![Err(
                "the run does not say how its layers are laid out".into()
            )]
        };
        let layers = match &settings.shapes {
            Some(then) if then.layers.len() == shapes.layers.len() => {
                let layers = then.layers.iter().zip(&shapes.layers);
                layers.map(|(a, b)| Layout::between_models(a, b)).collect()
            }
            Some(then) => vec![Err(format!(
                "the run's model has {} hidden layers, and this one {}",
                then.layers.len(),
                shapes.layers.len()
            ))],
            // Of older runs only the inputs are known.
            None if input.is_same() => Vec::new(),
            None => unknown(),
        };
        Ok(Self { input, layers })
    }

    /// Whether every number stays as it is.
    pub fn is_plain(&self) -> bool {
        self.input.is_same() && self.keeps_neurons()
    }

    /// What happens to inputs, in words.
    pub fn words(&self) -> &str {
        self.input.description()
    }

    fn keeps_neurons(&self) -> bool {
        let same = |layer: &Result<Layout, String>| layer.as_ref().is_ok_and(Layout::is_same);
        self.layers.iter().all(same)
    }

    /// Why requirements of the run cannot be named in the other model, if they cannot.
    pub fn obstacle(&self, settings: &Settings) -> Option<String> {
        if self.is_plain() {
            return None;
        }
        if let Some(why) = self.layers.iter().find_map(|layer| layer.as_ref().err()) {
            return Some(format!("neurons cannot be told: {why}"));
        }
        if settings.requirements.is_some() {
            return Some(
                "the requirement file counts elements and neurons as the run's model does".into(),
            );
        }
        if !self.keeps_neurons() && settings.parameters.names_neurons() {
            return Some("--neurons counts neurons as the run's model does".into());
        }
        None
    }

    /// A suite as the other model takes it.
    pub fn suite(&self, mut suite: SuiteTable, elements: usize) -> SuiteTable {
        suite.x = self.inputs(suite.x, elements);
        suite.unmeasured = self.inputs(suite.unmeasured, elements);
        suite
    }

    /// Inputs, one after the other, as the other model takes them.
    pub fn inputs(&self, inputs: Vec<f32>, elements: usize) -> Vec<f32> {
        if self.input.is_same() {
            return inputs;
        }
        let inputs = inputs.chunks_exact(elements.max(1));
        inputs.flat_map(|x| self.input.arranged(x)).collect()
    }

    /// Boxes as the other model takes them.
    pub fn boxes(&self, boxes: Vec<region_file::Box>) -> Vec<region_file::Box> {
        let arranged =
            |(low, high): region_file::Box| (self.input.arranged(&low), self.input.arranged(&high));
        boxes.into_iter().map(arranged).collect()
    }

    /// A profile in the other model's numbers.
    pub fn profile(&self, profile: Profile, network: &Network) -> Result<Profile, String> {
        if self.keeps_neurons() {
            return Ok(profile);
        }
        let mut parts = Vec::new();
        for (number, layout) in self.layers.iter().enumerate() {
            let layout = layout.as_ref().map_err(Clone::clone)?;
            let part = profile.layer(number);
            let (low, high) = (layout.arranged(&part.low), layout.arranged(&part.high));
            parts.push((low, high, profile.mean(number)));
        }
        Profile::from_parts(network, profile.samples(), parts)
    }

    /// A table of requirements in the other model's numbers; what speaks of no layer keeps its place.
    pub fn table(
        &self,
        mut table: RequirementTable,
        family: &dyn Family,
        network: &Network,
    ) -> RequirementTable {
        if self.keeps_neurons() {
            return table;
        }
        let moved = |layer: usize, neuron: usize| match self.layers.get(layer) {
            Some(Ok(layout)) => layout.moved(neuron),
            _ => neuron,
        };
        if let Some(pairs) = &mut table.pairs {
            let columns = [(&pairs.layer, &mut pairs.i), (&pairs.layer2, &mut pairs.j)];
            for (layers, neurons) in columns {
                for (&layer, neuron) in layers.iter().zip(neurons) {
                    let hidden = usize::try_from(layer).ok();
                    let hidden = hidden.and_then(|layer| layer.checked_sub(FIRST_HIDDEN));
                    if let (Some(l), Ok(n)) = (hidden, usize::try_from(*neuron)) {
                        *neuron = i32::try_from(moved(l, n)).unwrap_or(-1);
                    }
                }
            }
        }
        let rows = table.state.len();
        let dense = table.pair_rows().start;
        let mut order: Vec<usize> = (0..rows).collect();
        let mut start = 0;
        for (number, group) in family.groups().iter().enumerate() {
            if family.pairs(number).is_some() {
                continue;
            }
            if let Some(layer) = group.layer.filter(|&l| l < network.layers().len()) {
                // Slots of a layer go neuron by neuron, so many to each.
                let each = group.slots() / network.layers()[layer].neurons().max(1);
                for slot in (0..group.slots()).filter(|slot| start + slot < dense) {
                    let to = start + moved(layer, slot / each) * each + slot % each;
                    if let Some(place) = order.get_mut(to) {
                        *place = start + slot;
                    }
                }
            }
            start += group.slots();
        }
        table.reordered(&order)
    }
}
