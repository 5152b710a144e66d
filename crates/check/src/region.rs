//! What the certificates of a run must cover: boxes that hold every input of its search region.
//!
//! Which boxes those are in exact arithmetic the region and its norm say: [`SearchSpace::covers`]. A ball of
//! radius r lies in the box of its centre plus and minus r widths, in every norm that is not a count of
//! changes; here the ends are rounded outward. Balls of a count are the whole domain with a limit on how many
//! positions differ from the seed, which is exact.
//!
//! Rounding. An input counts as in a ball when its computed distance is at most the radius. With u half a
//! unit in the last place of a double: the difference of two inputs errs by the factor 1 ± u, its quotient
//! by the width by another; sums of such changes are never rounded below one of them, since rounding keeps
//! order; square and root together err by less than the factor 1 ± 2u (changes are at least 1e-84, so no
//! square underflows). A change that counts is thus at most r widths times 1 + 5u. The product `r * width`
//! errs by u once more and the end computed from it by u times the magnitudes, so an end that is moved out
//! by 16 u times the magnitudes, and by one step for products that underflow, lies outside of all of them,
//! and outside of the ball in real numbers.

use std::sync::Arc;

use deepconcolic_geometry::{Cover, Hull, SearchSpace};

use crate::certificate::{Changes, Region};

/// A box of the search region.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchBox {
    /// The box, within the domain.
    pub region: Region,
    /// The seed whose ball it holds, by number; none for a box that belongs to no seed.
    pub seed: Option<usize>,
}

/// Boxes within the domain that hold every input of the search region. Boxes that no input of the domain
/// lies in are left out.
pub fn regions(space: &SearchSpace, seeds: &[Vec<f32>]) -> Vec<SearchBox> {
    let domain = domain(space);
    let positions = positions(space);
    let covers = space.covers(seeds.len()).into_iter();
    let mut boxes: Vec<SearchBox> = covers
        .map(|Cover { seed, hull }| SearchBox {
            region: match (hull, seed) {
                (Hull::Around(widths), Some(number)) => {
                    ball(space, &domain, widths, &seeds[number])
                }
                (Hull::Box(lower, upper), _) => common(&domain, &lower, &upper),
                (Hull::Changes(count), Some(number)) => {
                    let seed = &seeds[number];
                    let mut region = limited(&domain, &positions, count, seed);
                    fix(space, &mut region, seed);
                    region
                }
                (Hull::Domain | Hull::Around(_) | Hull::Changes(_), _) => domain.clone(),
            },
            seed,
        })
        .collect();
    boxes.retain(|part| part.region.is_inhabited());
    // Where nothing is left of a limit, one domain is enough.
    let whole = boxes.iter().position(|part| part.region == domain);
    if let Some(first) = whole {
        boxes.truncate(first + 1);
        boxes.swap(0, first);
        boxes.truncate(1);
        boxes[0].seed = None;
    }
    boxes
}

pub(crate) fn domain(space: &SearchSpace) -> Region {
    let ends = |list: &[f32]| list.iter().map(|&x| f64::from(x)).collect();
    Region {
        lower: ends(space.domain.lower()),
        upper: ends(space.domain.upper()),
        ..Region::default()
    }
}

/// The position of every element, as the norm of the space counts changes.
fn positions(space: &SearchSpace) -> Arc<[u32]> {
    let elements = space.domain.lower().len();
    let position = |e| space.norm.position(e, elements, space.units.pixels) as u32;
    (0..elements).map(position).collect()
}

fn distinct(positions: &[u32]) -> usize {
    let mut distinct = positions.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    distinct.len()
}

