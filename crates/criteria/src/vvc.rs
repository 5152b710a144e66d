//! Value-value coverage.

use super::criterion::{Criterion, Family, Setting};
use super::pair::PairFamily;
use super::pair_requirement::Change;
use super::parameters::Parameters;

/// The criterion.
pub struct Vvc;

impl Criterion for Vvc {
    fn name(&self) -> &'static str {
        "vvc"
    }

    fn definition(&self) -> &'static str {
        "per connected pair: between some two tests the value of one neuron of a layer changes, no sign of that layer does, and the value of a connected neuron of the next layer changes but not its sign"
    }

    fn is_about_pairs(&self) -> bool {
        true
    }

    fn family(&self, setting: &Setting<'_>) -> Result<Box<dyn Family>, String> {
        let sigma = setting.parameters.sigma.unwrap_or(Parameters::SIGMA);
        let condition = setting
            .parameters
            .sigma
            .unwrap_or(Parameters::SIGMA_VVC_CONDITION);
        let family = PairFamily::new(setting, Change::Value(condition), Change::Value(sigma))?;
        Ok(Box::new(family))
    }
}
