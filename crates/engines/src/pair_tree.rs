//! The tree of a pair of neurons, made without spelling out its formula.

use std::collections::BTreeMap;

use deepconcolic_criteria::{Contrast, PairRequirement};
use deepconcolic_network::Point;

use crate::atom::{Scales, Term};
use crate::goal::Reason;
use crate::same_signs::SameSigns;
use crate::tree::Tree;

/// What two tests for a pair of neurons must meet.
pub(crate) fn pair_tree(pair: &PairRequirement, scales: &Scales<'_>) -> Result<Tree, Reason> {
    let mut parts = Vec::new();
    let mut same: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (layer, neuron, contrast) in pair.contrasts() {
        let point = Point::Pre(layer);
        match contrast {
            Contrast::SignChanges => parts.push(sign_change(point, neuron, scales)),
            Contrast::Grows(factor) => parts.push(growth(point, neuron, factor, scales)),
            Contrast::SignStays => same.entry(layer).or_default().push(neuron),
        }
    }
    for (layer, neurons) in same {
        parts.push(Tree::Same(SameSigns::new(layer, neurons, scales)?));
    }
    Ok(Tree::All(parts))
}

/// The signs on the two inputs differ.
pub(crate) fn sign_change(point: Point, neuron: usize, scales: &Scales<'_>) -> Tree {
    let sign = |input, positive| Tree::Atom(scales.sign(input, point, neuron, positive));
    Tree::Any(vec![
        Tree::All(vec![sign(0, true), sign(1, false)]),
        Tree::All(vec![sign(0, false), sign(1, true)]),
    ])
}

/// |u2| >= factor |u1| and u1 is not 0, by the signs of the two.
fn growth(point: Point, element: usize, factor: f64, scales: &Scales<'_>) -> Tree {
    let term = |input, coefficient| Term {
        coefficient,
        input,
        point,
        element,
    };
    let case = |(first, second): (f64, f64)| {
        let grown = vec![term(1, second), term(0, -factor * first)];
        Tree::All(vec![
            Tree::Atom(scales.atom(vec![term(0, first)], 0.0, true)),
            Tree::Atom(scales.atom(grown, 0.0, false)),
        ])
    };
    let cases = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)];
    Tree::Any(cases.into_iter().map(case).collect())
}
