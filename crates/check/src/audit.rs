//! A whole suite run again from nothing: what it covers, and which tests show it.

use deepconcolic_criteria::{Change, Clearance, Guide, Prediction, SampleView, Tally};
use deepconcolic_geometry::Together;
use deepconcolic_network::{BitSet, Pass, Point, Trace};
use rayon::prelude::*;

use crate::pair::{PairClaim, PairJudge, Standing};
use crate::witness::{Slot, Witnesses};

/// Tests run at a time.
const BATCH: usize = 64;
/// Tests that are looked at before what they meet is entered: a test of a large network meets many thousands of sections.
const LOOKED: usize = 8;
/// Most tests of which every two are compared for pairs that nobody claimed. The time for it grows with the
/// square of their number where values and not only signs must change.
const COMPARED: usize = 2000;

/// The tests that show a requirement to be met: the same number twice for one input.
pub type Shown = Option<(u32, u32)>;

/// For each slot of a group, the tests that show it. Most requirements are shown by one test alone: 4 bytes a slot.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownBy {
    first: Vec<u32>,
    /// Of slots that two tests show together; empty if there are none.
    second: Vec<u32>,
}

impl ShownBy {
    const NOBODY: u32 = u32::MAX;

    fn nothing(slots: usize) -> Self {
        Self {
            first: vec![Self::NOBODY; slots],
            second: Vec::new(),
        }
    }

    fn set(&mut self, slot: usize, (first, second): (u32, u32)) {
        if second != first && self.second.is_empty() {
            self.second.clone_from(&self.first);
        }
        self.first[slot] = first;
        if let Some(known) = self.second.get_mut(slot) {
            *known = second;
        }
    }

    /// What shows a slot.
    pub fn get(&self, slot: usize) -> Shown {
        let first = self.first[slot];
        let second = self.second.get(slot).copied().unwrap_or(first);
        (first != Self::NOBODY).then_some((first, second))
    }
}

/// The least and the largest u that tests show of each neuron of a hidden layer, numbered from 0.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenLayer {
    /// The layer.
    pub layer: usize,
    /// The least u of each neuron.
    pub low: Vec<f32>,
    /// The largest.
    pub high: Vec<f32>,
}

impl SeenLayer {
    fn nothing(layer: usize, neurons: usize) -> Self {
        Self {
            layer,
            low: vec![f32::INFINITY; neurons],
            high: vec![f32::NEG_INFINITY; neurons],
        }
    }

    /// Takes values in, a test after the other.
    fn observe(&mut self, values: &[f32]) {
        for test in values.chunks_exact(self.low.len().max(1)) {
            let ends = self.low.iter_mut().zip(&mut self.high);
            for ((low, high), &u) in ends.zip(test) {
                *low = low.min(u);
                *high = high.max(u);
            }
        }
    }
}

/// What a suite shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Audit {
    /// The requirements covered, group by group, as the criterion itself counts them.
    pub covered: Vec<BitSet>,
    /// Of those, the ones covered only within the margin.
    pub fragile: Vec<BitSet>,
    /// For each slot of each group, what shows it: the first test to meet it by the margin, else the
    /// first to meet it.
    pub witnesses: Vec<ShownBy>,
    /// What the network says of each test.
    pub predictions: Vec<Prediction>,
    /// What all tests show of the layers that requirements look at before their activation, in the order of the layers.
    pub seen: Vec<SeenLayer>,
}

impl Audit {
    /// Requirements covered.
    pub fn covered_count(&self) -> usize {
        self.covered.iter().map(BitSet::count).sum()
    }

    /// Requirements covered only within the margin.
    pub fn fragile_count(&self) -> usize {
        self.fragile.iter().map(BitSet::count).sum()
    }
}

/// Tests with what the network answers to each.
struct Tests<'a> {
    inputs: &'a [f32],
    each: usize,
    predictions: Vec<Option<Prediction>>,
    seen: Vec<SeenLayer>,
}

impl<'a> Tests<'a> {
    fn input(&self, test: usize) -> &'a [f32] {
        &self.inputs[test * self.each..(test + 1) * self.each]
    }
}

/// The numbers of the tests that count, all answers, and what is seen of neurons.
type RunAgain = (Vec<usize>, Vec<Prediction>, Vec<SeenLayer>);

/// An audit under way.
struct Books {
    uncovered: Vec<BitSet>,
    infirm: Vec<BitSet>,
    witnesses: Vec<ShownBy>,
}

/// An open requirement that a test meets: how clearly, its group and its slot.
type Met = (Clearance, u32, u32);

impl Books {
    /// What is open and met by a test: exactly first, then by the margin.
    fn met(&self, guide: &dyn Guide, look: SampleView<'_>) -> Vec<Met> {
        let mut met = Vec::new();
        for (clearance, open) in [
            (Clearance::Exact, &self.uncovered),
            (Clearance::Firm, &self.infirm),
        ] {
            guide.met(look, open, clearance, &mut |group, slot| {
                met.push((clearance, group as u32, slot as u32));
            });
        }
        met
    }

