//! The search for few pixels against brute force: all choices of one or two, on a grid of values.

use deepconcolic_criteria::Objective;
use deepconcolic_engines::{Budget, Goal, Margin, Origin, Report, named};
use deepconcolic_geometry::{Domain, Extent, Norm, Pixels, SearchSpace};
use deepconcolic_language::{Formula, Input, Inputs, Linear, Relation, Var};
use deepconcolic_network::ops::{Dense, Elementwise, Relu};
use deepconcolic_network::{Network, NetworkBuilder, Pass, Point, Shape};
use deepconcolic_testing::{Family, Random, network};

use crate::mlp::Mlp;

/// Values of an element that brute force tries.
const SIDE: usize = 25;

fn l0(network: &Network, extent: Extent) -> SearchSpace {
    let domain = Domain::uniform(network.input_elements(), 0.0, 1.0).unwrap();
    SearchSpace::of(domain, Pixels::Single, Norm::L0, extent)
}

fn start(network: &Network, seed: u64) -> Vec<f32> {
    let list = Random::new(seed).list(network.input_elements(), 0.0, 1.0);
    list.into_iter().map(|x| x as f32).collect()
}

/// A neuron, and whether it should be active.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    layer: usize,
    neuron: usize,
    active: bool,
}

impl Wanted {
    /// The other sign of every neuron.
    fn all(network: &Network, root: &[f32]) -> Vec<Self> {
        let layers = 0..network.layers().len();
        let each = |layer: usize| {
            let u = values(network, layer, &[root.to_vec()]).remove(0);
            let wanted = move |(neuron, u): (usize, f32)| Self {
                layer,
                neuron,
                active: u < 0.0,
            };
            u.into_iter().enumerate().map(wanted).collect::<Vec<_>>()
        };
        layers.flat_map(each).collect()
    }

    fn objective(self) -> Objective {
        let u = Linear::variable(Var::u(Input::First, self.layer + 2, self.neuron));
        let relation = if self.active {
            Relation::Ge
        } else {
            Relation::Lt
        };
        Objective::Formula {
            formula: Formula::compare(u, relation),
            inputs: Inputs::One,
        }
    }

    fn holds(self, network: &Network, inputs: &[Vec<f32>]) -> Vec<bool> {
        let margin = Margin::default().floor as f32;
        let all = values(network, self.layer, inputs);
        let holds = |u: Vec<f32>| {
            let u = u[self.neuron];
            if self.active {
                u >= margin
            } else {
                u <= -margin
            }
        };
        all.into_iter().map(holds).collect()
    }
}

fn values(network: &Network, layer: usize, inputs: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let trace = network.forward(&inputs.concat(), &Pass::keep([Point::Pre(layer)]));
    let sample = |s| trace.sample(Point::Pre(layer), s).to_vec();
    (0..inputs.len()).map(sample).collect()
}

fn ask(
    network: &Network,
    objective: Objective,
    root: &[f32],
    space: &SearchSpace,
    budget: &Budget<'_>,
) -> Report {
    let goal = Goal {
        network,
        objectives: &[&[objective]],
        origins: &[Origin::seed(&root)],
        space,
        means: &[],
        margin: Margin::default(),
        rng_seed: 0,
    };
    named("l0").unwrap().search(&goal, budget)
}

/// The fewest changed elements, at most two, with which some grid point meets a goal.
fn brute_force(network: &Network, wanted: Wanted, root: &[f32]) -> Option<usize> {
    let value = |k: usize| k as f32 / (SIDE - 1) as f32;
    let with = |changes: &[(usize, usize)]| {
        let mut input = root.to_vec();
        for &(e, k) in changes {
            input[e] = value(k);
        }
        input
    };
    let n = root.len();
    let ones = (0..n * SIDE).map(|a| with(&[(a / SIDE, a % SIDE)]));
    if wanted
        .holds(network, &ones.collect::<Vec<_>>())
        .contains(&true)
    {
        return Some(1);
    }
    let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b)));
    let twos = pairs
        .flat_map(|(a, b)| (0..SIDE * SIDE).map(move |k| with(&[(a, k / SIDE), (b, k % SIDE)])));
    let found = wanted
        .holds(network, &twos.collect::<Vec<_>>())
        .contains(&true);
    found.then_some(2)
}

