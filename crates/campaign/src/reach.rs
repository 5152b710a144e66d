//! The part of the search space round one root: how a search stays in it, and how it steps.
//!
//! What is kept to here is checked elsewhere, by [`SearchSpace::violation`].

use deepconcolic_criteria::Confinement;
use deepconcolic_geometry::{Extent, Norm, SearchSpace, inward};

use crate::random::Random;

/// Radii are kept to with this much to spare, so that a distance computed in single precision does
/// not exceed them either.
const SLACK: f64 = 1e-6;
/// Elements that an L1 step moves, as a part of all: the steepest few.
const L1_PART: usize = 20;
/// Halvings when a point is drawn back towards its root to be similar enough.
const DRAWS: usize = 8;

/// Where tests of one root may lie.
#[derive(Clone, Debug)]
pub(crate) struct Reach<'a> {
    space: &'a SearchSpace,
    root: &'a [f32],
    low: Vec<f32>,
    high: Vec<f32>,
}

impl<'a> Reach<'a> {
    /// The reach of a root, within a box if the requirement is confined to one; the `turn`-th box
    /// of a region of boxes. `None` when nothing is left.
    pub fn new(
        space: &'a SearchSpace,
        root: &'a [f32],
        confinement: Option<&Confinement>,
        turn: usize,
    ) -> Option<Self> {
        let mut low = space.domain.lower().to_vec();
        let mut high = space.domain.upper().to_vec();
        match &space.extent {
            Extent::Balls(radius) if space.norm == Norm::Linf => {
                for (e, &centre) in root.iter().enumerate() {
                    let room = Room {
                        centre,
                        radius: *radius,
                        width: space.units.widths[e],
                        exact: space.grid.is_some(),
                    };
                    low[e] = low[e].max(room.end(-1.0));
                    high[e] = high[e].min(room.end(1.0));
                }
            }
            Extent::Boxes(boxes) => {
                let (lower, upper) = inward(&boxes[turn % boxes.len().max(1)]);
                narrow(&mut low, &mut high, &lower, &upper);
            }
            Extent::Domain | Extent::Balls(_) => {}
        }
        if let Some(Confinement::Box(lower, upper)) = confinement {
            narrow(&mut low, &mut high, lower, upper);
        }
        let sound = low.iter().zip(&high).all(|(l, h)| l <= h);
        sound.then_some(Self {
            space,
            root,
            low,
            high,
        })
    }

    /// The radius of the ball, when it is one that a box does not describe.
    fn round(&self) -> Option<f64> {
        match self.space.extent {
            Extent::Balls(radius) if self.space.norm != Norm::Linf => Some(radius),
            _ => None,
        }
    }

    fn width(&self, element: usize) -> f64 {
        self.space.units.widths[element]
    }

    /// Moves a point to the nearest place in reach, or near it.
    pub fn hold(&self, point: &mut [f32]) {
        if let Some(radius) = self.round() {
            let radius = radius * (1.0 - SLACK);
            match self.space.norm {
                Norm::L1 => self.hold_l1(point, radius),
                _ => self.hold_l2(point, radius),
            }
        }
        for (x, (&low, &high)) in point.iter_mut().zip(self.low.iter().zip(&self.high)) {
            *x = x.clamp(low, high);
        }
    }

    /// The change of an element from the root, in units of the domain's width.
    fn change(&self, point: &[f32], element: usize) -> f64 {
        let width = self.width(element);
        if width > 0.0 {
            (f64::from(point[element]) - f64::from(self.root[element])) / width
        } else {
            0.0
        }
    }

    /// Rounded towards the root: many elements rounded away from it add up to more than the radius.
    fn place(&self, point: &mut [f32], element: usize, change: f64) {
        let root = f64::from(self.root[element]);
        let wanted = change * self.width(element);
        let mut x = (root + wanted) as f32;
        if (f64::from(x) - root).abs() > wanted.abs() {
            x = if wanted > 0.0 {
                x.next_down()
            } else {
                x.next_up()
            };
        }
        point[element] = x;
    }

