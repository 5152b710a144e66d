//! Criteria on random networks and suites: measuring traces and evaluating the formulas that a
//! criterion prints are two ways to one answer.

use deepconcolic_criteria::{
    self, Criterion, Decision, Group, LipschitzOutput, Parameters, Profile, Scope, Selection,
    Setting,
};
use deepconcolic_geometry::{Domain, Extent, InputSpace, Norm, Pixels, SearchSpace, Together};
use deepconcolic_language::{Evaluator, RecordedTest, Recording};
use deepconcolic_network::{BitSet, Network, Pass, Point};
use deepconcolic_testing::{Family, Random, network};

struct Suite {
    network: Network,
    inputs: Vec<f32>,
    profile: Profile,
    space: InputSpace,
}

impl Suite {
    fn new(family: Family, seed: u64, tests: usize) -> Self {
        let network = network(family, seed);
        let mut random = Random::new(seed + 77);
        let n = network.input_elements();
        // Half of the tests are small steps from others, so that pairs exist.
        let mut inputs: Vec<f32> = Vec::new();
        for test in 0..tests {
            if test % 2 == 0 || test < 2 {
                inputs.extend(random.list(n, -1.0, 1.0).iter().map(|&v| v as f32));
            } else {
                let from = random.below(test) * n;
                let step = 10f64.powf(random.between(-3.0, -0.3));
                for e in from..from + n {
                    inputs.push(inputs[e] + random.between(-step, step) as f32);
                }
            }
        }
        let mut profile = Profile::new(&network);
        let pass = Pass::keep(Profile::points(&network));
        profile.observe(&network.forward(&inputs[..n * tests / 3], &pass));
        let widths = random.list(n, 1.0, 2.0);
        Self {
            network,
            inputs,
            profile,
            space: InputSpace {
                widths,
                ..InputSpace::default()
            },
        }
    }

    fn tests(&self) -> usize {
        self.inputs.len() / self.network.input_elements()
    }

    fn some(&self, tests: &[usize]) -> Vec<f32> {
        let n = self.network.input_elements();
        tests
            .iter()
            .flat_map(|&t| self.inputs[t * n..(t + 1) * n].iter().copied())
            .collect()
    }

    fn recording(&self, tests: &[usize]) -> Recording {
        let layers = self.network.layers().len();
        let points: Vec<Point> = (0..layers)
            .flat_map(|l| [Point::Pre(l), Point::Post(l)])
            .chain([Point::Logits, Point::Input])
            .collect();
        let trace = self.network.forward(&self.some(tests), &Pass::keep(points));
        let values = |s: usize, point: fn(usize) -> Point| {
            let hidden = (0..layers).map(point).chain([Point::Logits]);
            hidden.map(|p| trace.sample(p, s).to_vec()).collect()
        };
        Recording {
            tests: (0..tests.len())
                .map(|s| RecordedTest {
                    input: trace.sample(Point::Input, s).to_vec(),
                    u: values(s, Point::Pre),
                    v: values(s, Point::Post),
                })
                .collect(),
        }
    }

    fn seeds(&self) -> Vec<Vec<f32>> {
        (0..4.min(self.tests())).map(|t| self.some(&[t])).collect()
    }

    /// Measures the suite in batches of this size; any two tests count together.
    fn measure(
        &self,
        criterion: &dyn Criterion,
        parameters: &Parameters,
        tests: &[usize],
        batch: usize,
    ) -> Option<Measured> {
        self.measure_together(criterion, parameters, tests, batch, &Together::any())
    }

    fn measure_together(
        &self,
        criterion: &dyn Criterion,
        parameters: &Parameters,
        tests: &[usize],
        batch: usize,
        together: &Together,
    ) -> Option<Measured> {
        let selection = Selection::everything(&self.network);
        let seeds = self.seeds();
        let setting = Setting {
            network: &self.network,
            selection: &selection,
            parameters,
            decision: &Decision::shown(&self.network),
            seeds: &seeds,
            space: &self.space,
            profile: Some(&self.profile),
        };
        let family = criterion.family(&setting).ok()?;
        let pass = Pass::keep(family.points());
        let mut tally = family.tally();
        for part in tests.chunks(batch) {
            tally.observe(&self.network.forward(&self.some(part), &pass));
        }
        let rerun = |numbers: &[usize], points: &[Point]| {
            let again: Vec<usize> = numbers.iter().map(|&n| tests[n]).collect();
            let pass = Pass::keep(points.iter().copied());
            self.network.forward(&self.some(&again), &pass)
        };
        tally.finish(&rerun, together);
        let covered = tally.covered().to_vec();
        drop(tally);
        Some(Measured { covered, family })
    }
}

