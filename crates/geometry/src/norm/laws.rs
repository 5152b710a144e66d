//! The laws of norms, on every entry of the table: a norm is tested by being listed.

use std::collections::BTreeSet;

use deepconcolic_testing::Random as Numbers;

use super::{Ball, Ends, InputSpace, Norm, Pixels};
use crate::{Domain, Random};

/// A ball in a domain.
struct Place {
    domain: Domain,
    units: InputSpace,
    root: Vec<f32>,
    radius: f64,
}

impl Place {
    /// A root somewhere in a domain whose widths differ, and a radius that some inputs of the domain keep to
    /// and some do not.
    fn random(norm: Norm, numbers: &mut Numbers, elements: usize) -> Self {
        let pixels = [
            Pixels::Single,
            Pixels::ChannelsFirst(2),
            Pixels::ChannelsLast(2),
        ][numbers.below(3)];
        let lower: Vec<f32> = (0..elements).map(|e| e as f32 - 1.0).collect();
        let width = |e: usize| [1.0, 8.0, 0.25][e % 3] as f32;
        let upper = lower
            .iter()
            .enumerate()
            .map(|(e, l)| l + width(e))
            .collect();
        let domain = Domain::new(lower, upper).unwrap();
        let units = domain.space(pixels);
        let root = inside(&domain, numbers);
        let far = norm.distance(&inside(&domain, numbers), &inside(&domain, numbers), &units);
        let radius = far * numbers.between(0.2, 0.9);
        let radius = match norm.check_radius(radius) {
            Ok(()) => radius,
            Err(_) => radius.ceil(),
        };
        Self {
            domain,
            units,
            root,
            radius,
        }
    }

    fn ball(&self) -> Ball<'_> {
        Ball {
            root: &self.root,
            radius: self.radius,
            units: &self.units,
        }
    }

    fn ends(&self) -> Ends {
        Ends::of(&self.domain)
    }

    fn has(&self, norm: Norm, point: &[f32]) -> bool {
        norm.distance(point, &self.root, &self.units) <= self.radius
    }

    /// The product of a gradient with the change from the root.
    fn height(&self, gradient: &[f32], point: &[f32]) -> f64 {
        let changes = point.iter().zip(&self.root);
        let changes = changes.map(|(&x, &r)| f64::from(x) - f64::from(r));
        gradient
            .iter()
            .zip(changes)
            .map(|(&g, d)| f64::from(g) * d)
            .sum()
    }

    /// The Euclidean length of what lies between two points, in units of the domain's width.
    fn apart(&self, a: &[f32], b: &[f32]) -> f64 {
        Norm::L2.distance(a, b, &self.units)
    }
}

fn inside(domain: &Domain, numbers: &mut Numbers) -> Vec<f32> {
    let ends = domain.lower().iter().zip(domain.upper());
    ends.map(|(&l, &u)| numbers.between(f64::from(l), f64::from(u)) as f32)
        .collect()
}

fn gradient(elements: usize, numbers: &mut Numbers) -> Vec<f32> {
    (0..elements)
        .map(|_| numbers.between(-1.0, 1.0) as f32)
        .collect()
}

/// Every norm in so many places of this many elements.
fn each(places: u64, elements: usize, law: impl Fn(Norm, &Place, &mut Numbers)) {
    for norm in Norm::ALL {
        for seed in 0..places {
            let numbers = &mut Numbers::new(seed);
            let place = Place::random(norm, numbers, elements);
            law(norm, &place, numbers);
        }
    }
}

#[test]
fn every_name_leads_back_to_its_norm() {
    for norm in Norm::ALL {
        assert_eq!(Norm::from_name(norm.name()), Some(norm));
        assert!(!norm.help().is_empty() && !norm.unit().is_empty());
        assert_eq!(norm.check_radius(norm.default_radius()), Ok(()), "{norm}");
    }
    let names: BTreeSet<&str> = Norm::ALL.iter().map(|norm| norm.name()).collect();
    assert_eq!(names.len(), Norm::ALL.len());
    assert_eq!(Norm::from_name("l3"), None);
}

