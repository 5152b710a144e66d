//! Leaves of split trees, exactly.

use super::*;
use crate::bounds::leaf::Judge;
use crate::certificate::{Leaf, Proof, Split, Tree};
use crate::question::{Atom, Term};

fn condition(random: &mut Random) -> Atom {
    let term = |element: usize, random: &mut Random| Term {
        point: Point::Logits,
        element,
        weight: nasty(random),
    };
    Atom {
        terms: vec![term(0, random), term(1, random)],
        constant: nasty(random),
        strict: random.below(2) == 0,
    }
}

/// A tree with random splits, slopes, factors and multipliers, all of them allowed.
fn tree(case: &Case, random: &mut Random, depth: usize, phases: usize, into: &mut Proof) {
    let open: Vec<usize> = (0..case.cone.units.len())
        .filter(|&unit| {
            let mut all = case.curves();
            all.any(|(_, c)| {
                (c.first_unit..c.first_unit + c.inputs.len()).contains(&unit) && c.parts.len() == 2
            })
        })
        .collect();
    let kind = random.below(3);
    if depth > 0 && kind == 0 && !open.is_empty() {
        let unit = case.cone.units[open[random.below(open.len())]];
        into.push(Tree::Split(Split::Phase(unit)));
        tree(case, random, depth - 1, phases + 1, into);
        tree(case, random, depth - 1, phases + 1, into);
    } else if depth > 0 && kind == 1 && !case.cone.inputs.is_empty() {
        let element = case.cone.inputs[random.below(case.cone.inputs.len())];
        let (l, u) = (case.region.lower[element], case.region.upper[element]);
        let at = l + random.between(0.0, 1.0) * (u - l);
        let element = element as u32;
        into.push(Tree::Split(Split::Input { element, at }));
        tree(case, random, depth - 1, phases, into);
        tree(case, random, depth - 1, phases, into);
    } else {
        let positive = |random: &mut Random| (nasty(random).abs() as f32).max(1e-30);
        let mut units = case.cone.units.clone();
        units.sort_unstable();
        let slopes = units.iter().map(|&unit| (unit, random.below(256) as u8));
        into.push(Tree::Leaf(Leaf {
            slopes: slopes.collect(),
            factors: (0..2).map(|atom| (atom, positive(random))).collect(),
            multipliers: (0..phases).map(|_| nasty(random).abs() as f32).collect(),
        }));
    }
}

/// The leaf of a tree that a point with these values belongs to.
fn leaf_of<'t>(
    case: &Case,
    proof: &'t Proof,
    at: &mut usize,
    values: Option<&[Exact]>,
) -> Option<&'t Leaf> {
    let node = &proof[*at];
    *at += 1;
    let first = match node {
        Tree::Leaf(leaf) => return values.map(|_| leaf),
        Tree::Corner | Tree::Forward(_) => return None,
        Tree::Split(Split::Phase(unit)) => values.map(|values| {
            let number = case
                .cone
                .units
                .iter()
                .position(|u| u == unit)
                .expect("known");
            let mut all = case.curves();
            let (_, curves) = all
                .find(|(_, c)| (c.first_unit..c.first_unit + c.inputs.len()).contains(&number))
                .expect("a curve");
            let input = curves.inputs[number - curves.first_unit] as usize;
            values[input] <= exact(curves.parts[1].from)
        }),
        Tree::Split(Split::Input { element, at }) => values.map(|values| {
            let place = case
                .cone
                .inputs
                .iter()
                .position(|&e| e == *element as usize);
            values[place.expect("an input")] <= exact(*at)
        }),
        Tree::Split(Split::Changes { .. }) => unreachable!("no search splits a box like that"),
    };
    let below = leaf_of(case, proof, at, values.filter(|_| first == Some(true)));
    let above = leaf_of(case, proof, at, values.filter(|_| first == Some(false)));
    below.or(above)
}

#[test]
fn leaves_hold_exactly() {
    let mut bounded = 0;
    for seed in 0..CASES {
        let mut case = case(seed);
        let mut random = Random::new(seed ^ 0xabcd);
        let atoms = [condition(&mut random), condition(&mut random)];
        let twice: Vec<Element> = case.targets.iter().chain(&case.targets).copied().collect();
        case.cone = Cone::of(&case.network, &twice, Until::NEVER).expect("everything is known");
        let context = case.context();
        let judge = Judge::new(&context, &case.cone, &atoms);
        for _ in 0..4 {
            let mut proof = Proof::new();
            tree(&case, &mut random, 3, 0, &mut proof);
            let found = judge.judge(&proof).expect("every number is allowed");
            bounded += usize::from(found.value.is_finite());
            for point in Case::points(&mut random, &case.ends()) {
                let values = case.values(&point);
                let leaf = leaf_of(&case, &proof, &mut 0, Some(&values)).expect("a leaf");
                let mut sum = zero();
                for &(atom, factor) in &leaf.factors {
                    let atom = &atoms[atom as usize];
                    let mut value = exact(atom.constant);
                    for (term, &variable) in atom.terms.iter().zip(&case.cone.targets) {
                        value += exact(term.weight) * &values[variable];
                    }
                    sum += exact(f64::from(factor)) * value;
                }
                assert!(is_above(found.value, &sum), "case {seed}");
            }
        }
    }
    assert!(bounded > 100, "{bounded}");
}

#[test]
fn leaves_hold_exactly_side_by_side() {
    let mut bounded = 0;
    for seed in 0..CASES {
        let mut case = case(seed);
        let mut random = Random::new(seed ^ 0x51de);
        let count = 1 + random.below(40);
        let atoms: Vec<Atom> = (0..count).map(|_| condition(&mut random)).collect();
        let targets = case.targets.repeat(count);
        case.cone = Cone::of(&case.network, &targets, Until::NEVER).expect("everything is known");
        let context = case.context();
        let judge = Judge::of_one_place(&context, &case.cone, &atoms);
        let mut units = case.cone.units.clone();
        units.sort_unstable();
        let leaves = (0..count).map(|number| {
            let factor = (nasty(&mut random).abs() as f32).max(1e-30);
            let slopes = units.iter().map(|&unit| (unit, random.below(256) as u8));
            let leaf = Leaf {
                slopes: slopes.collect(),
                factors: vec![(number as u32, factor)],
                multipliers: Vec::new(),
            };
            (Tree::Leaf(leaf), factor)
        });
        let (leaves, factors): (Vec<Tree>, Vec<f32>) = leaves.collect();
        let found = judge.judge_each(&leaves);
        assert_eq!(found.len(), count);
        let points = Case::points(&mut random, &case.ends());
        let values: Vec<_> = points.iter().map(|point| case.values(point)).collect();
        for ((atom, factor), found) in atoms.iter().zip(factors).zip(found) {
            let found = found.expect("every number is allowed");
            bounded += usize::from(found.value.is_finite());
            for values in &values {
                let mut sum = exact(atom.constant);
                for (term, &variable) in atom.terms.iter().zip(&case.cone.targets) {
                    sum += exact(term.weight) * &values[variable];
                }
                sum *= exact(f64::from(factor));
                assert!(is_above(found.value, &sum), "case {seed}");
            }
        }
    }
    assert!(bounded > 1000, "{bounded}");
}
