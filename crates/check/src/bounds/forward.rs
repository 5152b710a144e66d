//! Bounds over a part of a region in which at most three inputs move, by lines that go forward: every variable
//! lies between two linear functions of what the moving inputs are away from the middle of their ends. What does
//! not depend on them stands where it stands at the centre of the changes and costs nothing, and no unit is pulled
//! back: a part of a convolutional network costs one pass through what its inputs reach.
//!
//! With `C` the value of a variable at the centre, a sum is `C(sum) + sum of w (v - C(v))` over the terms that
//! move. Rounding: each number of a line is a sum of as many products as there are such terms, so that it errs by
//! at most (terms + 4) x epsilon x (sum of magnitudes); magnitudes are added up beside, coefficients times how far
//! their input moves, and more than the error is taken off the lower line and added to the upper one.

#![expect(
    clippy::inline_always,
    reason = "loops over numbers of lines, inlined into the function compiled for wide vectors"
)]

use crate::bounds::backward::{Magnitudes, lowered};
use crate::bounds::change_bounds::AtCentre;
use crate::bounds::cone::{Cone, Curves, Step, Sums};
use crate::bounds::lines::{RelaxationLine, lines};
use crate::bounds::spelled::Spelled;

/// Most inputs that move.
pub(crate) const MAX_MOVING: usize = 3;

/// A linear function: its value where all moving inputs are in the middle, and a coefficient for each.
type Line = [f64; 1 + MAX_MOVING];

/// An input variable that moves, and its ends.
pub(crate) type Moving = (u32, [f64; 2]);

/// A cone over one part at a time.
pub(crate) struct ForwardBounds<'a> {
    cone: &'a Cone,
    centre: &'a AtCentre,
    low: Vec<Line>,
    high: Vec<Line>,
    /// For variables that move, the largest magnitude of the numbers of both lines.
    mass: Vec<f64>,
    /// The part in which a variable was last seen to move.
    seen: Vec<u32>,
    part: u32,
    /// Variables that move, in the order of the cone.
    moving: Vec<u32>,
    /// How far each moving input goes from its middle.
    radius: [f64; MAX_MOVING],
}

impl<'a> ForwardBounds<'a> {
    pub fn new(cone: &'a Cone, centre: &'a AtCentre) -> Self {
        Self {
            cone,
            centre,
            low: vec![[0.0; 4]; cone.variables],
            high: vec![[0.0; 4]; cone.variables],
            mass: vec![0.0; cone.variables],
            seen: vec![0; cone.variables],
            part: 0,
            moving: Vec::new(),
            radius: [0.0; MAX_MOVING],
        }
    }

    /// Moves to a part in which these inputs move, at most [`MAX_MOVING`] of them.
    pub fn enter(&mut self, inputs: &[Moving]) {
        if self.part == u32::MAX {
            self.seen.fill(0);
            self.part = 0;
        }
        self.part += 1;
        self.moving.clear();
        self.radius = [0.0; MAX_MOVING];
        for (number, &(input, [low, high])) in inputs.iter().take(MAX_MOVING).enumerate() {
            let middle = 0.5 * low + 0.5 * high;
            self.radius[number] = (high - middle).max(middle - low).next_up().max(0.0);
            let mut line = [middle, 0.0, 0.0, 0.0];
            line[1 + number] = 1.0;
            self.set(input as usize, line, line);
        }
        let cone = self.cone;
        deepconcolic_network::vectorised(|| {
            for (at, step) in cone.steps.iter().enumerate() {
                match step {
                    Step::Sums(sums) => self.sums(at, sums),
                    Step::Curves(curves) => self.curves(curves),
                }
            }
        });
    }

    fn is_moving(&self, variable: usize) -> bool {
        self.seen[variable] == self.part
    }

    fn set(&mut self, variable: usize, low: Line, high: Line) {
        self.low[variable] = low;
        self.high[variable] = high;
        self.mass[variable] = self.size(&low).max(self.size(&high));
        self.seen[variable] = self.part;
        self.moving.push(variable as u32);
    }

    /// The largest magnitude that the numbers of a line amount to.
    fn size(&self, line: &Line) -> f64 {
        line[0].abs() + self.swing(line)
    }

    /// How far a line goes from its value in the middle.
    fn swing(&self, line: &Line) -> f64 {
        let each = line[1..].iter().zip(&self.radius);
        each.map(|(a, radius)| a.abs() * radius).sum()
    }

    /// The ends of a variable that moves.
    fn ends(&self, variable: usize) -> [f64; 2] {
        let (low, high) = (&self.low[variable], &self.high[variable]);
        let error = taken_off(8.0, self.mass[variable]);
        let low = low[0] - self.swing(low) - error;
        [low, high[0] + self.swing(high) + error]
    }

