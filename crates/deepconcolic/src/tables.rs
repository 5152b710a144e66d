//! How the requirements of a run ended, layer by layer, goals apart from properties: no row and no sum holds both.

use deepconcolic_criteria::Polarity;
use deepconcolic_record::{CriterionSummary, LayerSummary, Summary};

use crate::criterion::polarity;
use crate::gate::{Account, Counts, FILE};

/// The goals or the properties of a run.
#[derive(Clone, Debug)]
pub struct Table {
    /// Which of the two.
    pub polarity: Polarity,
    /// Layer by layer.
    pub layers: Vec<LayerSummary>,
    /// All layers together.
    pub all: LayerSummary,
    /// How many are met only within the margin of rounding.
    pub fragile: usize,
}

impl Table {
    /// One table, or two where a run has both goals and properties.
    pub fn of_run(summary: &Summary) -> Vec<Self> {
        let properties = summary.properties.map_or(0, |some| some.total);
        if properties == 0 || properties == summary.requirements.total {
            let layers = summary.layers.clone();
            let fragile = summary.requirements.fragile;
            return vec![Self::of(polarity(summary), layers, fragile)];
        }
        let both = [Polarity::Goal, Polarity::Property];
        if summary.criteria.is_empty() {
            let accounts = Account::of_run(summary);
            let row = |polarity: Polarity| {
                let counts = accounts.iter().map(|account| match polarity {
                    Polarity::Goal => account.goals,
                    Polarity::Property => account.properties,
                });
                let refuted = summary.properties.map_or(0, |some| some.fragile);
                let fragile = match polarity {
                    Polarity::Goal => summary.requirements.fragile.saturating_sub(refuted),
                    Polarity::Property => refuted,
                };
                Self::of(polarity, counts.map(row_of_file).collect(), fragile)
            };
            return both.map(row).into();
        }
        let of_criteria = |polarity: Polarity| {
            let is_property = polarity == Polarity::Property;
            let criteria = summary.criteria.iter();
            let these: Vec<&CriterionSummary> = criteria
                .filter(|criterion| criterion.properties.is_some() == is_property)
                .collect();
            let mut layers: Vec<LayerSummary> = Vec::new();
            for layer in these.iter().flat_map(|criterion| &criterion.layers) {
                match layers.iter_mut().find(|known| known.name == layer.name) {
                    Some(known) => add(known, layer),
                    None => layers.push(layer.clone()),
                }
            }
            let fragile = these.iter().map(|criterion| criterion.requirements.fragile);
            Self::of(polarity, layers, fragile.sum())
        };
        both.map(of_criteria).into()
    }

    /// What they are called in a run that has both kinds, or one.
    pub fn noun(&self, mixed: bool) -> &'static str {
        match (mixed, self.polarity) {
            (false, _) => "requirements",
            (true, Polarity::Goal) => "goals",
            (true, Polarity::Property) => "properties",
        }
    }

    fn of(polarity: Polarity, layers: Vec<LayerSummary>, fragile: usize) -> Self {
        let mut all = row_of_file(Counts::default());
        all.name = "all".into();
        for layer in &layers {
            add(&mut all, layer);
        }
        Self {
            polarity,
            layers,
            all,
            fragile,
        }
    }
}

/// Requirements of a file are about the network as a whole.
fn row_of_file(counts: Counts) -> LayerSummary {
    LayerSummary {
        name: FILE.into(),
        total: counts.total,
        covered: counts.met,
        infeasible: counts.impossible,
        unresolved: counts.open(),
    }
}

fn add(to: &mut LayerSummary, other: &LayerSummary) {
    to.total += other.total;
    to.covered += other.covered;
    to.infeasible += other.infeasible;
    to.unresolved += other.unresolved;
}
