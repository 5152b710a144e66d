//! What holds of every engine of the table: an engine is tested by being listed.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use deepconcolic_criteria::{Change, Changing, Kept, Objective, PairRequirement, Ratio, Region};
use deepconcolic_engines::{
    Budget, ENGINES, Effort, Engine, Goal, Margin, Origin, Reason, Report, StopReason, named,
};
use deepconcolic_geometry::{Domain, Extent, Norm, Pixels, SearchSpace};
use deepconcolic_language::{
    Assignment, Evaluator, Formula, Input, Inputs, Linear, Observations, Relation, Var,
};
use deepconcolic_network::{Network, Pass, Point, Trace};
use deepconcolic_testing::{Family, Random, network};

use crate::mlp::Mlp;

/// A small network, seeds and things to ask for.
struct Case {
    network: Network,
    space: SearchSpace,
    seeds: Vec<Vec<f32>>,
    objectives: Vec<Objective>,
}

impl Case {
    fn new(family: Family, seed: u64, norm: Norm) -> Self {
        let network = network(family, seed);
        let n = network.input_elements();
        let domain = Domain::uniform(n, 0.0, 1.0).unwrap();
        let radius = if norm == Norm::LINF { 0.4 } else { 2.0 };
        let mut random = Random::new(seed);
        let mut input = || random.list(n, 0.0, 1.0).iter().map(|x| *x as f32).collect();
        Self {
            space: SearchSpace::of(domain, Pixels::Single, norm, Extent::Balls(radius)),
            seeds: (0..3).map(|_| input()).collect(),
            objectives: objectives(&network, seed as usize),
            network,
        }
    }

    /// Asks an engine for one of the objectives.
    fn ask(&self, engine: &dyn Engine, objective: &Objective, budget: &Budget<'_>) -> Asked {
        let seeds: Vec<&[f32]> = self.seeds.iter().map(Vec::as_slice).collect();
        let origins: Vec<Origin<'_>> = seeds.iter().map(Origin::seed).collect();
        let goal = Goal {
            network: &self.network,
            objectives: &[std::slice::from_ref(objective)],
            origins: &origins,
            space: &self.space,
            means: &[],
            margin: Margin::default(),
            rng_seed: 0,
        };
        Asked {
            supported: engine.supports(&goal),
            report: engine.search(&goal, budget),
        }
    }
}

struct Asked {
    supported: Result<(), Reason>,
    report: Report,
}

/// One of each kind: formulas on one and on two inputs, pairs that change in both ways, ratios that are
/// exceeded, wanted as large as can be, and beyond reach.
fn objectives(network: &Network, seed: usize) -> Vec<Objective> {
    let sizes = [0, 1].map(|layer: usize| network.layers()[layer].neurons());
    let (i, j) = (seed % sizes[0], seed % sizes[1]);
    let active = |input, layer, neuron| Formula::active(input, layer, neuron);
    let formula = |formula, inputs| Objective::Formula { formula, inputs };
    let pair = |condition: Change, decision: Change, kept: Kept| {
        let changing = |layer: usize, neuron: usize, change: Change| Changing {
            layer,
            neuron,
            change,
        };
        Objective::PairOfChanges(PairRequirement {
            condition: changing(0, i, condition),
            decision: changing(1, j, decision),
            kept,
        })
    };
    let flips = |layer: usize, neuron: usize| {
        let [a, b] = [Input::First, Input::Second].map(|x| Box::new(active(x, layer, neuron)));
        Formula::Xor(a, b)
    };
    let field = Kept::Field(network.conditions(0, 1, j).into());
    let (sign, value) = (Change::Sign, Change::Value(2.0));
    let ratio = |outputs: Vec<usize>, norm: Norm, constant: Option<f64>| {
        Objective::Ratio(Ratio {
            region: Region::Domain,
            outputs,
            layer: network.layers().len() + 2,
            norm,
            constant,
        })
    };
    vec![
        formula(active(Input::First, 2, i), Inputs::One),
        formula(
            Formula::Not(Box::new(active(Input::First, 3, j))),
            Inputs::One,
        ),
        formula(
            Formula::Or(vec![active(Input::First, 2, i), active(Input::First, 3, j)]),
            Inputs::One,
        ),
        formula(Formula::And(vec![flips(2, i), flips(3, j)]), Inputs::Two),
        pair(sign, sign, Kept::Layer(sizes[0])),
        pair(value, sign, Kept::Layer(sizes[0])),
        pair(sign, value, field.clone()),
        pair(value, value, field),
        ratio(vec![0], Norm::LINF, Some(0.05)),
        ratio(vec![0], Norm::L2, None),
        ratio(vec![0, 1], Norm::L1, Some(0.05)),
        ratio(vec![0, 1], Norm::L2, Some(1e6)),
    ]
}

