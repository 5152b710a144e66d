//! Along the boundary towards the root.
//!
//! At a point that meets a way the network is replaced by its affine piece, and the point nearest to the root
//! where that meets the way is computed. On the line to there the distance to the root falls all the way, so any
//! place of it that meets the way is an improvement. Where the way is missed, another piece of the network is in
//! force; its row joins the problem, so that the next line turns along the edge between the two.

use super::reach::between;
use super::runs::Runs;
use super::ways::Way;
use crate::budget::Effort;
use crate::observed::Affine;
use crate::solver::{self, Solution};
use crate::step::{Step, Target};
use crate::task::Task;

/// Places on a line that are looked at together.
const PLACES: [f32; 6] = [1.0, 0.6, 0.3, 0.1, 0.02, 0.003];
/// Aim this many margins deep, so that rounding to floats does not undo a step.
const DEPTH: f64 = 1.5;
/// Most rows of other pieces that are kept.
const CUTS: usize = 12;
/// A step that leaves more than this part of the distance is not worth another, so many in a row.
const WORTH: f64 = 0.999;
const PATIENCE: usize = 4;

/// A row that was in force at some point, and how large it must be.
#[derive(Clone)]
pub(super) struct Cut {
    pub row: Affine,
    pub margin: f64,
}

/// A point that meets a way, on its way towards the root.
#[derive(Clone)]
pub(super) struct Lane {
    pub way: usize,
    pub x: Vec<f32>,
    pub distance: f64,
    /// The rows of its own piece, if they are known.
    pub here: Vec<Cut>,
    /// The rows of other pieces.
    cuts: Vec<Cut>,
    /// Steps in a row that were not worth it.
    idle: usize,
}

impl Lane {
    pub fn new(task: &Task<'_>, way: usize, x: Vec<f32>) -> Self {
        Self {
            way,
            distance: task.region.space.distance(&x, task.region.root),
            x,
            here: Vec::new(),
            cuts: Vec::new(),
            idle: 0,
        }
    }

    /// Whether it still moves.
    pub fn is_done(&self) -> bool {
        self.idle >= PATIENCE
    }

    /// The nearest point to the root that its rows leave.
    fn aim(&self, task: &Task<'_>) -> Option<Vec<f32>> {
        aim(task, self.here.iter().chain(&self.cuts), |_| 0.0)
    }

    /// Keeps the rows that the point meets, the latest first.
    fn trim(&mut self) {
        let x = &self.x;
        self.cuts
            .retain(|cut| cut.row.at(std::iter::once(x.as_slice())) >= 0.5 * cut.margin);
        let surplus = self.cuts.len().saturating_sub(CUTS);
        self.cuts.drain(..surplus);
    }
}

/// The nearest point to the root where rows are met, by a little more than their margins and by what else is
/// asked of each.
pub(super) fn aim<'c>(
    task: &Task<'_>,
    cuts: impl Iterator<Item = &'c Cut>,
    more: impl Fn(&Affine) -> f64,
) -> Option<Vec<f32>> {
    let targets: Vec<Target<'_>> = cuts
        .map(|cut| Target {
            row: &cut.row,
            least: DEPTH * cut.margin + more(&cut.row),
        })
        .collect();
    let centre = [task.region.root.to_vec()];
    let regions = [task.region.clone()];
    let step = Step::new(&centre, &regions, &targets);
    match solver::nearest(&step.problem, task.region.norm, &[], &task.budget) {
        Solution::Nearest { displacement, .. } => Some(step.off_grid(&displacement)),
        _ => None,
    }
}

/// Moves lanes one step each. What rounding or another piece holds back stays where it is.
pub(super) fn descend(task: &Task<'_>, ways: &[Way], lanes: &mut [Lane], effort: &mut Effort) {
    read(task, ways, lanes, effort);
    let mut lines = Vec::new();
    for (number, lane) in lanes.iter_mut().enumerate() {
        if lane.is_done() {
            continue;
        }
        effort.lp += 1;
        match lane.aim(task) {
            Some(p) if p != lane.x => lines.push((number, p)),
            _ if !lane.cuts.is_empty() => {
                lane.cuts.clear();
                lane.idle += 1;
            }
            _ => lane.idle = PATIENCE,
        }
    }
    if lines.is_empty() {
        return;
    }
    let places = lines.iter().flat_map(|(number, p)| {
        let x = &lanes[*number].x;
        PLACES.iter().map(move |&part| between(x, p, part))
    });
    let runs = Runs::of(task, places.collect(), effort);
    let mut wanted = Vec::new();
    for (line, (number, _)) in lines.iter().enumerate() {
        let lane = &mut lanes[*number];
        let sample = |place: usize| line * PLACES.len() + place;
        let met = (0..PLACES.len()).find_map(|place| {
            let way = runs.way(sample(place), ways, lane.way)?;
            Some((place, way))
        });
        // The last place before the line misses the way.
        let missed = met.map_or(Some(PLACES.len() - 1), |(place, _)| place.checked_sub(1));
        if let Some((place, way)) = met {
            advance(task, lane, runs.inputs[sample(place)].clone(), way);
        } else {
            lane.idle += 1;
        }
        if let Some(place) = missed {
            let broken = ways[lane.way].iter();
            let broken = broken.filter(|atom| !runs.meets(sample(place), atom));
            wanted.extend(broken.map(|atom| (*number, sample(place), atom)));
        } else {
            lane.cuts.clear();
        }
    }
    let asked: Vec<_> = wanted
        .iter()
        .map(|&(_, sample, atom)| (sample, atom))
        .collect();
    let rows = runs.affine(&asked, effort);
    for ((number, _, atom), row) in wanted.into_iter().zip(rows) {
        lanes[number].cuts.push(Cut {
            row,
            margin: atom.margin,
        });
    }
    lanes.iter_mut().for_each(Lane::trim);
}

/// Takes a lane to a point that meets a way.
fn advance(task: &Task<'_>, lane: &mut Lane, x: Vec<f32>, way: usize) {
    let distance = task.region.space.distance(&x, task.region.root);
    if distance < lane.distance {
        let is_worth = distance < WORTH * lane.distance;
        lane.idle = if is_worth { 0 } else { lane.idle + 1 };
        if way != lane.way {
            lane.cuts.clear();
        }
        lane.way = way;
        lane.distance = distance;
        lane.x = x;
        lane.here.clear();
    } else {
        lane.idle += 1;
    }
}

/// Reads the rows of lanes that do not know theirs.
pub(super) fn read(task: &Task<'_>, ways: &[Way], lanes: &mut [Lane], effort: &mut Effort) {
    let new: Vec<usize> = (0..lanes.len())
        .filter(|&lane| lanes[lane].here.is_empty() && !lanes[lane].is_done())
        .collect();
    if new.is_empty() {
        return;
    }
    let inputs = new.iter().map(|&lane| lanes[lane].x.clone());
    let runs = Runs::of(task, inputs.collect(), effort);
    let wanted: Vec<_> = new
        .iter()
        .enumerate()
        .flat_map(|(sample, &lane)| ways[lanes[lane].way].iter().map(move |atom| (sample, atom)))
        .collect();
    let rows = runs.affine(&wanted, effort);
    for ((sample, atom), row) in wanted.into_iter().zip(rows) {
        lanes[new[sample]].here.push(Cut {
            row,
            margin: atom.margin,
        });
    }
}
