//! L0: how many pixels, or elements, change at all. All channels of a position are one pixel.
//!
//! It is a count and no norm in the strict sense: its balls are not convex, so no linear program states
//! them, and what a changed element changes to is limited by the domain alone.

use deepconcolic_network::vectorised;

use super::convex::ConvexNorm;
use super::screen::{Columns, Left, Screening, Sight, scan};
use super::{Ball, Ends, InputSpace, Norm, NormKind, Pixels, Unsupported};
use crate::Random;

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Count {
    Pixels,
    Elements,
}

impl Norm {
    /// The number of changed pixels: all channels of a position count once.
    pub const L0: Self = Self(&Count::Pixels);
    /// The number of changed elements.
    pub const L0_ELEMENTS: Self = Self(&Count::Elements);
}

/// How many may change within a radius.
fn allowed(radius: f64) -> usize {
    radius as usize
}

#[expect(clippy::float_cmp, reason = "changed means not the same")]
fn is_changed(a: f32, b: f32) -> bool {
    a != b
}

impl Count {
    /// The pixel or element that each element belongs to.
    fn positions(self, ball: &Ball<'_>) -> Vec<usize> {
        let (elements, pixels) = (ball.root.len(), ball.units.pixels);
        let position = |e| self.position(e, elements, pixels);
        (0..elements).map(position).collect()
    }

    /// Takes all changes back but so many as the radius allows, those with the highest scores; of equal ones the
    /// first are kept. The score of a change is the sum over its elements.
    fn keep_best(
        self,
        ball: &Ball<'_>,
        point: &mut [f32],
        score: impl Fn(&Ball<'_>, &[f32], usize) -> f64,
    ) {
        let positions = self.positions(ball);
        let mut scores = vec![None; positions.len()];
        for (e, &position) in positions.iter().enumerate() {
            if is_changed(point[e], ball.root[e]) {
                *scores[position].get_or_insert(0.0) += score(ball, point, e);
            }
        }
        let mut changed: Vec<(usize, f64)> = (scores.iter().enumerate())
            .filter_map(|(position, score)| Some((position, (*score)?)))
            .collect();
        changed.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut taken_back = vec![false; positions.len()];
        for &(position, _) in changed.iter().skip(allowed(ball.radius)) {
            taken_back[position] = true;
        }
        for (e, &position) in positions.iter().enumerate() {
            if taken_back[position] {
                point[e] = ball.root[e];
            }
        }
    }

    fn no_linear_form(self) -> &'static str {
        match self {
            Self::Pixels => "the number of changed pixels is no linear objective",
            Self::Elements => "the number of changed elements is no linear objective",
        }
    }

    fn no_radius(self) -> &'static str {
        match self {
            Self::Pixels => "a radius is a whole number of pixels",
            Self::Elements => "a radius is a whole number of elements",
        }
    }
}

