//! What one way of meeting a formula asks for.

use deepconcolic_language::InputBox;

use crate::atom::Atom;
use crate::observed::Observed;

/// What one way of meeting the tree asks for.
#[derive(Debug)]
pub(crate) struct Demands {
    /// Atoms that do not hold yet.
    pub unmet: Vec<Atom>,
    /// Atoms that do.
    pub met: Vec<Atom>,
    /// Signs that must agree on both inputs and do not, as atoms.
    pub signs: Vec<Atom>,
    pub boxes: Vec<(usize, InputBox)>,
    /// How far apart the two inputs may be in L-infinity.
    pub near: f64,
}

impl Default for Demands {
    fn default() -> Self {
        Self {
            unmet: Vec::new(),
            met: Vec::new(),
            signs: Vec::new(),
            boxes: Vec::new(),
            near: f64::INFINITY,
        }
    }
}

impl Demands {
    pub fn is_met(&self) -> bool {
        self.unmet.is_empty() && self.signs.is_empty()
    }

    /// By how much the atoms are missed, each in units of its scale.
    pub fn cost(&self, observed: &Observed) -> f64 {
        let missing = |atom: &Atom| (atom.margin - observed.value(atom)).max(0.0) / atom.scale;
        self.unmet.iter().chain(&self.signs).map(missing).sum()
    }
}