struct Measured {
    covered: Vec<BitSet>,
    family: Box<dyn deepconcolic_criteria::Family>,
}

impl Measured {
    /// Group and slot of every requirement. The formulas are not made here: those of a pair
    /// criterion mention the whole layer.
    fn requirements(&self) -> Vec<(usize, usize)> {
        let groups = self.family.groups().iter().enumerate();
        groups
            .flat_map(|(g, group)| {
                let required =
                    (0..group.slots()).filter(|&slot| !group.not_required.contains(slot));
                required.map(move |slot| (g, slot))
            })
            .collect()
    }
}

fn settings() -> Vec<Parameters> {
    let base = Parameters {
        sections: 4,
        top: 2,
        constant: Some(1.5),
        ..Parameters::default()
    };
    vec![
        base.clone(),
        Parameters {
            threshold: Some(0.2),
            scope: Scope::Field,
            radius: Some(0.3),
            sigma: Some(1.3),
            ..base.clone()
        },
        Parameters {
            scaled: true,
            radius: Some(0.2),
            norm: Norm::L2,
            ratio_norm: Norm::L2,
            lipschitz_output: LipschitzOutput::Label,
            ..base
        },
    ]
}

#[test]
fn measuring_and_evaluating_agree_for_every_criterion() {
    let mut seen = vec![[0usize; 2]; deepconcolic_criteria::ALL.len()];
    for family in [
        Family::Relu,
        Family::PiecewiseLinear,
        Family::Smooth,
        Family::Image,
    ] {
        for seed in 0..3 {
            let suite = Suite::new(family, seed, if family == Family::Image { 12 } else { 30 });
            let tests: Vec<usize> = (0..suite.tests()).collect();
            let recording = suite.recording(&tests);
            let evaluator = Evaluator::new(&recording, &suite.space);
            for parameters in settings() {
                for (criterion, seen) in deepconcolic_criteria::ALL.iter().zip(&mut seen) {
                    let Some(measured) = suite.measure(*criterion, &parameters, &tests, 7) else {
                        continue;
                    };
                    // Large families are sampled: the evaluator spells every formula out.
                    let requirements = measured.requirements();
                    let step = (requirements.len() / 300).max(1);
                    for (g, slot) in requirements.into_iter().step_by(step) {
                        let covered = measured.covered[g].contains(slot);
                        seen[usize::from(covered)] += 1;
                        if let Ok(requirement) = measured.family.requirement(g, slot) {
                            let holds = evaluator.holds(&requirement);
                            let name = criterion.name();
                            assert_eq!(covered, holds, "{name}, {family:?}: {requirement}");
                        }
                    }
                }
            }
        }
    }
    for (criterion, [open, covered]) in deepconcolic_criteria::ALL.iter().zip(seen) {
        let name = criterion.name();
        assert!(
            open > 0 && covered > 0,
            "{name}: {open} open, {covered} covered"
        );
    }
}

#[test]
fn coverage_does_not_depend_on_order_or_batches_and_never_falls() {
    for family in [Family::Relu, Family::Image] {
        let suite = Suite::new(family, 5, 24);
        let forward: Vec<usize> = (0..suite.tests()).collect();
        let backward: Vec<usize> = forward.iter().rev().copied().collect();
        for parameters in settings() {
            for criterion in deepconcolic_criteria::ALL {
                let measure = |tests: &[usize], batch| {
                    let measured = suite.measure(*criterion, &parameters, tests, batch);
                    measured.map(|m| m.covered)
                };
                let Some(whole) = measure(&forward, 24) else {
                    continue;
                };
                let name = criterion.name();
                assert_eq!(Some(&whole), measure(&backward, 5).as_ref(), "{name}");
                let mut before: Option<Vec<BitSet>> = None;
                for count in [1, 2, 7, 15, 24] {
                    let now = measure(&forward[..count], 3).unwrap();
                    for (a, b) in before.iter().flatten().zip(&now) {
                        assert_eq!(a.count_without(b), 0, "{name} fell at {count} tests");
                    }
                    before = Some(now);
                }
            }
        }
    }
}

