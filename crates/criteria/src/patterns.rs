//! Sign patterns of tests, and which of them agree but for one neuron, without comparing all pairs.
//!
//! Tests are grouped by their whole pattern (one hash each). Two patterns that differ in exactly one
//! bit agree in every word but one, so for each word the groups are bucketed by a hash of all the
//! *other* words; only groups in one bucket are compared. With N groups of W words that is N W
//! hashes and as many comparisons as there are near misses, where comparing all pairs would take
//! N squared.

use std::collections::HashMap;

use rayon::prelude::*;

/// One bit a neuron for every test.
#[derive(Clone, Debug, Default)]
pub(super) struct Patterns {
    words: usize,
    bits: Vec<u64>,
}

impl Patterns {
    pub fn new(neurons: usize) -> Self {
        Self {
            words: neurons.div_ceil(64),
            bits: Vec::new(),
        }
    }

    /// Appends the pattern of the next test.
    pub fn push(&mut self, pattern: impl Iterator<Item = u64>) {
        self.bits.extend(pattern);
    }

    pub fn len(&self) -> usize {
        self.bits.len() / self.words.max(1)
    }

    pub fn get(&self, test: usize) -> &[u64] {
        &self.bits[test * self.words..(test + 1) * self.words]
    }

    /// The patterns of some neurons only, in the order given.
    pub fn restricted(&self, neurons: &[usize]) -> Self {
        let mut narrow = Self::new(neurons.len());
        for test in 0..self.len() {
            let pattern = self.get(test);
            let bit = |n: &usize| pattern[n / 64] >> (n % 64) & 1;
            narrow.push(neurons.chunks(64).map(|part| {
                let bits = part.iter().enumerate();
                bits.fold(0, |word, (i, n)| word | bit(n) << i)
            }));
        }
        narrow
    }

    /// The tests grouped by pattern, in the order of their first members.
    pub fn groups(&self) -> Vec<Vec<usize>> {
        let mut place: HashMap<&[u64], usize> = HashMap::new();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for test in 0..self.len() {
            let group = *place.entry(self.get(test)).or_insert(groups.len());
            match groups.get_mut(group) {
                Some(members) => members.push(test),
                None => groups.push(vec![test]),
            }
        }
        groups
    }

    /// Pairs of groups whose patterns differ in exactly one bit, with that bit: each pair once.
    pub fn neighbours(&self, groups: &[Vec<usize>]) -> Vec<(usize, usize, usize)> {
        let patterns: Vec<&[u64]> = groups.iter().map(|g| self.get(g[0])).collect();
        let hashes: Vec<u64> = patterns
            .iter()
            .map(|p| {
                p.iter()
                    .enumerate()
                    .fold(0, |h, (w, &word)| h ^ mix(w, word))
            })
            .collect();
        let mut pairs: Vec<(usize, usize, usize)> = (0..self.words)
            .into_par_iter()
            .flat_map_iter(|w| {
                let mut buckets: HashMap<u64, Vec<usize>> = HashMap::new();
                for (group, pattern) in patterns.iter().enumerate() {
                    let others = hashes[group] ^ mix(w, pattern[w]);
                    buckets.entry(others).or_default().push(group);
                }
                let patterns = &patterns;
                let full = buckets.into_values().filter(|bucket| bucket.len() > 1);
                full.flat_map(move |bucket| one_bit_apart(patterns, w, &bucket))
            })
            .collect();
        pairs.sort_unstable();
        pairs
    }
}

/// Pairs of a bucket that differ in one bit of word `w` and nowhere else.
fn one_bit_apart(patterns: &[&[u64]], w: usize, bucket: &[usize]) -> Vec<(usize, usize, usize)> {
    let agree = |a: &[u64], b: &[u64]| a[..w] == b[..w] && a[w + 1..] == b[w + 1..];
    let mut found = Vec::new();
    let mut compare = |a: usize, b: usize| {
        let difference = patterns[a][w] ^ patterns[b][w];
        if difference.is_power_of_two() && agree(patterns[a], patterns[b]) {
            let bit = w * 64 + difference.trailing_zeros() as usize;
            found.push((a.min(b), a.max(b), bit));
        }
    };
    if bucket.len() <= 64 {
        for (i, &a) in bucket.iter().enumerate() {
            bucket[i + 1..].iter().for_each(|&b| compare(a, b));
        }
        return found;
    }
    // Many groups that differ in this word only: look each one's 64 neighbours up.
    let mut by_word: HashMap<u64, Vec<usize>> = HashMap::new();
    for &group in bucket {
        by_word.entry(patterns[group][w]).or_default().push(group);
    }
    for &a in bucket {
        for bit in 0..64 {
            for &b in by_word
                .get(&(patterns[a][w] ^ 1 << bit))
                .into_iter()
                .flatten()
            {
                if a < b {
                    compare(a, b);
                }
            }
        }
    }
    found
}

/// A hash of a word at a position.
fn mix(position: usize, word: u64) -> u64 {
    let mut z = word ^ (position as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use deepconcolic_testing::Random;

    use super::*;

    /// Against comparing all pairs, with patterns drawn close together.
    fn check(neurons: usize, tests: usize, flips: usize) {
        let mut random = Random::new((neurons + tests) as u64);
        let mut patterns = Patterns::new(neurons);
        for _ in 0..tests {
            let mut pattern = vec![0u64; neurons.div_ceil(64)];
            for _ in 0..random.below(flips) {
                let n = random.below(neurons);
                pattern[n / 64] ^= 1 << (n % 64);
            }
            patterns.push(pattern.into_iter());
        }
        let groups = patterns.groups();
        assert_eq!(groups.iter().map(Vec::len).sum::<usize>(), tests);
        let mut expected = Vec::new();
        for a in 0..groups.len() {
            for b in a + 1..groups.len() {
                let (x, y) = (patterns.get(groups[a][0]), patterns.get(groups[b][0]));
                let bits: Vec<usize> = (0..neurons)
                    .filter(|n| (x[n / 64] ^ y[n / 64]) >> (n % 64) & 1 == 1)
                    .collect();
                assert!(!bits.is_empty(), "equal patterns in two groups");
                if let [bit] = bits.as_slice() {
                    expected.push((a, b, *bit));
                }
            }
        }
        assert!(!expected.is_empty(), "nothing was tested");
        assert_eq!(patterns.neighbours(&groups), expected);
    }

    #[test]
    fn neighbours_are_all_pairs_that_differ_in_one_bit() {
        check(7, 40, 4);
        check(64, 300, 3);
        check(130, 400, 3);
        check(40, 2000, 4);
    }

    #[test]
    fn restricted_patterns_keep_the_chosen_bits() {
        let mut patterns = Patterns::new(70);
        patterns.push([1 << 3, 1 << 5].into_iter());
        let narrow = patterns.restricted(&[69, 4, 3]);
        assert_eq!(narrow.get(0), [0b101]);
    }
}
