//! Requirements that ask for a value in a section of a neuron's range: the best test of a section is the one
//! whose value is nearest to its centre. So a neuron keeps the values that are nearest to some open section,
//! and the tests that have them, however many sections and tests there are.

use deepconcolic_criteria::Sections;
use deepconcolic_network::BitSet;
use rayon::prelude::*;

use super::Nearest;

/// Neurons that a thread ranks at a time.
const PART: usize = 256;

/// How far from its place a quotient may be, in sections.
const DOUBT: f64 = 1e-6;

/// A value of a neuron, and the first test that has it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    u: f32,
    test: u32,
}

/// For each neuron of a layer, ascending values. A value that is nearest to no open section may be among
/// them for a while.
#[derive(Clone, Debug, Default)]
pub(super) struct RankedSections {
    neurons: Vec<Vec<Seen>>,
}

/// The sections of one neuron, and which of them are open.
#[derive(Clone, Copy)]
struct Neuron<'a> {
    sections: Sections<'a>,
    number: usize,
    open: &'a BitSet,
}

impl RankedSections {
    pub fn new(neurons: usize) -> Self {
        Self {
            neurons: vec![Vec::new(); neurons],
        }
    }

    /// Takes tests in, numbered from `first`: their values of all neurons, test by test.
    pub fn observe(&mut self, sections: Sections<'_>, open: &BitSet, values: &[f32], first: usize) {
        let each = self.neurons.len();
        let parts = self.neurons.par_chunks_mut(PART).enumerate();
        parts.for_each(|(part, lists)| {
            for (number, list) in (part * PART..).zip(lists) {
                let neuron = Neuron {
                    sections,
                    number,
                    open,
                };
                let column = values[number..].iter().step_by(each);
                for (test, &u) in (first as u32..).zip(column) {
                    neuron.insert(list, Seen { u, test });
                }
            }
        });
    }

    /// Offers the open sections that were not tried, with values in units of `scale`.
    pub fn offer(
        &self,
        (sections, scale): (Sections<'_>, f32),
        open: &BitSet,
        tried: &BitSet,
        nearest: &mut Nearest,
    ) {
        let parts = self.neurons.par_chunks(PART).enumerate();
        let best: Vec<Nearest> = parts
            .map(|(part, lists)| {
                let mut nearest = nearest.for_part();
                for (number, list) in (part * PART..).zip(lists) {
                    let neuron = Neuron {
                        sections,
                        number,
                        open,
                    };
                    neuron.offer(list, scale, tried, &mut nearest);
                }
                nearest
            })
            .collect();
        for best in best {
            nearest.join(best);
        }
    }

    /// The best test of a section, if some test has a value at all.
    pub fn best(&self, sections: Sections<'_>, open: &BitSet, slot: u32) -> Option<usize> {
        let (number, section) = (
            slot as usize / sections.count,
            slot as usize % sections.count,
        );
        let neuron = Neuron {
            sections,
            number,
            open,
        };
        let list = self.neurons.get(number)?;
        let at = neuron.nearest(list, section)?;
        Some(list[at].test as usize)
    }
}

impl Neuron<'_> {
    fn slot(&self, section: usize) -> usize {
        self.number * self.sections.count + section
    }

    /// The value nearest to the centre of a section; of two as near, that of the earlier test.
    fn nearest(&self, list: &[Seen], section: usize) -> Option<usize> {
        let centre = self.sections.centre(self.number, section);
        let after = list.partition_point(|seen| f64::from(seen.u) < centre);
        let before = after.checked_sub(1);
        let distance = |at: usize| (f64::from(list[at].u) - centre).abs();
        let rank = |a: &usize, b: &usize| {
            let order = distance(*a).total_cmp(&distance(*b));
            order.then(list[*a].test.cmp(&list[*b].test))
        };
        let candidates = before.into_iter().chain([after]);
        candidates.filter(|&at| at < list.len()).min_by(rank)
    }

