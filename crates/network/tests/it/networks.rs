//! Properties of whole networks: execution, derivatives and bounds agree with each other, on random
//! networks of every family.

use std::sync::Arc;

use deepconcolic_network::{
    Head, Nature, Network, NetworkBuilder, Operator, Pass, Point, Row, Seed, Shape, ops,
};
use deepconcolic_testing::{Family, Random, network};

const SEEDS: u64 = 6;

fn each(check: impl Fn(&Network, &mut Random)) {
    for family in Family::ALL {
        for seed in 0..SEEDS {
            check(&network(family, seed), &mut Random::new(100 + seed));
        }
    }
}

fn all_points(network: &Network) -> Vec<Point> {
    let layers = 0..network.layers().len();
    layers
        .flat_map(|l| [Point::Pre(l), Point::Post(l)])
        .chain([Point::Logits, Point::Output(0), Point::Input])
        .collect()
}

fn inputs(network: &Network, random: &mut Random, samples: usize) -> Vec<f64> {
    random.list(samples * network.input_elements(), -1.0, 1.0)
}

#[test]
fn no_number_depends_on_batch_or_threads() {
    each(|network, random| {
        let x: Vec<f32> = inputs(network, random, 131)
            .iter()
            .map(|&v| v as f32)
            .collect();
        let points = all_points(network);
        let pass = Pass::keep(points.clone()).differentiating([Point::Logits]);
        let one = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .unwrap();
        let three = rayon::ThreadPoolBuilder::new()
            .num_threads(3)
            .build()
            .unwrap();
        let whole = one.install(|| network.forward(&x, &pass));
        let threaded = three.install(|| network.forward(&x, &pass));
        let rows: Vec<Row<f32>> = (0..131).map(|s| Row::of(s, Point::Logits, s % 3)).collect();
        let gradients = one.install(|| network.vjp(whole.tape().unwrap(), &rows));
        let threaded_gradients = three.install(|| network.vjp(threaded.tape().unwrap(), &rows));
        assert_eq!(gradients, threaded_gradients);
        let n = network.input_elements();
        for (s, single) in x.chunks(n).enumerate() {
            let alone = network.forward(single, &pass);
            for &point in &points {
                assert_eq!(alone.get(point), whole.sample(point, s), "{point:?}");
                assert_eq!(
                    threaded.sample(point, s),
                    whole.sample(point, s),
                    "{point:?}"
                );
            }
            let row = Row::of(0, Point::Logits, s % 3);
            let gradient = network.vjp(alone.tape().unwrap(), &[row]);
            assert_eq!(gradient, gradients[s * n..(s + 1) * n]);
        }
    });
}

#[test]
fn single_and_double_precision_agree() {
    each(|network, random| {
        let x = inputs(network, random, 5);
        let single: Vec<f32> = x.iter().map(|&v| v as f32).collect();
        let double: Vec<f64> = single.iter().map(|&v| f64::from(v)).collect();
        let (a, b) = (network.logits(&single), network.logits(&double));
        for (a, b) in a.iter().zip(b) {
            assert!(
                (f64::from(*a) - b).abs() < 1e-5 * b.abs().max(1.0),
                "{a} {b}"
            );
        }
    });
}

/// A weighted sum over several layers at once.
fn random_seeds(network: &Network, random: &mut Random) -> Vec<Seed<f64>> {
    let points = all_points(network);
    (0..4)
        .map(|_| {
            let point = points[random.below(points.len() - 1)];
            Seed {
                point,
                element: random.below(network.elements(point)),
                weight: random.between(-1.0, 1.0),
            }
        })
        .collect()
}

fn weighted_sum(network: &Network, x: &[f64], seeds: &[Seed<f64>]) -> f64 {
    let pass = Pass::keep(seeds.iter().map(|s| s.point));
    let trace = network.forward(x, &pass);
    seeds
        .iter()
        .map(|s| s.weight * trace.get(s.point)[s.element])
        .sum()
}