#[test]
fn no_fewer_elements_do_by_brute_force() {
    let (mut compared, mut counts) = (0, [0; 3]);
    for seed in 0..24 {
        let network = Mlp::random(seed).network();
        let root = start(&network, seed);
        let space = l0(&network, Extent::Domain);
        for wanted in Wanted::all(&network, &root) {
            let report = ask(
                &network,
                wanted.objective(),
                &root,
                &space,
                &Budget::default(),
            );
            let count = report
                .witness()
                .map(|(_, witness)| witness.distance as usize);
            let Some(least) = brute_force(&network, wanted, &root) else {
                // What needs more is no less for the engine: one or two would have been on the grid, but for
                // places smaller than its steps.
                continue;
            };
            compared += 1;
            counts[least] += 1;
            assert!(
                count.is_some_and(|c| c <= least),
                "{seed} {wanted:?} {least} {count:?}"
            );
        }
    }
    assert!(compared > 100 && counts[2] > 20, "{compared} {counts:?}");
}

#[test]
fn no_pixel_of_a_witness_can_be_taken_back_alone() {
    let mut seen = 0;
    for family in Family::ALL {
        for seed in 0..4 {
            let network = network(family, seed);
            let root = start(&network, seed);
            let mut space = l0(&network, Extent::Balls(6.0));
            space.grid = (seed % 2 == 1).then_some(255);
            for wanted in Wanted::all(&network, &root).into_iter().step_by(5) {
                let report = ask(
                    &network,
                    wanted.objective(),
                    &root,
                    &space,
                    &Budget::default(),
                );
                let Some((found, witness)) = report.witness() else {
                    continue;
                };
                let input = found.inputs(witness)[0];
                assert_eq!(space.violation(input, &root), None);
                assert_eq!(wanted.holds(&network, &[input.to_vec()]), [true]);
                let differs = |e: &usize| input[*e].to_bits() != root[*e].to_bits();
                let changed: Vec<usize> = (0..root.len()).filter(differs).collect();
                assert_eq!(changed.len(), witness.distance as usize);
                for &e in &changed {
                    let mut fewer = input.to_vec();
                    fewer[e] = root[e];
                    assert_eq!(
                        wanted.holds(&network, &[fewer]),
                        [false],
                        "{family:?} {seed}"
                    );
                }
                seen += changed.len();
            }
        }
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn a_pixel_of_three_channels_counts_once_and_its_elements_three_times() {
    // The neuron needs all three channels of the first pixel; the second has no weight.
    for (pixels, own) in [
        (Pixels::ChannelsFirst(3), [0, 2, 4]),
        (Pixels::ChannelsLast(3), [0, 1, 2]),
    ] {
        let (mut builder, x) = NetworkBuilder::new("x", Shape::new([1, 6]).unwrap());
        let mut weights = vec![0.0; 6];
        for e in own {
            weights[e] = 1.0;
        }
        let dense = Dense::new(6, 1, weights, vec![-2.5]).unwrap();
        let u = builder.add(dense, &[x], "dense").unwrap();
        let v = builder.add(Elementwise::new(Relu), &[u], "relu").unwrap();
        let network = builder.finish(&[("y", v)], 0).unwrap();
        let wanted = Wanted {
            layer: 0,
            neuron: 0,
            active: true,
        };
        for (norm, count) in [(Norm::L0, 1.0), (Norm::L0_ELEMENTS, 3.0)] {
            let domain = Domain::uniform(6, 0.0, 1.0).unwrap();
            let space = SearchSpace::of(domain, pixels, norm, Extent::Balls(count));
            let report = ask(
                &network,
                wanted.objective(),
                &[0.0; 6],
                &space,
                &Budget::default(),
            );
            let (_, witness) = report.witness().unwrap();
            assert_eq!(
                witness.distance.to_bits(),
                f64::to_bits(count),
                "{norm} {pixels:?}"
            );
            // With one fewer there is none.
            let domain = Domain::uniform(6, 0.0, 1.0).unwrap();
            let less = SearchSpace::of(domain, pixels, norm, Extent::Balls(count - 1.0));
            let report = ask(
                &network,
                wanted.objective(),
                &[0.0; 6],
                &less,
                &Budget::default(),
            );
            assert!(report.found.is_empty(), "{norm} {pixels:?}");
        }
    }
}

#[test]
fn a_limit_on_passes_is_kept_to_the_batch() {
    for passes in [1, 10, 40, 200] {
        let network = network(Family::Image, 3);
        let root = start(&network, 3);
        let space = l0(&network, Extent::Balls(6.0));
        let budget = Budget {
            attempt: Some(passes),
            ..Budget::default()
        };
        for wanted in Wanted::all(&network, &root).into_iter().step_by(7) {
            let report = ask(&network, wanted.objective(), &root, &space, &budget);
            let spent = report.effort.passes();
            assert!(spent <= passes + 40, "{spent} of {passes}");
        }
    }
}
