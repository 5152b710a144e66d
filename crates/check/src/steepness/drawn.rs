//! Eliminations against derivatives that are drawn: with any slopes that units can have, what the weights of the squares
//! come to never gets smaller when a group is eliminated.

use deepconcolic_geometry::Norm;
use deepconcolic_network::ops::{
    Add, Binary, Conv, Dense, Elementwise, Max, MaxPool, Min, Relu, View, Window,
};
use deepconcolic_network::{Network, NetworkBuilder, Shape, Tensor};
use deepconcolic_testing::{Family, Random, network};

use super::frontier::{Frontier, group};
use super::problem::SlopeProblem;
use super::subject::SlopeSubject;
use crate::bounds::cone::{Cone, Step};
use crate::certificate::Region;
use crate::steepness::adjoints::magnitudes;
use crate::until::Until;

/// The derivatives of an output by all variables, where units have these slopes.
fn derivatives(cone: &Cone, slopes: &[f64]) -> Vec<f64> {
    let mut derivatives = vec![0.0; cone.variables];
    derivatives[cone.targets[0]] = 1.0;
    for step in cone.steps.iter().rev() {
        match step {
            Step::Sums(sums) => {
                for k in 0..sums.len() {
                    for (from, weight) in sums.terms(k) {
                        derivatives[from] += weight * derivatives[sums.first + k];
                    }
                }
            }
            Step::Curves(curves) => {
                for (k, &input) in curves.inputs.iter().enumerate() {
                    let slope = slopes[curves.first_unit + k];
                    derivatives[input as usize] += slope * derivatives[curves.first + k];
                }
            }
        }
    }
    derivatives
}

/// Slopes at either end of what they can be, or between.
fn drawn(random: &mut Random, slopes: &[[f64; 2]]) -> Vec<f64> {
    let between = random.below(3) == 0;
    let slope = |[low, high]: &[f64; 2]| {
        if between {
            low + random.between(0.0, 1.0) * (high - low)
        } else {
            [*low, *high][random.below(2)]
        }
    };
    slopes.iter().map(slope).collect()
}

/// How the groups of a network were eliminated.
#[derive(Debug, Default, PartialEq)]
struct Ways {
    by_sizes: usize,
    by_factor: usize,
    through_maxima: usize,
}

/// Eliminates all groups of a network, by factors where that is asked for, beside derivatives that are drawn.
fn eliminate(network: &Network, radius: f64, by_factors: bool) -> Ways {
    let elements = network.input_elements();
    let region = Region {
        lower: vec![-radius; elements],
        upper: vec![radius; elements],
        ..Region::default()
    };
    let subject = SlopeSubject {
        outputs: vec![0],
        norm: Norm::L2,
        widths: (0..elements).map(|e| [1.0, 2.5, 0.25][e % 3]).collect(),
    };
    let problem = SlopeProblem::new(network, &region, &subject, Until::NEVER);
    let problem = problem.unwrap().expect("bounded");
    let part = problem.part(0, &[], Until::NEVER).unwrap();
    let (cone, slopes) = (problem.cone(), part.slopes());
    let sizes = magnitudes(cone, slopes, cone.targets[0]);
    let weights = subject.weights(1, &cone.inputs, &sizes).inputs;
    let mut frontier = Frontier::new(cone, &weights);
    let mut random = Random::new(7);
    let met: Vec<Vec<f64>> = (0..300)
        .map(|_| derivatives(cone, &drawn(&mut random, slopes)))
        .collect();
    let value = |frontier: &Frontier, derivatives: &[f64]| -> f64 {
        let first = group(cone, frontier.cut).start;
        let pairs = frontier.weights.iter().zip(derivatives).skip(first);
        pairs.map(|(weight, d)| weight * d * d).sum()
    };
    let mut ways = Ways::default();
    for _ in 0..problem.groups() {
        let before: Vec<f64> = met.iter().map(|d| value(&frontier, d)).collect();
        let reading = frontier.reading(cone, slopes, &sizes);
        // From far below on, so that the first factor that is accepted is little more than what is needed.
        let mut factor = 1e-6;
        if by_factors && !reading.is_empty() {
            while !frontier.advance_within(&reading, factor, Until::NEVER) {
                factor *= 1.02;
                assert!(factor < 1e30);
            }
            ways.by_factor += 1;
        } else {
            match frontier.through_maxima(cone, &sizes) {
                Some(_) => ways.through_maxima += 1,
                None => ways.by_sizes += 1,
            }
            frontier.advance(cone, slopes, &sizes, Until::NEVER);
        }
        for (before, derivatives) in before.into_iter().zip(&met) {
            let after = value(&frontier, derivatives);
            let cut = frontier.cut;
            assert!(
                before <= after * (1.0 + 1e-12),
                "{cut}: {before} is above {after}"
            );
        }
        let most = met.iter().map(|d| value(&frontier, d)).fold(0.0, f64::max);
        assert!(most <= frontier.value(cone, &sizes) * (1.0 + 1e-12));
    }
    ways
}