#[test]
fn vjps_of_mixed_layers_are_the_derivatives() {
    each(|network, random| {
        let x = inputs(network, random, 3);
        let n = network.input_elements();
        let pass = Pass::keep([]).differentiating(all_points(network));
        let trace = network.forward(&x, &pass);
        let rows: Vec<Row<f64>> = (0..9)
            .map(|r| Row {
                sample: r % 3,
                seeds: random_seeds(network, random),
            })
            .collect();
        let gradients = network.vjp(trace.tape().unwrap(), &rows);
        let mut kinks = 0;
        for (row, gradient) in rows.iter().zip(gradients.chunks(n)) {
            let at = &x[row.sample * n..(row.sample + 1) * n];
            for (i, &found) in gradient.iter().enumerate() {
                let slope = |step: f64| {
                    let mut moved = at.to_vec();
                    moved[i] += step;
                    (weighted_sum(network, &moved, &row.seeds)
                        - weighted_sum(network, at, &row.seeds))
                        / step
                };
                let (up, down) = (slope(1e-6), slope(-1e-6));
                if (up - down).abs() > 1e-4 * up.abs().max(1.0) {
                    kinks += 1;
                    continue;
                }
                let expected = 0.5 * (up + down);
                let close = (found - expected).abs() < 1e-4 * expected.abs().max(1.0);
                assert!(close, "{found} instead of {expected}");
            }
        }
        assert!(
            kinks <= rows.len() * n / 10,
            "{kinks} kinks: nothing was tested"
        );
    });
}

#[test]
fn the_affine_piece_of_a_cell_equals_execution_inside_it() {
    each(|network, random| {
        if network.nature() > Nature::PiecewiseLinear {
            return;
        }
        let x = inputs(network, random, 1);
        let targets: Vec<(Point, usize)> = (0..network.layers().len())
            .map(|l| (Point::Pre(l), random.below(network.layers()[l].neurons())))
            .chain([(Point::Logits, 1)])
            .collect();
        let points: Vec<Point> = targets.iter().map(|t| t.0).collect();
        let pass = Pass::keep(points.clone()).differentiating(points);
        let trace = network.forward(&x, &pass);
        let rows: Vec<Row<f64>> = targets.iter().map(|&(p, e)| Row::of(0, p, e)).collect();
        let pieces = network.vjp(trace.tape().unwrap(), &rows);
        let mut inside = 0;
        for _ in 0..200 {
            let step = 10f64.powf(random.between(-4.0, -0.5));
            let y: Vec<f64> = x.iter().map(|v| v + random.between(-step, step)).collect();
            let moved = network.forward(&y, &pass);
            // In the cell exactly when every operator is in the same phase.
            if moved.tape().unwrap() != trace.tape().unwrap() {
                continue;
            }
            inside += 1;
            for (row, &(point, element)) in pieces.chunks(x.len()).zip(&targets) {
                let change: f64 = row
                    .iter()
                    .zip(&y)
                    .zip(&x)
                    .map(|((a, y), x)| a * (y - x))
                    .sum();
                let affine = trace.get(point)[element] + change;
                let found = moved.get(point)[element];
                assert!(
                    (affine - found).abs() < 1e-9 * found.abs().max(1.0),
                    "{affine} {found}"
                );
            }
        }
        assert!(inside > 10, "only {inside} points fell into the cell");
    });
}

