//! Every witness survives plain execution, whatever the network and the formula.

use deepconcolic_criteria::Objective;
use deepconcolic_engines::{Budget, Goal, Margin, Origin, ROWS_OF_A_STEP, Report, named};
use deepconcolic_geometry::{Domain, Extent, Norm, Pixels, SearchSpace};
use deepconcolic_language::{Formula, Input, Inputs, Linear, Relation, Var};
use deepconcolic_network::{Layer, Network, Pass, Point};
use deepconcolic_testing::{Family, Random, network};
use proptest::prelude::*;

fn space(network: &Network, norm: Norm, radius: f64) -> SearchSpace {
    let domain = Domain::uniform(network.input_elements(), 0.0, 1.0).unwrap();
    SearchSpace::of(domain, Pixels::Single, norm, Extent::Balls(radius))
}

fn start(network: &Network, seed: u64) -> Vec<f32> {
    let list = Random::new(seed).list(network.input_elements(), 0.0, 1.0);
    list.into_iter().map(|x| x as f32).collect()
}

fn u(network: &Network, x: &[f32], layer: usize) -> Vec<f32> {
    let pass = Pass::keep([Point::Pre(layer)]);
    network.forward(x, &pass).get(Point::Pre(layer)).to_vec()
}

fn ask(
    network: &Network,
    formula: &Formula,
    inputs: Inputs,
    root: &[f32],
    space: &SearchSpace,
) -> [Report; 2] {
    let objective = Objective::Formula {
        formula: formula.clone(),
        inputs,
    };
    let goal = Goal {
        network,
        objectives: &[&[objective]],
        origins: &[Origin::seed(&root)],
        space,
        means: &[],
        margin: Margin::default(),
        rng_seed: 0,
    };
    ["walk", "nearest"].map(|name| named(name).unwrap().search(&goal, &Budget::default()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn neurons_clear_their_margin(seed: u64, neuron: u16, grid: bool) {
        for family in Family::ALL {
            let network = network(family, seed);
            let root = start(&network, seed);
            for norm in [Norm::LINF, Norm::L1, Norm::L2] {
                let mut space = space(&network, norm, if norm == Norm::LINF { 0.3 } else { 2.0 });
                space.grid = grid.then_some(255);
                for layer in 0..network.layers().len() {
                    let neuron = usize::from(neuron) % network.layers()[layer].neurons();
                    let formula = Formula::active(Input::First, layer + 2, neuron);
                    for report in ask(&network, &formula, Inputs::One, &root, &space) {
                        if let Some((found, _)) = report.witness() {
                            let input = &found.tests[0];
                            let value = u(&network, input, layer)[neuron];
                            prop_assert!(value >= 1e-6, "{family:?} {norm} {value}");
                            let wrong = space.violation(input, &root);
                            prop_assert_eq!(wrong, None);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn pairs_change_what_they_should(seed: u64, i: u16, j: u16) {
        for family in Family::ALL {
            let network = network(family, seed);
            let root = start(&network, seed);
            let space = space(&network, Norm::LINF, 0.5);
            let sizes: Vec<usize> = network.layers().iter().map(Layer::neurons).collect();
            let (i, j) = (usize::from(i) % sizes[0], usize::from(j) % sizes[1]);
            let active = |input, k, n| Box::new(Formula::active(input, k, n));
            let both = |k: usize, n: usize| {
                (active(Input::First, k, n), active(Input::Second, k, n))
            };
            let mut parts: Vec<Formula> = (0..sizes[0])
                .map(|n| {
                    let (a, b) = both(2, n);
                    if n == i { Formula::Xor(a, b) } else { Formula::Iff(a, b) }
                })
                .collect();
            let (a, b) = both(3, j);
            parts.push(Formula::Xor(a, b));
            let formula = Formula::And(parts);
            for report in ask(&network, &formula, Inputs::Two, &root, &space) {
                let Some((found, _)) = report.witness() else { continue };
                let differing = |layer: usize| -> Vec<usize> {
                    let [one, two] = [0, 1].map(|x| u(&network, &found.tests[x], layer));
                    let differs = |n: &usize| (one[*n] >= 0.0) != (two[*n] >= 0.0);
                    (0..one.len()).filter(differs).collect()
                };
                prop_assert_eq!(differing(0), vec![i]);
                prop_assert!(differing(1).contains(&j));
                for input in &found.tests {
                    prop_assert_eq!(space.violation(input, &root), None);
                }
            }
        }
    }
}

/// A neuron above all others of its layer is asked for by as many comparisons as there are others, and a step takes rows of a few
/// of them.
#[test]
fn steps_of_formulas_with_hundreds_of_comparisons_take_few_passes() {
    let sizes = [6, 400, 4];
    let network = crate::mlp::Mlp::with_sizes(&sizes, 11).network();
    let root = &start(&network, 5)[..];
    let space = space(&network, Norm::LINF, 1.0);
    let u = |neuron| Linear::variable(Var::u(Input::First, 2, neuron));
    let mut met = 0;
    for neuron in 0..20 {
        let above = |other| {
            let mut difference = u(neuron);
            difference.add(-1.0, &u(other));
            Formula::compare(difference, Relation::Ge)
        };
        let others = (0..sizes[1]).filter(|&other| other != neuron);
        let objectives = [Objective::Formula {
            formula: Formula::And(others.map(above).collect()),
            inputs: Inputs::One,
        }];
        let goal = Goal {
            network: &network,
            objectives: &[&objectives],
            origins: &[Origin::seed(&root)],
            space: &space,
            means: &[],
            margin: Margin::default(),
            rng_seed: 0,
        };
        let budget = Budget {
            passes: Some(200),
            ..Budget::default()
        };
        let report = named("walk").unwrap().search(&goal, &budget);
        met += usize::from(report.witness().is_some());
        assert!(
            report.effort.passes() <= 200 + ROWS_OF_A_STEP + 4,
            "{:?}",
            report.effort
        );
    }
    assert!(met >= 3, "{met} of 20");
}

/// Small Relu networks have both signs of most first-layer neurons within reach.
#[test]
fn most_first_layer_neurons_are_found() {
    let (mut found, mut total) = (0, 0);
    for seed in 0..40 {
        let network = network(Family::Relu, seed);
        let root = start(&network, seed);
        let space = space(&network, Norm::LINF, 1.0);
        for neuron in 0..network.layers()[0].neurons() {
            let formula = Formula::active(Input::First, 2, neuron);
            let [report, _] = ask(&network, &formula, Inputs::One, &root, &space);
            total += 1;
            found += usize::from(report.witness().is_some());
        }
    }
    assert!(found * 10 > total * 8, "{found} of {total}");
}

#[test]
fn disjunctions_and_cardinalities_take_the_nearest_parts() {
    let network = network(Family::Relu, 5);
    let root = start(&network, 5);
    let space = space(&network, Norm::LINF, 1.0);
    let neurons = network.layers()[0].neurons();
    let all: Vec<Formula> = (0..neurons)
        .map(|n| Formula::active(Input::First, 2, n))
        .collect();
    let now = u(&network, &root, 0).iter().filter(|u| **u >= 0.0).count();
    for relation in [Relation::Gt, Relation::Lt] {
        let formula = Formula::Count {
            of: all.clone(),
            relation,
            count: now,
        };
        let [report, nearest] = ask(&network, &formula, Inputs::One, &root, &space);
        for report in [report, nearest] {
            let (found, _) = report.witness().expect("one more or one fewer is near");
            let then = u(&network, &found.tests[0], 0);
            let count = then.iter().filter(|u| **u >= 0.0).count();
            assert!(relation.holds(&count, &now));
        }
    }
}

#[test]
fn what_cannot_be_handled_is_named() {
    let network = network(Family::Relu, 1);
    let root = start(&network, 1);
    let space = space(&network, Norm::LINF, 1.0);
    let u = Linear::variable(Var::u(Input::First, 2, 0));
    let equation = Formula::compare(u, Relation::Eq);
    for report in ask(&network, &equation, Inputs::One, &root, &space) {
        let reason = report.reason.expect("an equation was met");
        assert!(reason.to_string().contains("u[x1][2,0] = 0"), "{reason}");
    }
}
