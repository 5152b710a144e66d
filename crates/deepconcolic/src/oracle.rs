//! Oracles by name, and the tests of a run judged by its own.

use deepconcolic_campaign::Inputs as _;
use deepconcolic_campaign::oracle::{self, ALL, Evidence, Judgement, Oracle, Tests};
use deepconcolic_criteria::{Decision, Prediction};
use deepconcolic_dataset::Samples;
use deepconcolic_geometry::SearchSpace;
use deepconcolic_network::Network;

use crate::error::Error;
use crate::samples;
use crate::settings::Settings;

/// The oracle of a name.
pub fn find(name: &str) -> Result<&'static dyn Oracle, Error> {
    oracle::find(name).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|oracle| oracle.name()).collect();
        Error::Request(format!(
            "there is no oracle `{name}`; there are {}",
            names.join(", ")
        ))
    })
}

/// The oracle where none is named.
pub fn usual() -> &'static dyn Oracle {
    ALL[0]
}

/// Whether an oracle need not be named.
pub fn is_usual(oracle: &&'static dyn Oracle) -> bool {
    oracle.name() == usual().name()
}

/// An oracle in a file is its name.
pub mod by_name {
    use deepconcolic_campaign::oracle::Oracle;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub fn serialize<S: Serializer>(
        oracle: &&'static dyn Oracle,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(oracle.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<&'static dyn Oracle, D::Error> {
        super::find(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// What a run judges its tests by, but for the references.
#[derive(Clone, Copy)]
pub struct Court<'a> {
    pub settings: &'a Settings,
    pub network: &'a Network,
    pub space: &'a SearchSpace,
    pub decision: &'a Decision,
}

impl Court<'_> {
    /// What the run's oracle says of tests, made from these samples of the data.
    pub fn judge(
        &self,
        references: &Samples,
        values: &[f32],
        predictions: &[Prediction],
        roots: impl IntoIterator<Item = Option<usize>>,
    ) -> Result<Vec<Judgement>, Error> {
        let references = samples::inputs(references, self.decision)?;
        // Samples of the data are references only if there are no others.
        let are_references = self.settings.reference.is_none();
        let is_reference = |root: &usize| are_references && *root < references.len();
        let root = |root: Option<usize>| root.filter(is_reference);
        let roots: Vec<Option<usize>> = roots.into_iter().map(root).collect();
        let judge = self.settings.oracle.judge(Evidence {
            references: &references,
            norm: self.space.norm,
            units: &self.space.units,
            radius: self.settings.adversarial_radius,
            decision: self.decision,
        });
        let tests = Tests {
            values,
            predictions,
            roots: &roots,
        };
        Ok(judge.judge(self.network, tests))
    }
}
