//! The conditions of an alternative over a program's variables. They are refuted by a weighted sum
//! of them that stays below zero.

use deepconcolic_check::{Atom, Case, Unsupported, Until};
use deepconcolic_network::{Element, Network};

use crate::lanes::{LANES, Lanes};
use crate::pass::Backward;
use crate::program::Program;

/// A condition: the sum must be at least 0.
#[derive(Debug, Clone)]
pub(crate) struct Condition {
    pub terms: Vec<(usize, f64)>,
    pub constant: f64,
}

impl Condition {
    /// Its value in a lane.
    pub fn value(&self, values: &[Lanes], lane: usize) -> f64 {
        let terms = self.terms.iter().map(|&(v, w)| w * values[v][lane]);
        terms.sum::<f64>() + self.constant
    }
}

/// Puts minus the weighted sum of conditions into a lane: what must stay above 0.
pub(crate) fn seed(
    backward: &mut Backward,
    lane: usize,
    conditions: &[Condition],
    factors: &[f64],
) {
    debug_assert!(lane < LANES);
    for (condition, &factor) in conditions.iter().zip(factors) {
        if factor > 0.0 {
            for &(variable, weight) in &condition.terms {
                backward.seed(variable, lane, -factor * weight);
            }
            backward.constant[lane] -= factor * condition.constant;
        }
    }
}

/// The elements that conditions are about, term by term.
pub(crate) fn elements<'a>(
    network: &'a Network,
    atoms: &'a [Atom],
) -> impl Iterator<Item = Element> + 'a {
    let terms = atoms.iter().flat_map(|atom| &atom.terms);
    terms.map(|term| network.element(term.point, term.element))
}

/// One program for several alternatives, and the conditions of each over it.
pub(crate) fn program_of(
    network: &Network,
    cases: &[&Case],
    until: Until<'_>,
) -> Result<(Program, Vec<Vec<Condition>>), Unsupported> {
    let all = cases.iter().flat_map(|case| elements(network, &case.atoms));
    let program = Program::of(network, &all.collect::<Vec<Element>>(), until)?;
    let mut variables = program.targets.iter();
    let mut condition = |atom: &Atom| Condition {
        terms: atom
            .terms
            .iter()
            .zip(variables.by_ref())
            .map(|(term, &variable)| (variable, term.weight))
            .collect(),
        constant: atom.constant,
    };
    let conditions = cases
        .iter()
        .map(|case| case.atoms.iter().map(&mut condition).collect());
    let conditions = conditions.collect();
    Ok((program, conditions))
}