    fn hold_l2(&self, point: &mut [f32], radius: f64) {
        let squares = (0..point.len()).map(|e| self.change(point, e).powi(2));
        let length = squares.sum::<f64>().sqrt();
        if length > radius {
            for e in 0..point.len() {
                let change = self.change(point, e) * radius / length;
                self.place(point, e, change);
            }
        }
    }

    /// The nearest point of an L1 ball lowers all changes by the same amount, down to 0.
    fn hold_l1(&self, point: &mut [f32], radius: f64) {
        let mut sizes: Vec<f64> = (0..point.len())
            .map(|e| self.change(point, e).abs())
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
            let change = self.change(point, e);
            self.place(point, e, change.signum() * (change.abs() - less).max(0.0));
        }
    }

    /// The point that is run: on the grid, and similar enough to the root. A point that had to be
    /// drawn back takes its place.
    pub fn settle(&self, point: &mut [f32], settled: &mut [f32]) {
        self.to_grid(point, settled);
        let Some(validity) = self.space.validity else {
            return;
        };
        let alike = |x: &[f32]| self.space.similarity(x, self.root) >= Some(validity.least);
        if alike(settled) {
            return;
        }
        let far = point.to_vec();
        let (mut near, mut apart) = (0.0, 1.0);
        for _ in 0..DRAWS {
            let middle = f32::midpoint(near, apart);
            self.between(&far, middle, point);
            self.to_grid(point, settled);
            if alike(settled) {
                near = middle;
            } else {
                apart = middle;
            }
        }
        self.between(&far, near, point);
        self.to_grid(point, settled);
    }

    fn between(&self, far: &[f32], part: f32, point: &mut [f32]) {
        for (x, (&root, &far)) in point.iter_mut().zip(self.root.iter().zip(far)) {
            *x = root + (far - root) * part;
        }
    }

    fn to_grid(&self, point: &[f32], settled: &mut [f32]) {
        settled.copy_from_slice(point);
        if self.space.grid.is_some() {
            for (e, x) in settled.iter_mut().enumerate() {
                *x = self.grid_value(e, *x);
            }
        }
    }

    /// The grid point next to a value that is in reach: the nearest, or on the root's side where
    /// the nearest is further out. An element without one keeps the root's value.
    fn grid_value(&self, element: usize, value: f32) -> f32 {
        let root = self.root[element];
        let point = |number: u32| self.space.grid_point(element, number).unwrap_or(root);
        let Some(nearest) = self.space.grid_number(element, value) else {
            return root;
        };
        let inward = if point(nearest) > root {
            nearest.saturating_sub(1)
        } else {
            nearest + 1
        };
        // In a round ball every element must not move further than asked.
        let fits = |x: f32| {
            let inside = self.low[element] <= x && x <= self.high[element];
            let no_further = (x - root).abs() <= (value - root).abs();
            inside && (self.round().is_none() || no_further)
        };
        [nearest, inward]
            .map(point)
            .into_iter()
            .find(|&x| fits(x))
            .unwrap_or(root)
    }

    /// Steps along a gradient: `size` is a part of the whole reach.
    pub fn step(&self, point: &mut [f32], gradient: &[f32], size: f32) {
        match self.round() {
            None => self.step_linf(point, gradient, size),
            Some(radius) if self.space.norm == Norm::L1 => {
                self.step_l1(point, gradient, f64::from(size) * radius);
            }
            Some(radius) => self.step_l2(point, gradient, f64::from(size) * radius),
        }
        self.hold(point);
    }

    /// Each element by a part of its own room.
    fn step_linf(&self, point: &mut [f32], gradient: &[f32], size: f32) {
        let reach = match self.space.extent {
            Extent::Balls(radius) => radius as f32,
            _ => 1.0,
        };
        for (e, (x, &slope)) in point.iter_mut().zip(gradient).enumerate() {
            if slope != 0.0 {
                let room = match self.space.extent {
                    Extent::Boxes(_) => self.high[e] - self.low[e],
                    _ => reach * self.width(e) as f32,
                };
                *x += slope.signum() * size * room;
            }
        }
    }

    fn step_l2(&self, point: &mut [f32], gradient: &[f32], size: f64) {
        let slope = |e: usize| f64::from(gradient[e]) * self.width(e);
        let length = (0..point.len())
            .map(|e| slope(e).powi(2))
            .sum::<f64>()
            .sqrt();
        if length > 0.0 {
            for e in 0..point.len() {
                let change = self.change(point, e) + size * slope(e) / length;
                self.place(point, e, change);
            }
        }
    }

    /// The steepest elements that still have room share the step.
    fn step_l1(&self, point: &mut [f32], gradient: &[f32], size: f64) {
        let slope = |e: usize| f64::from(gradient[e]) * self.width(e);
        let has_room = |e: usize| {
            let (x, slope) = (point[e], gradient[e]);
            (slope > 0.0 && x < self.high[e]) || (slope < 0.0 && x > self.low[e])
        };
        let mut order: Vec<usize> = (0..point.len()).filter(|&e| has_room(e)).collect();
        order.sort_by(|&a, &b| slope(b).abs().total_cmp(&slope(a).abs()).then(a.cmp(&b)));
        order.truncate((point.len() / L1_PART).max(1));
        let each = size / order.len().max(1) as f64;
        for e in order {
            let change = self.change(point, e) + each * slope(e).signum();
            self.place(point, e, change);
        }
    }

    /// A point drawn from all of the reach: uniformly from a box; from a ball by a uniform
    /// direction and a radius that fills it evenly, cut off at the domain's ends.
    pub fn draw(&self, random: &mut Random) -> Vec<f32> {
        let mut point: Vec<f32> = self.root.to_vec();
        if let Some(radius) = self.round() {
            let free = (0..point.len()).filter(|&e| self.width(e) > 0.0).count();
            let length = radius * f64::from(random.part()).powf(1.0 / free.max(1) as f64);
            let l1 = self.space.norm == Norm::L1;
            let direction: Vec<f64> = (0..point.len())
                .map(|_| {
                    if l1 {
                        // Signed exponentials fill the L1 sphere evenly.
                        let sign = if random.bits() & 1 == 0 { 1.0 } else { -1.0 };
                        -sign * (1.0 - f64::from(random.part())).ln()
                    } else {
                        random.normal()
                    }
                })
                .collect();
            let norm = if l1 {
                direction.iter().map(|d| d.abs()).sum::<f64>()
            } else {
                direction.iter().map(|d| d * d).sum::<f64>().sqrt()
            };
            for (e, d) in direction.iter().enumerate() {
                self.place(&mut point, e, d * length / norm.max(f64::MIN_POSITIVE));
            }
        } else {
            for (x, (&low, &high)) in point.iter_mut().zip(self.low.iter().zip(&self.high)) {
                *x = random.between(low, high);
            }
        }
        self.hold(&mut point);
        point
    }
}

