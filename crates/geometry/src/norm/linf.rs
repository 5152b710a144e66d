//! L-infinity: the largest change of an element. Its balls are boxes.

use deepconcolic_network::vectorised;

use super::ball::SLACK;
use super::convex::{ConvexNorm, Helpful, LinearForm};
use super::screen::{Columns, Left, Screening, Sight, scan};
use super::{Ball, Ends, InputSpace, Norm, NormKind, Unsupported};
use crate::Random;

struct Linf;

impl Norm {
    /// The largest change of an element.
    pub const LINF: Self = Self(&Linf);
}

impl NormKind for Linf {
    fn name(&self) -> &'static str {
        "linf"
    }

    fn help(&self) -> &'static str {
        "the largest change of an element"
    }

    fn default_radius(&self) -> f64 {
        0.3
    }

    fn distance(&self, a: &[f32], b: &[f32], space: &InputSpace) -> f64 {
        if space.widths.len() < a.len().min(b.len()) {
            return space.changes(a, b).fold(0.0, f64::max);
        }
        vectorised(
            #[inline(always)]
            || largest_change(a, b, &space.widths, f64::INFINITY),
        )
    }

    fn is_within(&self, a: &[f32], b: &[f32], radius: f64, space: &InputSpace) -> bool {
        if space.widths.len() < a.len().min(b.len()) {
            return self.distance(a, b, space) <= radius;
        }
        vectorised(
            #[inline(always)]
            || largest_change(a, b, &space.widths, radius) <= radius,
        )
    }

    fn is_box(&self) -> bool {
        true
    }

    fn span(&self, radius: f64) -> f64 {
        radius
    }

    fn project(&self, ball: &Ball<'_>, point: &mut [f32]) {
        ball.ends(ball.radius, SLACK).clamp(point);
    }

    fn step(&self, ball: &Ball<'_>, _: &Ends, point: &mut [f32], gradient: &[f32], part: f32) {
        let radius = ball.radius as f32;
        step_each(point, gradient, part, |e| {
            radius * ball.units.width(e) as f32
        });
    }

    fn draw(&self, ball: &Ball<'_>, ends: &Ends, random: &mut Random) -> Vec<f32> {
        let mut own = ball.ends(ball.radius, SLACK);
        own.narrow(&ends.low, &ends.high);
        own.draw(random)
    }

    /// Every element moves by the radius, the way its slope points.
    fn dual(&self, gradient: &[f32], radius: f64, space: &InputSpace) -> f64 {
        let slopes = gradient.iter().enumerate();
        let slopes = slopes.map(|(e, &g)| f64::from(g).abs() * space.width(e));
        radius * slopes.sum::<f64>()
    }

    fn convex(&self) -> Result<&'static dyn ConvexNorm, Unsupported> {
        Ok(&Self)
    }

    fn screening(&self, _: bool) -> &'static dyn Screening {
        &Self
    }
}

/// Elements compared at a time.
const LANES: usize = 16;

/// The largest change of an element, in units of its width; some change beyond `enough` where there is one. It begins
/// in the middle: images differ there sooner than at their rims.
#[expect(
    clippy::inline_always,
    reason = "compiled for wide vectors only as part of what is"
)]
#[inline(always)]
fn largest_change(a: &[f32], b: &[f32], widths: &[f64], enough: f64) -> f64 {
    let mut largest = 0.0;
    let elements = a.len().min(b.len());
    let middle = elements / 2 / LANES * LANES;
    let starts = (middle..elements).step_by(LANES);
    for start in starts.chain((0..middle).step_by(LANES)) {
        let part = start..elements.min(start + LANES);
        let pairs = a[part.clone()].iter().zip(&b[part.clone()]);
        let mut lanes = [0.0_f64; LANES];
        for (lane, ((&a, &b), &width)) in lanes.iter_mut().zip(pairs.zip(&widths[part])) {
            let change = (f64::from(a) - f64::from(b)).abs() / width;
            // No change in an element without width is no number here, and not larger than anything.
            *lane = if change > 0.0 { change } else { 0.0 };
        }
        for lane in lanes {
            largest = if lane > largest { lane } else { largest };
        }
        if largest > enough {
            break;
        }
    }
    largest
}

/// Moves each element by a part of its own room, the way its slope points: the steepest step in a box.
pub(crate) fn step_each(
    point: &mut [f32],
    gradient: &[f32],
    part: f32,
    room: impl Fn(usize) -> f32,
) {
    for (e, (x, &slope)) in point.iter_mut().zip(gradient).enumerate() {
        if slope != 0.0 {
            *x += slope.signum() * part * room(e);
        }
    }
}

impl ConvexNorm for Linf {
    fn length(&self, displacement: &[f64]) -> f64 {
        displacement.iter().map(|d| d.abs()).fold(0.0, f64::max)
    }

    fn form(&self) -> LinearForm {
        LinearForm::Largest
    }

    /// All elements move equally far, each until its room ends.
    fn nearest_beyond(&self, row: &[f64], least: f64, helpful: Helpful) -> Option<Vec<f64>> {
        helpful.move_together(row, least, |_| 1.0)
    }
}

/// A reference is out when an element leaves a window round the test, which needs no arithmetic and so
/// decides ties too.
impl Screening for Linf {
    fn by_windows(&self) -> bool {
        true
    }

    /// What is added up is whether a window was left.
    fn limit(&self, _distance: f64, _ties: bool, _elements: usize) -> f32 {
        0.5
    }

    fn left(&self, columns: Columns<'_>, sight: &Sight) -> Left {
        vectorised(
            #[inline(always)]
            || {
                scan(
                    columns,
                    &sight.windows,
                    sight.limit,
                    |window| window.element,
                    |sum, _, x, window| {
                        let outside = x < window.low || x > window.high;
                        *sum = if outside { 1.0 } else { *sum };
                    },
                )
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pixels;
    use super::*;

    /// One element after the other, as the distance is defined.
    fn plain(a: &[f32], b: &[f32], space: &InputSpace) -> f64 {
        space.changes(a, b).fold(0.0, f64::max)
    }

    #[test]
    fn many_elements_at_a_time_give_the_distance_to_the_bit() {
        let mut random = Random::of(&[11]);
        for elements in [1, 7, 16, 17, 100, 784] {
            let mut draw = || (random.below(1000) as f32 - 500.0) / 300.0;
            let a: Vec<f32> = (0..elements).map(|_| draw()).collect();
            let mut b: Vec<f32> = (0..elements).map(|_| draw()).collect();
            b[0] = a[0];
            let mut widths: Vec<f64> = (0..elements).map(|_| f64::from(draw()).abs()).collect();
            // An element that cannot change, and does not.
            widths[0] = 0.0;
            let pixels = Pixels::Single;
            let space = InputSpace { widths, pixels };
            let distance = plain(&a, &b, &space);
            assert_eq!(Linf.distance(&a, &b, &space).to_bits(), distance.to_bits());
            assert!(Linf.is_within(&a, &b, distance, &space));
            assert!(distance == 0.0 || !Linf.is_within(&a, &b, distance.next_down(), &space));
            b[0] += 1.0;
            assert!(Linf.distance(&a, &b, &space).is_infinite());
            b[0] = f32::NAN;
            assert_eq!(
                Linf.distance(&a, &b, &space).to_bits(),
                plain(&a, &b, &space).to_bits()
            );
        }
    }
}
