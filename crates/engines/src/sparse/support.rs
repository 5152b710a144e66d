//! Pixels that a search leaves free, chosen by slopes: the region is then a box.

use deepconcolic_geometry::SearchSpace;
use deepconcolic_network::{Network, Pass, Point, Row};

use super::pixels::PixelMap;
use crate::budget::Effort;
use crate::goal::Reason;
use crate::region::Region;

/// The region of an engine that chooses pixels itself: all are free, and the engine keeps to the number.
pub(crate) fn region_of_pixels<'a>(
    space: &'a SearchSpace,
    root: &'a [f32],
) -> Result<Region<'a>, Reason> {
    match space.norm.convex() {
        Ok(_) => Err(Reason::Unsupported {
            part: space.norm.name().into(),
            why: "this engine counts changed pixels or elements, which this norm does not",
        }),
        Err(_) => Region::without_ball(space, root),
    }
}

/// How many pixels may change.
pub(super) fn allowed(space: &SearchSpace, pixels: &PixelMap) -> usize {
    let all = pixels.count();
    space
        .radius()
        .map_or(all, |radius| (radius as usize).min(all))
}

/// A region in which these neurons can be moved towards 0 from a start. Where programs can state the space's ball
/// it is all of it; of a ball that counts pixels it is the box of those in which the start differs from the root
/// and of the steepest beside them.
pub(crate) fn region_round_neurons<'a>(
    network: &Network,
    space: &'a SearchSpace,
    root: &'a [f32],
    start: &[f32],
    neurons: &[(Point, usize)],
    effort: &mut Effort,
) -> Result<Region<'a>, Reason> {
    if space.norm.convex().is_ok() || space.radius().is_none() {
        return Region::of(space, root);
    }
    let mut region = Region::without_ball(space, root)?;
    let pixels = PixelMap::new(space);
    let points = || neurons.iter().map(|&(point, _)| point);
    let mut kept: Vec<Point> = points().collect();
    kept.dedup();
    let trace = network.forward(start, &Pass::keep(kept).differentiating(points()));
    let rows: Vec<Row<f32>> = neurons
        .iter()
        .map(|&(point, neuron)| Row::of(0, point, neuron))
        .collect();
    effort.forward += 1;
    effort.vjp += rows.len();
    let slopes = trace.tape().map(|tape| network.vjp(tape, &rows));
    let slopes = slopes.unwrap_or_default();
    let towards_zero = neurons.iter().zip(slopes.chunks_exact(start.len().max(1)));
    let gradients: Vec<Vec<f32>> = towards_zero
        .map(|(&(point, neuron), slopes)| {
            let sign = -trace.get(point)[neuron].signum();
            slopes.iter().map(|slope| sign * slope).collect()
        })
        .collect();
    let free = steepest(&region, &pixels, start, &gradients);
    region.fix_all_but(|e| free[pixels.of(e)]);
    Ok(region)
}

/// The pixels in which the start differs from the root, and those along which the gradients rise most, as many as
/// may change in all. Each gradient counts alike, however steep it is.
pub(super) fn steepest(
    region: &Region<'_>,
    pixels: &PixelMap,
    start: &[f32],
    gradients: &[Vec<f32>],
) -> Vec<bool> {
    let mut scores = vec![0.0; pixels.count()];
    for gradient in gradients {
        let gains = gains(region, pixels, start, gradient);
        let all: f64 = gains.iter().sum();
        if all > 0.0 {
            for (score, gain) in scores.iter_mut().zip(gains) {
                *score += gain / all;
            }
        }
    }
    let mut free = vec![false; pixels.count()];
    let changed = pixels.changed(&[start.to_vec()], region.root);
    for &pixel in &changed {
        free[pixel] = true;
    }
    let left = allowed(region.space, pixels).saturating_sub(changed.len());
    let order = descending(&scores);
    let fresh = order
        .into_iter()
        .filter(|&pixel| scores[pixel] > 0.0 && !changed.contains(&pixel));
    for pixel in fresh.take(left) {
        free[pixel] = true;
    }
    free
}

/// What each pixel adds, by the gradient, when it goes to the ends of its room that the gradient points to.
pub(super) fn gains(
    region: &Region<'_>,
    pixels: &PixelMap,
    start: &[f32],
    gradient: &[f32],
) -> Vec<f64> {
    let mut gains = vec![0.0; pixels.count()];
    for (e, &slope) in gradient.iter().enumerate() {
        let end = if slope > 0.0 {
            region.upper[e]
        } else {
            region.lower[e]
        };
        let gain = f64::from(slope) * (f64::from(end) - f64::from(start[e]));
        gains[pixels.of(e)] += gain.max(0.0);
    }
    gains
}

/// Numbers of the largest first; of equal ones the first first.
pub(super) fn descending(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    order
}