/// The domain with at most so many positions that differ from a seed. No rounding: elements that differ are
/// counted, and that is exact.
fn limited(domain: &Region, positions: &Arc<[u32]>, count: usize, seed: &[f32]) -> Region {
    let centre: Vec<f64> = seed.iter().map(|&x| f64::from(x)).collect();
    let mut region = domain.clone();
    let ends = domain.lower.iter().zip(&domain.upper).zip(&centre);
    let outside = ends.map(|((l, u), c)| !(l <= c && c <= u));
    let mut moved: Vec<u32> = outside
        .zip(&**positions)
        .filter_map(|(outside, &position)| outside.then_some(position))
        .collect();
    moved.sort_unstable();
    moved.dedup();
    if moved.len() > count {
        // Not even the domain can be reached by so few changes: a box that nothing lies in.
        region.lower.fill(f64::INFINITY);
    } else if moved.is_empty() && count < distinct(positions) {
        region.changes = Some(Changes {
            centre,
            positions: Arc::clone(positions),
            allowed: u32::try_from(count).unwrap_or(u32::MAX),
        });
    }
    region
}

/// Leaves a region the seed's value in elements that tests never change. Values of inputs are what they are: no
/// rounding.
fn fix(space: &SearchSpace, region: &mut Region, seed: &[f32]) {
    for (e, &value) in seed.iter().enumerate() {
        if space.units.is_fixed(e) {
            region.lower[e] = region.lower[e].max(f64::from(value));
            region.upper[e] = region.upper[e].min(f64::from(value));
        }
    }
}

/// What a box has in common with the domain.
pub(crate) fn common(domain: &Region, lower: &[f64], upper: &[f64]) -> Region {
    let each = |ends: &[f64], of: &[f64], pick: fn(f64, f64) -> f64| {
        let pairs = ends.iter().zip(of);
        pairs.map(|(&a, &b)| pick(a, b)).collect()
    };
    Region {
        lower: each(&domain.lower, lower, f64::max),
        upper: each(&domain.upper, upper, f64::min),
        ..Region::default()
    }
}

/// The box round a ball, within the domain.
pub(crate) fn ball(space: &SearchSpace, domain: &Region, radius: f64, seed: &[f32]) -> Region {
    let lowest = |element: usize, sign: f64, end: f64| {
        let width = space.units.widths.get(element).copied().unwrap_or(1.0);
        below(sign * f64::from(seed[element]), radius, width, sign * end)
    };
    let lower = (0..seed.len()).map(|e| lowest(e, 1.0, domain.lower[e]));
    let upper = (0..seed.len()).map(|e| -lowest(e, -1.0, domain.upper[e]));
    Region {
        lower: lower.collect(),
        upper: upper.collect(),
        ..Region::default()
    }
}

/// The lower end of a ball in one element, rounded down, within the domain.
fn below(centre: f64, radius: f64, width: f64, domain: f64) -> f64 {
    // Without a radius everything is within it; so is any change of an element without a width.
    if !radius.is_finite() {
        return domain;
    }
    // Nothing moves: a change over a width of 0 is an infinite distance.
    if radius == 0.0 || width == 0.0 {
        return centre.max(domain);
    }
    let reach = radius * width;
    let slack = 8.0 * f64::EPSILON * (centre.abs() + reach.abs());
    (centre - reach - slack).next_down().max(domain)
}

#[cfg(test)]
mod tests {
    use deepconcolic_geometry::{Domain, Extent, Norm, Pixels};
    use deepconcolic_testing::Random;
    use num_rational::BigRational;

    use super::*;

    fn exact(x: f64) -> BigRational {
        BigRational::from_float(x).expect("finite")
    }

    /// Elements whose widths and places differ by many orders of magnitude.
    fn domain_of(random: &mut Random) -> Domain {
        let scales = [1.0, 255.0, 1e-6, 3e30, 1e-30, 0.0];
        let ends = scales.map(|scale| {
            let low = random.between(-1.0, 1.0) * scale + random.between(-1.0, 1.0);
            let low = low as f32;
            (low, (f64::from(low) + scale) as f32)
        });
        let (lower, upper) = ends.into_iter().unzip();
        Domain::new(lower, upper).expect("ordered")
    }