#[test]
fn no_elimination_makes_a_sum_of_squares_smaller() {
    let mut ways = Ways::default();
    for seed in 0..12 {
        let family = [Family::Relu, Family::PiecewiseLinear, Family::Image][seed % 3];
        for by_factors in [false, true] {
            let own = eliminate(&network(family, 40 + seed as u64), 0.5, by_factors);
            ways.by_sizes += own.by_sizes;
            ways.by_factor += own.by_factor;
            ways.through_maxima += own.through_maxima;
        }
    }
    let least = ways.by_sizes.min(ways.by_factor).min(ways.through_maxima);
    assert!(least > 3, "{ways:?}");
}

const SIZE: [usize; 3] = [5, 4, 1];

/// A picture, a convolution, what `then` makes of it, and a sum of all that with weights above 0, so that derivatives by
/// what is read several times add up.
fn pooled(then: impl FnOnce(&mut NetworkBuilder, Tensor) -> Tensor) -> Network {
    let mut random = Random::new(3);
    let shape = Shape::new([1, SIZE[0], SIZE[1], SIZE[2]]).unwrap();
    let (mut builder, x) = NetworkBuilder::new("x", shape);
    let weights = random.list(9, -1.0, 1.0);
    let conv = Conv::new(around(), 1, SIZE, 1, weights, vec![0.1]).unwrap();
    let image = builder.add(conv, &[x], "conv").unwrap();
    let image = then(&mut builder, image);
    let n = builder.shape(image).elements();
    let flat = View::new(Shape::new([1, n]).unwrap());
    let flat = builder.add(flat, &[image], "").unwrap();
    let dense = Dense::new(n, 1, random.list(n, 0.5, 1.0), vec![0.0]).unwrap();
    let y = builder.add(dense, &[flat], "dense").unwrap();
    builder.finish(&[("y", y)], 0).unwrap()
}

/// Windows of 3 by 3 at every place.
fn around() -> Window {
    Window {
        before: [1, 1],
        after: [1, 1],
        ..Window::new([3, 3])
    }
}

fn pool(builder: &mut NetworkBuilder, image: Tensor, window: &Window) -> Tensor {
    let pool = MaxPool::new(window, SIZE).unwrap();
    builder.add(pool, &[image], "pool").unwrap()
}

#[test]
fn windows_that_overlap_are_taken_whole() {
    let halves = Window {
        strides: [2, 2],
        ..Window::new([3, 3])
    };
    for window in [Window::new([2, 2]), around(), halves] {
        let network = pooled(|builder, image| pool(builder, image, &window));
        // Inputs by sizes, members through their maxima, comparisons, which have no weight, and maxima by sizes.
        let ways = eliminate(&network, 1.0, false);
        assert_eq!(ways.through_maxima, 1, "{window:?}: {ways:?}");
        let ways = eliminate(&network, 1.0, true);
        assert!(ways.by_factor > 1 && ways.through_maxima == 0, "{ways:?}");
    }
}

#[test]
fn members_that_something_else_reads_are_not_taken_through_maxima() {
    let beside = pooled(|builder, image| {
        let pooled = pool(builder, image, &around());
        builder
            .add(Binary::new(Add), &[pooled, image], "sum")
            .unwrap()
    });
    assert_eq!(eliminate(&beside, 1.0, false).through_maxima, 0);
    eliminate(&beside, 1.0, true);
    // Two pools that read the same members are maxima all the same.
    let both = pooled(|builder, image| {
        let near = pool(builder, image, &around());
        let wide = Window {
            before: [2, 2],
            after: [2, 2],
            ..Window::new([5, 5])
        };
        let wide = pool(builder, image, &wide);
        builder.add(Binary::new(Add), &[near, wide], "sum").unwrap()
    });
    assert_eq!(eliminate(&both, 1.0, false).through_maxima, 1);
}

#[test]
fn maxima_and_minima_of_several_groups_share_what_they_read() {
    let network = pooled(|builder, image| {
        let relu = builder
            .add(Elementwise::new(Relu), &[image], "relu")
            .unwrap();
        let max = builder
            .add(Binary::new(Max), &[relu, image], "max")
            .unwrap();
        let min = builder.add(Binary::new(Min), &[relu, max], "min").unwrap();
        builder.add(Binary::new(Max), &[min, min], "again").unwrap()
    });
    let ways = eliminate(&network, 1.0, false);
    assert!(ways.through_maxima > 1, "{ways:?}");
    eliminate(&network, 1.0, true);
}

#[test]
fn weights_that_are_no_numbers_stay_so() {
    let network = pooled(|builder, image| pool(builder, image, &around()));
    let elements = network.input_elements();
    let region = Region {
        lower: vec![-1.0; elements],
        upper: vec![1.0; elements],
        ..Region::default()
    };
    // Their squares are infinite, and infinite products of both signs are no numbers.
    for norm in [Norm::L2, Norm::L1, Norm::LINF] {
        let subject = SlopeSubject {
            outputs: vec![0],
            norm,
            widths: vec![1e300; elements],
        };
        let problem = SlopeProblem::new(&network, &region, &subject, Until::NEVER);
        let problem = problem.unwrap().expect("bounded");
        let mut part = problem.part(0, &[], Until::NEVER).unwrap();
        while part.cut() < problem.groups() {
            part.advance(Until::NEVER);
            let bound = part.by_magnitudes();
            assert!(bound.is_nan() || bound >= 1e300, "{norm:?} {bound}");
        }
    }
}
