//! L1: the sum of the changes.

use deepconcolic_network::vectorised;

use super::ball::SLACK;
use super::convex::{ConvexNorm, Helpful, LinearForm};
use super::screen::{Columns, Left, Screening, Sight, rounded_up, scan};
use super::{Ball, Ends, InputSpace, Norm, NormKind, Unsupported};
use crate::Random;

/// Elements that a step moves, as a part of all: the steepest few.
const MOVED_PART: usize = 20;

struct L1;

impl Norm {
    /// The sum of the changes.
    pub const L1: Self = Self(&L1);
}

impl NormKind for L1 {
    fn name(&self) -> &'static str {
        "l1"
    }

    fn help(&self) -> &'static str {
        "the sum of the changes"
    }

    fn default_radius(&self) -> f64 {
        30.0
    }

    fn distance(&self, a: &[f32], b: &[f32], space: &InputSpace) -> f64 {
        space.changes(a, b).sum()
    }

    fn is_within(&self, a: &[f32], b: &[f32], radius: f64, space: &InputSpace) -> bool {
        let far = radius * (1.0 + 1e-9);
        !space.soon_beyond(a, b, far, |sum, change| sum + change)
            && self.distance(a, b, space) <= radius
    }

    fn span(&self, radius: f64) -> f64 {
        radius
    }

    /// The nearest point lowers all changes by the same amount, down to 0.
    fn project(&self, ball: &Ball<'_>, point: &mut [f32]) {
        let radius = ball.radius * (1.0 - SLACK);
        let mut sizes: Vec<f64> = (0..point.len())
            .map(|e| ball.change(point, e).abs())
            .collect();
        if sizes.iter().sum::<f64>() <= radius {
            return;
        }
        sizes.sort_unstable_by(|a, b| b.total_cmp(a));
        let (mut sum, mut less) = (0.0, 0.0);
        for (count, size) in sizes.iter().enumerate() {
            sum += size;
            let candidate = (sum - radius) / (count + 1) as f64;
            if candidate >= *size {
                break;
            }
            less = candidate;
        }
        for e in 0..point.len() {
            let change = ball.change(point, e);
            let size = (change.abs() - less).max(0.0);
            ball.place(point, e, change.signum() * size);
        }
    }

    /// The steepest elements that still have room share the step.
    fn step(&self, ball: &Ball<'_>, ends: &Ends, point: &mut [f32], gradient: &[f32], part: f32) {
        let size = f64::from(part) * ball.radius;
        let slope = |e: usize| ball.slope(gradient, e);
        let has_room = |e: usize| {
            let (x, slope) = (point[e], gradient[e]);
            (slope > 0.0 && x < ends.high[e]) || (slope < 0.0 && x > ends.low[e])
        };
        let mut order: Vec<usize> = (0..point.len()).filter(|&e| has_room(e)).collect();
        order.sort_by(|&a, &b| slope(b).abs().total_cmp(&slope(a).abs()).then(a.cmp(&b)));
        order.truncate((point.len() / MOVED_PART).max(1));
        let each = size / order.len().max(1) as f64;
        for e in order {
            let change = ball.change(point, e) + each * slope(e).signum();
            ball.place(point, e, change);
        }
    }

    /// Signed exponentials fill the L1 sphere evenly.
    fn draw(&self, ball: &Ball<'_>, _: &Ends, random: &mut Random) -> Vec<f32> {
        let exponential = |random: &mut Random| {
            let sign = if random.bits() & 1 == 0 { 1.0 } else { -1.0 };
            -sign * (1.0 - f64::from(random.part())).ln()
        };
        ball.fill(random, exponential, |direction| self.length(direction))
    }

    /// The steepest element takes all.
    fn dual(&self, gradient: &[f32], radius: f64, space: &InputSpace) -> f64 {
        let slopes = gradient.iter().enumerate();
        let slopes = slopes.map(|(e, &g)| f64::from(g).abs() * space.width(e));
        radius * slopes.fold(0.0, f64::max)
    }

    fn convex(&self) -> Result<&'static dyn ConvexNorm, Unsupported> {
        Ok(&Self)
    }

    fn screening(&self, _: bool) -> &'static dyn Screening {
        &Self
    }
}

impl ConvexNorm for L1 {
    fn length(&self, displacement: &[f64]) -> f64 {
        displacement.iter().map(|d| d.abs()).sum()
    }

    fn form(&self) -> LinearForm {
        LinearForm::Sum
    }

    /// The largest coefficients move first.
    fn nearest_beyond(&self, row: &[f64], least: f64, helpful: Helpful) -> Option<Vec<f64>> {
        let Helpful(mut helpful) = helpful;
        helpful.sort_by(|a, b| row[b.0].abs().total_cmp(&row[a.0].abs()));
        let mut displacement = vec![0.0; row.len()];
        let mut missing = least;
        for (e, room) in helpful {
            let needed = missing / row[e].abs();
            displacement[e] = room.min(needed).copysign(row[e]);
            missing -= room.min(needed) * row[e].abs();
            if needed <= room {
                missing = 0.0;
                break;
            }
        }
        if missing > 0.0 {
            None
        } else {
            Some(displacement)
        }
    }
}

impl Screening for L1 {
    fn limit(&self, distance: f64, _ties: bool, elements: usize) -> f32 {
        rounded_up(distance, elements)
    }

    fn left(&self, columns: Columns<'_>, sight: &Sight) -> Left {
        vectorised(
            #[inline(always)]
            || {
                scan(
                    columns,
                    &sight.probes,
                    sight.limit,
                    |probe| probe.element,
                    |sum, _, x, probe| *sum += (x - probe.value).abs() * probe.factor,
                )
            },
        )
    }
}
