//! Into smaller balls: a point is drawn back towards the root, and gradient steps inside the smaller ball look for
//! the way that was lost. Where pieces of the network are small, its affine piece at a point says little of what
//! lies a step further, and many short steps see more than one long one.

use deepconcolic_geometry::{Ball, Ends};

use super::descend::Lane;
use super::reach::between;
use super::runs::Runs;
use super::ways::Way;
use crate::budget::Effort;
use crate::task::Task;

/// How much smaller the next ball is at first, and when it is not worth another.
const FIRST: f64 = 0.05;
const LEAST: f64 = 0.002;
/// Balls tried at most.
const BALLS: usize = 16;
/// Gradient steps inside one ball, the first and the last as parts of its radius.
const STEPS: usize = 48;
const LONGEST: f64 = 0.1;
const SHORTEST: f64 = 0.004;

/// A lane on its way into smaller balls.
struct Shrinking<'l> {
    lane: &'l mut Lane,
    /// How much smaller the next ball is.
    part: f64,
}

/// Brings lanes into smaller balls, as far as that goes.
pub(super) fn shrink(task: &Task<'_>, ways: &[Way], lanes: &mut [Lane], effort: &mut Effort) {
    let mut all: Vec<Shrinking<'_>> = lanes
        .iter_mut()
        .map(|lane| Shrinking { lane, part: FIRST })
        .collect();
    for _ in 0..BALLS {
        all.retain(|each| each.part >= LEAST);
        if all.is_empty() || task.is_over(*effort) {
            return;
        }
        for (each, found) in one_ball(task, ways, &all, effort) {
            let Shrinking { lane, part } = &mut all[each];
            match found {
                Some(lane_found) => {
                    **lane = lane_found;
                    *part *= 1.5;
                }
                None => *part /= 3.0,
            }
        }
    }
}

/// A smaller ball for each; what is found in it, by number.
fn one_ball(
    task: &Task<'_>,
    ways: &[Way],
    all: &[Shrinking<'_>],
    effort: &mut Effort,
) -> Vec<(usize, Option<Lane>)> {
    let region = &task.region;
    let (norm, root) = (region.space.norm, region.root);
    let ends = Ends {
        low: region.lower.clone(),
        high: region.upper.clone(),
    };
    let mut found: Vec<(usize, Option<Lane>)> = (0..all.len()).map(|each| (each, None)).collect();
    let mut points: Vec<Vec<f32>> = all
        .iter()
        .map(|each| between(root, &each.lane.x, (1.0 - each.part) as f32))
        .collect();
    let mut active: Vec<usize> = (0..all.len()).collect();
    for step in 0..STEPS {
        if active.is_empty() || task.is_over(*effort) {
            break;
        }
        let inputs = active.iter().map(|&each| points[each].clone()).collect();
        let runs = Runs::of(task, inputs, effort);
        let mut wanted = Vec::new();
        let mut left = Vec::new();
        for (sample, &each) in active.iter().enumerate() {
            let lane = &all[each].lane;
            if let Some(way) = runs.way(sample, ways, lane.way) {
                let new = Lane::new(task, way, points[each].clone());
                found[each].1 = Some(new).filter(|new| new.distance < lane.distance);
                continue;
            }
            if let Some(atom) = runs.farthest(sample, &ways[lane.way]) {
                wanted.push((sample, atom));
                left.push(each);
            }
        }
        let rows = runs.affine(&wanted, effort);
        let progress = step as f64 / (STEPS - 1) as f64;
        let part = LONGEST * (SHORTEST / LONGEST).powf(progress);
        for (&each, row) in left.iter().zip(&rows) {
            let ball = Ball {
                root,
                radius: (1.0 - all[each].part) * all[each].lane.distance,
                units: &region.space.units,
            };
            let point = &mut points[each];
            norm.step(&ball, &ends, point, &row.gradient, part as f32);
            norm.project(&ball, point);
            ends.clamp(point);
        }
        active = left;
    }
    found
}