impl NormKind for Count {
    fn name(&self) -> &'static str {
        match self {
            Self::Pixels => "l0",
            Self::Elements => "l0-elements",
        }
    }

    fn help(&self) -> &'static str {
        match self {
            Self::Pixels => {
                "the number of changed pixels, all channels of a position counting once"
            }
            Self::Elements => "the number of changed elements",
        }
    }

    fn unit(&self) -> &'static str {
        match self {
            Self::Pixels => "pixels",
            Self::Elements => "elements",
        }
    }

    fn default_radius(&self) -> f64 {
        100.0
    }

    fn check_radius(&self, radius: f64) -> Result<(), Unsupported> {
        if radius.fract() == 0.0 {
            Ok(())
        } else {
            Err(Unsupported {
                what: self.name(),
                why: self.no_radius(),
            })
        }
    }

    fn distance(&self, a: &[f32], b: &[f32], space: &InputSpace) -> f64 {
        let changed = space.changes(a, b).enumerate();
        let changed = changed.filter(|&(_, change)| change != 0.0);
        match self {
            Self::Elements => changed.count() as f64,
            Self::Pixels => {
                let position = |(e, _)| space.pixels.position(e, a.len());
                let mut pixels: Vec<usize> = changed.map(position).collect();
                pixels.sort_unstable();
                pixels.dedup();
                pixels.len() as f64
            }
        }
    }

    fn is_within(&self, a: &[f32], b: &[f32], radius: f64, space: &InputSpace) -> bool {
        // So many changed elements are more pixels than the radius allows, however they lie.
        let channels = match (self, space.pixels) {
            (Self::Elements, _) | (_, Pixels::Single) => 1,
            (Self::Pixels, Pixels::ChannelsFirst(c) | Pixels::ChannelsLast(c)) => c.max(1),
        };
        let maximum = radius * channels as f64;
        let mut changed = 0.0;
        for (&x, &y) in a.iter().zip(b) {
            changed += f64::from(u8::from(is_changed(x, y)));
            if changed > maximum {
                return false;
            }
        }
        self.distance(a, b, space) <= radius
    }

    fn span(&self, radius: f64) -> f64 {
        if radius >= 1.0 { f64::INFINITY } else { 0.0 }
    }

    fn changes(&self, radius: f64) -> Option<usize> {
        Some(allowed(radius))
    }

    /// The largest changes are kept, of those that are equal the first; all others are taken back.
    fn project(&self, ball: &Ball<'_>, point: &mut [f32]) {
        self.keep_best(ball, point, |ball, point, e| ball.change(point, e).powi(2));
    }

    /// Every element moves by the part of its room, where the gradient points. Of what then differs from the root
    /// those changes are kept that are worth most by the gradient, whenever they were made; so all pixels are chosen
    /// anew at every step, while large steps choose and small ones only settle values.
    fn step(&self, ball: &Ball<'_>, ends: &Ends, point: &mut [f32], gradient: &[f32], part: f32) {
        for (e, x) in point.iter_mut().enumerate() {
            *x = moved(ends, gradient, e, *x, part);
        }
        self.keep_best(ball, point, |ball, point, e| {
            f64::from(gradient[e]) * (f64::from(point[e]) - f64::from(ball.root[e]))
        });
    }

    /// What one gradient says of pixels holds near one point only: chosen by it alone they change back and forth from
    /// step to step. Of 150 neurons of the paper's CIFAR-10 network that steps without memory left open, climbs of 24
    /// steps with it reach 134.
    fn inertia(&self) -> f32 {
        0.9
    }

    /// As many as the radius allows, chosen evenly, each drawn from all between its ends.
    fn draw(&self, ball: &Ball<'_>, ends: &Ends, random: &mut Random) -> Vec<f32> {
        let positions = self.positions(ball);
        let count = positions.iter().max().map_or(0, |last| last + 1);
        let mut order: Vec<usize> = (0..count).collect();
        let allowed = allowed(ball.radius).min(count);
        let mut chosen = vec![false; count];
        for place in 0..allowed {
            order.swap(place, place + random.below(count - place));
            chosen[order[place]] = true;
        }
        let mut point = ball.root.to_vec();
        for (e, x) in point.iter_mut().enumerate() {
            if chosen[positions[e]] {
                *x = random.between(ends.low[e], ends.high[e]);
            }
        }
        point
    }

    /// The steepest, as many as the radius allows, move by the domain's width.
    fn dual(&self, gradient: &[f32], radius: f64, space: &InputSpace) -> f64 {
        let mut slopes = vec![0.0; gradient.len()];
        for (e, &g) in gradient.iter().enumerate() {
            let position = self.position(e, gradient.len(), space.pixels);
            slopes[position] += f64::from(g).abs() * space.width(e);
        }
        slopes.sort_by(|a, b| b.total_cmp(a));
        slopes.iter().take(allowed(radius)).sum()
    }

    fn convex(&self) -> Result<&'static dyn ConvexNorm, Unsupported> {
        Err(Unsupported {
            what: self.name(),
            why: self.no_linear_form(),
        })
    }

    fn position(&self, element: usize, elements: usize, pixels: Pixels) -> usize {
        match self {
            Self::Pixels => pixels.position(element, elements),
            Self::Elements => element,
        }
    }

    /// Where every pixel is one element, counting elements is the same and quicker.
    fn screening(&self, grouped: bool) -> &'static dyn Screening {
        match (self, grouped) {
            (Self::Pixels, true) => &Self::Pixels,
            _ => &Self::Elements,
        }
    }
}

/// A part of its room further where the gradient points an element to.
fn moved(ends: &Ends, gradient: &[f32], element: usize, here: f32, part: f32) -> f32 {
    let room = part * (ends.high[element] - ends.low[element]);
    match gradient[element] {
        slope if slope > 0.0 => (here + room).min(ends.high[element]),
        slope if slope < 0.0 => (here - room).max(ends.low[element]),
        _ => here,
    }
}

/// Counts are exact.
impl Screening for Count {
    /// A change counts at the last element of its pixel.
    fn factor(&self, _per_width: f32, is_last: bool) -> f32 {
        f32::from(u8::from(is_last))
    }

    fn limit(&self, distance: f64, ties: bool, _elements: usize) -> f32 {
        if ties {
            (distance + 0.5) as f32
        } else {
            (distance - 0.5) as f32
        }
    }

    #[expect(clippy::float_cmp, reason = "changed means not the same")]
    fn left(&self, columns: Columns<'_>, sight: &Sight) -> Left {
        let (probes, limit) = (&sight.probes, sight.limit);
        vectorised(
            #[inline(always)]
            || match self {
                Self::Elements => scan(
                    columns,
                    probes,
                    limit,
                    |probe| probe.element,
                    |sum, _, x, probe| *sum += if x == probe.value { 0.0 } else { 1.0 },
                ),
                Self::Pixels => scan(
                    columns,
                    probes,
                    limit,
                    |probe| probe.element,
                    |sum, seen, x, probe| {
                        let changed = if x == probe.value { *seen } else { 1.0 };
                        *sum += changed * probe.factor;
                        *seen = changed * (1.0 - probe.factor);
                    },
                ),
            },
        )
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "counts are exact")]
mod tests {
    use super::*;

