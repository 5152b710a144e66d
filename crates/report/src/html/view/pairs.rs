//! Pairs of neurons: conditions by decisions, in bins where there are many.

use deepconcolic::{SavedRun, State};
use deepconcolic_record::PairRow;

/// Most bins along each side.
const BINS: usize = 100;

/// The pairs of two layers.
pub struct PairMap {
    /// The criterion, where there are several.
    pub criterion: Option<String>,
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

type Pair = (usize, usize);
/// A criterion by its number, and the two layers.
type Key = (Option<usize>, Pair);

/// Every two layers that pairs were written of, criterion by criterion.
pub fn of(run: &SavedRun) -> Vec<PairMap> {
    let Some(columns) = &run.requirements.pairs else {
        return Vec::new();
    };
    let mut maps: Vec<(Key, PairMap)> = Vec::new();
    for (number, row) in run.requirements.pair_rows().enumerate() {
        let Some(pair) = columns.get(number) else {
            continue;
        };
        let key = (pair.criterion, pair.layers);
        let at = match maps.iter().position(|(known, _)| *known == key) {
            Some(at) => at,
            None => match empty(run, &pair) {
                Some(map) => {
                    maps.push((key, map));
                    maps.len() - 1
                }
                None => continue,
            },
        };
        maps[at].1.enter(pair.neurons, run.requirements.state[row]);
    }
    maps.sort_by_key(|(key, _)| *key);
    maps.into_iter().map(|(_, map)| map).collect()
}

fn empty(run: &SavedRun, pair: &PairRow) -> Option<PairMap> {
    let (before, layer) = pair.layers;
    let criteria = &run.summary.criteria;
    let criterion = pair.criterion.and_then(|number| criteria.get(number));
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
        criterion: criterion.map(|criterion| criterion.criterion.clone()),
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

    /// So many pairs as a share of a bin, were every condition connected to every decision.
    pub fn density(&self, bin: usize, pairs: usize) -> f64 {
        let (across, down) = self.bins;
        // The neurons of a bin are those that `enter` puts there.
        let neurons = |at: usize, bins: usize, all: usize| {
            ((at + 1) * all).div_ceil(bins) - (at * all).div_ceil(bins)
        };
        let decisions = neurons(bin % across, across, self.neurons.1);
        let conditions = neurons(bin / across, down, self.neurons.0);
        pairs as f64 / (decisions * conditions).max(1) as f64
    }

    /// Pairs in a bin at most, if every condition were connected to every decision.
    pub fn room(&self) -> usize {
        let (across, down) = self.bins;
        self.neurons.1.div_ceil(across) * self.neurons.0.div_ceil(down)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_of_any_size_that_are_covered_whole_are_equally_dense() {
        let (conditions, decisions) = (7, 5);
        let mut map = PairMap {
            criterion: None,
            before: "a".into(),
            layer: "b".into(),
            neurons: (conditions, decisions),
            bins: (2, 3),
            counts: vec![(0, 0); 6],
            met: 0,
            impossible: 0,
        };
        for condition in 0..conditions {
            for decision in 0..decisions {
                map.enter((condition, decision), State::Covered as u8);
            }
        }
        assert_eq!(map.met, conditions * decisions);
        for (bin, &(met, _)) in map.counts.iter().enumerate() {
            assert!(met <= map.room());
            assert!((map.density(bin, met) - 1.0).abs() < 1e-12, "{bin}: {met}");
        }
    }
}
