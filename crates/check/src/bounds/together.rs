//! Alternatives over one box that one leaf each rules out. Most entries of a certificate are such, and about neurons that
//! depend on the same units: those share the cone and what is known of its units, and sixteen leaves share a pass. An
//! alternative that is not ruled out this way is judged by itself, so that what is wrong with it is said of it alone.

use std::collections::BTreeMap;

use deepconcolic_network::{Element, Network, Origin};
use rayon::prelude::*;

use crate::accepted::Bound;
use crate::bounds::cone::Cone;
use crate::bounds::context::Context;
use crate::bounds::leaf::Judge;
use crate::certificate::{Leaf, Proof, Tree};
use crate::question::{Atom, Case};

/// Where the neurons are that an alternative is about: those of one place depend on the same units, or nearly.
type Place = (usize, usize);

/// For each alternative with its proof: the largest value of the conditions that are to rule it out, if it could be
/// computed together with that of others.
pub(crate) fn judge(context: &Context<'_>, members: &[(&Case, &Proof)]) -> Vec<Option<Bound>> {
    let mut places: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
    for (number, (case, proof)) in members.iter().enumerate() {
        let leaf = only_leaf(proof).filter(|leaf| is_about(leaf, case));
        if let Some(place) = leaf.and_then(|_| place(context.network, case)) {
            places.entry(place).or_default().push(number);
        }
    }
    let shared: Vec<Vec<usize>> = places.into_values().filter(|p| p.len() > 1).collect();
    let found: Vec<Vec<Option<Bound>>> = shared
        .par_iter()
        .map(|numbers| {
            let members: Vec<(&Case, &Proof)> = numbers.iter().map(|&n| members[n]).collect();
            judge_place(context, &members).unwrap_or_else(|| vec![None; members.len()])
        })
        .collect();
    let mut bounds = vec![None; members.len()];
    for (number, bound) in shared.iter().flatten().zip(found.into_iter().flatten()) {
        bounds[*number] = bound;
    }
    bounds
}

/// The same of alternatives about one place.
fn judge_place(context: &Context<'_>, members: &[(&Case, &Proof)]) -> Option<Vec<Option<Bound>>> {
    let atoms = members.iter().flat_map(|(case, _)| &case.atoms);
    let atoms: Vec<Atom> = atoms.cloned().collect();
    let targets: Vec<Element> = elements(context.network, &atoms).collect();
    // Together they may be too large where each is not.
    let cone = Cone::of(context.network, &targets, context.until).ok()?;
    let mut first = 0;
    let leaves = members.iter().map(|(case, proof)| {
        let leaf = numbered_from(first, only_leaf(proof)?);
        first += case.atoms.len() as u32;
        Some(Tree::Leaf(leaf))
    });
    let leaves: Vec<Tree> = leaves.collect::<Option<_>>()?;
    Some(Judge::of_one_place(context, &cone, &atoms).judge_each(&leaves))
}

/// The leaf of a proof that is nothing else.
fn only_leaf(proof: &Proof) -> Option<&Leaf> {
    match &proof[..] {
        [Tree::Leaf(leaf)] => Some(leaf),
        _ => None,
    }
}

/// Whether a leaf adds up conditions of this alternative: with others behind it, a number beyond its own would be of
/// theirs.
fn is_about(leaf: &Leaf, case: &Case) -> bool {
    let mut factors = leaf.factors.iter();
    factors.all(|&(atom, _)| (atom as usize) < case.atoms.len())
}

/// A leaf whose conditions are counted from a number.
fn numbered_from(first: u32, leaf: &Leaf) -> Leaf {
    let mut leaf = leaf.clone();
    for (atom, _) in &mut leaf.factors {
        *atom += first;
    }
    leaf
}

/// The place of an alternative whose conditions are about values that one node computes, at one pixel: none of these
/// depends on another.
fn place(network: &Network, case: &Case) -> Option<Place> {
    let mut all = elements(network, &case.atoms);
    let first = all.next()?;
    let Origin::Node(node) = network.origin(first.value) else {
        return None;
    };
    let shape = network.node_shape(node).dims();
    let channels = shape.last().copied().unwrap_or(1).max(1);
    let place = |element: Element| (element.value, element.index / channels);
    all.all(|element| place(element) == place(first))
        .then(|| place(first))
}

/// The elements that conditions are about, term by term.
pub(crate) fn elements<'a>(
    network: &'a Network,
    atoms: &'a [Atom],
) -> impl Iterator<Item = Element> + 'a {
    let terms = atoms.iter().flat_map(|atom| &atom.terms);
    terms.map(|term| network.element(term.point, term.element))
}