    /// Two pixels of three channels.
    fn space(pixels: Pixels) -> InputSpace {
        InputSpace {
            pixels,
            ..InputSpace::default()
        }
    }

    #[test]
    fn l0_counts_all_channels_of_a_position_once() {
        // The first pixel changes in two channels.
        let (before, first) = ([0.0; 6], [0.1, 0.0, 0.2, 0.0, 0.0, 0.0]);
        let last = space(Pixels::ChannelsLast(3));
        assert_eq!(Norm::L0.distance(&before, &first, &last), 1.0);
        assert_eq!(Norm::L0_ELEMENTS.distance(&before, &first, &last), 2.0);
        let planar = space(Pixels::ChannelsFirst(3));
        assert_eq!(Norm::L0.distance(&before, &first, &planar), 1.0);
    }

    #[test]
    fn the_pixel_that_changed_most_is_kept_with_all_its_channels() {
        let units = space(Pixels::ChannelsLast(3));
        let ball = Ball {
            root: &[0.0; 6],
            radius: 1.0,
            units: &units,
        };
        let changed = [0.5, 0.0, 0.0, 0.25, 0.25, 0.5];
        let mut point = changed;
        Norm::L0.project(&ball, &mut point);
        assert_eq!(point, [0.0, 0.0, 0.0, 0.25, 0.25, 0.5]);
        let mut point = changed;
        Norm::L0_ELEMENTS.project(&ball, &mut point);
        assert_eq!(point, [0.5, 0.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn a_step_gives_up_what_is_worth_less() {
        let units = space(Pixels::Single);
        let ball = Ball {
            root: &[0.5; 4],
            radius: 2.0,
            units: &units,
        };
        let ends = Ends {
            low: vec![0.0; 4],
            high: vec![1.0; 4],
        };
        let mut point = [1.0, 0.75, 0.5, 0.5];
        // By a quarter of their rooms: the first is worth 1.5 then, the second 0.5, the third 0.025, the last 1.
        Norm::L0.step(&ball, &ends, &mut point, &[3.0, 1.0, 0.1, -4.0], 0.25);
        assert_eq!(point, [1.0, 0.5, 0.5, 0.25]);
        // Whatever is worth more than any other change stays.
        Norm::L0.step(&ball, &ends, &mut point, &[3.0, 0.1, 0.1, -4.0], 1.0);
        assert_eq!(point, [1.0, 0.5, 0.5, 0.0]);
    }

    /// All choices of pixels are looked at here: none is worth more than that of a step.
    #[test]
    fn a_step_keeps_the_best_choice_of_pixels() {
        let units = space(Pixels::ChannelsLast(2));
        let ends = Ends {
            low: vec![0.0; 12],
            high: vec![1.0; 12],
        };
        let mut random = Random::of(&[11]);
        let mut numbers = || -> Vec<f32> { (0..12).map(|_| random.part()).collect() };
        for _ in 0..50 {
            let root = numbers();
            let ball = Ball {
                root: &root,
                radius: 2.0,
                units: &units,
            };
            let mut start = numbers();
            Norm::L0.project(&ball, &mut start);
            let gradient: Vec<f32> = numbers().iter().map(|x| x - 0.5).collect();
            let far: Vec<f32> = (0..12)
                .map(|e| moved(&ends, &gradient, e, start[e], 0.3))
                .collect();
            let worth = |point: &[f32]| -> f64 {
                let rise = |e: usize| f64::from(gradient[e]) * f64::from(point[e] - root[e]);
                (0..12).map(rise).sum()
            };
            let mut point = start.clone();
            Norm::L0.step(&ball, &ends, &mut point, &gradient, 0.3);
            assert!(Norm::L0.is_within(&point, &root, 2.0, &units));
            for (a, b) in (0..6).flat_map(|a| (0..a).map(move |b| (a, b))) {
                let chosen = |e: usize| e / 2 == a || e / 2 == b;
                let other: Vec<f32> = (0..12)
                    .map(|e| if chosen(e) { far[e] } else { root[e] })
                    .collect();
                assert!(worth(&other) <= worth(&point) + 1e-6);
            }
        }
    }

    #[test]
    fn a_radius_is_a_whole_number() {
        for norm in [Norm::L0, Norm::L0_ELEMENTS] {
            assert_eq!(norm.check_radius(3.0), Ok(()));
            let why = norm.check_radius(2.5).unwrap_err();
            assert!(why.to_string().contains("whole number"), "{why}");
        }
    }

    #[test]
    fn a_count_says_that_it_has_no_linear_form() {
        assert!(Norm::L0.convex().unwrap_err().why.contains("pixels"));
        assert!(
            Norm::L0_ELEMENTS
                .convex()
                .unwrap_err()
                .why
                .contains("elements")
        );
    }
}
