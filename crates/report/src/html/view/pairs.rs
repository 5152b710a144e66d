//! Pairs of neurons: conditions by decisions, in bins where there are many.

use deepconcolic::{SavedRun, State};
use deepconcolic_record::{FIRST_HIDDEN, PairColumns};

/// Most bins along each side.
const BINS: usize = 100;

/// The pairs of two layers.
pub struct PairMap {
    /// The condition's layer.
    pub before: String,
    /// The decision's.
    pub layer: String,
    /// Conditions and decisions.
    pub neurons: (usize, usize),
    /// Bins across (decisions) and down (conditions).
    pub bins: (usize, usize),
    /// Pairs met and proven impossible in each bin, bins across first.
    pub counts: Vec<(usize, usize)>,
    /// All pairs met.
    pub met: usize,
    /// All pairs proven impossible.
    pub impossible: usize,
}

/// Every two layers that pairs were written of.
pub fn of(run: &SavedRun) -> Vec<PairMap> {
    let Some(columns) = &run.requirements.pairs else {
        return Vec::new();
    };
    let mut maps: Vec<((usize, usize), PairMap)> = Vec::new();
    for row in 0..run.requirements.state.len() {
        let Some((layers, pair)) = numbers(columns, row) else {
            continue;
        };
        let at = match maps.iter().position(|(known, _)| *known == layers) {
            Some(at) => at,
            None => match empty(run, layers) {
                Some(map) => {
                    maps.push((layers, map));
                    maps.len() - 1
                }
                None => continue,
            },
        };
        maps[at].1.enter(pair, run.requirements.state[row]);
    }
    maps.sort_by_key(|(layers, _)| *layers);
    maps.into_iter().map(|(_, map)| map).collect()
}

type Pair = (usize, usize);

fn numbers(columns: &PairColumns, row: usize) -> Option<(Pair, Pair)> {
    let number = |column: &[i32]| usize::try_from(*column.get(row)?).ok();
    let hidden = |column: &[i32]| number(column)?.checked_sub(FIRST_HIDDEN);
    Some((
        (hidden(&columns.layer)?, hidden(&columns.layer2)?),
        (number(&columns.i)?, number(&columns.j)?),
    ))
}

fn empty(run: &SavedRun, (before, layer): Pair) -> Option<PairMap> {
    let names = &run.summary.model.layers;
    let shapes = &run.settings.shapes.as_ref()?.layers;
    let neurons = |layer: usize| {
        let shape = shapes.get(layer)?;
        let count = shape
            .iter()
            .try_fold(1_usize, |n, &side| n.checked_mul(side));
        count.filter(|&count| count > 0)
    };
    let (conditions, decisions) = (neurons(before)?, neurons(layer)?);
    let bins = (decisions.min(BINS), conditions.min(BINS));
    Some(PairMap {
        before: names.get(before)?.clone(),
        layer: names.get(layer)?.clone(),
        neurons: (conditions, decisions),
        bins,
        counts: vec![(0, 0); bins.0 * bins.1],
        met: 0,
        impossible: 0,
    })
}

impl PairMap {
    fn enter(&mut self, (condition, decision): Pair, state: u8) {
        let (across, down) = self.bins;
        let x = decision.saturating_mul(across) / self.neurons.1;
        let y = condition.saturating_mul(down) / self.neurons.0;
        if x >= across || y >= down {
            return;
        }
        let bin = &mut self.counts[y * across + x];
        if state == State::Covered as u8 {
            bin.0 += 1;
            self.met += 1;
        } else if state == State::Infeasible as u8 {
            bin.1 += 1;
            self.impossible += 1;
        }
    }

    /// Pairs in a bin, if every condition were connected to every decision.
    pub fn room(&self) -> usize {
        let (across, down) = self.bins;
        self.neurons.1.div_ceil(across) * self.neurons.0.div_ceil(down)
    }
}