/// How far one element may move from its seed.
struct Room {
    centre: f32,
    radius: f64,
    width: f64,
    /// No slack: the grid decides what is in reach.
    exact: bool,
}

impl Room {
    /// The furthest value on one side whose distance does not exceed the radius.
    fn end(&self, side: f64) -> f32 {
        let slack = if self.exact { 0.0 } else { SLACK };
        let radius = self.radius * (1.0 - slack);
        let mut end = (f64::from(self.centre) + side * radius * self.width) as f32;
        let distance = |end: f32| (f64::from(end) - f64::from(self.centre)).abs() / self.width;
        while self.width > 0.0 && distance(end) > self.radius {
            end = if side > 0.0 {
                end.next_down()
            } else {
                end.next_up()
            };
        }
        if self.width > 0.0 { end } else { self.centre }
    }
}

fn narrow(low: &mut [f32], high: &mut [f32], lower: &[f32], upper: &[f32]) {
    for (low, &bound) in low.iter_mut().zip(lower) {
        *low = low.max(bound);
    }
    for (high, &bound) in high.iter_mut().zip(upper) {
        *high = high.min(bound);
    }
}

#[cfg(test)]
mod tests {
    use deepconcolic_geometry::{Domain, ImageShape, Pixels, Validity};

    use super::*;

