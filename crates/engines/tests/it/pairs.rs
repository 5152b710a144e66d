//! Pairs found in numbers are pairs by definition.

use deepconcolic_criteria::{Change, Changing, Kept, Objective, PairRequirement};
use deepconcolic_engines::{Budget, Found, Goal, Margin, Origin, named};
use deepconcolic_geometry::{Domain, Extent, Norm, Pixels, SearchSpace};
use deepconcolic_network::{Network, Pass, Point};
use deepconcolic_testing::{Family, Random, network};

fn u(network: &Network, x: &[f32], layer: usize) -> Vec<f32> {
    let trace = network.forward(x, &Pass::keep([Point::Pre(layer)]));
    trace.get(Point::Pre(layer)).to_vec()
}

fn changes(change: Change, first: f32, second: f32) -> bool {
    match change {
        Change::Sign => (first >= 0.0) != (second >= 0.0),
        Change::Value(sigma) => {
            first != 0.0 && f64::from(second).abs() >= sigma * f64::from(first).abs()
        }
    }
}

fn check(goal: &Goal<'_>, found: &Found, changing: (Change, Change), pairs: &[(usize, usize)]) {
    for witness in &found.witnesses {
        let inputs = found.inputs(witness);
        let (condition, decision) = pairs[witness.objective];
        for test in &inputs {
            assert_eq!(goal.space.violation(test, &found.tests[0]), None);
        }
        let [a, b] = [inputs[0], inputs[1]].map(|x| u(goal.network, x, 0));
        assert!(changes(changing.0, a[condition], b[condition]));
        let flipped: Vec<usize> = (0..a.len())
            .filter(|&n| (a[n] >= 0.0) != (b[n] >= 0.0))
            .collect();
        match changing.0 {
            Change::Sign => assert_eq!(flipped, [condition]),
            Change::Value(_) => assert!(flipped.is_empty()),
        }
        let [a, b] = [inputs[0], inputs[1]].map(|x| u(goal.network, x, 1)[decision]);
        assert!(changes(changing.1, a, b));
        if changing.1 != Change::Sign {
            assert!(!changes(Change::Sign, a, b));
        }
    }
}

/// Pairs closed and pairs asked for, over some small networks.
fn cover(condition: Change, decision: Change) -> (usize, usize) {
    let (mut closed, mut asked) = (0, 0);
    for seed in 0..12 {
        let network = network(Family::Relu, seed);
        let n = network.input_elements();
        let domain = Domain::uniform(n, 0.0, 1.0).unwrap();
        let space = SearchSpace::of(domain, Pixels::Single, Norm::LINF, Extent::Balls(0.5));
        let mut random = Random::new(seed);
        let seeds: Vec<Vec<f32>> = (0..20)
            .map(|_| random.list(n, 0.0, 1.0).iter().map(|x| *x as f32).collect())
            .collect();
        let seeds: Vec<&[f32]> = seeds.iter().map(Vec::as_slice).collect();
        let sizes = [0, 1].map(|layer: usize| network.layers()[layer].neurons());
        let open: Vec<(usize, usize)> = (0..sizes[0])
            .flat_map(|i| (0..sizes[1]).map(move |j| (i, j)))
            .collect();
        let before = closed;
        let changing = |layer: usize, neuron: usize, change: Change| Changing {
            layer,
            neuron,
            change,
        };
        let objective = |&(i, j): &(usize, usize)| {
            Objective::PairOfChanges(PairRequirement {
                condition: changing(0, i, condition),
                decision: changing(1, j, decision),
                kept: Kept::Layer(sizes[0]),
            })
        };
        let objectives: Vec<Objective> = open.iter().map(objective).collect();
        let parts: Vec<&[Objective]> = objectives.chunks(7).collect();
        let origins: Vec<Origin<'_>> = seeds.iter().map(Origin::seed).collect();
        let goal = Goal {
            network: &network,
            objectives: &parts,
            origins: &origins,
            space: &space,
            means: &[],
            margin: Margin::default(),
            rng_seed: 0,
        };
        let engine = named("pairs").unwrap();
        let mut found = Vec::new();
        for part in engine.search(&goal, &Budget::default()).found {
            check(&goal, &part, (condition, decision), &open);
            found.extend(part.witnesses.iter().map(|w| open[w.objective]));
        }
        // Each pair at most once, and none that was not asked for.
        closed += found.len();
        found.sort_unstable();
        found.dedup();
        assert!(found.iter().all(|pair| open.contains(pair)));
        assert_eq!(closed - before, found.len());
        asked += open.len();
    }
    (closed, asked)
}

#[test]
fn all_four_pair_criteria_close_a_good_part_of_small_networks() {
    let (sign, value) = (Change::Sign, Change::Value(2.0));
    for (condition, decision) in [(sign, sign), (value, sign), (sign, value), (value, value)] {
        let (closed, asked) = cover(condition, decision);
        assert!(
            closed * 3 > asked,
            "{condition:?} {decision:?}: {closed} of {asked}"
        );
    }
}
