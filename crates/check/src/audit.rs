//! A whole suite run again from nothing: what it covers, and which tests show it.

use deepconcolic_network::{Pass, Point, Trace};
use deepconcolic_spec::Prediction;
use deepconcolic_spec::criteria::{BitSet, Change, Clearance, Look};

use crate::pair::{PairClaim, PairJudge, Standing};
use crate::witness::{Slot, Witnesses};

/// Tests run at a time.
const BATCH: usize = 64;
/// Most tests of which every two are compared for pairs that nobody claimed. The time for it grows with the
/// square of their number where values and not only signs must change.
const COMPARED: usize = 2000;

/// The tests that show a requirement to be met: the same number twice for one input.
pub type Shown = Option<(u32, u32)>;

/// What a suite shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Audit {
    /// The requirements covered, group by group, as the criterion itself counts them.
    pub covered: Vec<BitSet>,
    /// Of those, the ones covered only within the margin.
    pub fragile: Vec<BitSet>,
    /// For each slot of each group, what shows it: the first test to meet it by the margin, else the
    /// first to meet it.
    pub witnesses: Vec<Vec<Shown>>,
    /// What the network says of each test.
    pub predictions: Vec<Prediction>,
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

/// An audit under way.
struct Books {
    uncovered: Vec<BitSet>,
    infirm: Vec<BitSet>,
    witnesses: Vec<Vec<Shown>>,
}

impl Books {
    fn enter(&mut self, group: usize, slot: usize, clearance: Clearance, shown: (u32, u32)) {
        let open = match clearance {
            Clearance::Exact => &mut self.uncovered,
            Clearance::Firm => &mut self.infirm,
        };
        if open[group].contains(slot) {
            open[group].remove(slot);
            self.witnesses[group][slot] = Some(shown);
        }
    }

    fn claim(&mut self, claim: &PairClaim, standing: Standing) {
        let (group, slot) = (claim.slot.group as usize, claim.slot.slot as usize);
        let shown = (claim.first, claim.second);
        if standing != Standing::False {
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
    /// about pairs of tests are judged too; a false one is an error. Of many tests for vsc, svc and vvc only
    /// what is claimed is counted.
    pub fn audit(&self, inputs: &[f32], claims: &[PairClaim]) -> Result<Audit, String> {
        let groups = self.family.groups();
        let required: Vec<BitSet> = groups.iter().map(|group| group.void.complement()).collect();
        let mut books = Books {
            infirm: required.clone(),
            witnesses: required.iter().map(|g| vec![None; g.len()]).collect(),
            uncovered: required,
        };
        let mut predictions = Vec::new();
        let mut tally = self.family.tally();
        let mut points = self.family.points();
        if !points.contains(&Point::Logits) {
            points.push(Point::Logits);
        }
        let pass = Pass::keep(points);
        let mut trace = Trace::default();
        let each = self.network.input_elements().max(1);
        let compares = self.compares(inputs.len() / each);
        for batch in inputs.chunks(BATCH * each) {
            self.network.forward_into(batch, &pass, &mut trace);
            if compares {
                tally.observe(&trace);
            }
            for sample in 0..trace.samples() {
                let look = Look {
                    trace: &trace,
                    sample,
                    means: self.means,
                };
                self.look(look, predictions.len() as u32, &mut books);
                predictions.push(self.decision.predict(look.at(Point::Logits)));
            }
        }
        tally.finish(&|tests, points| {
            let row = |&t: &usize| &inputs[t * each..(t + 1) * each];
            let rows: Vec<f32> = tests.iter().flat_map(row).copied().collect();
            let pass = Pass::keep(points.iter().copied());
            self.network.forward(&rows, &pass)
        });
        let mut covered: Vec<BitSet> = groups
            .iter()
            .zip(tally.covered())
            .map(|(group, covered)| covered.without(&group.void))
            .collect();
        self.claims(inputs, claims, &mut books, &mut covered)?;
        self.found_pairs(inputs, &covered, tally.as_ref(), &mut books)?;
        for ((covered, uncovered), group) in covered.iter().zip(&books.uncovered).zip(groups) {
            if *covered != uncovered.complement().without(&group.void) {
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
        })
    }

    /// Whether a suite of so many tests is counted as a whole. If not, only what is claimed counts.
    fn compares(&self, tests: usize) -> bool {
        let signs = (Change::Sign, Change::Sign);
        let pairs = self.family.pairs();
        pairs.is_none_or(|pairs| pairs.changes() == signs) || tests <= COMPARED
    }

    fn look(&self, look: Look<'_>, test: u32, books: &mut Books) {
        let Some(guide) = self.guide else {
            return;
        };
        for clearance in [Clearance::Exact, Clearance::Firm] {
            let open = match clearance {
                Clearance::Exact => &books.uncovered,
                Clearance::Firm => &books.infirm,
            };
            let mut met = Vec::new();
            guide.met(look, open, clearance, &mut |g, s| met.push((g, s)));
            for (group, slot) in met {
                books.enter(group, slot, clearance, (test, test));
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
            units: &self.space.units,
            means: self.means,
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
            covered[claim.slot.group as usize].insert(claim.slot.slot as usize);
            books.claim(claim, standing);
        }
        Ok(())
    }

    /// Pairs that tests make without anybody having claimed it.
    fn found_pairs(
        &self,
        inputs: &[f32],
        covered: &[BitSet],
        tally: &dyn deepconcolic_spec::criteria::Tally,
        books: &mut Books,
    ) -> Result<(), String> {
        if self.guide.is_some() {
            return Ok(());
        }
        let mut found = Vec::new();
        for (group, covered) in covered.iter().enumerate() {
            for slot in covered.iter() {
                if books.uncovered[group].contains(slot)
                    && let Some((first, second)) = tally.shown_by(group, slot)
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