    fn enter(&mut self, group: usize, slot: usize, clearance: Clearance, shown: (u32, u32)) {
        let open = match clearance {
            Clearance::Exact => &mut self.uncovered,
            Clearance::Firm => &mut self.infirm,
        };
        if open[group].contains(slot) {
            open[group].remove(slot);
            self.witnesses[group].set(slot, shown);
        }
    }

    fn claim(&mut self, claim: &PairClaim, standing: Standing) {
        let (group, slot) = (claim.slot.group as usize, claim.slot.slot as usize);
        let shown = (claim.first, claim.second);
        if standing >= Standing::Fragile {
            self.enter(group, slot, Clearance::Exact, shown);
        }
        if standing == Standing::Firm {
            self.enter(group, slot, Clearance::Firm, shown);
        }
    }
}

impl Witnesses<'_> {
    /// Runs all tests, given one after the other, and measures them twice: once as a whole by the
    /// criterion's own count, and once test by test for the witnesses. The two must agree. Claims
    /// about pairs of tests are judged too; a false one is an error, and so is that time is up. Of many tests for vsc, svc
    /// and vvc only what is claimed is counted.
    pub fn audit(&self, inputs: &[f32], claims: &[PairClaim]) -> Result<Audit, String> {
        let groups = self.family.groups();
        let required: Vec<BitSet> = groups
            .iter()
            .map(|group| group.not_required.complement())
            .collect();
        let mut books = Books {
            infirm: required.clone(),
            witnesses: required.iter().map(|g| ShownBy::nothing(g.len())).collect(),
            uncovered: required,
        };
        let each = self.network.input_elements().max(1);
        let tests = Tests {
            inputs,
            each,
            predictions: vec![None; inputs.len() / each],
            seen: self.looked_at(),
        };
        let count = tests.predictions.len();
        let mut tally = self
            .family
            .tally_of(&|group| self.is_compared(group, count));
        let (counting, predictions, seen) = self.run_all(tests, tally.as_mut(), &mut books)?;
        let rows = |numbers: &[usize]| -> Vec<f32> {
            let row = |&n: &usize| &inputs[counting[n] * each..(counting[n] + 1) * each];
            numbers.iter().flat_map(row).copied().collect()
        };
        let together = if self.family.has_pairs() {
            let all: Vec<usize> = (0..counting.len()).collect();
            Together::of(self.space, self.seeds, &rows(&all))
        } else {
            Together::any()
        };
        let rerun = |numbers: &[usize], points: &[Point]| {
            let pass = Pass::keep(points.iter().copied());
            self.network.forward(&rows(numbers), &pass)
        };
        tally.finish(&rerun, &together);
        let mut covered: Vec<BitSet> = groups
            .iter()
            .zip(tally.covered())
            .map(|(group, covered)| covered.without(&group.not_required))
            .collect();
        self.claims(inputs, claims, &mut books, &mut covered)?;
        let shown_by = |group: usize, slot: usize| {
            let (first, second) = tally.shown_by(group, slot)?;
            Some((counting[first], counting[second]))
        };
        self.found_pairs(inputs, &covered, &shown_by, &mut books)?;
        for ((covered, uncovered), group) in covered.iter().zip(&books.uncovered).zip(groups) {
            if *covered != uncovered.complement().without(&group.not_required) {
                return Err("counting and judging the suite disagree".into());
            }
        }
        let fragile = covered
            .iter()
            .zip(&books.infirm)
            .map(|(covered, infirm)| covered.without(&infirm.complement()))
            .collect();
        Ok(Audit {
            covered,
            fragile,
            witnesses: books.witnesses,
            predictions,
            seen,
        })
    }

    /// The layers whose u is looked at, of which nothing is seen yet.
    fn looked_at(&self) -> Vec<SeenLayer> {
        let points = self.family.points().into_iter();
        let layers = points.filter_map(|point| match point {
            Point::Pre(layer) => Some(layer),
            _ => None,
        });
        let mut layers: Vec<usize> = layers.collect();
        layers.sort_unstable();
        layers.dedup();
        let seen = |layer: usize| {
            let neurons = self.network.layers()[layer].neurons();
            SeenLayer::nothing(layer, neurons)
        };
        layers.into_iter().map(seen).collect()
    }

    /// Runs every test. What lies in the search region is counted, as a whole and test by test; a seed
    /// outside the boxes of a region has an answer and counts for nothing. Returns the numbers of the
    /// tests that count, all answers, and what is seen of neurons.
    fn run_all(
        &self,
        mut tests: Tests<'_>,
        tally: &mut dyn Tally,
        books: &mut Books,
    ) -> Result<RunAgain, String> {
        let all = 0..tests.predictions.len();
        let (counting, others): (Vec<usize>, Vec<usize>) =
            all.partition(|&test| self.space.has(tests.input(test)));
        let mut points = self.family.points();
        if !points.contains(&Point::Logits) {
            points.push(Point::Logits);
        }
        let pass = Pass::keep(points);
        let mut trace = Trace::default();
        for (numbers, counts) in [(&counting, true), (&others, false)] {
            for batch in numbers.chunks(BATCH) {
                self.until.go_on().map_err(|e| e.to_string())?;
                let inputs: Vec<f32> = batch
                    .iter()
                    .flat_map(|&t| tests.input(t))
                    .copied()
                    .collect();
                self.network.forward_into(&inputs, &pass, &mut trace);
                for seen in &mut tests.seen {
                    seen.observe(trace.get(Point::Pre(seen.layer)));
                }
                if counts {
                    tally.observe(&trace);
                }
                let view = |sample: usize| SampleView {
                    trace: &trace,
                    sample,
                    means: self.means,
                };
                if counts {
                    self.look(&view, batch, books);
                }
                for (sample, &test) in batch.iter().enumerate() {
                    let logits = view(sample).at(Point::Logits);
                    tests.predictions[test] = Some(self.decision.predict(logits));
                }
            }
        }
        // Every test is in one of the two lists.
        let predictions = tests.predictions.into_iter().flatten().collect();
        Ok((counting, predictions, tests.seen))
    }

    /// Whether a group is counted over a suite of so many tests as a whole. If not, only what is claimed counts.
    fn is_compared(&self, group: usize, tests: usize) -> bool {
        // A ratio counts as it is certain, which is not how data are counted.
        if self.family.is_about_ratios(group) {
            return false;
        }
        let signs = (Change::Sign, Change::Sign);
        let pairs = self.family.pairs(group);
        pairs.is_none_or(|pairs| pairs.changes() == signs) || tests <= COMPARED
    }

    /// Enters what the tests of a batch meet: looked up for some at a time on all threads, entered in their order.
    fn look<'t>(
        &self,
        view: &(dyn Fn(usize) -> SampleView<'t> + Sync),
        batch: &[usize],
        books: &mut Books,
    ) {
        let Some(guide) = self.guide else {
            return;
        };
        let samples: Vec<usize> = (0..batch.len()).collect();
        for samples in samples.chunks(LOOKED) {
            let met: Vec<Vec<Met>> = samples
                .par_iter()
                .map(|&sample| books.met(guide, view(sample)))
                .collect();
            for (&sample, met) in samples.iter().zip(met) {
                let test = batch[sample] as u32;
                for (clearance, group, slot) in met {
                    let (group, slot) = (group as usize, slot as usize);
                    books.enter(group, slot, clearance, (test, test));
                }
            }
        }
    }

    fn judge(&self, inputs: &[f32], claims: &[PairClaim]) -> Result<Vec<Standing>, String> {
        let each = self.network.input_elements().max(1);
        let tests = inputs.len() / each;
        let known = |c: &PairClaim| (c.first.max(c.second) as usize) < tests;
        if !claims.iter().all(known) {
            return Err("a claim names a test that is not in the suite".into());
        }
        let judge = PairJudge {
            network: self.network,
            family: self.family,
            space: self.space,
            seeds: self.seeds,
            means: self.means,
            until: self.until,
        };
        judge.judge(claims, &|test| {
            &inputs[test as usize * each..(test as usize + 1) * each]
        })
    }

    fn claims(
        &self,
        inputs: &[f32],
        claims: &[PairClaim],
        books: &mut Books,
        covered: &mut [BitSet],
    ) -> Result<(), String> {
        let standings = self.judge(inputs, claims)?;
        for (claim, standing) in claims.iter().zip(standings) {
            if standing == Standing::False {
                return Err(format!(
                    "tests {} and {} do not meet what is claimed for them",
                    claim.first, claim.second
                ));
            }
            if standing >= Standing::Fragile {
                covered[claim.slot.group as usize].insert(claim.slot.slot as usize);
            }
            books.claim(claim, standing);
        }
        Ok(())
    }

    /// Pairs that tests make without anybody having claimed it.
    fn found_pairs(
        &self,
        inputs: &[f32],
        covered: &[BitSet],
        shown_by: &dyn Fn(usize, usize) -> Option<(usize, usize)>,
        books: &mut Books,
    ) -> Result<(), String> {
        let mut found = Vec::new();
        for (group, covered) in covered.iter().enumerate() {
            if self.guide.is_some() && self.family.pairs(group).is_none() {
                continue;
            }
            for slot in covered.iter() {
                if books.uncovered[group].contains(slot)
                    && let Some((first, second)) = shown_by(group, slot)
                {
                    found.push(PairClaim {
                        slot: Slot {
                            group: group as u32,
                            slot: slot as u32,
                        },
                        first: first as u32,
                        second: second as u32,
                    });
                }
            }
        }
        let standings = self.judge(inputs, &found)?;
        for (claim, standing) in found.iter().zip(standings) {
            books.claim(claim, standing);
        }
        Ok(())
    }
}
