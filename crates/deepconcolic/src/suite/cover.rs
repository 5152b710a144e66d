//! Few sets that together hold what all of them hold. To find the fewest is hard (NP-complete); here some few are found
//! greedily, and a bound says how few it could be at best.

use std::collections::BinaryHeap;

/// Requirements looked at for the lower bound.
const LOOKED_AT: usize = 50_000;

/// Sets of numbers, each as bits.
pub struct Sets(Vec<Vec<u64>>);

impl Sets {
    /// Sets with their bits, 64 to a word; all have as many words.
    pub fn new(sets: Vec<Vec<u64>>) -> Self {
        Self(sets)
    }

    fn words(&self) -> usize {
        self.0.first().map_or(0, Vec::len)
    }

    /// How many elements of a set are not in another.
    fn gain(&self, set: usize, held: &[u64]) -> usize {
        let new = self.0[set].iter().zip(held).map(|(a, b)| a & !b);
        new.map(|word| word.count_ones() as usize).sum()
    }

    /// Few sets that hold everything, those given among them; in order.
    pub fn cover(&self, given: &[usize]) -> Vec<usize> {
        let mut held = vec![0; self.words()];
        let mut chosen: Vec<usize> = Vec::new();
        let mut take = |set: usize, held: &mut Vec<u64>| {
            held.iter_mut().zip(&self.0[set]).for_each(|(h, s)| *h |= s);
            chosen.push(set);
        };
        for &set in given {
            take(set, &mut held);
        }
        // A gain only falls as more is held, so that the best of the heap is the best of all once it is up to date.
        let first = |set: usize| (self.gain(set, &held), std::cmp::Reverse(set));
        let mut heap: BinaryHeap<_> = (0..self.0.len()).map(first).collect();
        while let Some((known, std::cmp::Reverse(set))) = heap.pop() {
            let gain = self.gain(set, &held);
            if gain == 0 {
                continue;
            }
            if gain == known {
                take(set, &mut held);
            } else {
                heap.push((gain, std::cmp::Reverse(set)));
            }
        }
        self.without_needless(chosen, given)
    }

    /// Leaves out sets whose elements are all in others, the last chosen first.
    fn without_needless(&self, mut chosen: Vec<usize>, given: &[usize]) -> Vec<usize> {
        let mut holders = vec![0_u32; self.words() * 64];
        for &set in &chosen {
            self.elements(set).for_each(|element| holders[element] += 1);
        }
        for place in (given.len()..chosen.len()).rev() {
            let set = chosen[place];
            if self.elements(set).all(|element| holders[element] > 1) {
                self.elements(set).for_each(|element| holders[element] -= 1);
                chosen.remove(place);
            }
        }
        chosen.sort_unstable();
        chosen
    }

    fn elements(&self, set: usize) -> impl Iterator<Item = usize> + '_ {
        deepconcolic_network::ones(&self.0[set])
    }

    /// A number of sets below which no choice can hold everything: elements no two of which are in one set each need
    /// a set of their own.
    pub fn at_least(&self) -> usize {
        let mut holders = vec![0_u32; self.words() * 64];
        for set in 0..self.0.len() {
            self.elements(set).for_each(|element| holders[element] += 1);
        }
        let mut elements: Vec<usize> = (0..holders.len()).filter(|&e| holders[e] > 0).collect();
        elements.sort_by_key(|&element| holders[element]);
        let mut used = vec![false; self.0.len()];
        let mut count = 0;
        for &element in elements.iter().take(LOOKED_AT) {
            let has = |set: &usize| self.0[*set][element / 64] >> (element % 64) & 1 == 1;
            let sets: Vec<usize> = (0..self.0.len()).filter(has).collect();
            if sets.iter().all(|&set| !used[set]) {
                for set in sets {
                    used[set] = true;
                }
                count += 1;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use deepconcolic_testing::Random;

    use super::*;

    fn union(sets: &[Vec<u64>], chosen: impl IntoIterator<Item = usize>) -> Vec<u64> {
        let mut all = vec![0; sets[0].len()];
        for set in chosen {
            all.iter_mut().zip(&sets[set]).for_each(|(a, s)| *a |= s);
        }
        all
    }

    #[test]
    fn what_is_chosen_holds_everything_and_no_choice_is_below_the_bound() {
        let mut numbers = Random::new(7);
        for case in 0..60 {
            let count = 1 + case % 9;
            let sets: Vec<Vec<u64>> = (0..count)
                .map(|_| {
                    let words = (0..2).map(|_| numbers.bits() & numbers.bits() & numbers.bits());
                    words.collect()
                })
                .collect();
            let whole = union(&sets, 0..count);
            let fewest = (0_u32..1 << count)
                .filter(|choice| {
                    let chosen = (0..count).filter(|set| choice >> set & 1 == 1);
                    union(&sets, chosen) == whole
                })
                .map(u32::count_ones)
                .min()
                .unwrap() as usize;
            let all = Sets::new(sets.clone());
            let chosen = all.cover(&[]);
            assert_eq!(union(&sets, chosen.iter().copied()), whole);
            assert!(all.at_least() <= fewest && fewest <= chosen.len());
            let with_last = all.cover(&[count - 1]);
            assert!(with_last.contains(&(count - 1)));
            assert_eq!(union(&sets, with_last), whole);
        }
    }

    #[test]
    fn a_set_that_others_make_needless_is_left_out() {
        // Greed takes the large set first, and then needs both others, which hold all of it.
        let sets = Sets::new(vec![
            vec![0b0011_1100],
            vec![0b0000_1111],
            vec![0b1111_0000],
        ]);
        assert_eq!(sets.cover(&[]), [1, 2]);
        assert_eq!(sets.at_least(), 2);
        assert_eq!(sets.cover(&[0]), [0, 1, 2]);
    }
}