    #[inline(always)]
    fn sums(&mut self, at: usize, sums: &Sums) {
        let before = self.moving.len();
        for place in 0..before {
            let variable = self.moving[place] as usize;
            let [least, largest] = self.centre.values[variable];
            let (mut down, mut up) = (self.low[variable], self.high[variable]);
            down[0] -= largest;
            up[0] -= least;
            let mass = self.mass[variable] + least.abs().max(largest.abs());
            for &(sum, weight) in self.centre.columns[at].of_variable(variable) {
                let sum = sum as usize;
                if self.seen[sum] != self.part {
                    self.seen[sum] = self.part;
                    self.moving.push(sum as u32);
                    self.low[sum] = [0.0; 4];
                    self.high[sum] = [0.0; 4];
                    self.mass[sum] = 0.0;
                }
                let (below, above) = if weight < 0.0 {
                    (&up, &down)
                } else {
                    (&down, &up)
                };
                let (low, high) = (&mut self.low[sum], &mut self.high[sum]);
                for number in 0..=MAX_MOVING {
                    low[number] += weight * below[number];
                    high[number] += weight * above[number];
                }
                self.mass[sum] += weight.abs() * mass;
            }
        }
        for place in before..self.moving.len() {
            let sum = self.moving[place] as usize;
            let k = sum - sums.first;
            let terms = (sums.starts[k + 1] - sums.starts[k]) as f64;
            let [least, largest] = self.centre.values[sum];
            let mass = self.mass[sum] + least.abs().max(largest.abs());
            let error = taken_off(terms + 8.0, mass);
            self.low[sum][0] += least - error;
            self.high[sum][0] += largest + error;
            self.mass[sum] = self.size(&self.low[sum]).max(self.size(&self.high[sum]));
        }
    }

    fn curves(&mut self, curves: &Curves) {
        for (k, &input) in curves.inputs.iter().enumerate() {
            let input = input as usize;
            if !self.is_moving(input) {
                continue;
            }
            let [l, u] = self.ends(input);
            // Ends that are no numbers say nothing, and nothing follows from them.
            let (l, u) = if l <= u {
                (l, u)
            } else {
                (f64::NEG_INFINITY, f64::INFINITY)
            };
            let [below, above] = lines(&curves.parts, l, u, None);
            let low = self.through(&below, input, -1.0);
            let high = self.through(&above, input, 1.0);
            self.set(curves.first + k, low, high);
        }
    }

    /// A line of a curve's input, put into a line of the curve: below with sign -1, above with 1.
    fn through(&self, line: &RelaxationLine, input: usize, sign: f64) -> Line {
        let rises = line.slope >= 0.0;
        let of = if rises == (sign > 0.0) {
            &self.high[input]
        } else {
            &self.low[input]
        };
        if line.slope == 0.0 {
            return [line.cut, 0.0, 0.0, 0.0];
        }
        let mut through = of.map(|number| number * line.slope);
        let mass = line.slope.abs() * self.mass[input] + line.cut.abs();
        through[0] += line.cut + sign * taken_off(8.0, mass);
        through
    }

    /// An upper bound of a sum of variables and a number over the part, and the coefficients of the line that it
    /// is the largest value of.
    pub fn upper(&self, spelled: &Spelled) -> (f64, [f64; MAX_MOVING]) {
        let mut sum = [spelled.constant, 0.0, 0.0, 0.0];
        let mut mass = spelled.constants;
        for &(variable, weight, size) in &spelled.terms {
            let [least, largest] = self.centre.values[variable];
            let (line, magnitude) = if !self.is_moving(variable) {
                let end = if weight < 0.0 { least } else { largest };
                ([end, 0.0, 0.0, 0.0], least.abs().max(largest.abs()))
            } else if weight < 0.0 {
                (self.low[variable], self.mass[variable])
            } else {
                (self.high[variable], self.mass[variable])
            };
            for (sum, number) in sum.iter_mut().zip(line) {
                *sum += weight * number;
            }
            mass += size * magnitude;
        }
        let largest = sum[0] + self.swing(&sum);
        let bound = -lowered(-largest, mass, 16.0 + 4.0 * spelled.count);
        (bound, [sum[1], sum[2], sum[3]])
    }
}

/// More than rounding can do to a sum of so many products with these magnitudes.
fn taken_off(terms: f64, mass: f64) -> f64 {
    -lowered(0.0, mass, terms)
}

/// Magnitudes of a cone by what its weights can add up to alone: enough to say how far values at the centre are
/// rounded.
pub(crate) fn magnitudes(cone: &Cone, region: &crate::certificate::Region) -> Magnitudes {
    let mut reach = Magnitudes::of(cone, region);
    let unbounded = |_| [f64::NEG_INFINITY, f64::INFINITY];
    reach.advance(cone, cone.steps.len(), unbounded);
    reach
}
