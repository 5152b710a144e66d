//! Which inputs may be the two of one requirement: in a run both lie in the same part of the search
//! region, the ball round one seed or one box; over data any two are compared.

use std::collections::HashMap;

use deepconcolic_network::BitSet;

use crate::SearchSpace;

/// For every test, the parts of the search region that it lies in. Tests in the same parts are of one
/// class, so that what is kept grows with the tests and with the parts, never with pairs of tests.
#[derive(Clone, Debug, Default)]
pub struct Together {
    /// By test; empty if any two may meet.
    classes: Vec<u32>,
    /// By class.
    parts: Vec<BitSet>,
}

impl Together {
    /// Any two inputs, as over data.
    pub fn any() -> Self {
        Self::default()
    }

    /// Inputs, given one after the other, of a run over this space from these seeds.
    pub fn of(space: &SearchSpace, seeds: &[f32], inputs: &[f32]) -> Self {
        let each = space.domain.lower().len().max(1);
        let inputs: Vec<&[f32]> = inputs.chunks(each).collect();
        Self::of_each(space, seeds, &inputs)
    }

    /// The same of inputs that lie in different places.
    pub fn of_each(space: &SearchSpace, seeds: &[f32], inputs: &[&[f32]]) -> Self {
        let parts = space.parts_of_each(inputs, seeds);
        let mut known: HashMap<BitSet, u32> = HashMap::new();
        let mut together = Self::default();
        for parts in parts {
            let next = together.parts.len() as u32;
            let class = *known.entry(parts).or_insert_with_key(|parts| {
                together.parts.push(parts.clone());
                next
            });
            together.classes.push(class);
        }
        together
    }

    /// The class of a test.
    pub fn class(&self, test: usize) -> usize {
        self.classes.get(test).map_or(0, |&class| class as usize)
    }

    /// Whether tests of these classes may be the two inputs of one requirement.
    pub fn meet(&self, a: usize, b: usize) -> bool {
        self.parts.is_empty() || self.parts[a].meets(&self.parts[b])
    }

    /// The same of two tests; they may be one.
    pub fn may_pair(&self, a: usize, b: usize) -> bool {
        self.meet(self.class(a), self.class(b))
    }

    /// Tests divided by class, in the order of their first members.
    pub fn divide(&self, tests: &[usize]) -> Vec<(usize, Vec<usize>)> {
        let mut place: HashMap<usize, usize> = HashMap::new();
        let mut divided: Vec<(usize, Vec<usize>)> = Vec::new();
        for &test in tests {
            let class = self.class(test);
            let at = *place.entry(class).or_insert(divided.len());
            match divided.get_mut(at) {
                Some((_, members)) => members.push(test),
                None => divided.push((class, vec![test])),
            }
        }
        divided
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Domain, Extent, Norm, Pixels};

    fn space(extent: Extent, norm: Norm) -> SearchSpace {
        let domain = Domain::uniform(2, 0.0, 1.0).unwrap();
        SearchSpace::of(domain, Pixels::Single, norm, extent)
    }

    #[test]
    fn two_inputs_of_a_ball_pair_and_two_of_different_balls_do_not() {
        let seeds = [0.2, 0.2, 0.4, 0.2, 0.9, 0.9];
        let inputs = [0.1, 0.2, 0.3, 0.2, 0.5, 0.2, 0.9, 0.9, 0.5, 0.5];
        let together = Together::of(&space(Extent::Balls(0.125), Norm::LINF), &seeds, &inputs);
        // The second lies in the balls of the first two seeds, the last in none.
        let pairs =
            |a: usize| -> Vec<usize> { (0..5).filter(|&b| together.may_pair(a, b)).collect() };
        assert_eq!(pairs(0), [0, 1]);
        assert_eq!(pairs(1), [0, 1, 2]);
        assert_eq!(pairs(2), [1, 2]);
        assert_eq!(pairs(3), [3]);
        assert!(pairs(4).is_empty());
        assert_eq!(together.divide(&[0, 3, 0]).len(), 2);
    }

    #[test]
    fn boxes_are_parts_and_the_domain_is_one() {
        let boxes = vec![
            (vec![0.0, 0.0], vec![0.5, 1.0]),
            (vec![0.4, 0.0], vec![1.0, 1.0]),
        ];
        let inputs = [0.1, 0.0, 0.45, 0.0, 0.9, 0.0];
        let together = Together::of(&space(Extent::Boxes(boxes), Norm::LINF), &[], &inputs);
        assert!(together.may_pair(0, 1) && together.may_pair(1, 2));
        assert!(!together.may_pair(0, 2));
        let anywhere = Together::of(&space(Extent::Domain, Norm::L2), &[], &inputs);
        assert!(anywhere.may_pair(0, 2));
        assert!(Together::any().may_pair(0, 2));
    }

    #[test]
    fn balls_are_those_of_the_norm() {
        let seeds = [0.5, 0.5];
        let inputs = [0.75, 0.5, 0.75, 0.75];
        for (norm, radius, pair) in [
            (Norm::LINF, 0.25, true),
            (Norm::L1, 0.25, false),
            (Norm::L1, 0.5, true),
            (Norm::L2, 0.25, false),
            (Norm::L2, 0.36, true),
            (Norm::L0, 1.0, false),
            (Norm::L0, 2.0, true),
        ] {
            let together = Together::of(&space(Extent::Balls(radius), norm), &seeds, &inputs);
            assert_eq!(together.may_pair(0, 1), pair, "{norm} {radius}");
        }
    }
}