#[test]
fn pairs_of_a_run_are_those_of_each_ball_by_itself() {
    let mut less = 0;
    for (family, norm, radius) in [
        (Family::Relu, Norm::LINF, 0.45),
        (Family::Relu, Norm::L2, 0.7),
        (Family::Image, Norm::LINF, 0.3),
    ] {
        let suite = Suite::new(family, 3, 42);
        let tests: Vec<usize> = (0..suite.tests()).collect();
        let seeds = suite.seeds().concat();
        let domain = Domain::uniform(suite.network.input_elements(), -1.0, 1.0).unwrap();
        let space = SearchSpace::of(domain, Pixels::Single, norm, Extent::Balls(radius));
        let together = Together::of(&space, &seeds, &suite.some(&tests));
        for parameters in settings() {
            for criterion in
                ["ssc", "vsc", "svc", "vvc"].map(|n| deepconcolic_criteria::find(n).unwrap())
            {
                let found = suite.measure_together(criterion, &parameters, &tests, 9, &together);
                let found = found.unwrap().covered;
                let any = suite.measure(criterion, &parameters, &tests, 9).unwrap();
                let mut expected: Vec<BitSet> =
                    found.iter().map(|group| BitSet::new(group.len())).collect();
                for ball in 0..seeds.len() / suite.network.input_elements() {
                    let inside = |&t: &usize| space.parts(&suite.some(&[t]), &seeds).contains(ball);
                    let inside: Vec<usize> = tests.iter().copied().filter(inside).collect();
                    let own = suite.measure(criterion, &parameters, &inside, 9).unwrap();
                    for (all, own) in expected.iter_mut().zip(&own.covered) {
                        own.iter().for_each(|slot| all.insert(slot));
                    }
                }
                assert_eq!(found, expected, "{} {norm}", criterion.name());
                less += usize::from(found != any.covered);
            }
        }
    }
    assert!(less > 10, "balls made a difference {less} times");
}

#[test]
fn what_is_not_selected_is_not_required() {
    let network = network(Family::Relu, 2);
    let name = network.layers()[1].name();
    let only = format!("{name}:0,2");
    let selection = Selection::parse(&network, &[], &[&only]).unwrap();
    let space = InputSpace::default();
    let parameters = Parameters::default();
    let setting = Setting {
        network: &network,
        selection: &selection,
        parameters: &parameters,
        decision: &Decision::shown(&network),
        seeds: &[],
        space: &space,
        profile: None,
    };
    let nc = deepconcolic_criteria::find("nc")
        .unwrap()
        .family(&setting)
        .unwrap();
    assert_eq!(nc.groups().iter().map(Group::total).sum::<usize>(), 2);
    assert_eq!(nc.label(0, 2), format!("{name}:2"));
    let ssc = deepconcolic_criteria::find("ssc")
        .unwrap()
        .family(&setting)
        .unwrap();
    let before = network.layers()[0].neurons();
    assert_eq!(
        ssc.groups().iter().map(Group::total).sum::<usize>(),
        2 * before
    );
    for bad in ["nothing:1", "act1", "act1:99", "act1:x"] {
        assert!(Selection::parse(&network, &[], &[bad]).is_err(), "{bad}");
    }
}

#[test]
fn every_criterion_has_a_name_and_a_definition_of_its_own() {
    let mut names: Vec<&str> = deepconcolic_criteria::ALL
        .iter()
        .map(|c| c.name())
        .collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), deepconcolic_criteria::ALL.len());
    for criterion in deepconcolic_criteria::ALL {
        assert!(criterion.definition().len() > 20);
        assert_eq!(
            deepconcolic_criteria::find(criterion.name())
                .unwrap()
                .name(),
            criterion.name()
        );
    }
    assert!(deepconcolic_criteria::find("none").is_none());
}
