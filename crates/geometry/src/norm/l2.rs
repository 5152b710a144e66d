//! L2: the Euclidean length of the change.

use deepconcolic_network::vectorised;

use super::ball::SLACK;
use super::convex::{ConvexNorm, Helpful, LinearForm};
use super::screen::{Columns, Left, Screening, Sight, rounded_up, scan};
use super::{Ball, Ends, InputSpace, Norm, NormKind, Unsupported};
use crate::Random;

struct L2;

impl Norm {
    /// The Euclidean length of the change.
    pub const L2: Self = Self(&L2);
}

impl NormKind for L2 {
    fn name(&self) -> &'static str {
        "l2"
    }

    fn help(&self) -> &'static str {
        "the Euclidean length of the change"
    }

    fn default_radius(&self) -> f64 {
        3.0
    }

    fn distance(&self, a: &[f32], b: &[f32], space: &InputSpace) -> f64 {
        let changes = space.changes(a, b);
        changes.map(|change| change * change).sum::<f64>().sqrt()
    }

    fn is_within(&self, a: &[f32], b: &[f32], radius: f64, space: &InputSpace) -> bool {
        let far = radius * (1.0 + 1e-9);
        let scale = far.max(f64::MIN_POSITIVE);
        !space.soon_beyond(a, b, far, |sum, change| sum + change * change / scale)
            && self.distance(a, b, space) <= radius
    }

    fn span(&self, radius: f64) -> f64 {
        radius
    }

    fn project(&self, ball: &Ball<'_>, point: &mut [f32]) {
        let radius = ball.radius * (1.0 - SLACK);
        let squares = (0..point.len()).map(|e| ball.change(point, e).powi(2));
        let length = squares.sum::<f64>().sqrt();
        if length > radius {
            for e in 0..point.len() {
                let change = ball.change(point, e) * radius / length;
                ball.place(point, e, change);
            }
        }
    }

    fn step(&self, ball: &Ball<'_>, _: &Ends, point: &mut [f32], gradient: &[f32], part: f32) {
        let size = f64::from(part) * ball.radius;
        let slope = |e: usize| ball.slope(gradient, e);
        let squares = (0..point.len()).map(|e| slope(e).powi(2));
        let length = squares.sum::<f64>().sqrt();
        if length > 0.0 {
            for e in 0..point.len() {
                let change = ball.change(point, e) + size * slope(e) / length;
                ball.place(point, e, change);
            }
        }
    }

    fn draw(&self, ball: &Ball<'_>, _: &Ends, random: &mut Random) -> Vec<f32> {
        ball.fill(random, Random::normal, |direction| self.length(direction))
    }

    fn dual(&self, gradient: &[f32], radius: f64, space: &InputSpace) -> f64 {
        let slopes = gradient.iter().enumerate();
        let slopes = slopes.map(|(e, &g)| f64::from(g) * space.width(e));
        radius * slopes.map(|slope| slope * slope).sum::<f64>().sqrt()
    }

    fn convex(&self) -> Result<&'static dyn ConvexNorm, Unsupported> {
        Ok(&Self)
    }

    fn screening(&self, _: bool) -> &'static dyn Screening {
        &Self
    }
}

impl ConvexNorm for L2 {
    fn length(&self, displacement: &[f64]) -> f64 {
        displacement.iter().map(|d| d * d).sum::<f64>().sqrt()
    }

    fn form(&self) -> LinearForm {
        LinearForm::Squares
    }

    /// Elements move in proportion to their coefficients.
    fn nearest_beyond(&self, row: &[f64], least: f64, helpful: Helpful) -> Option<Vec<f64>> {
        helpful.move_together(row, least, |e| row[e].abs())
    }
}

impl Screening for L2 {
    fn limit(&self, distance: f64, _ties: bool, elements: usize) -> f32 {
        rounded_up(distance * distance, elements)
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
                    |sum, _, x, probe| {
                        let change = (x - probe.value) * probe.factor;
                        *sum += change * change;
                    },
                )
            },
        )
    }
}
