//! Sign-sign coverage, the MC/DC of the paper.

use super::criterion::{Criterion, Family, Setting};
use super::pair::PairFamily;
use super::pair_requirement::Change;

/// The criterion.
pub struct Ssc;

impl Criterion for Ssc {
    fn name(&self) -> &'static str {
        "ssc"
    }

    fn definition(&self) -> &'static str {
        "per connected pair: between some two tests the sign of one neuron of a layer changes, no other sign of that layer does, and the sign of a connected neuron of the next layer changes"
    }

    fn is_about_pairs(&self) -> bool {
        true
    }

    fn family(&self, setting: &Setting<'_>) -> Result<Box<dyn Family>, String> {
        let family = PairFamily::new(setting, Change::Sign, Change::Sign)?;
        Ok(Box::new(family))
    }
}
