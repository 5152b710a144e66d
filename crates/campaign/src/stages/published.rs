//! The rules of the tool that was published with the paper: which neuron is aimed at from which test.
//!
//! Of all uncovered neurons and all tests, the pair with the largest `c_k / |u|` is tried, where `c_k` is one over the layer's
//! mean |u|. Only the pair is struck when it fails, not the neuron. Nothing is random.

use std::collections::HashSet;

use deepconcolic_check::Slot;
use deepconcolic_engines::{Effort, PublishedProgram};
use deepconcolic_language::{Formula, Input};
use deepconcolic_network::{BitSet, Network, Pass, Point, Trace};

use super::{Proposal, Proposals, StageSetting};
use crate::campaign::Subject;
use crate::limits::{Limits, Passes};
use crate::suite::Suite;

/// Tests run at a time.
const BATCH: usize = 32;
/// Tests remembered for each neuron, the nearest; the others are run again when these are used up.
const REMEMBERED: usize = 16;

/// Whether the published tool knows what is asked: every hidden neuron active, without a radius, in L-infinity.
pub(crate) fn can_be_published(subject: &Subject) -> Result<(), String> {
    let only = |what: &str| Err(format!("the published tool's rules are for {what}"));
    let family = subject.family.as_ref();
    for (group, of) in family.groups().iter().enumerate() {
        let Some(slot) = (0..of.slots()).find(|&slot| !of.not_required.contains(slot)) else {
            continue;
        };
        let active = of
            .layer
            .map(|layer| Formula::active(Input::First, layer + 2, slot));
        let asked = family.requirement(group, slot).map(|asked| asked.goal());
        if active.is_none() || asked.ok() != active {
            return only("--criterion nc without a threshold");
        }
    }
    if !subject.space.norm.is_box() || subject.space.radius().is_some() {
        return only("--norm linf and --radius none");
    }
    if subject.space.has_grid() {
        return only("inputs that are not rounded: leave --quantise and --integer out");
    }
    Ok(())
}

/// What the rules remember between rounds. Only what was struck is part of a campaign's state; the rest is found
/// again from the suite.
#[derive(Default)]
pub(super) struct Memory {
    program: Option<Result<PublishedProgram, String>>,
    struck: HashSet<(Slot, usize)>,
    candidates: Candidates,
}

/// A neuron aimed at from a test.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pair {
    slot: Slot,
    layer: usize,
    test: usize,
}

impl Memory {
    /// These pairs are not tried again.
    pub fn strike(&mut self, slots: &[Slot], tests: &[usize]) {
        self.struck
            .extend(slots.iter().copied().zip(tests.iter().copied()));
    }

    /// One step. Nothing tried means that every pair was.
    pub fn propose(
        &mut self,
        setting: &StageSetting<'_>,
        passes: &mut Passes,
        limits: &Limits<'_>,
    ) -> Option<Proposals> {
        let network = setting.context.network;
        let program = self
            .program
            .get_or_insert_with(|| PublishedProgram::of(network));
        let program = match program {
            Ok(program) => program,
            Err(why) => {
                return Some(Proposals {
                    reasons: vec![why.clone()],
                    ..Proposals::default()
                });
            }
        };
        // What the ranking costs a campaign that was never stopped, and the run that confirms.
        passes.forward += 1;
        if limits.left(*passes) == 0 {
            return None;
        }
        self.candidates.update(setting, &self.struck);
        let Some(pair) = self.candidates.nearest(setting, &self.struck) else {
            return Some(Proposals::default());
        };
        let test = &setting.suite.tests()[pair.test];
        let mut effort = Effort::default();
        let made = program.step(
            (network, setting.space),
            &test.input,
            (pair.layer, pair.slot.slot as usize),
            &limits.budget(None, None),
            &mut effort,
        );
        passes.spend(effort);
        if made.is_none() && limits.is_over() {
            // Cut off, it says nothing of the pair, which is tried again when the run goes on.
            return None;
        }
        let single = made.into_iter().map(|input| Proposal {
            input,
            root: test.provenance.root,
            parent: pair.test,
        });
        Some(Proposals {
            single: single.collect(),
            tried: vec![pair.slot],
            starts: vec![pair.test],
            ..Proposals::default()
        })
    }
}

/// For each uncovered neuron the tests on which it is nearest to active.
#[derive(Default)]
struct Candidates {
    /// Group by group, slot by slot.
    groups: Vec<Vec<Nearest>>,
    /// Tests taken into account.
    tests: usize,
}

/// The nearest tests of one neuron.
#[derive(Clone)]
struct Nearest {
    /// |u| and the test, nearest first; of equals, the earlier test first.
    tests: Vec<(f32, u32)>,
    /// Whether there was no room for some. These come after all that are remembered: tests are entered in their order,
    /// and what gives way is the last.
    forgot: bool,
}

impl Nearest {
    const NONE: Self = Self {
        tests: Vec::new(),
        forgot: false,
    };

    fn enter(&mut self, size: f32, test: u32) {
        let at = self.tests.partition_point(|&(known, _)| known <= size);
        self.tests.insert(at, (size, test));
        if self.tests.len() > REMEMBERED {
            self.tests.pop();
            self.forgot = true;
        }
    }

    /// The first that is not struck, among those remembered.
    fn first(&self, is_struck: impl Fn(u32) -> bool) -> Option<(f32, u32)> {
        let mut left = self.tests.iter();
        left.find(|(_, test)| !is_struck(*test)).copied()
    }
}