    fn spaces() -> Vec<SearchSpace> {
        let elements = 64;
        let mut all = Vec::new();
        for norm in [Norm::Linf, Norm::L1, Norm::L2] {
            for radius in [0.0, 0.004, 0.3, 3.0] {
                for grid in [None, Some(255)] {
                    for validity in [None, Some(0.8)] {
                        let lower = vec![0.0; elements];
                        let upper = (0..elements).map(|e| [1.0, 0.0, 7.5][e % 3]).collect();
                        let domain = Domain::new(lower, upper).unwrap();
                        let extent = Extent::Balls(radius);
                        let mut space = SearchSpace::of(domain, Pixels::Single, norm, extent);
                        space.grid = grid;
                        space.validity = validity.map(|least| Validity {
                            least,
                            shape: ImageShape::of(&[1, 8, 8]).unwrap(),
                        });
                        all.push(space);
                    }
                }
            }
        }
        all
    }

    #[test]
    fn whatever_the_step_the_point_that_is_run_is_a_test() {
        let mut random = Random::of(&[5]);
        for space in spaces() {
            let root: Vec<f32> = (0..64)
                .map(|e| random.part() * space.domain.upper()[e])
                .collect();
            let reach = Reach::new(&space, &root, None, 0).unwrap();
            let mut point = reach.draw(&mut random);
            let mut settled = vec![0.0; 64];
            for _ in 0..20 {
                reach.settle(&mut point, &mut settled);
                assert_eq!(space.violation(&settled, &root), None, "{space:?}");
                let gradient: Vec<f32> = (0..64).map(|_| random.part() - 0.5).collect();
                reach.step(&mut point, &gradient, random.part());
            }
        }
    }

    #[test]
    fn steps_climb_and_reach_the_rim() {
        for norm in [Norm::Linf, Norm::L1, Norm::L2] {
            let domain = Domain::uniform(40, -10.0, 10.0).unwrap();
            let extent = Extent::Balls(0.05);
            let space = SearchSpace::of(domain, Pixels::Single, norm, extent);
            let root = vec![0.0; 40];
            let reach = Reach::new(&space, &root, None, 0).unwrap();
            let gradient: Vec<f32> = (0..40).map(|e| (e % 5) as f32 - 2.0).collect();
            let height = |x: &[f32]| x.iter().zip(&gradient).map(|(x, g)| x * g).sum::<f32>();
            let mut point = root.clone();
            for _ in 0..50 {
                let before = height(&point);
                reach.step(&mut point, &gradient, 0.1);
                assert!(height(&point) >= before - 1e-4, "{norm}");
            }
            let distance = space.distance(&point, &root);
            assert!((0.049..=0.05).contains(&distance), "{norm} {distance}");
        }
    }

    #[test]
    fn an_empty_meeting_of_box_and_ball_is_none() {
        let domain = Domain::uniform(2, 0.0, 1.0).unwrap();
        let space = SearchSpace::of(domain, Pixels::Single, Norm::Linf, Extent::Balls(0.1));
        let far = Confinement::Box(vec![0.9, 0.0], vec![1.0, 1.0]);
        assert!(Reach::new(&space, &[0.2, 0.2], Some(&far), 0).is_none());
        assert!(Reach::new(&space, &[0.85, 0.2], Some(&far), 0).is_some());
    }
}
