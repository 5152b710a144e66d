//! What the pages of a run show, as plain data made from its folder.

mod adversarial;
mod curve;
mod layers;
mod named;
mod pairs;

pub use adversarial::{Adversarial, Source};
pub use curve::Curve;
pub use layers::{Layer, Neurons, State as NeuronState};
pub use named::{Named, Verdict};
pub use pairs::PairMap;

use deepconcolic::{Polarity, SavedRun, polarity};
use deepconcolic_record::Picture;

/// A run, ready to be shown.
pub struct View {
    /// What the folder says.
    pub run: SavedRun,
    /// What a witness means.
    pub polarity: Polarity,
    /// What came of each layer.
    pub layers: Vec<Layer>,
    /// How coverage grew.
    pub curve: Curve,
    /// Adversarial inputs, the nearest first.
    pub adversarial: Vec<Adversarial>,
    /// Pairs of neurons, by their layers.
    pub pairs: Vec<PairMap>,
    /// Requirements that have a row of their own on a page.
    pub named: Vec<Named>,
}

/// The criterion about slopes.
const SLOPES: &str = "lipschitz";

impl View {
    /// Everything there is to show of a run.
    pub fn of(run: SavedRun) -> Self {
        let polarity = polarity(&run.summary);
        Self {
            polarity,
            layers: layers::of(&run),
            curve: curve::of(&run),
            adversarial: adversarial::of(&run),
            pairs: pairs::of(&run),
            named: named::of(&run, polarity),
            run,
        }
    }

    /// Whether requirements are properties, which a test refutes.
    pub fn is_property(&self) -> bool {
        self.polarity == Polarity::Property
    }

    /// Whether no constant was asked about: then no slope is refuted or proven, and the bounds say it all.
    pub fn looks_for_largest(&self) -> bool {
        let regions = &self.run.summary.lipschitz;
        !regions.is_empty() && regions.iter().all(|region| region.constant.is_none())
    }

    /// Whether a criterion of the run is the one about slopes.
    pub fn is_of_slopes(&self, criterion: &str) -> bool {
        !self.run.summary.lipschitz.is_empty() && criterion == SLOPES
    }

    /// Whether some requirements are goals and some are properties: no share says anything of both.
    pub fn is_mixed(&self) -> bool {
        let total = self.run.summary.requirements.total;
        let properties = self.run.summary.properties;
        properties.is_some_and(|some| some.total > 0 && some.total < total)
    }

    /// What a witness of the requirement in a row means; none where that is not known of it. Requirements about
    /// layers, which have no names, are goals wherever there are properties beside them.
    pub fn polarity_of_row(&self, row: usize) -> Option<Polarity> {
        let is_file = self.run.settings.requirements.is_some();
        named::polarity_of_row(&self.run, row)
            .or_else(|| (!(is_file && self.is_mixed())).then_some(self.polarity))
    }

    /// Whether inputs are pictures.
    pub fn has_pictures(&self) -> bool {
        Picture::of(&self.run.shape, &self.run.domain).is_ok()
    }

    /// What a class is called.
    pub fn class(&self, label: i64) -> String {
        let name = usize::try_from(label).ok();
        let name = name.and_then(|label| self.run.settings.names.classes.get(label));
        name.cloned().unwrap_or_else(|| label.to_string())
    }

    /// What a value of an input is called.
    pub fn feature(&self, element: usize) -> String {
        let name = self.run.settings.names.features.get(element);
        name.cloned().unwrap_or_else(|| format!("x{element}"))
    }

    /// The folder, as the command that made the run named it.
    pub fn folder(&self) -> String {
        let words = &self.run.summary.command;
        let after = words
            .iter()
            .position(|word| word == "--out" || word == "-o");
        let named = after.and_then(|at| words.get(at + 1)).map(String::as_str);
        let joined = words.iter().find_map(|word| word.strip_prefix("--out="));
        match (words.get(1).map(String::as_str), named.or(joined)) {
            // The demo runs in a folder beside its model and data.
            (Some("demo"), folder) => format!("{}/run", folder.unwrap_or("deepconcolic-demo")),
            (Some("merge"), _) => words.get(2).cloned().unwrap_or_else(|| ".".into()),
            (_, folder) => folder.unwrap_or(".").to_owned(),
        }
    }
}