/// Runs every engine on every objective of some small networks.
fn everywhere(mut visit: impl FnMut(&Case, &'static dyn Engine, &Objective)) {
    for family in Family::ALL {
        for (seed, norm) in [
            (1, Norm::LINF),
            (2, Norm::L1),
            (3, Norm::L2),
            (4, Norm::LINF),
            (5, Norm::L0),
            (6, Norm::L0_ELEMENTS),
        ] {
            let case = Case::new(family, seed, norm);
            for &engine in ENGINES {
                for objective in &case.objectives {
                    visit(&case, engine, objective);
                }
            }
        }
    }
}

/// Tests as the requirement language sees them, by plain execution.
struct Executed {
    inputs: Vec<Vec<f32>>,
    trace: Trace<f32>,
    hidden: usize,
}

impl Executed {
    fn new(network: &Network, inputs: &[&[f32]]) -> Self {
        let hidden = network.layers().len();
        let layers = (0..hidden).flat_map(|layer| [Point::Pre(layer), Point::Post(layer)]);
        let pass = Pass::keep(layers.chain([Point::Logits]));
        Self {
            trace: network.forward(&inputs.concat(), &pass),
            inputs: inputs.iter().map(|x| x.to_vec()).collect(),
            hidden,
        }
    }

    fn value(&self, test: usize, var: Var) -> f32 {
        self.trace.sample(var.point(self.hidden), test)[var.neuron]
    }
}

impl Observations for Executed {
    fn tests(&self) -> usize {
        self.inputs.len()
    }

    fn u(&self, test: usize, layer: usize, neuron: usize) -> f32 {
        self.value(test, Var::u(Input::First, layer, neuron))
    }

    fn v(&self, test: usize, layer: usize, neuron: usize) -> f32 {
        self.value(test, Var::v(Input::First, layer, neuron))
    }

    fn input(&self, test: usize) -> &[f32] {
        &self.inputs[test]
    }
}

/// Whether inputs meet an objective, by its formula where it has one.
fn meets(case: &Case, objective: &Objective, inputs: &[&[f32]]) -> bool {
    let tests = Executed::new(&case.network, inputs);
    let judged = objective.judge(&tests, &case.space.units);
    let formula = match objective {
        Objective::Formula { formula, .. } => formula.clone(),
        Objective::PairOfChanges(pair) => pair.formula(),
        Objective::Ratio(_) => return judged,
    };
    let assignment = match objective.inputs() {
        Inputs::One => Assignment::One(0),
        Inputs::Two => Assignment::Two(0, 1),
    };
    let evaluator = Evaluator::new(&tests, &case.space.units);
    let satisfied = evaluator.satisfies(&formula, assignment);
    assert_eq!(
        satisfied, judged,
        "{objective}: the formula says {satisfied}"
    );
    satisfied
}

#[test]
fn names_are_unique_and_find_their_engines() {
    for (number, engine) in ENGINES.iter().enumerate() {
        let found = named(engine.name()).unwrap();
        assert_eq!(found.description(), engine.description());
        assert!(!engine.description().is_empty());
        let same = |other: &&&dyn Engine| other.name() == engine.name();
        assert_eq!(ENGINES.iter().filter(same).count(), 1, "engine {number}");
    }
    assert!(named("none").is_none());
}

#[test]
fn an_engine_searches_for_what_it_supports_and_refuses_the_rest() {
    let mut found = vec![0; ENGINES.len()];
    let mut refused = 0;
    everywhere(|case, engine, objective| {
        let Asked { supported, report } = case.ask(engine, objective, &Budget::default());
        let name = engine.name();
        match supported {
            Ok(()) => {
                assert!(report.effort.passes() > 0, "{name}: {objective}");
                assert_eq!(report.stop, StopReason::Complete, "{name}: {objective}");
                assert_eq!(report.reason.is_none(), !report.found.is_empty(), "{name}");
                let place = ENGINES.iter().position(|e| e.name() == name).unwrap();
                found[place] += report.found.len();
            }
            Err(reason) => {
                assert_eq!(report.effort, Effort::default(), "{name}: {objective}");
                assert_eq!(report.found, Vec::new(), "{name}: {objective}");
                assert_eq!(report.reason, Some(reason), "{name}: {objective}");
                refused += 1;
            }
        }
    });
    assert!(found.iter().all(|&count| count > 20), "{found:?}");
    assert!(refused > 0);
}

#[test]
fn every_witness_meets_its_objective_when_it_is_executed() {
    everywhere(|case, engine, objective| {
        let report = case.ask(engine, objective, &Budget::default()).report;
        for found in &report.found {
            let root = &case.seeds[found.origin];
            for witness in &found.witnesses {
                let inputs = found.inputs(witness);
                let what = format!("{}: {objective}", engine.name());
                assert!(meets(case, objective, &inputs), "{what}");
                for input in inputs {
                    assert_eq!(case.space.violation(input, root), None, "{what}");
                    let distance = case.space.distance(input, root);
                    assert!(distance <= witness.distance + 1e-12, "{what}");
                }
            }
        }
    });
}

#[test]
fn a_spent_budget_ends_a_search_before_it_begins() {
    let (raised, now) = (AtomicBool::new(true), Instant::now());
    let none = Budget::default();
    let passes = Budget {
        passes: Some(0),
        ..none
    };
    let deadline = Budget {
        deadline: Some(now),
        ..none
    };
    let cancel = Budget {
        cancel: Some(&raised),
        ..none
    };
    everywhere(|case, engine, objective| {
        for (budget, reason) in [
            (passes, StopReason::Passes),
            (deadline, StopReason::Deadline),
            (cancel, StopReason::Cancelled),
        ] {
            let Asked { supported, report } = case.ask(engine, objective, &budget);
            if supported.is_ok() {
                let what = format!("{}: {objective}", engine.name());
                assert_eq!(report.stop, reason, "{what}");
                assert_eq!(report.effort, Effort::default(), "{what}");
                assert!(report.found.is_empty() && report.reason.is_some(), "{what}");
            }
        }
    });
}

/// What one step may take beyond its budget in these networks: rows of one program, and a run.
const STEP: usize = 100;

#[test]
fn a_search_that_is_cut_short_says_so_and_spends_little_more() {
    let mut cut = vec![0; ENGINES.len()];
    everywhere(|case, engine, objective| {
        let budget = Budget {
            passes: Some(6),
            ..Budget::default()
        };
        let Asked { supported, report } = case.ask(engine, objective, &budget);
        if supported.is_ok() {
            assert!(report.effort.passes() < 6 + STEP, "{:?}", report.effort);
            if report.found.is_empty() && report.stop != StopReason::Complete {
                assert_eq!(report.stop, StopReason::Passes);
                let place = ENGINES.iter().position(|e| e.name() == engine.name());
                cut[place.unwrap()] += 1;
            }
        }
    });
    assert!(cut.iter().all(|&count| count > 0), "{cut:?}");
}

#[test]
fn the_same_goal_gives_the_same_report_on_any_number_of_threads() {
    let threads = |count: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count);
        pool.build().unwrap()
    };
    let (one, three) = (threads(1), threads(3));
    everywhere(|case, engine, objective| {
        let ask = || case.ask(engine, objective, &Budget::default()).report;
        assert_eq!(one.install(ask), three.install(ask), "{}", engine.name());
    });
}

