//! Several things timed in turn, so that what disturbs the machine disturbs all of them.

use std::hint::black_box;
use std::time::Instant;

use rayon::ThreadPool;

use crate::error::BenchError;

/// Gives the seconds of each run of one block.
pub type Side<'a> = Box<dyn FnMut() -> Result<Vec<f64>, BenchError> + 'a>;

/// Seconds of single runs, by round and side.
pub struct Contest {
    rounds: Vec<Vec<Vec<f64>>>,
}

/// Rounds of one contest; odd, so that the median is one of them.
pub const ROUNDS: usize = 31;

/// Seconds that one block of runs should last.
const BLOCK: f64 = 0.06;

impl Contest {
    /// As many rounds as short runs need.
    pub fn hold(sides: Vec<Side<'_>>) -> Result<Self, BenchError> {
        Self::hold_for(ROUNDS, sides)
    }

    /// The sides take turns at going first, and a round that warms them up is thrown away.
    pub fn hold_for(number: usize, mut sides: Vec<Side<'_>>) -> Result<Self, BenchError> {
        let count = sides.len();
        let mut rounds = Vec::with_capacity(number);
        for round in 0..=number {
            let mut blocks = vec![Vec::new(); count];
            for turn in 0..count {
                let side = (round + turn) % count;
                blocks[side] = sides[side]()?;
            }
            if round > 0 {
                rounds.push(blocks);
            }
        }
        Ok(Self { rounds })
    }

    /// One side over another: the median over rounds of the ratio of the blocks' medians.
    pub fn ratio(&self, side: usize, other: usize) -> f64 {
        let ratios = self.rounds.iter();
        median(ratios.map(|round| middle(&round[side]) / middle(&round[other])))
    }

    /// One side over another: each side's fastest run of all.
    pub fn best_ratio(&self, side: usize, other: usize) -> f64 {
        self.best(side) / self.best(other)
    }

    /// Seconds of one side's fastest run.
    pub fn best(&self, side: usize) -> f64 {
        let runs = self.rounds.iter().flat_map(|round| &round[side]);
        runs.copied().fold(f64::INFINITY, f64::min)
    }

    /// Both ratios in words.
    pub fn compare(&self, side: usize, other: usize) -> String {
        let (ratio, best) = (self.ratio(side, other), self.best_ratio(side, other));
        format!("{ratio:.3} (best {best:.3})")
    }
}

/// A side of ours: blocks of runs on a pool's threads, and how many runs fill a block.
pub fn side<'a, R: Send>(
    pool: &'a ThreadPool,
    mut run: impl FnMut() -> R + Send + 'a,
) -> (usize, Side<'a>) {
    let tried = time(pool, 5, &mut run);
    let once = tried.into_iter().fold(f64::INFINITY, f64::min);
    let runs = ((BLOCK / once.max(1e-9)) as usize).clamp(3, 1000);
    (runs, Box::new(move || Ok(time(pool, runs, &mut run))))
}

/// Seconds of each of so many runs on a pool's threads.
pub fn time<R: Send>(
    pool: &ThreadPool,
    runs: usize,
    mut run: impl FnMut() -> R + Send,
) -> Vec<f64> {
    pool.install(|| {
        (0..runs)
            .map(|_| {
                let start = Instant::now();
                black_box(run());
                start.elapsed().as_secs_f64()
            })
            .collect()
    })
}

/// What else the machine has to do.
pub fn print_load() {
    if let Ok(load) = std::fs::read_to_string("/proc/loadavg") {
        println!("load of the machine before we start: {}", load.trim());
    }
}

fn middle(values: &[f64]) -> f64 {
    median(values.iter().copied())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disturbed_round_does_not_move_the_ratio() {
        let mut round = 0.0;
        let slow: Side = Box::new(|| {
            round += 1.0;
            Ok(vec![if round < 10.0 { 50.0 } else { 2.0 }])
        });
        let contest = Contest::hold(vec![slow, Box::new(|| Ok(vec![1.0, 9.0, 1.0]))]).unwrap();
        assert!((contest.ratio(0, 1) - 2.0).abs() < 1e-12);
        assert!((contest.best_ratio(0, 1) - 2.0).abs() < 1e-12);
    }
}
