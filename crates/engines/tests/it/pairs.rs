//! Pairs found in numbers are pairs by definition.

use deepconcolic_criteria::{Change, Scope};
use deepconcolic_engines::{Harvest, Margin, PairLimits, PairSearch};
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

fn check(search: &PairSearch<'_>, harvest: &Harvest) {
    for pair in &harvest.pairs {
        let (one, two) = (&harvest.tests[pair.first], &harvest.tests[pair.second]);
        for test in [one, two] {
            assert_eq!(search.space.violation(test, &harvest.tests[0]), None);
        }
        let [a, b] = [one, two].map(|x| u(search.network, x, search.before));
        assert!(changes(
            search.condition,
            a[pair.condition],
            b[pair.condition]
        ));
        let flipped: Vec<usize> = (0..a.len())
            .filter(|&n| (a[n] >= 0.0) != (b[n] >= 0.0))
            .collect();
        match search.condition {
            Change::Sign => assert_eq!(flipped, [pair.condition]),
            Change::Value(_) => assert!(flipped.is_empty()),
        }
        let [a, b] = [one, two].map(|x| u(search.network, x, search.layer)[pair.decision]);
        assert!(changes(search.decision, a, b));
        if search.decision != Change::Sign {
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
        let space = SearchSpace::of(domain, Pixels::Single, Norm::Linf, Extent::Balls(0.5));
        let search = PairSearch {
            network: &network,
            before: 0,
            layer: 1,
            condition,
            decision,
            scope: Scope::Layer,
            space: &space,
            means: &[],
            margin: Margin::default(),
            most: None,
        };
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
        let parts: Vec<Vec<(usize, usize)>> = open.chunks(7).map(<[_]>::to_vec).collect();
        let mut found = Vec::new();
        for (_, harvest) in search.cover(&seeds, &parts, PairLimits::default()).unwrap() {
            check(&search, &harvest);
            found.extend(harvest.pairs.iter().map(|p| (p.condition, p.decision)));
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
