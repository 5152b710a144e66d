//! The part of the search space round one root: how a search stays in it, and how it steps.
//!
//! What is kept to here is checked elsewhere, by [`SearchSpace::violation`].

use crate::norm::SLACK;
use crate::norm::step_each;
use crate::{Ball, Ends, ImageShape, Part, Random, Room, SearchSpace, Which};

/// Halvings when a point is drawn back towards its root to be similar enough.
const DRAWS: usize = 8;

/// How far patterns move, at least and at most, as a part of the reach.
const STRETCH: (f32, f32) = (0.2, 2.0);
/// Pixels of the side of a pattern's largest cells.
const LARGEST_CELL: usize = 8;

/// Where tests of one root may lie.
#[derive(Clone, Debug)]
pub struct AllowedRegion<'a> {
    space: &'a SearchSpace,
    root: &'a [f32],
    ends: Ends,
    room: Room,
    /// The ball that tests keep to, if they do.
    ball: Option<Ball<'a>>,
}

impl<'a> AllowedRegion<'a> {
    /// The reach of a root, within ends if the requirement is confined to them; the `turn`-th part of a
    /// region whose parts belong to no seed. `None` when nothing is left.
    pub fn new(
        space: &'a SearchSpace,
        root: &'a [f32],
        confined_to: Option<(&[f32], &[f32])>,
        turn: usize,
    ) -> Option<Self> {
        let Part { mut ends, room } = space.part(Which::Turn(turn), root).ok()?;
        let ball = space.radius().map(|radius| Ball {
            root,
            radius,
            units: &space.units,
        });
        if let Some(ball) = ball.filter(|_| space.norm.is_box()) {
            // With a grid there is no slack: the grid decides what is in reach.
            let spare = if space.has_grid() { 0.0 } else { SLACK };
            let own = ball.ends(ball.radius, spare);
            ends.narrow(&own.low, &own.high);
        }
        if let Some((low, high)) = confined_to {
            ends.narrow(low, high);
        }
        ends.are_ordered().then_some(Self {
            space,
            root,
            ends,
            room,
            ball,
        })
    }

