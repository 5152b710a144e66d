//! What the certificates of a run must cover: boxes that hold every input of its search region.
//!
//! Which boxes those are in exact arithmetic the region and its norm say: [`SearchSpace::covers`]. A ball of
//! radius r lies in the box of its centre plus and minus r widths, in every norm that is not a count of
//! changes; balls of those are the whole domain. Here the ends are rounded outward.
//!
//! Rounding. An input counts as in a ball when its computed distance is at most the radius. With u half a
//! unit in the last place of a double: the difference of two inputs errs by the factor 1 ± u, its quotient
//! by the width by another; sums of such changes are never rounded below one of them, since rounding keeps
//! order; square and root together err by less than the factor 1 ± 2u (changes are at least 1e-84, so no
//! square underflows). A change that counts is thus at most r widths times 1 + 5u. The product `r * width`
//! errs by u once more and the end computed from it by u times the magnitudes, so an end that is moved out
//! by 16 u times the magnitudes, and by one step for products that underflow, lies outside of all of them,
//! and outside of the ball in real numbers.

use deepconcolic_geometry::{Cover, Hull, SearchSpace};

use crate::certificate::Region;

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
    let covers = space.covers(seeds.len()).into_iter();
    let mut boxes: Vec<SearchBox> = covers
        .map(|Cover { seed, hull }| SearchBox {
            region: match (hull, seed) {
                (Hull::Around(widths), Some(number)) => {
                    ball(space, &domain, widths, &seeds[number])
                }
                (Hull::Box(lower, upper), _) => common(&domain, &lower, &upper),
                (Hull::Domain | Hull::Around(_), _) => domain.clone(),
            },
            seed,
        })
        .collect();
    boxes.retain(|part| part.region.is_inhabited());
    boxes
}

fn domain(space: &SearchSpace) -> Region {
    let ends = |list: &[f32]| list.iter().map(|&x| f64::from(x)).collect();
    Region {
        lower: ends(space.domain.lower()),
        upper: ends(space.domain.upper()),
    }
}

/// What a box has in common with the domain.
fn common(domain: &Region, lower: &[f64], upper: &[f64]) -> Region {
    let each = |ends: &[f64], of: &[f64], pick: fn(f64, f64) -> f64| {
        let pairs = ends.iter().zip(of);
        pairs.map(|(&a, &b)| pick(a, b)).collect()
    };
    Region {
        lower: each(&domain.lower, lower, f64::max),
        upper: each(&domain.upper, upper, f64::min),
    }
}

/// The box round a ball, within the domain.
fn ball(space: &SearchSpace, domain: &Region, radius: f64, seed: &[f32]) -> Region {
    let lowest = |element: usize, sign: f64, end: f64| {
        let width = space.units.widths.get(element).copied().unwrap_or(1.0);
        below(sign * f64::from(seed[element]), radius, width, sign * end)
    };
    let lower = (0..seed.len()).map(|e| lowest(e, 1.0, domain.lower[e]));
    let upper = (0..seed.len()).map(|e| -lowest(e, -1.0, domain.upper[e]));
    Region {
        lower: lower.collect(),
        upper: upper.collect(),
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
                let space = SearchSpace::of(domain.clone(), Pixels::Single, norm, extent);
                let seed = inside(&mut random, &domain);
                let found = regions(&space, std::slice::from_ref(&seed));
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
    fn balls_of_counts_are_the_domain_and_balls_beside_it_are_left_out() {
        let domain = Domain::uniform(2, 0.0, 1.0).unwrap();
        let space = |norm, extent| SearchSpace::of(domain.clone(), Pixels::Single, norm, extent);
        let seeds = [vec![3.0, 0.5], vec![0.5, 0.5]];
        for norm in [Norm::L0, Norm::L0_ELEMENTS] {
            let found = regions(&space(norm, Extent::Balls(1.0)), &seeds);
            assert_eq!(
                (found[0].region.lower.clone(), found.len()),
                (vec![0.0; 2], 1)
            );
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
        let Region { lower, upper } = &found[0].region;
        assert_eq!((&lower[..], &upper[..]), (&[0.5, 0.0][..], &[1.0, 0.5][..]));
        let unlimited = regions(&space(Norm::LINF, Extent::Balls(f64::INFINITY)), &seeds);
        // The domain for both: one box is enough.
        assert_eq!(unlimited.len(), 1);
        assert!(unlimited.iter().all(|b| b.region.has(&[0.0, 1.0])));
    }
}
