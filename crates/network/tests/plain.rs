//! The network as plain data computes what the network computes.

use deepconcolic_network::{AffineRow, Network, Origin, Plain, Point};
use deepconcolic_testing::{Family, Random, network};

/// Runs the nodes one after the other on their plain data, as far as they have any; how many of each
/// kind were run.
fn run(network: &Network, values: &mut [Vec<f64>]) -> [usize; 3] {
    let mut seen = [0; 3];
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
            Plain::Opaque => continue,
        };
        values[network.node_output(node)] = output;
    }
    seen
}

#[test]
fn plain_data_compute_what_the_network_computes() {
    let mut seen = [0; 3];
    for seed in 0..12 {
        let family = [Family::Relu, Family::PiecewiseLinear, Family::Image][seed % 3];
        let network = network(family, seed as u64);
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
            if let Some(&found) = values[at.value].get(at.index) {
                assert!((found - expected).abs() < 1e-9, "{found} {expected}");
            } else {
                // Behind an operator that has no plain data: the maximum of two branches.
                assert_eq!(family, Family::PiecewiseLinear);
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
}
