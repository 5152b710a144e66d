//! `--minimise`: for every requirement on one input that no seed covers already the nearest witness found, with the certified
//! optimum of the cell it lies in.
//!
//! The suite stays as it is: the nearest witnesses are for whoever asks how little it takes, and have a
//! file of their own, `nearest.npz`: `row` (of requirements.npz), `x`, `root`, `distance`, `bound` (a lower
//! bound on the distance of every witness in its cell, NaN if none).

use std::fmt;
use std::path::Path;

use deepconcolic_campaign::{Limits, Seeds};
use deepconcolic_check::{Claim, Witnesses};
use deepconcolic_dataset::write::NpzWriter;
use deepconcolic_engines::{Budget, Effort, Goal, Margin, Origin, named};
use deepconcolic_network::BitSet;
use deepconcolic_record::{RequirementTable, SuiteTable};
use rayon::prelude::*;

use crate::error::Error;

/// The engines that find the nearest witness, the first that can, and the passes that a requirement may cost
/// each: one that counts changes tries pixel by pixel.
const ENGINES: [(&str, usize); 2] = [("nearest", 400), ("l0", 4000)];
/// Requirements worked on between two looks at the clock.
const BATCH: usize = 16;

/// A witness, and how near one can be.
#[derive(Clone, Debug)]
pub struct Near {
    /// Row of the requirement.
    pub row: usize,
    /// The input.
    pub input: Vec<f32>,
    /// Its root seed, by its number in the data.
    pub root: i64,
    /// How far from there it is.
    pub distance: f64,
    /// No witness in its cell is nearer than this.
    pub bound: Option<f64>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Minimised {
    /// The witnesses, by row.
    pub found: Vec<Near>,
    /// Requirements that were looked at.
    pub looked: usize,
    /// All that tests other than seeds cover.
    pub covered: usize,
    /// Those of them that no engine looks for.
    pub beyond: usize,
    /// Witnesses nearer than the suite's.
    pub nearer: usize,
    /// The median distance of the suite's witnesses.
    pub before: Option<f64>,
    /// That of the nearest ones.
    pub after: Option<f64>,
    /// What it cost.
    pub effort: Effort,
}

impl fmt::Display for Minimised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(before), Some(after)) = (self.before, self.after) else {
            return match self.covered {
                0 => f.write_str("nearest witnesses: seeds cover all that is covered"),
                covered => write!(f, "nearest witnesses: no time for any of {covered}"),
            };
        };
        write!(
            f,
            "nearest witnesses of {} of {} requirements that seeds do not cover, {} nearer than the \
             suite's; median distance {after:.4} instead of {before:.4}",
            self.looked, self.covered, self.nearer
        )?;
        match self.beyond {
            0 => Ok(()),
            beyond => write!(f, "; no engine looks for nearer ones of {beyond} of them"),
        }
    }
}

/// Searches until it is done or time is up.
pub fn minimise(
    witnesses: &Witnesses<'_>,
    seeds: &Seeds,
    suite: &SuiteTable,
    table: &RequirementTable,
    limits: &Limits<'_>,
) -> Minimised {
    // What a seed covers needs no change at all.
    let mut rows: Vec<usize> = (0..table.state.len())
        .filter(|&row| table.test[row] >= 0 && table.test2[row] < 0)
        .filter(|&row| suite.distance[table.test[row] as usize] > 0.0)
        .collect();
    // In no order of layers, so that medians mean something however far time reaches.
    rows.sort_unstable_by_key(|&row| scattered(row));
    let mut effort = Effort::default();
    let mut found: Vec<Near> = Vec::new();
    let mut looked = 0;
    let mut beyond = 0;
    let mut nearer = 0;
    let mut before = Vec::new();
    for batch in rows.chunks(BATCH) {
        if limits.is_late() || limits.is_interrupted() {
            break;
        }
        let results: Vec<Option<(Effort, Option<Near>)>> = batch
            .par_iter()
            .map(|&row| near(witnesses, seeds, suite, table, row, limits))
            .collect();
        looked += batch.len();
        for (&row, result) in batch.iter().zip(results) {
            beyond += usize::from(result.is_none());
            let (spent, near) = result.unwrap_or_default();
            effort += spent;
            let at = table.test[row] as usize;
            let known = f64::from(suite.distance[at]);
            before.push(known);
            let near = near.filter(|near| near.distance < known);
            nearer += usize::from(near.is_some());
            found.push(near.unwrap_or_else(|| Near {
                row,
                input: input(witnesses, suite, at).to_vec(),
                root: suite.provenance.root[at],
                distance: known,
                bound: None,
            }));
        }
    }
    found.sort_unstable_by_key(|near| near.row);
    let median = |numbers: Vec<f64>| deepconcolic_record::Spread::of(numbers).median;
    Minimised {
        looked,
        covered: rows.len(),
        beyond,
        nearer,
        before: median(before),
        after: median(found.iter().map(|near| near.distance).collect()),
        effort,
        found,
    }
}