#[test]
fn intervals_contain_every_run_in_both_precisions() {
    each(|network, random| {
        let centre = inputs(network, random, 1);
        for radius in [0.0, 1e-3, 0.1, 0.7] {
            let low: Vec<f32> = centre.iter().map(|c| (c - radius) as f32).collect();
            let high: Vec<f32> = centre.iter().map(|c| (c + radius) as f32).collect();
            let wide = |v: &[f32]| v.iter().map(|&v| f64::from(v)).collect::<Vec<f64>>();
            let single = network.intervals(&low, &high);
            let double = network.intervals(&wide(&low), &wide(&high));
            let pass = Pass::keep(all_points(network));
            for _ in 0..40 {
                let x: Vec<f32> = low
                    .iter()
                    .zip(&high)
                    .map(|(&l, &h)| {
                        let x = random.between(f64::from(l), f64::from(h)) as f32;
                        x.clamp(l, h)
                    })
                    .collect();
                let trace = network.forward(&x, &pass);
                let trace64 = network.forward(&wide(&x), &pass);
                for point in all_points(network) {
                    let (l, u) = network.range(&single, point);
                    for ((v, l), u) in trace.get(point).iter().zip(&l).zip(&u) {
                        assert!(l <= v && v <= u, "{point:?}: {v} not in {l}..{u}");
                    }
                    let (l, u) = network.range(&double, point);
                    for ((v, l), u) in trace64.get(point).iter().zip(&l).zip(&u) {
                        assert!(l <= v && v <= u, "{point:?}: {v} not in {l}..{u}");
                    }
                }
            }
        }
    });
}

#[test]
fn linear_bounds_lie_below_every_run_and_beat_intervals_in_the_main() {
    let (mut tighter, mut looser) = (0, 0);
    for family in Family::ALL {
        for seed in 0..SEEDS {
            let network = network(family, seed);
            let random = &mut Random::new(seed);
            let centre = inputs(&network, random, 1);
            let low: Vec<f64> = centre.iter().map(|c| c - 0.1).collect();
            let high: Vec<f64> = centre.iter().map(|c| c + 0.1).collect();
            let bounds = network.intervals(&low, &high);
            let sums: Vec<Vec<Seed<f64>>> = (0..network.layers().len())
                .map(|l| (Point::Pre(l), random.below(network.layers()[l].neurons())))
                .chain([(Point::Logits, 0), (Point::Logits, 1)])
                .map(|(point, element)| {
                    vec![Seed {
                        point,
                        element,
                        weight: 1.0,
                    }]
                })
                .collect();
            let lower = network.linear_lower(&bounds, &sums);
            for _ in 0..100 {
                let x: Vec<f64> = low
                    .iter()
                    .zip(&high)
                    .map(|(&l, &h)| random.between(l, h))
                    .collect();
                for (sum, bound) in sums.iter().zip(&lower) {
                    let value = weighted_sum(&network, &x, sum);
                    assert!(*bound <= value + 1e-9, "{bound} above {value}");
                }
            }
            for (sum, &bound) in sums.iter().zip(&lower) {
                let interval = network.range(&bounds, sum[0].point).0[sum[0].element];
                tighter += usize::from(bound > interval + 1e-9);
                looser += usize::from(bound < interval - 1e-6);
            }
        }
    }
    assert!(tighter > 2 * looser, "{tighter} tighter, {looser} looser");
}

