//! The whole search round one root: every way from the root, the most promising of them further, again from
//! places at random, into smaller balls, and the best point as near as its cell allows.

use deepconcolic_geometry::{Ball, Ends, Random};

use super::descend::{Lane, descend, read};
use super::grid::on_grid;
use super::reach::{Runner, reach};
use super::runs::Runs;
use super::shrink::shrink;
use super::ways::Way;
use crate::attempt::Attempt;
use crate::budget::Effort;
use crate::cell;
use crate::task::{Met, Moves, Task};

/// Most ways that are tried, the nearest at the root first.
const WAYS: usize = 32;
/// How many lanes go on after so many steps.
const SIEVE: [(usize, usize); 3] = [(6, 8), (12, 4), (40, 2)];
/// Times that places at random are tried, and how many at a time; more for inputs of few elements, where a ball can be
/// looked through.
const RESTARTS: u64 = 2;
const RESTARTS_OF_FEW: u64 = 16;
const FEW: usize = 24;
const AGAIN: usize = 3;
/// Places all over the region that are tried when nothing else leads to the boundary.
const SCATTERED: usize = 32;
/// How far such places are from the root at most, as a part of the distance of the best point.
const AWAY: f64 = 0.9;
/// Best points that are brought into smaller balls.
const SHRUNK: usize = 4;
/// Best points that are brought to the grid.
const SETTLED: usize = 3;

/// The nearest witness that a search over all cells finds, from a root and from points that may meet what is
/// asked already.
pub(crate) fn nearest_of_all_cells(
    task: &Task<'_>,
    ways: &[Way],
    starts: &[&[f32]],
    effort: &mut Effort,
) -> Attempt {
    let search = Search { task, ways };
    let mut lanes = search.first(starts, effort);
    search.narrow(&mut lanes, effort);
    let few = task.region.root.len() <= FEW;
    for number in 0..if few { RESTARTS_OF_FEW } else { RESTARTS } {
        if task.is_over(*effort) || lanes.is_empty() {
            break;
        }
        let more = search.again(&lanes, number, effort);
        lanes.extend(more);
        sort(&mut lanes);
        lanes.truncate(2 * AGAIN);
    }
    lanes.truncate(SHRUNK);
    shrink(task, ways, &mut lanes, effort);
    sort(&mut lanes);
    search.narrow(&mut lanes, effort);
    search.polish(&mut lanes, effort);
    if task.region.space.has_grid() {
        lanes.truncate(SETTLED);
        lanes = search.settle(lanes, effort);
    }
    match search.witness(&lanes, effort) {
        Some(met) => Attempt::Met(met),
        None => Attempt::Nothing {
            cells: starts.len(),
            infeasible: 0,
        },
    }
}

struct Search<'a> {
    task: &'a Task<'a>,
    ways: &'a [Way],
}

