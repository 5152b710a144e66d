//! The slope between two inputs: what rounding makes of two nearly equal inputs is none.

use deepconcolic_check::certain_ratio;
use deepconcolic_criteria::{Ball, Ratio, Region};
use deepconcolic_geometry::{InputSpace, Norm};
use deepconcolic_network::ops::Dense;
use deepconcolic_network::{Network, NetworkBuilder, Pass, Point, Shape};
use deepconcolic_testing::{Family, Random, network};

fn ratio(network: &Network, norm: Norm) -> Ratio {
    Ratio {
        region: Region::Domain,
        outputs: vec![0],
        layer: network.layers().len() + 2,
        norm,
        constant: None,
    }
}

fn space(network: &Network) -> InputSpace {
    InputSpace {
        widths: vec![1.0; network.input_elements()],
        ..InputSpace::default()
    }
}

/// A constant, computed as the difference of two large numbers.
fn cancelling() -> Network {
    let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, 1]).unwrap());
    let both = Dense::new(1, 2, vec![1e7, -1e7], vec![0.1, 0.0]).unwrap();
    let both = builder.add(both, &[x], "both").unwrap();
    let sum = Dense::new(2, 1, vec![1.0, 1.0], vec![0.0]).unwrap();
    let sum = builder.add(sum, &[both], "sum").unwrap();
    builder.finish(&[("y", sum)], 0).unwrap()
}

#[test]
fn rounding_noise_of_two_nearly_equal_inputs_is_no_slope() {
    let network = cancelling();
    let output = |x: f32| {
        network
            .forward(&[x], &Pass::keep([Point::Logits]))
            .get(Point::Logits)[0]
    };
    let mut noisy = 0;
    for step in 0..200u8 {
        let x = 0.3 + f32::from(step) / 500.0;
        let y = x.next_up();
        let naive = f64::from((output(x) - output(y)).abs()) / f64::from(y - x);
        noisy += usize::from(naive > 100.0);
        for norm in [Norm::LINF, Norm::L1, Norm::L2] {
            let found = certain_ratio(
                &network,
                &ratio(&network, norm),
                [&[x], &[y]],
                &space(&network),
            );
            assert_eq!(found, None, "{x} {norm}");
        }
    }
    // Executed in single precision the function looks very steep.
    assert!(noisy > 20, "{noisy}");
}

#[test]
fn a_slope_is_that_of_double_precision_and_never_above_it() {
    let mut seen = 0;
    for family in Family::ALL {
        for seed in 0..10 {
            let network = network(family, seed);
            let n = network.input_elements();
            let mut random = Random::new(seed);
            let mut input =
                || -> Vec<f32> { random.list(n, 0.0, 1.0).iter().map(|x| *x as f32).collect() };
            let (a, b) = (input(), input());
            let run = |x: &[f32]| {
                let x: Vec<f64> = x.iter().map(|&v| f64::from(v)).collect();
                network
                    .forward(&x, &Pass::keep([Point::Logits]))
                    .get(Point::Logits)[0]
            };
            let space = space(&network);
            for norm in [Norm::LINF, Norm::L1, Norm::L2] {
                let exact = (run(&a) - run(&b)).abs() / norm.distance(&a, &b, &space);
                let found = certain_ratio(&network, &ratio(&network, norm), [&a, &b], &space);
                let Some(found) = found else {
                    assert!(exact < 1e-6, "{family:?} {seed} {norm}: {exact} is lost");
                    continue;
                };
                assert!(
                    found <= exact,
                    "{family:?} {seed} {norm}: {found} above {exact}"
                );
                assert!(
                    found >= exact * 0.999,
                    "{family:?} {seed} {norm}: {found} of {exact}"
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 60, "{seen}");
}

#[test]
fn inputs_outside_the_region_have_no_slope_there() {
    let network = network(Family::Relu, 1);
    let n = network.input_elements();
    let ball = Ball {
        centre: vec![0.5; n],
        radius: 0.1,
        norm: Norm::LINF,
    };
    let ratio = Ratio {
        region: Region::Ball(ball),
        ..ratio(&network, Norm::L2)
    };
    let (inside, outside) = (vec![0.45; n], vec![0.7; n]);
    let space = space(&network);
    assert_eq!(
        certain_ratio(&network, &ratio, [&inside, &outside], &space),
        None
    );
    assert_eq!(
        certain_ratio(&network, &ratio, [&inside, &inside], &space),
        None
    );
}
