//! A grafted network is its parts: every number, derivative and bound is the one of the part alone, bit for
//! bit.

use deepconcolic_network::{
    AffineRow, Graft, GraftError, Head, Layer, Network, NetworkBuilder, Order, Part, Pass, Plain,
    Point, Row, Scalar, Seed, Shape, graft, ops,
};
use deepconcolic_testing::{Family, Random, network};

const PREFIXES: [&str; 3] = ["old", "new", "third"];

/// Random networks of every family, in groups of two or three that share an input.
fn groups() -> Vec<Vec<Network>> {
    let all = || (0..12).flat_map(|seed| Family::ALL.map(|family| network(family, seed)));
    let mut shapes: Vec<Shape> = Vec::new();
    for network in all() {
        if !shapes.contains(&network.input_shape()) {
            shapes.push(network.input_shape());
        }
    }
    let mut groups = Vec::new();
    for shape in shapes {
        let alike: Vec<Network> = all().filter(|n| n.input_shape() == shape).collect();
        groups.extend(
            alike
                .chunks(3)
                .filter(|group| group.len() > 1)
                .map(<[_]>::to_vec),
        );
    }
    groups
}

fn grafted(group: &[Network]) -> Graft {
    let named: Vec<(&str, &Network)> = PREFIXES.into_iter().zip(group).collect();
    graft(&named).unwrap()
}

/// Calls with each graft, one of its parts, and that part alone.
fn each(check: impl Fn(&Graft, &Part, &Network, &mut Random)) {
    let groups = groups();
    assert!(groups.len() > 8, "random networks that share an input");
    for (seed, group) in groups.iter().enumerate() {
        let whole = grafted(group);
        for (part, alone) in whole.parts.iter().zip(group) {
            check(&whole, part, alone, &mut Random::new(seed as u64));
        }
    }
}

fn points(network: &Network) -> Vec<Point> {
    (0..network.layers().len())
        .flat_map(|l| [Point::Pre(l), Point::Post(l)])
        .chain((0..network.outputs().len()).map(Point::Output))
        .chain([Point::Input, Point::Logits, Point::Answer])
        .collect()
}

fn inputs<T: Scalar>(network: &Network, random: &mut Random, samples: usize) -> Vec<T> {
    let numbers = random.list(samples * network.input_elements(), -1.0, 1.0);
    numbers.into_iter().map(T::of).collect()
}

fn bits<T: Scalar>(numbers: &[T]) -> Vec<u64> {
    numbers.iter().map(|x| x.f64().to_bits()).collect()
}

fn runs_are_equal<T: Scalar>(whole: &Graft, part: &Part, alone: &Network, random: &mut Random) {
    let x = inputs::<T>(alone, random, 70);
    let points = points(alone);
    let kept = points.iter().map(|&point| part.point(point));
    let trace = whole
        .network
        .forward(&x, &Pass::keep(kept.chain([Point::Logits])));
    let expected = alone.forward(&x, &Pass::keep(points.clone()));
    for point in points {
        let (found, expected) = (trace.get(part.point(point)), expected.get(point));
        assert_eq!(bits(found), bits(expected), "{} {point:?}", part.prefix);
    }
    for sample in 0..70 {
        let logits = &trace.sample(Point::Logits, sample)[part.logits.clone()];
        let expected = expected.sample(Point::Logits, sample);
        assert_eq!(bits(logits), bits(expected), "{}", part.prefix);
    }
}

#[test]
fn every_tensor_of_a_part_has_the_numbers_it_has_alone() {
    each(runs_are_equal::<f32>);
    each(runs_are_equal::<f64>);
}

#[test]
fn derivatives_of_a_part_are_those_it_has_alone() {
    each(|whole, part, alone, random| {
        let x = inputs::<f32>(alone, random, 3);
        let points = points(alone);
        let rows: Vec<Row<f32>> = (0..20)
            .map(|r| {
                let point = points[random.below(points.len())];
                Row::of(r % 3, point, random.below(alone.elements(point)))
            })
            .collect();
        let moved: Vec<Row<f32>> = (rows.iter())
            .map(|row| {
                Row::of(
                    row.sample,
                    part.point(row.seeds[0].point),
                    row.seeds[0].element,
                )
            })
            .collect();
        let tape = |network: &Network, rows: &[Row<f32>]| {
            let seeds = rows.iter().flat_map(|row| &row.seeds);
            let pass = Pass::keep([]).differentiating(seeds.map(|seed| seed.point));
            let trace = network.forward(&x, &pass);
            network.vjp(trace.tape().unwrap(), rows)
        };
        let (found, expected) = (tape(&whole.network, &moved), tape(alone, &rows));
        assert_eq!(bits(&found), bits(&expected), "{}", part.prefix);

        // Through the logits of all, the other parts add zeros, whose signs may differ.
        let joined: Vec<Row<f32>> = (part.logits.clone())
            .map(|element| Row::of(0, Point::Logits, element))
            .collect();
        let own: Vec<Row<f32>> = (0..part.logits.len())
            .map(|element| Row::of(0, Point::Logits, element))
            .collect();
        assert_eq!(tape(&whole.network, &joined), tape(alone, &own));
    });
}