    /// The ball, when it is one that a box does not describe.
    fn round(&self) -> Option<&Ball<'a>> {
        self.ball.as_ref().filter(|_| !self.space.norm.is_box())
    }

    /// Moves a point to the nearest place in reach, or near it.
    pub fn hold(&self, point: &mut [f32]) {
        if let Some(ball) = self.round() {
            self.space.norm.project(ball, point);
        }
        self.ends.clamp(point);
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
        if self.space.has_grid() {
            for (e, x) in settled.iter_mut().enumerate() {
                *x = self.grid_value(e, *x);
            }
        }
    }

    /// The grid point next to a value that is in reach: the nearest, or on the root's side where
    /// the nearest is further out. An element without one keeps the root's value; one without a grid, the value.
    fn grid_value(&self, element: usize, value: f32) -> f32 {
        let root = self.root[element];
        let point = |number: u32| self.space.grid_point(element, number).unwrap_or(root);
        let Some(nearest) = self.space.grid_number(element, value) else {
            return value;
        };
        let inward = if point(nearest) > root {
            nearest.saturating_sub(1)
        } else {
            nearest + 1
        };
        // In a round ball every element must not move further than asked.
        let fits = |x: f32| {
            let inside = self.ends.low[element] <= x && x <= self.ends.high[element];
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
        let (norm, ends) = (self.space.norm, &self.ends);
        match (&self.ball, self.room) {
            (Some(ball), _) => norm.step(ball, ends, point, gradient, size),
            (None, Room::Width) => {
                step_each(point, gradient, size, |e| self.space.units.width(e) as f32);
            }
            (None, Room::Ends) => {
                step_each(point, gradient, size, |e| ends.high[e] - ends.low[e]);
            }
        }
        self.hold(point);
    }

    /// The part of the direction so far that the next step of a climb keeps: the norm's where there is a ball.
    pub fn inertia(&self) -> f32 {
        self.ball.map_or(0.0, |_| self.space.norm.inertia())
    }

    /// A point that differs from the root by a pattern of square cells, all of whose pixels move by the same amount: noise
    /// of single pixels cancels out in whatever sums over many of them. How large the cells are and how far they
    /// move is drawn too; what would be out of reach is held. An input that is no image has cells of one element.
    pub fn draw_pattern(&self, image: Option<&ImageShape>, random: &mut Random) -> Vec<f32> {
        let mut point = self.draw(random);
        let stretch = random.between(STRETCH.0, STRETCH.1);
        if let (Some(image), None) = (image, self.round()) {
            let side = 1 + random.below(LARGEST_CELL);
            self.spread_over_cells(image, side, random, &mut point);
        }
        for (x, &root) in point.iter_mut().zip(self.root) {
            *x = root + (*x - root) * stretch;
        }
        self.hold(&mut point);
        point
    }

    /// Moves every element by the amount of its cell, a part of its own room.
    fn spread_over_cells(
        &self,
        image: &ImageShape,
        side: usize,
        random: &mut Random,
        point: &mut [f32],
    ) {
        let (above, left) = (random.below(side), random.below(side));
        let across = (image.width + left).div_ceil(side);
        let down = (image.height + above).div_ceil(side);
        for channel in 0..image.channels() {
            let amounts: Vec<f32> = (0..across * down)
                .map(|_| random.between(-1.0, 1.0))
                .collect();
            for row in 0..image.height {
                for column in 0..image.width {
                    let cell = (row + above) / side * across + (column + left) / side;
                    let e = image.element(row, column, channel);
                    point[e] = self.root[e] + amounts[cell] * self.room_of(e);
                }
            }
        }
    }

    /// How far an element may move from the root: the radius, or half of what there is.
    fn room_of(&self, element: usize) -> f32 {
        self.ball.map_or_else(
            || 0.5 * (self.ends.high[element] - self.ends.low[element]),
            |ball| (ball.radius * ball.units.width(element)) as f32,
        )
    }

    /// A point drawn from all of the reach: uniformly from a box; from a ball as its norm fills it, cut off
    /// at the ends.
    pub fn draw(&self, random: &mut Random) -> Vec<f32> {
        let mut point = match self.round() {
            Some(ball) => self.space.norm.draw(ball, &self.ends, random),
            None => self.ends.draw(random),
        };
        self.hold(&mut point);
        point
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Domain, Extent, Norm, Pixels, Validity, WholeNumbers};

    fn spaces() -> Vec<SearchSpace> {
        let elements = 64;
        let mut all = Vec::new();
        let whole: Vec<usize> = (0..elements).filter(|e| e % 5 == 2).collect();
        let fixed: Vec<usize> = (0..elements).filter(|e| e % 7 == 3).collect();
        for norm in Norm::ALL {
            let radii = [0.0, 0.004, 0.3, 3.0].into_iter();
            for radius in radii.filter(|&radius| norm.check_radius(radius).is_ok()) {
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
                        let mut of_a_table = space.clone();
                        of_a_table.fix(&fixed);
                        of_a_table.whole = Some(WholeNumbers::new(elements, &whole, 4.0));
                        all.extend([space, of_a_table]);
                    }
                }
            }
        }
        all
    }

    /// The slow obvious reading of fixed and whole elements.
    #[expect(
        clippy::float_cmp,
        reason = "fixed means the same, whole means no fraction"
    )]
    fn keeps_to_the_table(space: &SearchSpace, input: &[f32], root: &[f32]) -> bool {
        (0..input.len()).all(|e| {
            let fixed = e % 7 == 3 && space.whole.is_some();
            let whole = e % 5 == 2 && space.whole.is_some();
            let as_root = input[e] == root[e];
            as_root || (!fixed && (!whole || (input[e] * 4.0).fract() == 0.0))
        })
    }

    #[test]
    fn whatever_the_step_the_point_that_is_run_is_a_test() {
        let mut random = Random::of(&[5]);
        for space in spaces() {
            let root: Vec<f32> = (0..64)
                .map(|e| random.part() * space.domain.upper()[e])
                .collect();
            let reach = AllowedRegion::new(&space, &root, None, 0).unwrap();
            let mut point = reach.draw(&mut random);
            let mut settled = vec![0.0; 64];
            for _ in 0..20 {
                reach.settle(&mut point, &mut settled);
                assert_eq!(space.violation(&settled, &root), None, "{space:?}");
                assert!(keeps_to_the_table(&space, &settled, &root), "{space:?}");
                let gradient: Vec<f32> = (0..64).map(|_| random.part() - 0.5).collect();
                reach.step(&mut point, &gradient, random.part());
            }
        }
    }

    #[test]
    fn patterns_are_tests_and_move_cells_as_one() {
        let mut random = Random::of(&[6]);
        let image = ImageShape::of(&[1, 8, 8]);
        for space in spaces() {
            let root: Vec<f32> = (0..64)
                .map(|e| random.part() * space.domain.upper()[e])
                .collect();
            let reach = AllowedRegion::new(&space, &root, None, 0).unwrap();
            for image in [image.as_ref(), None] {
                let mut point = reach.draw_pattern(image, &mut random);
                let mut settled = vec![0.0; 64];
                reach.settle(&mut point, &mut settled);
                assert_eq!(space.violation(&settled, &root), None, "{space:?}");
            }
        }
        let domain = Domain::uniform(64, -10.0, 10.0).unwrap();
        let space = SearchSpace::of(domain, Pixels::Single, Norm::LINF, Extent::Balls(0.05));
        let root = vec![0.0; 64];
        let reach = AllowedRegion::new(&space, &root, None, 0).unwrap();
        let alike = |point: &[f32]| {
            let pairs = (0..63).filter(|e| e % 8 != 7);
            pairs
                .filter(|&e| point[e].to_bits() == point[e + 1].to_bits())
                .count()
        };
        let most = (0..32).map(|_| alike(&reach.draw_pattern(image.as_ref(), &mut random)));
        assert!(most.max() > Some(40), "neighbours that move as one");
        assert!(alike(&reach.draw_pattern(None, &mut random)) < 40);
    }

    #[test]
    fn steps_climb_and_reach_the_rim() {
        for norm in [Norm::LINF, Norm::L1, Norm::L2] {
            let domain = Domain::uniform(40, -10.0, 10.0).unwrap();
            let extent = Extent::Balls(0.05);
            let space = SearchSpace::of(domain, Pixels::Single, norm, extent);
            let root = vec![0.0; 40];
            let reach = AllowedRegion::new(&space, &root, None, 0).unwrap();
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
        let space = SearchSpace::of(domain, Pixels::Single, Norm::LINF, Extent::Balls(0.1));
        let far = (&[0.9, 0.0][..], &[1.0, 1.0][..]);
        assert!(AllowedRegion::new(&space, &[0.2, 0.2], Some(far), 0).is_none());
        assert!(AllowedRegion::new(&space, &[0.85, 0.2], Some(far), 0).is_some());
    }
}