impl Candidates {
    /// Takes in the tests that are new to the suite.
    fn update(&mut self, setting: &StageSetting<'_>, struck: &HashSet<(Slot, usize)>) {
        if self.groups.is_empty() {
            let sizes = setting.uncovered.iter().map(BitSet::len);
            self.groups = sizes.map(|slots| vec![Nearest::NONE; slots]).collect();
        }
        let tests = setting.suite.len();
        let wanted: Vec<Vec<usize>> = (setting.uncovered.iter())
            .map(|uncovered| uncovered.iter().collect())
            .collect();
        self.observe(setting, &wanted, self.tests..tests, struck);
        self.tests = tests;
    }

    fn observe(
        &mut self,
        setting: &StageSetting<'_>,
        wanted: &[Vec<usize>],
        tests: std::ops::Range<usize>,
        struck: &HashSet<(Slot, usize)>,
    ) {
        let network = setting.context.network;
        let pass = Pass::keep(setting.context.family.points());
        let mut trace = Trace::default();
        let mut first = tests.start;
        while first < tests.end {
            let count = BATCH.min(tests.end - first);
            run(
                network,
                setting.suite,
                first..first + count,
                &pass,
                &mut trace,
            );
            for (group, slots) in wanted.iter().enumerate() {
                let Some(layer) = setting.context.family.groups()[group].layer else {
                    continue;
                };
                for sample in 0..count {
                    let u = trace.sample(Point::Pre(layer), sample);
                    for &slot in slots {
                        let name = Slot {
                            group: group as u32,
                            slot: slot as u32,
                        };
                        if !struck.contains(&(name, first + sample)) {
                            let size = u[slot].abs();
                            self.groups[group][slot].enter(size, (first + sample) as u32);
                        }
                    }
                }
            }
            first += count;
        }
    }

    /// The pair with the largest `c_k / |u|`; of equals the shallower layer, the earlier test, the lowest index as the
    /// tensor is stored, channels last.
    fn nearest(
        &mut self,
        setting: &StageSetting<'_>,
        struck: &HashSet<(Slot, usize)>,
    ) -> Option<Pair> {
        let network = setting.context.network;
        let mut best: Option<((f64, usize, u32, usize), Pair)> = None;
        for group in 0..self.groups.len() {
            let Some(layer) = setting.context.family.groups()[group].layer else {
                continue;
            };
            let scale = setting.context.means.scale(layer + 2);
            for slot in setting.uncovered[group].iter() {
                let name = Slot {
                    group: group as u32,
                    slot: slot as u32,
                };
                let Some((size, test)) = self.first(setting, name, struck) else {
                    continue;
                };
                let order = network.element(Point::Pre(layer), slot).index;
                let key = (scale * f64::from(size), layer, test, order);
                if best.is_none_or(|(known, _)| key < known) {
                    let pair = Pair {
                        slot: name,
                        layer,
                        test: test as usize,
                    };
                    best = Some((key, pair));
                }
            }
        }
        best.map(|(_, pair)| pair)
    }

    /// The nearest test of a neuron that is not struck; all tests are run again where those remembered are struck and
    /// others were forgotten.
    fn first(
        &mut self,
        setting: &StageSetting<'_>,
        slot: Slot,
        struck: &HashSet<(Slot, usize)>,
    ) -> Option<(f32, u32)> {
        let (group, number) = (slot.group as usize, slot.slot as usize);
        let is_struck = |test: u32| struck.contains(&(slot, test as usize));
        let known = &self.groups[group][number];
        let found = known.first(is_struck);
        if found.is_some() || !known.forgot {
            return found;
        }
        self.groups[group][number] = Nearest::NONE;
        let mut wanted = vec![Vec::new(); self.groups.len()];
        wanted[group] = vec![number];
        self.observe(setting, &wanted, 0..self.tests, struck);
        let again = &self.groups[group][number];
        again.tests.first().copied()
    }
}

fn run(
    network: &Network,
    suite: &Suite,
    tests: std::ops::Range<usize>,
    pass: &Pass,
    trace: &mut Trace<f32>,
) {
    let tests = &suite.tests()[tests];
    let inputs: Vec<f32> = tests.iter().flat_map(|test| &test.input).copied().collect();
    network.forward_into(&inputs, pass, trace);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All tests by |u|, the earlier first of equals.
    fn sorted(sizes: &[f32]) -> Vec<(f32, u32)> {
        let mut all: Vec<(f32, u32)> = sizes.iter().copied().zip(0..).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all
    }

    #[test]
    fn what_is_remembered_comes_before_what_was_forgotten() {
        // Sizes that come again, as those of neurons that see a margin do.
        let sizes: Vec<f32> = (0..200).map(|test| ((test * 37) % 23) as f32).collect();
        let mut nearest = Nearest::NONE;
        for (test, &size) in (0..).zip(&sizes) {
            nearest.enter(size, test);
            let all = sorted(&sizes[..=test as usize]);
            assert_eq!(nearest.tests, all[..all.len().min(REMEMBERED)]);
            assert_eq!(nearest.forgot, all.len() > REMEMBERED);
        }
        let all = sorted(&sizes);
        for struck in 0..=REMEMBERED {
            let is_struck = |test: u32| all[..struck].iter().any(|known| known.1 == test);
            let left = all.get(struck).filter(|_| struck < REMEMBERED);
            assert_eq!(nearest.first(is_struck), left.copied());
        }
    }

    #[test]
    fn of_equally_near_tests_the_earlier_comes_first() {
        let mut nearest = Nearest::NONE;
        for test in [3, 5, 4] {
            nearest.enter(1.0, test);
        }
        assert_eq!(nearest.first(|_| false), Some((1.0, 3)));
    }
}