fn bounds_are_equal<T: Scalar>(whole: &Graft, part: &Part, alone: &Network, random: &mut Random) {
    let centre = inputs::<T>(alone, random, 1);
    let [low, high] = [-0.1, 0.1].map(|by| -> Vec<T> {
        let moved = centre.iter().map(|x| T::of(x.f64() + by));
        moved.collect()
    });
    let bounds = whole.network.intervals(&low, &high);
    let expected = alone.intervals(&low, &high);
    for point in points(alone) {
        let (below, above) = whole.network.range(&bounds, part.point(point));
        let (low, high) = alone.range(&expected, point);
        assert_eq!([bits(&below), bits(&above)], [bits(&low), bits(&high)]);
        let sums = |at: Point| {
            let sum = |element| Seed {
                point: at,
                element,
                weight: T::of(-0.5),
            };
            let elements = 0..alone.elements(point).min(5);
            elements.map(|e| vec![sum(e)]).collect::<Vec<_>>()
        };
        let lines = whole
            .network
            .linear_lower(&bounds, &sums(part.point(point)));
        let expected = alone.linear_lower(&expected, &sums(point));
        assert_eq!(bits(&lines), bits(&expected), "{} {point:?}", part.prefix);
    }
}

#[test]
fn bounds_of_a_part_are_those_it_has_alone() {
    each(bounds_are_equal::<f32>);
    each(bounds_are_equal::<f64>);
}

#[test]
fn layers_keep_their_order_neurons_and_cones_under_names_with_a_prefix() {
    each(|whole, part, alone, random| {
        let network = &whole.network;
        assert_eq!(part.layers.len(), alone.layers().len());
        for (own, at) in part.layers.clone().enumerate() {
            let (layer, expected) = (&network.layers()[at], &alone.layers()[own]);
            let name = format!("{}.{}", part.prefix, expected.name());
            assert_eq!(layer.name(), name);
            assert_eq!(network.layer_named(&name), Some(at));
            assert_eq!(layer.shape(), expected.shape());
            assert_eq!(layer.kind(), expected.kind());
            let moved = |layer: usize| part.layers.start + layer;
            let before = alone.layers_before(own);
            let expected: Vec<usize> = before.iter().map(|&l| moved(l)).collect();
            assert_eq!(network.layers_before(at), expected);
            for layer in before {
                let neuron = random.below(alone.layers()[own].neurons());
                let expected = alone.conditions(layer, own, neuron);
                assert_eq!(network.conditions(moved(layer), at, neuron), expected);
            }
        }
    });
}

#[test]
fn the_plain_form_of_a_part_is_the_one_it_has_alone() {
    for group in groups() {
        let whole = grafted(&group).network;
        let mut at = 0;
        for (prefix, alone) in PREFIXES.iter().zip(&group) {
            for node in 0..alone.nodes() {
                let plain = alone.plain(node);
                assert_eq!(whole.plain(at), plain);
                if !matches!(plain, Plain::Affine | Plain::Opaque) {
                    let name = format!("{prefix}.{}", alone.node_name(node));
                    assert_eq!(whole.node_name(at), name);
                    assert_eq!(whole.node_named(&name), Some(at));
                }
                if plain == Plain::Affine {
                    let row = |network: &Network, node: usize| {
                        let mut row = AffineRow::default();
                        network.plain_row(node, 0, &mut row);
                        row
                    };
                    assert_eq!(row(&whole, at), row(alone, node));
                }
                at += 1;
            }
        }
        let joined = (at..whole.nodes()).map(|node| whole.plain(node));
        assert_eq!(joined.collect::<Vec<_>>(), [Plain::Affine]);
    }
}

