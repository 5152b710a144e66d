//! The network as plain data computes what the network computes.

use deepconcolic_network::ops::{Binary, Dense, Min, PRelu};
use deepconcolic_network::{
    AffineRow, Element, Network, NetworkBuilder, Origin, Plain, Point, Shape,
};
use deepconcolic_testing::{Family, Random, network};

/// Runs the nodes one after the other on their plain data, as far as they have any; how many of each
/// kind were run.
fn run(network: &Network, values: &mut [Vec<f64>]) -> [usize; 5] {
    let mut seen = [0; 5];
    let mut row = AffineRow::default();
    for node in 0..network.nodes() {
        let inputs: Vec<usize> = network.plain_inputs(node).collect();
        let variable = |value: usize| network.origin(value) != Origin::Constant;
        let unknown = |value: usize| variable(value) && values[value].is_empty();
        if inputs.iter().any(|&value| unknown(value)) {
            continue;
        }
        let elements = 0..network.node_shape(node).elements();
        let output: Vec<f64> = match network.plain(node) {
            Plain::Affine => {
                seen[0] += 1;
                elements
                    .map(|element| {
                        network.plain_row(node, element, &mut row);
                        let terms = row.terms.iter().map(|&(input, index, weight)| {
                            weight * values[inputs[input as usize]][index as usize]
                        });
                        terms.sum::<f64>() + row.constant
                    })
                    .collect()
            }
            Plain::Curve(parts) => {
                seen[1] += 1;
                let input = &values[inputs[0]];
                let value = |x: f64| {
                    let part = parts.iter().rfind(|part| part.from <= x).unwrap();
                    part.slope * x + part.intercept
                };
                elements.map(|element| value(input[element])).collect()
            }
            Plain::Largest => {
                seen[2] += 1;
                elements
                    .map(|element| {
                        let members = network.plain_members(node, element);
                        let members = members.iter().map(|m| values[m.value][m.index]);
                        members.fold(f64::NEG_INFINITY, f64::max)
                    })
                    .collect()
            }
            Plain::Smallest => {
                seen[3] += 1;
                let members = |element| network.plain_members(node, element).into_iter();
                let value = |m: Element| match network.constant_element(m) {
                    Some(constant) => constant,
                    None => values[m.value][m.index],
                };
                elements
                    .map(|e| members(e).map(value).fold(f64::INFINITY, f64::min))
                    .collect()
            }
            Plain::Leaky => {
                seen[4] += 1;
                let input = &values[inputs[0]];
                let leak = |e: usize| network.plain_slope(node, e) * input[e].min(0.0);
                elements.map(|e| input[e].max(0.0) + leak(e)).collect()
            }
            Plain::Opaque => continue,
        };
        values[network.node_output(node)] = output;
    }
    seen
}

/// Slopes of their own for every element, and a minimum with a constant.
fn leaky(seed: u64) -> Result<Network, String> {
    let mut random = Random::new(seed);
    let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, 4])?);
    let dense = Dense::new(4, 5, random.list(20, -1.0, 1.0), random.list(5, -1.0, 1.0))?;
    let u = builder.add(dense, &[x], "u")?;
    let slopes = builder.constant(Shape::new([5])?, random.list(5, -0.5, 1.5))?;
    let v = builder.add(PRelu, &[u, slopes], "v")?;
    let maximum = builder.constant(Shape::new([1, 1])?, vec![0.4])?;
    let w = builder.add(Binary::new(Min), &[v, maximum], "w")?;
    builder.finish(&[("y", w)], 0)
}

#[test]
fn plain_data_compute_what_the_network_computes() {
    let mut seen = [0; 5];
    for seed in 0..16 {
        let families = [Family::Relu, Family::PiecewiseLinear, Family::Image];
        let network = match families.get(seed % 4) {
            Some(&family) => network(family, seed as u64),
            None => leaky(seed as u64).unwrap(),
        };
        let input = Random::new(seed as u64).list(network.input_elements(), -1.0, 1.0);
        let mut values: Vec<Vec<f64>> = vec![Vec::new(); network.values()];
        let first = network.element(Point::Input, 0);
        values[first.value] = vec![0.0; input.len()];
        for (element, &x) in input.iter().enumerate() {
            let at = network.element(Point::Input, element);
            values[at.value][at.index] = x;
        }
        for (kind, count) in run(&network, &mut values).into_iter().enumerate() {
            seen[kind] += count;
        }
        let logits = network.logits(&input);
        for (element, &expected) in logits.iter().enumerate() {
            let at = network.element(Point::Logits, element);
            let found = values[at.value][at.index];
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
}