#[test]
fn only_a_neuron_s_conditions_can_move_it() {
    each(|network, random| {
        for layer in 0..network.layers().len() {
            for before in network.layers_before(layer) {
                let neuron = random.below(network.layers()[layer].neurons());
                let conditions = network.conditions(before, layer, neuron);
                assert!(!conditions.is_empty());
                assert!(conditions.is_sorted());
                let maximum = network.layers()[before].neurons();
                assert!(conditions.iter().all(|&c| c < maximum));
            }
        }
    });
    // In the image family, layer 2 (relu2) follows relu0 (through the strided side branch) and
    // relu1 (through pooling), and relu1 follows relu0 alone.
    let network = network(Family::Image, 3);
    assert_eq!(network.layers_before(0), []);
    assert_eq!(network.layers_before(1), [0]);
    assert_eq!(network.layers_before(2), [0, 1]);
    // Through a 3x3 convolution with padding and the residual sum: the nine pixels round it.
    let dims = network.layers()[0].shape().dims().to_vec();
    let (channels, width) = (dims[1], dims[3]);
    let found = network.conditions(0, 1, 3 * width + 2);
    let pixels = dims[2] * width;
    let expected: Vec<usize> = (0..channels)
        .flat_map(|c| (2..5).flat_map(move |y| (1..4).map(move |x| c * pixels + y * width + x)))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_trace_holds_what_was_asked_for_and_no_more() {
    each(|network, random| {
        let x: Vec<f32> = inputs(network, random, 20)
            .iter()
            .map(|&v| v as f32)
            .collect();
        let nothing = network.forward(&x, &Pass::keep([]));
        assert_eq!(nothing.bytes(), 0);
        let points = [Point::Pre(0), Point::Logits];
        let asked: usize = points.iter().map(|&p| network.elements(p) * 20 * 4).sum();
        assert_eq!(network.forward(&x, &Pass::keep(points)).bytes(), asked);
    });
}

#[test]
fn a_tape_of_relus_costs_a_bit_a_neuron() {
    let network = network(Family::Relu, 1);
    let x: Vec<f32> = vec![0.5; 64 * network.input_elements()];
    let trace = network.forward(&x, &Pass::keep([]).differentiating([Point::Logits]));
    // Whole words for every layer and sample.
    assert_eq!(trace.bytes(), 64 * 8 * network.layers().len());
}

#[test]
fn layers_are_in_the_file_s_order_whatever_the_kernels_use() {
    // The image family reorders axes; running it one channel-first layer at a time by definition
    // is the convolution test's business. Here: perturbing one input pixel of a 3x3 convolution
    // with padding changes only the neurons of its neighbourhood, in channels-first positions.
    let network = network(Family::Image, 2);
    let layer = &network.layers()[0];
    let shape = layer.shape().dims().to_vec();
    let (channels, height, width) = (shape[1], shape[2], shape[3]);
    let n = network.input_elements();
    let mut x = vec![0.25f64; 2 * n];
    let (py, px) = (3, 2);
    x[n + py * width + px] += 1.0;
    let trace = network.forward(&x, &Pass::keep([Point::Pre(0)]));
    let (a, b) = (
        trace.sample(Point::Pre(0), 0),
        trace.sample(Point::Pre(0), 1),
    );
    for c in 0..channels {
        for y in 0..height {
            for x in 0..width {
                let e = (c * height + y) * width + x;
                let near = y.abs_diff(py) <= 1 && x.abs_diff(px) <= 1;
                assert_eq!((a[e] - b[e]).abs() > 1e-12, near, "{c} {y} {x}");
            }
        }
    }
}

/// A network that ends in an operator on a tensor of this shape.
fn ending_in(op: impl Into<Arc<dyn Operator>>, shape: &[usize]) -> Network {
    let shape = Shape::new(shape.to_vec()).unwrap();
    let (mut builder, x) = NetworkBuilder::new("x", shape);
    let v = builder
        .add(ops::Elementwise::new(ops::Relu), &[x], "relu")
        .unwrap();
    let y = builder.add(op, &[v], "last").unwrap();
    builder.finish(&[("y", y)], 0).unwrap()
}

#[test]
fn a_last_operator_that_keeps_the_order_of_all_logits_is_a_head_and_no_layer() {
    let sigmoid = || ops::Elementwise::new(ops::Sigmoid);
    for (network, head) in [
        (ending_in(ops::Softmax::new(1), &[1, 3]), Head::Softmax),
        (ending_in(ops::Softmax::log(1), &[1, 3]), Head::LogSoftmax),
        (ending_in(sigmoid(), &[1, 3]), Head::Sigmoid),
        // Two groups that each add up to one keep no order between them.
        (ending_in(ops::Softmax::new(1), &[1, 3, 2]), Head::Identity),
    ] {
        assert_eq!(network.head(), head);
        assert_eq!(network.layers().len(), 1, "{head:?}");
        let x: Vec<f32> = (0..network.input_elements()).map(|i| i as f32).collect();
        if head != Head::Identity {
            assert_eq!(network.logits(&x), x);
        }
    }
}