impl Search<'_> {
    /// Points on the boundary: of every way from the root, and between the root and the other starts. Where none is
    /// reached, from places all over the region.
    fn first(&self, starts: &[&[f32]], effort: &mut Effort) -> Vec<Lane> {
        let root = self.task.region.root;
        let others = starts.iter().filter(|&&start| start != root);
        let others: Vec<Vec<f32>> = others.map(|start| start.to_vec()).collect();
        let mut runners = self.runners(vec![root.to_vec()], WAYS, effort);
        runners.extend(self.runners(others, 1, effort));
        let lanes = reach(self.task, self.ways, runners, effort);
        if !lanes.is_empty() || self.task.is_over(*effort) {
            return lanes;
        }
        let mut random = Random::of(&[SCATTERED as u64]);
        let places = (0..SCATTERED).map(|_| self.ends().draw(&mut random));
        let runners = self.runners(places.collect(), 1, effort);
        reach(self.task, self.ways, runners, effort)
    }

    /// Runners from each of some places, for the ways that are nearest there.
    fn runners(&self, places: Vec<Vec<f32>>, ways: usize, effort: &mut Effort) -> Vec<Runner> {
        if places.is_empty() {
            return Vec::new();
        }
        let runs = Runs::of(self.task, places, effort);
        let from = |sample: usize| {
            let nearness = |way: usize| runs.nearness(sample, &self.ways[way]);
            let mut all: Vec<usize> = (0..self.ways.len()).collect();
            all.sort_by(|&a, &b| nearness(b).total_cmp(&nearness(a)));
            all.truncate(ways);
            let x = &runs.inputs[sample];
            all.into_iter().map(|way| Runner { way, x: x.clone() })
        };
        (0..runs.inputs.len()).flat_map(from).collect()
    }

    /// The box that searches keep to.
    fn ends(&self) -> Ends {
        Ends {
            low: self.task.region.lower.clone(),
            high: self.task.region.upper.clone(),
        }
    }

    /// Moves lanes towards the root, fewer and fewer.
    fn narrow(&self, lanes: &mut Vec<Lane>, effort: &mut Effort) {
        let mut step = 0;
        for (until, kept) in SIEVE {
            while step < until && !self.task.is_over(*effort) && !lanes.iter().all(Lane::is_done) {
                descend(self.task, self.ways, lanes, effort);
                step += 1;
            }
            sort(lanes);
            lanes.truncate(kept);
        }
    }

    /// The same from places at random, all nearer than the best point.
    fn again(&self, lanes: &[Lane], number: u64, effort: &mut Effort) -> Vec<Lane> {
        let region = &self.task.region;
        let ball = Ball {
            root: region.root,
            radius: AWAY * lanes[0].distance,
            units: &region.space.units,
        };
        let ends = self.ends();
        let mut random = Random::of(&[number]);
        let places = (0..AGAIN).map(|_| {
            let mut x = region.space.norm.draw(&ball, &ends, &mut random);
            ends.clamp(&mut x);
            x
        });
        let runners = self.runners(places.collect(), 1, effort);
        let mut more = reach(self.task, self.ways, runners, effort);
        self.narrow(&mut more, effort);
        more
    }

    /// The best point as near to the root as its cell allows, and the cells next to it.
    fn polish(&self, lanes: &mut Vec<Lane>, effort: &mut Effort) {
        let Some(best) = lanes.first() else {
            return;
        };
        if self.task.is_over(*effort) || !self.task.is_affine_in_cells() {
            return;
        }
        let met = cell::nearest_from(self.task, &best.x, effort);
        if let Some(met) = met.filter(|met| met.distance < best.distance) {
            let x = met.inputs.into_iter().next().unwrap_or_default();
            lanes.insert(0, Lane::new(self.task, best.way, x));
        }
    }

    /// The best points on the grid, the nearest first.
    fn settle(&self, lanes: Vec<Lane>, effort: &mut Effort) -> Vec<Lane> {
        // Anew, since lanes that have come to an end do not read their rows.
        let anew = |lane: Lane| Lane::new(self.task, lane.way, lane.x);
        let mut lanes: Vec<Lane> = lanes.into_iter().map(anew).collect();
        read(self.task, self.ways, &mut lanes, effort);
        let mut lanes = on_grid(self.task, self.ways, &lanes, effort);
        sort(&mut lanes);
        lanes
    }

    /// The nearest point that is a test.
    fn witness(&self, lanes: &[Lane], effort: &mut Effort) -> Option<Met> {
        let allowed = lanes.iter().filter(|lane| self.task.region.allows(&lane.x));
        allowed.into_iter().find_map(|lane| {
            let observed = self.task.observe(&lane.x, Moves::Last, effort);
            self.task.witness(&observed, self.task.region.root, None)
        })
    }
}

/// The nearest first; of equals the first.
fn sort(lanes: &mut [Lane]) {
    lanes.sort_by(|a, b| a.distance.total_cmp(&b.distance));
}