#[test]
fn an_engine_that_takes_no_ratios_says_what_it_takes() {
    let case = Case::new(Family::Relu, 1, Norm::LINF);
    let ratio = case.objectives.last().unwrap();
    let refused = case.ask(named("walk").unwrap(), ratio, &Budget::default());
    assert_eq!(
        refused.supported.unwrap_err().to_string(),
        "the goal asks for a ratio of distances, and this engine takes formulas and pairs of neurons"
    );
}

/// Points to a side of the grid that is searched by brute force.
const SIDE: usize = 81;

#[test]
fn no_bound_is_above_the_nearest_witness_of_a_grid() {
    let mut bounds = 0;
    for seed in (0..80).filter(|&seed| Mlp::random(seed).inputs() == 2) {
        let network = Mlp::random(seed).network();
        let norm = [Norm::LINF, Norm::L1, Norm::L2][seed as usize % 3];
        let domain = Domain::uniform(2, 0.0, 1.0).unwrap();
        let list = Random::new(seed).list(2, 0.0, 1.0);
        let case = Case {
            objectives: Vec::new(),
            space: SearchSpace::of(domain, Pixels::Single, norm, Extent::Domain),
            seeds: vec![list.iter().map(|x| *x as f32).collect()],
            network,
        };
        for layer in 0..case.network.layers().len() {
            for neuron in 0..case.network.layers()[layer].neurons() {
                bounds += check_bounds(&case, layer, neuron);
            }
        }
    }
    assert!(bounds > 50, "{bounds}");
}