/// A number that says nothing of the row it belongs to: the finaliser of the splitmix generator.
fn scattered(row: usize) -> u64 {
    let mixed = (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 27)
}

fn input<'a>(witnesses: &Witnesses<'_>, suite: &'a SuiteTable, test: usize) -> &'a [f32] {
    let each = witnesses.network.input_elements();
    &suite.x[test * each..(test + 1) * each]
}

/// The nearest witness of a row that survives the check, from the cell of the suite's, and what it cost; none
/// where no engine looks for one.
fn near(
    witnesses: &Witnesses<'_>,
    seeds: &Seeds,
    suite: &SuiteTable,
    table: &RequirementTable,
    row: usize,
    limits: &Limits<'_>,
) -> Option<(Effort, Option<Near>)> {
    let at = table.test[row] as usize;
    let slot = table.slot(witnesses.family, row)?;
    let (group, number) = (slot.group as usize, slot.slot as usize);
    let objective = witnesses.family.objective(group, number).ok()?;
    let root = (0..seeds.len()).find(|&s| seeds.index(s) as i64 == suite.provenance.root[at])?;
    let root = seeds.input(root);
    let origin = Origin {
        root,
        starts: &[input(witnesses, suite, at)],
    };
    let goal = Goal {
        network: witnesses.network,
        objectives: &[&[objective]],
        origins: &[origin],
        space: witnesses.space,
        means: witnesses.means.layers(),
        margin: Margin::default(),
        rng_seed: 0,
    };
    let mut engines = ENGINES
        .iter()
        .filter_map(|&(name, passes)| Some((named(name)?, passes)));
    let (engine, passes) = engines.find(|(engine, _)| engine.supports(&goal).is_ok())?;
    let budget = Budget {
        passes: Some(passes),
        deadline: limits.deadline,
        cancel: limits.interrupt,
        ..Budget::default()
    };
    let report = engine.search(&goal, &budget);
    let near = report.witness().and_then(|(found, witness)| {
        let input = found.tests.first()?.clone();
        let mut wanted: Vec<BitSet> = witnesses
            .family
            .groups()
            .iter()
            .map(|group| BitSet::new(group.slots()))
            .collect();
        wanted[group].insert(number);
        let claim = Claim {
            input: &input,
            root,
        };
        let confirmed = witnesses.confirm(&[claim], &wanted, &wanted);
        let confirmed = confirmed.into_iter().next()?.ok()?;
        confirmed.firm().contains(&slot).then(|| Near {
            row,
            root: suite.provenance.root[at],
            distance: confirmed.distance(),
            bound: witness.bound,
            input,
        })
    });
    Some((report.effort, near))
}

/// A number of single precision that is not above another, and no distance below 0.
fn down(bound: f64) -> f32 {
    let nearest = bound.max(0.0) as f32;
    if f64::from(nearest) > bound.max(0.0) {
        nearest.next_down()
    } else {
        nearest
    }
}

/// Writes `nearest.npz`; inputs have this shape.
pub fn write(path: &Path, input_shape: &[usize], found: &[Near]) -> Result<(), Error> {
    let count = found.len();
    let mut shape = vec![count];
    shape.extend(input_shape);
    let x: Vec<f32> = found.iter().flat_map(|near| &near.input).copied().collect();
    let rows: Vec<i64> = found.iter().map(|near| near.row as i64).collect();
    let roots: Vec<i64> = found.iter().map(|near| near.root).collect();
    let distances: Vec<f32> = found.iter().map(|near| near.distance as f32).collect();
    let bounds: Vec<f32> = found
        .iter()
        .map(|near| near.bound.map_or(f32::NAN, down))
        .collect();
    let mut file = NpzWriter::create(path)?;
    file.add("row", &[count], &rows)?;
    file.add("x", &shape, &x)?;
    file.add("root", &[count], &roots)?;
    file.add("distance", &[count], &distances)?;
    file.add("bound", &[count], &bounds)?;
    Ok(file.finish()?)
}