#[test]
fn distances_are_symmetric_and_no_way_round_is_shorter() {
    each(50, 6, |norm, place, numbers| {
        let [a, b, c] = [0, 1, 2].map(|_| {
            // Some elements are the same in all three, so that counts differ too.
            let mut x = inside(&place.domain, numbers);
            let same = numbers.below(6);
            x[same] = place.root[same];
            x
        });
        let distance = |a: &[f32], b: &[f32]| norm.distance(a, b, &place.units);
        assert!(distance(&a, &b) > 0.0 && distance(&a, &a) == 0.0, "{norm}");
        assert_eq!(
            distance(&a, &b).to_bits(),
            distance(&b, &a).to_bits(),
            "{norm}"
        );
        let round = distance(&a, &c) + distance(&c, &b);
        assert!(distance(&a, &b) <= round * (1.0 + 1e-12), "{norm}");
    });
}

#[test]
fn the_quick_look_says_what_the_distance_says() {
    each(50, 30, |norm, place, numbers| {
        let (a, b) = (
            inside(&place.domain, numbers),
            inside(&place.domain, numbers),
        );
        let exact = norm.distance(&a, &b, &place.units);
        for radius in [
            0.0,
            exact.next_down(),
            exact,
            exact.next_up(),
            exact * numbers.between(0.1, 2.0),
        ] {
            let within = norm.is_within(&a, &b, radius, &place.units);
            assert_eq!(within, exact <= radius, "{norm} {exact} {radius}");
        }
        assert!(norm.is_within(&a, &a, 0.0, &place.units));
    });
}

#[test]
fn projections_land_in_the_ball_and_stay_there() {
    each(100, 12, |norm, place, numbers| {
        let mut point = inside(&place.domain, numbers);
        norm.project(&place.ball(), &mut point);
        assert!(place.has(norm, &point), "{norm} {}", place.radius);
        let once = point.clone();
        norm.project(&place.ball(), &mut point);
        assert!(
            place.apart(&once, &point) < 1e-6,
            "{norm} {once:?} {point:?}"
        );
        let mut root = place.root.clone();
        norm.project(&place.ball(), &mut root);
        assert_eq!(root, place.root, "{norm}");
    });
}

#[test]
fn no_point_of_the_ball_is_nearer_than_the_projection() {
    for elements in [2, 3] {
        each(12, elements, |norm, place, numbers| {
            let point = inside(&place.domain, numbers);
            let mut found = point.clone();
            norm.project(&place.ball(), &mut found);
            let nearest = place.apart(&point, &found);
            for other in lattice(place, &point) {
                if place.has(norm, &other) {
                    let apart = place.apart(&point, &other);
                    assert!(apart >= nearest - 1e-5, "{norm} {apart} {nearest}");
                }
            }
        });
    }
}

