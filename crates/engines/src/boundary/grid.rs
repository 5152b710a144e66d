//! From a point on the boundary to one on the grid: rounding can undo what was aimed at, so that several depths
//! are aimed at together, and the nearest that still meets a way is taken.

use super::descend::{Cut, Lane, aim};
use super::runs::Runs;
use super::ways::Way;
use crate::budget::Effort;
use crate::step::Step;
use crate::task::Task;

/// Parts of what rounding could undo at worst that are aimed at beyond the margin.
const DEPTHS: [f64; 6] = [0.0, 0.05, 0.1, 0.25, 0.5, 1.0];
/// How far elements that have changed go on up the row before they are rounded, in steps of the grid: with half a step
/// every one of them is rounded upwards.
const PUSHES: [f64; 7] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0];

/// Points of the grid that meet a way, near those of lanes.
pub(super) fn on_grid(
    task: &Task<'_>,
    ways: &[Way],
    lanes: &[Lane],
    effort: &mut Effort,
) -> Vec<Lane> {
    let regions = [task.region.clone()];
    let mut inputs = Vec::new();
    for lane in lanes {
        for depth in DEPTHS {
            effort.lp += 1;
            let loss = |row: &_| depth * Step::grid_loss(&regions, row);
            let aimed = aim(task, lane.here.iter(), loss);
            inputs.extend(aimed.map(|x| (lane.way, settled(task, &x, None))));
        }
        let pushed = |push: f64| settled(task, &lane.x, lane.here.first().map(|cut| (cut, push)));
        inputs.extend(PUSHES.map(|push| (lane.way, pushed(push))));
    }
    let (first, inputs): (Vec<usize>, Vec<Vec<f32>>) = inputs.into_iter().unzip();
    if inputs.is_empty() {
        return Vec::new();
    }
    let runs = Runs::of(task, inputs, effort);
    let met = first.into_iter().enumerate().filter_map(|(sample, first)| {
        let way = runs.way(sample, ways, first)?;
        Some(Lane::new(task, way, runs.inputs[sample].clone()))
    });
    met.collect()
}

/// Every element on the grid, or as the root has it; changed ones are pushed up a row first, by so many steps.
fn settled(task: &Task<'_>, x: &[f32], up: Option<(&Cut, f64)>) -> Vec<f32> {
    let region = &task.region;
    let push = |e: usize, x: f32| match up {
        Some((cut, push))
            if x.to_bits() != region.root[e].to_bits() && cut.row.gradient[e] != 0.0 =>
        {
            let step = region.space.grid_step(e).unwrap_or(0.0);
            push * step * f64::from(cut.row.gradient[e].signum())
        }
        _ => 0.0,
    };
    let each = x.iter().enumerate();
    each.map(|(e, &x)| region.settle(e, f64::from(x) + push(e, x)))
        .collect()
}