    fn inside(random: &mut Random, domain: &Domain) -> Vec<f32> {
        let ends = domain.lower().iter().zip(domain.upper());
        ends.map(|(&l, &u)| {
            let x = f64::from(l) + random.between(0.0, 1.0) * (f64::from(u) - f64::from(l));
            (x as f32).clamp(l, u)
        })
        .collect()
    }

    /// Floats next to a place, a few steps on either side.
    fn around(place: f64) -> Vec<f32> {
        let mut up = place as f32;
        let mut down = up.next_down();
        let mut all = Vec::new();
        for _ in 0..4 {
            all.extend([up, down]);
            (up, down) = (up.next_up(), down.next_down());
        }
        all
    }

    #[test]
    fn boxes_hold_every_float_that_counts_and_every_real_input_of_the_ball() {
        let mut random = Random::new(5);
        let (mut counted, mut excluded) = (0, 0);
        for round in 0..400 {
            let norm = [Norm::LINF, Norm::L1, Norm::L2][round % 3];
            let radius = [0.0, 1e-9, 0.1, 0.3, 1.0, 1e-40][random.below(6)];
            let radius = radius * random.between(0.5, 1.0);
            let domain = domain_of(&mut random);
            let space =
                SearchSpace::of(domain.clone(), Pixels::Single, norm, Extent::Balls(radius));
            let seed = inside(&mut random, &domain);
            let found = regions(&space, std::slice::from_ref(&seed));
            assert_eq!(found.len(), 1);
            let region = &found[0].region;
            for element in 0..seed.len() {
                let centre = f64::from(seed[element]);
                let reach = radius * space.units.widths[element];
                for sign in [-1.0, 1.0] {
                    for x in around(centre + sign * reach) {
                        let mut input = seed.clone();
                        input[element] = x;
                        if space.violation(&input, &seed).is_none() {
                            counted += 1;
                            assert!(region.has(&input), "{norm} {radius} {element} {x}");
                        } else {
                            excluded += usize::from(!region.has(&input));
                        }
                    }
                }
                let (c, r) = (
                    exact(centre),
                    exact(radius) * exact(space.units.widths[element]),
                );
                let lower = (&c - &r).max(exact(f64::from(domain.lower()[element])));
                let upper = (&c + &r).min(exact(f64::from(domain.upper()[element])));
                assert!(exact(region.lower[element]) <= lower);
                assert!(exact(region.upper[element]) >= upper);
            }
        }
        assert!(counted > 1000 && excluded > 1000, "{counted} {excluded}");
    }

    #[test]
    fn several_elements_that_change_together_stay_in_the_box() {
        let mut random = Random::new(6);
        for norm in [Norm::LINF, Norm::L1, Norm::L2] {
            let mut counted = 0;
            for _ in 0..200 {
                let domain = domain_of(&mut random);
                let extent = Extent::Balls(0.25);
                let mut space = SearchSpace::of(domain.clone(), Pixels::Single, norm, extent);
                space.fix(&[1]);
                let seed = inside(&mut random, &domain);
                let found = regions(&space, std::slice::from_ref(&seed));
                let ends = (found[0].region.lower[1], found[0].region.upper[1]);
                assert_eq!(ends, (f64::from(seed[1]), f64::from(seed[1])), "{norm}");
                let other = inside(&mut random, &domain);
                let mixed = seed.iter().zip(&other).map(|(&a, &b)| {
                    let share = [0.0, 0.0, 0.25, 1.0][random.below(4)];
                    (f64::from(a) + share * (f64::from(b) - f64::from(a))) as f32
                });
                let mixed: Vec<f32> = mixed.collect();
                if space.violation(&mixed, &seed).is_none() {
                    counted += 1;
                    assert!(found[0].region.has(&mixed));
                }
            }
            assert!(counted > 10, "{norm}: {counted}");
        }
    }