/// Points of the domain that lie close together, those that share elements with the root or a point included.
fn lattice(place: &Place, point: &[f32]) -> Vec<Vec<f32>> {
    const STEPS: usize = 30;
    let mut all = vec![Vec::new()];
    for (e, &own) in point.iter().enumerate() {
        let (low, high) = (place.domain.lower()[e], place.domain.upper()[e]);
        let mut values = vec![place.root[e], own];
        values.extend((0..=STEPS).map(|s| low + (high - low) * s as f32 / STEPS as f32));
        let longer = |start: &Vec<f32>| {
            let values = values.iter();
            let points = values.map(|&value| [start.as_slice(), &[value]].concat());
            points.collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

#[test]
fn steps_climb_and_do_not_leave_the_ball() {
    each(60, 24, |norm, place, numbers| {
        // Ends that no ball meets, so that nothing is lost by cutting off.
        let (ball, ends) = (place.ball(), place.ball().ends(50.0, 0.0));
        let mut point = place.root.clone();
        for _ in 0..8 {
            let gradient = gradient(24, numbers);
            let before = place.height(&gradient, &point);
            norm.step(
                &ball,
                &ends,
                &mut point,
                &gradient,
                numbers.between(0.05, 1.0) as f32,
            );
            norm.project(&ball, &mut point);
            ends.clamp(&mut point);
            assert!(place.has(norm, &point), "{norm}");
            let after = place.height(&gradient, &point);
            let least = before - 1e-5 * (1.0 + before.abs());
            assert!(after >= least, "{norm} {before} {after}");
        }
    });
}

#[test]
fn the_dual_is_the_most_that_is_possible_and_steps_attain_it() {
    each(30, 10, |norm, place, numbers| {
        let gradient = gradient(10, numbers);
        // From the far end of the domain every element has a whole width to climb.
        let far = place.domain.lower().iter().zip(place.domain.upper());
        let root = gradient
            .iter()
            .zip(far)
            .map(|(&g, (&l, &u))| if g > 0.0 { l } else { u });
        let radius = if norm.span(place.radius).is_finite() {
            place.radius.min(1.0)
        } else {
            place.radius
        };
        let place = Place {
            root: root.collect(),
            radius,
            domain: place.domain.clone(),
            units: place.units.clone(),
        };
        let (ball, ends) = (place.ball(), place.ends());
        let maximum = norm.dual(&gradient, place.radius, &place.units);
        let mut random = Random::of(&[numbers.below(1000) as u64]);
        for _ in 0..300 {
            let mut point = norm.draw(&ball, &ends, &mut random);
            ends.clamp(&mut point);
            let height = place.height(&gradient, &point);
            assert!(
                height <= maximum * (1.0 + 1e-5),
                "{norm} {height} {maximum}"
            );
        }
        let mut point = place.root.clone();
        for _ in 0..60 {
            norm.step(&ball, &ends, &mut point, &gradient, 0.5);
            norm.project(&ball, &mut point);
            ends.clamp(&mut point);
        }
        let height = place.height(&gradient, &point);
        assert!(height >= 0.995 * maximum, "{norm} {height} {maximum}");
    });
}

#[test]
fn draws_are_in_the_ball_and_fill_it() {
    for norm in Norm::ALL {
        let radius = if norm.check_radius(0.4).is_ok() {
            0.4
        } else {
            3.0
        };
        let domain = Domain::uniform(8, -10.0, 10.0).unwrap();
        let place = Place {
            units: domain.space(Pixels::Single),
            domain,
            root: vec![0.0; 8],
            radius,
        };
        let (ball, ends) = (place.ball(), place.ends());
        let mut random = Random::of(&[7]);
        let mut sides = [[0; 2]; 8];
        let mut distances = Vec::new();
        for _ in 0..2000 {
            let mut point = norm.draw(&ball, &ends, &mut random);
            norm.project(&ball, &mut point);
            assert!(place.has(norm, &point), "{norm}");
            distances.push(norm.distance(&point, &place.root, &place.units));
            for (side, x) in sides.iter_mut().zip(&point) {
                side[usize::from(*x > 0.0)] += usize::from(*x != 0.0);
            }
        }
        let counts = sides.as_flattened();
        let (least, maximum) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        assert!(*least > 200 && maximum - least < 250, "{norm} {sides:?}");
        distances.sort_by(f64::total_cmp);
        // Most of a ball of eight elements lies near its rim.
        assert!(
            distances[1000] > 0.85 * place.radius,
            "{norm} {}",
            distances[1000]
        );
        assert!(distances[1999] > 0.98 * place.radius, "{norm}");
    }
}

#[test]
fn the_span_holds_the_ball_and_is_no_wider_than_it_need_be() {
    each(40, 8, |norm, place, numbers| {
        let (ball, ends) = (place.ball(), place.ends());
        let span = norm.span(place.radius);
        let change = |point: &[f32], e: usize| ball.change(point, e).abs();
        let mut random = Random::of(&[numbers.below(1000) as u64]);
        for _ in 0..50 {
            let mut point = norm.draw(&ball, &ends, &mut random);
            norm.project(&ball, &mut point);
            assert!(
                (0..8).all(|e| change(&point, e) <= span * (1.0 + 1e-6)),
                "{norm}"
            );
        }
        let element = numbers.below(8);
        let widths = span.min(1e3) * (1.0 - 1e-5);
        let mut alone = place.root.clone();
        ball.place(&mut alone, element, widths);
        assert!(place.has(norm, &alone), "{norm} {widths} {}", place.radius);
        if norm.is_box() {
            // All elements may go to their ends at once.
            assert!(place.has(norm, &ball.ends(span, 0.0).high), "{norm}");
        }
        assert!(norm.span(0.0) <= 0.0, "{norm}");
    });
}

#[test]
#[expect(clippy::float_cmp, reason = "what is constant stays as it is")]
fn a_constant_feature_that_moves_is_infinitely_far_unless_only_changes_are_counted() {
    let space = InputSpace {
        widths: vec![1.0, 0.0],
        ..InputSpace::default()
    };
    for norm in Norm::ALL {
        let moved = norm.distance(&[0.0, 3.0], &[0.5, 4.0], &space);
        let still = norm.distance(&[0.0, 3.0], &[0.5, 3.0], &space);
        assert!(still.is_finite() && moved > still, "{norm}");
        assert_eq!(moved.is_infinite(), norm.span(1.0).is_finite(), "{norm}");
        let ball = Ball {
            root: &[0.0, 3.0],
            radius: 1.0,
            units: &space,
        };
        assert_eq!(ball.ends(1.0, 0.0).high[1], 3.0);
        // Minus zero is a value like any other.
        let root = &[0.0, -0.0];
        assert_eq!(Ball { root, ..ball }.ends(1.0, 0.0).low[1], 0.0);
    }
}

#[test]
fn programs_measure_what_the_norm_measures() {
    for norm in Norm::ALL {
        let Ok(convex) = norm.convex() else {
            assert!(!norm.is_box());
            continue;
        };
        let numbers = &mut Numbers::new(3);
        for _ in 0..50 {
            let displacement = numbers.list(7, -1.0, 1.0);
            let single: Vec<f32> = displacement.iter().map(|&d| d as f32).collect();
            let distance = norm.distance(&single, &[0.0; 7], &InputSpace::default());
            assert!(
                (convex.length(&displacement) - distance).abs() < 1e-6,
                "{norm}"
            );
            let row = numbers.list(7, -1.0, 1.0);
            let (lower, upper) = (numbers.list(7, -1.0, 0.0), numbers.list(7, 0.0, 1.0));
            let least = numbers.between(0.1, 0.6);
            let product = |d: &[f64]| row.iter().zip(d).map(|(a, d)| a * d).sum::<f64>();
            let found = convex.nearest_on_row(&row, least, &lower, &upper);
            let Some((nearest, length)) = found else {
                continue;
            };
            assert!(product(&nearest) >= least - 1e-9, "{norm}");
            let within = |d: &[f64]| (0..7).all(|e| lower[e] <= d[e] && d[e] <= upper[e]);
            assert!(within(&nearest), "{norm}");
            for _ in 0..200 {
                let towards: Vec<f64> = (0..7)
                    .map(|e| numbers.between(lower[e], upper[e]))
                    .collect();
                let share = numbers.between(0.0, 1.0);
                let mixed = nearest.iter().zip(&towards);
                let mixed: Vec<f64> = mixed.map(|(a, b)| a + share * (b - a)).collect();
                let meets = product(&mixed) >= least;
                assert!(!meets || convex.length(&mixed) >= length - 1e-9, "{norm}");
            }
        }
    }
}
