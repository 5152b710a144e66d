//! The slopes of `run.json` and `lipschitz.csv`: every ratio from the two tests named, in arithmetic of the
//! checker's own.

use deepconcolic_check::{PairClaim, Slot};
use deepconcolic_record::{SlopeSummary, constants, csv};

use super::RunFindings;
use super::left_out::Halt;
use super::opened::Opened;
use crate::conclude::slopes::{FoundSlope, RANDOM_PAIRS, Regions, is_all_ratios};
use crate::error::Error;
use crate::folder::{self, SLOPES};
use crate::prove::SlopeBounds;

/// What the tests named, the certificates and as many random pairs show of every region.
pub fn judge(
    opened: &Opened,
    bounds: &SlopeBounds,
    report: &mut RunFindings,
) -> Result<Vec<SlopeSummary>, Halt> {
    let regions = regions(opened);
    let slots = regions.slots();
    if slots.is_empty() {
        return Ok(Vec::new());
    }
    let claimed = &opened.summary.lipschitz;
    if claimed.len() != slots.len() {
        report.differs(folder::SUMMARY, "lipschitz", claimed.len(), slots.len());
        return Ok(Vec::new());
    }
    let found: Vec<FoundSlope> = slots
        .iter()
        .zip(claimed)
        .map(|(&slot, claimed)| found(opened, slot, claimed))
        .collect();
    let pairs = random_pairs(opened, slots.len());
    let random = regions
        .random(pairs, &opened.limits())
        .filter(|_| pairs > 0);
    opened.in_time()?;
    let random = random.unwrap_or_default();
    let known = |slot: usize| {
        slots
            .iter()
            .position(|&s| s == slot)
            .and_then(|at| found[at])
    };
    let summaries = regions.summaries(&known, bounds, &random);
    let refuted = found.iter().flatten().count();
    report.done.push(format!(
        "slopes of {refuted} pairs of tests computed again in double precision, less what rounding can add; {pairs} \
         random pairs a region drawn again"
    ));
    report.unverified.push(
        "run.json: that no steeper pair is known, and that there was time for no more random pairs (lipschitz, \
         baseline.random_inputs, baseline.random_pairs)"
            .into(),
    );
    Ok(summaries)
}

pub fn regions(opened: &Opened) -> Regions<'_> {
    Regions {
        network: &opened.network,
        family: opened.family.as_ref(),
        space: &opened.space,
        seeds: &opened.seeds,
        rng_seed: opened.settings.rng_seed,
    }
}

/// How many random pairs a region the run drew, as it says.
fn random_pairs(opened: &Opened, regions: usize) -> usize {
    let baseline = &opened.summary.baseline;
    let pairs = if is_all_ratios(opened.family.as_ref()) {
        baseline.random_inputs / 2 / regions.max(1)
    } else {
        baseline.random_pairs.unwrap_or_default()
    };
    pairs.min(RANDOM_PAIRS)
}

/// The slope between the two tests that a region names, if it names two that lie in it.
fn found(opened: &Opened, slot: usize, claimed: &SlopeSummary) -> FoundSlope {
    let tests = opened.suite.len();
    let test = |number: i64| u32::try_from(number).ok().filter(|&n| (n as usize) < tests);
    let (first, second) = (test(claimed.test)?, test(claimed.test2)?);
    let (group, _) = opened.family.ratios()?;
    let claim = PairClaim {
        slot: Slot {
            group: group as u32,
            slot: slot as u32,
        },
        first,
        second,
    };
    let input = |test: u32| opened.input(test as usize);
    let slopes = opened.pairs().slopes(&[claim], &input);
    Some((first, second, slopes.first().copied().flatten()?))
}

/// `lipschitz.csv`, as it follows from the regions.
pub fn table(
    opened: &Opened,
    found: &[SlopeSummary],
    report: &mut RunFindings,
) -> Result<(), Error> {
    let path = opened.dir.join(SLOPES);
    if found.is_empty() {
        if path.exists() {
            report.differs(SLOPES, "file", "slopes", "a criterion without them");
        }
        return Ok(());
    }
    let what = "the counts of constants";
    super::figures::lines((SLOPES, what), &path, &csv(&constants(found)), report);
    Ok(())
}