/// Bounds that engines give for the other sign of a neuron, none above the distance of a grid point of the
/// seed's cell: the signs of all earlier layers are the same there.
fn check_bounds(case: &Case, layer: usize, neuron: usize) -> usize {
    let root = &case.seeds[0];
    let pattern = |tests: &Executed| -> Vec<bool> {
        let layers = (0..layer).flat_map(|l| tests.trace.get(Point::Pre(l)));
        layers.map(|u| *u >= 0.0).collect()
    };
    let at_root = Executed::new(&case.network, &[root]);
    let relation = if at_root.u(0, layer + 2, neuron) >= 0.0 {
        Relation::Lt
    } else {
        Relation::Ge
    };
    let u = Linear::variable(Var::u(Input::First, layer + 2, neuron));
    let objective = Objective::Formula {
        formula: Formula::compare(u, relation),
        inputs: Inputs::One,
    };
    let step = |k: usize| k as f32 / (SIDE - 1) as f32;
    let grid = (0..SIDE * SIDE).map(|k| [step(k / SIDE), step(k % SIDE)]);
    let distance = |x: [f32; 2]| {
        let tests = Executed::new(&case.network, &[&x]);
        let inside = pattern(&tests) == pattern(&at_root);
        let met = inside && objective.judge(&tests, &case.space.units);
        met.then(|| case.space.distance(&x, root))
    };
    let nearest = grid.filter_map(distance).fold(f64::INFINITY, f64::min);
    let mut bounds = 0;
    for &engine in ENGINES {
        let report = case.ask(engine, &objective, &Budget::default()).report;
        let Some((_, witness)) = report.witness() else {
            continue;
        };
        if let Some(bound) = witness.bound {
            let name = engine.name();
            assert!(
                bound <= nearest,
                "{name}: {bound} but one lies at {nearest}"
            );
            assert!(bound <= witness.distance, "{name}: {witness:?}");
            bounds += 1;
        }
    }
    bounds
}
