//! A whole suite run again from nothing: what it covers, and which test shows it.

use deepconcolic_network::{Pass, Point, Trace, label};
use deepconcolic_spec::criteria::{BitSet, Clearance, Group, Look};

use crate::witness::Witnesses;

/// Tests run at a time.
const BATCH: usize = 64;

/// What a suite shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Audit {
    /// The requirements covered, group by group, as the criterion itself counts them.
    pub covered: Vec<BitSet>,
    /// Of those, the ones covered only within the margin.
    pub fragile: Vec<BitSet>,
    /// For each slot of each group, the test that shows it: the first to meet it by the margin,
    /// else the first to meet it.
    pub witnesses: Vec<Vec<Option<u32>>>,
    /// The label that the network gives each test.
    pub labels: Vec<usize>,
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

impl Witnesses<'_> {
    /// Runs all tests, given one after the other, and measures them twice: once as a whole by the
    /// criterion's own count, and once test by test for the witnesses. The two must agree.
    pub fn audit(&self, inputs: &[f32]) -> Result<Audit, String> {
        let required = |group: &Group| group.void.complement();
        let mut uncovered: Vec<BitSet> = self.family.groups().iter().map(required).collect();
        let mut infirm = uncovered.clone();
        let mut witnesses: Vec<Vec<Option<u32>>> = uncovered
            .iter()
            .map(|group| vec![None; group.len()])
            .collect();
        let mut labels = Vec::new();
        let mut tally = self.family.tally();
        let mut points = self.family.points();
        if !points.contains(&Point::Logits) {
            points.push(Point::Logits);
        }
        let pass = Pass::keep(points);
        let mut trace = Trace::default();
        let each = self.network.input_elements().max(1);
        for batch in inputs.chunks(BATCH * each) {
            self.network.forward_into(batch, &pass, &mut trace);
            tally.observe(&trace);
            for sample in 0..trace.samples() {
                let look = Look {
                    trace: &trace,
                    sample,
                    means: self.means,
                };
                let test = labels.len() as u32;
                labels.push(label(look.at(Point::Logits)));
                for (open, clearance) in [
                    (&mut uncovered, Clearance::Exact),
                    (&mut infirm, Clearance::Firm),
                ] {
                    let mut met = Vec::new();
                    self.guide
                        .met(look, open, clearance, &mut |g, s| met.push((g, s)));
                    for (group, slot) in met {
                        open[group].remove(slot);
                        witnesses[group][slot] = Some(test);
                    }
                }
            }
        }
        let covered: Vec<BitSet> = self
            .family
            .groups()
            .iter()
            .zip(tally.covered())
            .map(|(group, covered)| covered.without(&group.void))
            .collect();
        let agree = covered.iter().zip(&uncovered).zip(self.family.groups());
        for ((covered, uncovered), group) in agree {
            if *covered != uncovered.complement().without(&group.void) {
                return Err("counting and judging the suite disagree".into());
            }
        }
        let fragile = covered
            .iter()
            .zip(&infirm)
            .map(|(covered, infirm)| covered.without(&infirm.complement()))
            .collect();
        Ok(Audit {
            covered,
            fragile,
            witnesses,
            labels,
        })
    }
}