    #[test]
    fn balls_of_counts_hold_exactly_what_counts_as_in_them() {
        let mut random = Random::new(7);
        let (mut inside_all, mut outside) = (0, 0);
        for round in 0..300 {
            let domain = Domain::uniform(6, 0.0, 1.0).unwrap();
            let pixels = [
                Pixels::Single,
                Pixels::ChannelsFirst(2),
                Pixels::ChannelsLast(3),
            ][round % 3];
            let norm = [Norm::L0, Norm::L0_ELEMENTS][round % 2];
            let extent = Extent::Balls((1 + round % 3) as f64);
            let mut space = SearchSpace::of(domain.clone(), pixels, norm, extent);
            if round % 5 == 0 {
                space.fix(&[2]);
            }
            let seeds = [inside(&mut random, &domain), inside(&mut random, &domain)];
            let found = regions(&space, &seeds);
            for part in &found {
                let seed = &seeds[part.seed.unwrap_or(0)];
                for _ in 0..20 {
                    let mut input = seed.clone();
                    for x in &mut input {
                        match random.below(5) {
                            0 => *x = random.between(0.0, 1.0) as f32,
                            1 => *x = x.next_up().min(1.0),
                            2 if random.below(20) == 0 => *x = 1.5,
                            _ => {}
                        }
                    }
                    let counts = space.violation(&input, seed).is_none();
                    let whole = part.region.changes.is_none();
                    assert!(part.region.has(&input) == counts || (whole && !counts));
                    let keeps = input[2].to_bits() == seed[2].to_bits();
                    assert!(keeps || round % 5 != 0 || !part.region.has(&input));
                    inside_all += usize::from(counts);
                    outside += usize::from(!counts);
                }
            }
        }
        assert!(
            inside_all > 1000 && outside > 1000,
            "{inside_all} {outside}"
        );
    }

    #[test]
    fn balls_without_a_limit_are_one_domain_and_balls_beside_it_are_left_out() {
        let domain = Domain::uniform(2, 0.0, 1.0).unwrap();
        let space = |norm, extent| SearchSpace::of(domain.clone(), Pixels::Single, norm, extent);
        let seeds = [vec![3.0, 0.5], vec![0.5, 0.5]];
        for norm in [Norm::L0, Norm::L0_ELEMENTS] {
            // One change brings the first seed into the domain, anywhere beside; both are all there is.
            for radius in [1.0, 2.0, 5.0] {
                let found = regions(&space(norm, Extent::Balls(radius)), &seeds);
                assert_eq!(found.len(), 1);
                assert_eq!(found[0].region, super::domain(&space(norm, Extent::Domain)));
            }
            let apart = [vec![3.0, 2.0], vec![0.5, 0.5]];
            let found = regions(&space(norm, Extent::Balls(1.0)), &apart);
            assert_eq!((found.len(), found[0].seed), (1, Some(1)));
            let none = regions(&space(norm, Extent::Balls(0.0)), &apart[1..]);
            assert_eq!(none[0].region.lower, none[0].region.upper);
        }
        let found = regions(&space(Norm::LINF, Extent::Balls(0.25)), &seeds);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].seed, Some(1));
        let boxes = Extent::Boxes(vec![
            (vec![0.5, -1.0], vec![2.0, 0.5]),
            (vec![2.0, 0.0], vec![3.0, 1.0]),
        ]);
        let found = regions(&space(Norm::LINF, boxes), &seeds);
        assert_eq!(found.len(), 1);
        let Region { lower, upper, .. } = &found[0].region;
        assert_eq!((&lower[..], &upper[..]), (&[0.5, 0.0][..], &[1.0, 0.5][..]));
        let unlimited = regions(&space(Norm::LINF, Extent::Balls(f64::INFINITY)), &seeds);
        // The domain for both: one box is enough.
        assert_eq!(unlimited.len(), 1);
        assert!(unlimited.iter().all(|b| b.region.has(&[0.0, 1.0])));
    }
}
