//! Where the two inputs of a ratio may lie: a box of floats and the balls that a box cannot express.

use deepconcolic_criteria::{Ratio, Region};
use deepconcolic_geometry::{Ball, Ends, Norm, Random, SearchSpace};

/// The region of a ratio round one root.
pub(crate) struct SlopeRegion<'a> {
    space: &'a SearchSpace,
    ratio: &'a Ratio,
    root: &'a [f32],
    /// Lowest and highest value of each element.
    pub ends: Ends,
    /// Balls that the ends do not describe.
    balls: Vec<(Norm, Ball<'a>)>,
}

impl<'a> SlopeRegion<'a> {
    /// What the region of a ratio and the neighbourhood of a root have in common; none when that is nothing.
    pub fn new(space: &'a SearchSpace, ratio: &'a Ratio, root: &'a [f32]) -> Option<Self> {
        let units = &space.units;
        let mut region = Self {
            space,
            ratio,
            root,
            ends: Ends::of(&space.domain),
            balls: Vec::new(),
        };
        match &ratio.region {
            Region::Domain => {}
            Region::Ball(ball) => {
                let (root, radius) = (ball.centre.as_slice(), ball.radius);
                region.keep_to(
                    ball.norm,
                    Ball {
                        root,
                        radius,
                        units,
                    },
                );
            }
            Region::Box { lower, upper } => {
                let own = Ends::inward(&(lower.clone(), upper.clone()));
                region.ends.narrow(&own.low, &own.high);
            }
        }
        if let Some(radius) = space.radius() {
            region.keep_to(
                space.norm,
                Ball {
                    root,
                    radius,
                    units,
                },
            );
        }
        region.ends.are_ordered().then_some(region)
    }

    fn keep_to(&mut self, norm: Norm, ball: Ball<'a>) {
        // A little to spare: distances computed in single precision must not exceed the radius either.
        const SPARE: f64 = 1e-6;
        let own = ball.ends(norm.span(ball.radius), SPARE);
        self.ends.narrow(&own.low, &own.high);
        let same = |(_, known): &(Norm, Ball<'_>)| {
            known.root == ball.root && known.radius.total_cmp(&ball.radius).is_eq()
        };
        if !norm.is_box() && !self.balls.iter().any(same) {
            self.balls.push((norm, ball));
        }
    }

    /// The middle of the ends, or the root where it lies in the region.
    pub fn middle(&self) -> Vec<f32> {
        if self.ends.hold(self.root) {
            return self.root.to_vec();
        }
        let ends = self.ends.low.iter().zip(&self.ends.high);
        let mut middle: Vec<f32> = ends.map(|(&l, &h)| f32::midpoint(l, h)).collect();
        self.hold(&mut middle);
        middle
    }

    /// A point drawn from all of the region.
    pub fn draw(&self, random: &mut Random) -> Vec<f32> {
        let mut point = match self.balls.first() {
            Some((norm, ball)) => norm.draw(ball, &self.ends, random),
            None => self.ends.draw(random),
        };
        self.hold(&mut point);
        point
    }

    /// A corner of the ends, drawn evenly; of a ball a point near its rim.
    pub fn corner(&self, random: &mut Random) -> Vec<f32> {
        let ends = self.ends.low.iter().zip(&self.ends.high);
        let side = |(&low, &high): (&f32, &f32)| if random.below(2) == 0 { low } else { high };
        let mut point: Vec<f32> = ends.map(side).collect();
        self.hold(&mut point);
        point
    }

    /// Moves a point to the nearest place in the region, or near it.
    pub fn hold(&self, point: &mut [f32]) {
        for (norm, ball) in &self.balls {
            norm.project(ball, point);
        }
        self.ends.clamp(point);
    }

    /// The inputs at either end of a line through a point that has this direction and half length, moved
    /// inward where the line would leave the region.
    pub fn across(&self, point: &[f32], direction: &[f64], half: f64) -> [Vec<f32>; 2] {
        let mut middle = point.to_vec();
        for (norm, ball) in &self.balls {
            let tip: Vec<f32> = (ball.root.iter().zip(direction))
                .map(|(&x, d)| (f64::from(x) + half * d) as f32)
                .collect();
            let length = norm.distance(&tip, ball.root, ball.units);
            let radius = (ball.radius - length).max(0.0);
            norm.project(&Ball { radius, ..*ball }, &mut middle);
        }
        let mut both = [middle.clone(), middle];
        for (e, d) in direction.iter().enumerate() {
            let (low, high) = (f64::from(self.ends.low[e]), f64::from(self.ends.high[e]));
            let reach = (half * d).clamp((low - high) / 2.0, (high - low) / 2.0);
            let base = f64::from(both[0][e]).clamp(low + reach.abs(), high - reach.abs());
            both[0][e] = (base + reach) as f32;
            both[1][e] = (base - reach) as f32;
        }
        for end in &mut both {
            self.settle(end);
        }
        both
    }

    /// Moves a point to one that may be a test: in the region, on the grid if there is one.
    pub fn settle(&self, point: &mut [f32]) {
        self.hold(point);
        if !self.space.has_grid() {
            return;
        }
        for (e, x) in point.iter_mut().enumerate() {
            *x = self.on_grid(e, *x);
        }
    }

    fn on_grid(&self, element: usize, value: f32) -> f32 {
        let root = self.root[element];
        let (low, high) = (self.ends.low[element], self.ends.high[element]);
        let Some(nearest) = self.space.grid_number(element, value) else {
            return value;
        };
        [nearest, nearest.saturating_sub(1), nearest + 1]
            .into_iter()
            .filter_map(|number| self.space.grid_point(element, number))
            .find(|x| low <= *x && *x <= high)
            .unwrap_or(root)
    }

    /// Steps along a gradient by a part of what there is room for.
    pub fn step(&self, point: &mut [f32], gradient: &[f32], part: f32) {
        if let Some((norm, ball)) = self.balls.first() {
            norm.step(ball, &self.ends, point, gradient, part);
        } else {
            let ends = self.ends.low.iter().zip(&self.ends.high);
            for ((x, g), (low, high)) in point.iter_mut().zip(gradient).zip(ends) {
                if *g != 0.0 {
                    *x += part * (high - low) * g.signum();
                }
            }
        }
        self.hold(point);
    }

    /// Whether an element can move at all.
    pub fn moves(&self, element: usize) -> bool {
        self.ends.low[element] < self.ends.high[element] && self.space.units.width(element) > 0.0
    }

    /// Whether an input may be a test for the ratio.
    pub fn allows(&self, input: &[f32]) -> bool {
        self.space.violation(input, self.root).is_none()
            && self.ratio.region.contains(input, &self.space.units)
    }
}