    /// Whether a value is nearest to an open section, given its neighbours. In doubt it is.
    fn matters(&self, before: Option<Seen>, seen: Seen, after: Option<Seen>) -> bool {
        let count = self.sections.count;
        let middle = |other: Seen| 0.5 * (f64::from(seen.u) + f64::from(other.u));
        let place = |other: Seen| self.sections.place(self.number, middle(other));
        // A little more than it takes: quotients round.
        let from = before.and_then(place).map_or(0.0, |at| (at - DOUBT).ceil());
        let to = after.and_then(place);
        let to = to.map_or(count as f64, |at| (at + DOUBT).floor() + 1.0);
        // Numbers below 0 become 0.
        let (from, to) = (from as usize, (to as usize).min(count));
        self.open.has_any(self.slot(from.min(to)), self.slot(to))
    }

    fn insert(&self, list: &mut Vec<Seen>, seen: Seen) {
        if !seen.u.is_finite() {
            return;
        }
        let at = list.partition_point(|known| known.u < seen.u);
        let (before, after) = (at.checked_sub(1).map(|b| list[b]), list.get(at).copied());
        if after.is_some_and(|known| known.u <= seen.u) || !self.matters(before, seen, after) {
            return;
        }
        if list.len() == list.capacity() {
            self.prune(list);
        }
        let at = list.partition_point(|known| known.u < seen.u);
        list.insert(at, seen);
        for other in [Some(at + 1), at.checked_sub(1)].into_iter().flatten() {
            if let Some(&known) = list.get(other) {
                let before = other.checked_sub(1).map(|b| list[b]);
                if !self.matters(before, known, list.get(other + 1).copied()) {
                    list.remove(other);
                }
            }
        }
    }

    /// Takes out the values that are nearest to no open section any more.
    fn prune(&self, list: &mut Vec<Seen>) {
        let mut kept: usize = 0;
        for at in 0..list.len() {
            let before = kept.checked_sub(1).map(|b| list[b]);
            if self.matters(before, list[at], list.get(at + 1).copied()) {
                list[kept] = list[at];
                kept += 1;
            }
        }
        list.truncate(kept);
    }

    /// Offers the open sections that were not tried, from each value outward, as long as one can be among the
    /// nearest.
    fn offer(&self, list: &[Seen], scale: f32, tried: &BitSet, nearest: &mut Nearest) {
        let mut start = 0;
        for (at, seen) in list.iter().enumerate() {
            let end = self.end_of(list, at, start);
            let own = start..end;
            start = end;
            if own.is_empty() {
                continue;
            }
            let place = self.sections.place(self.number, f64::from(seen.u));
            let here = place.map_or(0, |place| place.round() as usize);
            let here = here.clamp(own.start, own.end - 1);
            let mut offer = |section: usize| {
                let value = self.sections.excess(self.number, section, seen.u).0 / scale;
                let slot = self.slot(section);
                if !nearest.would_take(value, slot as u32) {
                    return false;
                }
                if self.open.contains(slot) && !tried.contains(slot) {
                    nearest.offer(value, slot as u32);
                }
                true
            };
            // Further ones are not nearer.
            let _ = (here..own.end).all(&mut offer);
            let _ = (own.start..here).rev().all(&mut offer);
        }
    }

