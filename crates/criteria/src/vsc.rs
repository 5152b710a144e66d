//! Value-sign coverage.

use super::criterion::{Criterion, Family, Setting};
use super::pair::PairFamily;
use super::pair_requirement::Change;
use super::parameters::Parameters;

/// The criterion.
pub struct Vsc;

impl Criterion for Vsc {
    fn name(&self) -> &'static str {
        "vsc"
    }

    fn definition(&self) -> &'static str {
        "per connected pair: between some two tests the value of one neuron of a layer changes, no sign of that layer does, and the sign of a connected neuron of the next layer changes"
    }

    fn is_about_pairs(&self) -> bool {
        true
    }

    fn family(&self, setting: &Setting<'_>) -> Result<Box<dyn Family>, String> {
        let sigma = setting.parameters.sigma.unwrap_or(Parameters::SIGMA);
        let family = PairFamily::new(setting, Change::Value(sigma), Change::Sign)?;
        Ok(Box::new(family))
    }
}