/// One neuron, and a head.
fn small(inputs: usize, head: Option<Head>) -> Network {
    let (mut builder, x) = NetworkBuilder::new("pixels", Shape::new([1, inputs]).unwrap());
    let dense = ops::Dense::new(inputs, 2, vec![1.0; 2 * inputs], vec![0.5, -0.5]).unwrap();
    let u = builder.add(dense, &[x], "dense").unwrap();
    let v = builder
        .add(ops::Elementwise::new(ops::Relu), &[u], "relu")
        .unwrap();
    let y = match head {
        Some(Head::Softmax) => builder.add(ops::Softmax::new(1), &[v], "softmax").unwrap(),
        Some(Head::Sigmoid) => builder
            .add(ops::Elementwise::new(ops::Sigmoid), &[v], "sigmoid")
            .unwrap(),
        _ => v,
    };
    builder.finish(&[("hidden", u), ("scores", y)], 1).unwrap()
}

#[test]
fn the_answer_of_the_whole_is_the_logits_of_all_and_each_part_keeps_its_own() {
    let parts = [Some(Head::Softmax), Some(Head::Sigmoid), None].map(|head| small(3, head));
    let whole = grafted(&parts);
    assert_eq!(whole.network.head(), Head::Identity);
    assert_eq!(whole.network.input_name(), "pixels");
    assert_eq!(whole.network.elements(Point::Answer), 6);
    let names: Vec<&str> = whole.network.outputs().map(|(name, _)| name).collect();
    let expected = [
        "old+new+third",
        "old.hidden",
        "old.scores",
        "old",
        "new.hidden",
        "new.scores",
        "new",
        "third.hidden",
        "third.scores",
        "third",
    ];
    assert_eq!(names, expected);
    // A final Sigmoid is a head and no layer, also where it is one of several.
    let layers: Vec<&str> = whole.network.layers().iter().map(Layer::name).collect();
    assert_eq!(layers, ["old.relu", "new.relu", "third.relu"]);
    let x = [0.1f32, 0.2, 0.3];
    let answers = Pass::keep(whole.parts.iter().map(|part| part.point(Point::Answer)));
    let trace = whole.network.forward(&x, &answers);
    for (part, alone) in whole.parts.iter().zip(&parts) {
        let expected = alone.forward(&x, &Pass::keep([Point::Answer]));
        let found = trace.get(part.point(Point::Answer));
        assert_eq!(found, expected.get(Point::Answer), "{}", part.prefix);
    }
}

#[test]
fn logits_that_are_stored_in_another_order_are_joined_in_the_file_s() {
    let turned = {
        let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, 2, 3]).unwrap());
        let v = (builder.add(ops::Elementwise::new(ops::Relu), &[x], "relu")).unwrap();
        let turn = ops::Transpose::new(Order::new(vec![0, 2, 1]).unwrap());
        let y = builder.add(turn, &[v], "turn").unwrap();
        builder.finish(&[("y", y)], 0).unwrap()
    };
    let whole = graft(&[("a", &turned), ("b", &turned)]).unwrap();
    let logits = whole.network.logits(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(logits[..6], [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    assert_eq!(logits[6..], logits[..6]);
}

#[test]
fn a_graft_can_be_grafted() {
    let parts = [small(2, None), small(2, Some(Head::Softmax))];
    let inner = grafted(&parts).network;
    let outer = graft(&[("both", &inner), ("again", &parts[1])]).unwrap();
    let layers: Vec<&str> = outer.network.layers().iter().map(Layer::name).collect();
    assert_eq!(layers, ["both.old.relu", "both.new.relu", "again.relu"]);
    let logits = outer.network.logits(&[0.25f32, 1.0]);
    assert_eq!(logits[2..4], logits[4..]);
}

#[test]
fn what_cannot_be_grafted_is_refused_by_name() {
    let (a, b) = (small(2, None), small(3, None));
    let refused = |networks: &[(&str, &Network)]| graft(networks).unwrap_err().to_string();
    assert_eq!(graft(&[]).unwrap_err(), GraftError::Nothing);
    assert_eq!(
        refused(&[("old", &a), ("", &a)]),
        "``, the prefix of network 2, is no word; use one or more letters, digits, `_` and `-`"
    );
    // With a dot, `a.b` and layer `c` would be `a` and layer `b.c`.
    assert!(refused(&[("a.b", &a)]).starts_with("`a.b`, the prefix of network 1, is no word"));
    assert_eq!(
        refused(&[("m", &a), ("n", &a), ("m", &a)]),
        "networks 1 and 3 both have the prefix `m`; rename one"
    );
    assert_eq!(
        refused(&[("old", &a), ("new", &b)]),
        "the input of `old` is 1x2 and that of `new` is 1x3; networks share an input only if its \
         shapes are equal: export both with the same one"
    );
}