    /// Where the sections end that a value is nearest to, which begin at `start`.
    fn end_of(&self, list: &[Seen], at: usize, start: usize) -> usize {
        let count = self.sections.count;
        let Some(next) = list.get(at + 1) else {
            return count;
        };
        let middle = 0.5 * (f64::from(list[at].u) + f64::from(next.u));
        let place = self.sections.place(self.number, middle);
        let mut end = place.map_or(0, |place| place.ceil() as usize);
        end = end.clamp(start, count);
        while end > start && self.nearest(list, end - 1).is_some_and(|best| best > at) {
            end -= 1;
        }
        while end < count && self.nearest(list, end).is_some_and(|best| best <= at) {
            end += 1;
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use deepconcolic_geometry::Random;

    use super::*;

    const SCALE: f32 = 0.7;

    /// Every slot against every test.
    fn brute_force(
        sections: Sections<'_>,
        open: &BitSet,
        tests: &[Vec<f32>],
    ) -> Vec<(u32, f64, usize)> {
        let best = |slot: usize| {
            let (neuron, section) = (slot / sections.count, slot % sections.count);
            let centre = sections.centre(neuron, section);
            let distance = |test: usize| (f64::from(tests[test][neuron]) - centre).abs();
            let best = (0..tests.len()).min_by(|&a, &b| distance(a).total_cmp(&distance(b)));
            best.map(|test| (slot as u32, distance(test), test))
        };
        open.iter().filter_map(best).collect()
    }

    #[test]
    fn the_values_kept_answer_as_all_values_would() {
        let mut random = Random::of(&[7]);
        for count in [1, 4, 50] {
            let (low, high) = ([-1.0, 0.0, 0.5, -0.2], [1.0, 0.3, 0.5, 3.0]);
            let sections = Sections {
                low: &low,
                high: &high,
                count,
            };
            let mut open = BitSet::new(4 * count).complement();
            let mut ranked = RankedSections::new(4);
            let mut tests: Vec<Vec<f32>> = Vec::new();
            for round in 0..12 {
                let first = tests.len();
                for _ in 0..=round % 5 {
                    let value = |n: usize| low[n] - 0.2 + random.part() * (high[n] - low[n] + 0.4);
                    tests.push((0..4).map(value).collect());
                }
                let values = tests[first..].concat();
                ranked.observe(sections, &open, &values, first);
                let all = brute_force(sections, &open, &tests);
                for &(slot, _, test) in &all {
                    assert_eq!(ranked.best(sections, &open, slot), Some(test));
                }
                let mut tried = BitSet::new(open.len());
                for slot in 0..open.len() {
                    if random.below(3) == 0 {
                        tried.insert(slot);
                    }
                }
                let mut nearest = Nearest::new(5);
                ranked.offer((sections, SCALE), &open, &tried, &mut nearest);
                let value = |&(slot, _, test): &(u32, f64, usize)| {
                    let (neuron, section) = (slot as usize / count, slot as usize % count);
                    let u = tests[test][neuron];
                    (sections.excess(neuron, section, u).0 / SCALE, slot)
                };
                let untried = all
                    .iter()
                    .filter(|(slot, ..)| !tried.contains(*slot as usize));
                let mut expected: Vec<(f32, u32)> = untried.map(value).collect();
                expected.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                let expected: Vec<u32> = expected.iter().take(5).map(|&(_, slot)| slot).collect();
                let found: Vec<u32> = nearest.sorted().iter().map(|slot| slot.slot).collect();
                assert_eq!(found, expected);
                // What is met is closed; so is some of what is not.
                for (test, values) in tests.iter().enumerate() {
                    for (neuron, &u) in values.iter().enumerate() {
                        if let Some(section) = sections.of(neuron, u) {
                            open.remove(neuron * count + section);
                        }
                        open.remove((test * 31 + neuron * 17) % open.len());
                    }
                }
            }
        }
    }

    #[test]
    fn values_between_closed_sections_are_forgotten() {
        let sections = Sections {
            low: &[0.0],
            high: &[1.0],
            count: 10,
        };
        let mut open = BitSet::new(10);
        open.insert(9);
        let mut ranked = RankedSections::new(1);
        let values: Vec<f32> = (0..1000).map(|i| i as f32 * 9e-4).collect();
        ranked.observe(sections, &open, &values, 0);
        assert!(ranked.neurons[0].len() < 4, "{:?}", ranked.neurons[0]);
        assert_eq!(ranked.best(sections, &open, 9), Some(999));
    }
}
