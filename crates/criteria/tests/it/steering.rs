//! What steers a search agrees with what counts: on random networks, every criterion that asks for one
//! input.

use deepconcolic_criteria::{
    self, Clearance, Criterion, Decision, Means, Parameters, Profile, SampleView, Selection,
    Setting, Written,
};
use deepconcolic_geometry::InputSpace;
use deepconcolic_language::{
    Assignment, Evaluator, Inputs, RecordedTest, Recording, RequirementFile, Signature,
};
use deepconcolic_network::{BitSet, Network, Pass, Point, Row, Trace};
use deepconcolic_testing::{Family, Random, network};

const TESTS: usize = 12;

struct Setup {
    network: Network,
    inputs: Vec<f32>,
    profile: Profile,
    means: Means,
    trace: Trace<f32>,
    space: InputSpace,
}

fn everything(network: &Network) -> Vec<Point> {
    let hidden = (0..network.layers().len()).flat_map(|l| [Point::Pre(l), Point::Post(l)]);
    let ends = [Point::Input, Point::Logits, Point::Answer];
    hidden.chain(ends).collect()
}

impl Setup {
    fn new(family: Family, seed: u64) -> Self {
        let network = network(family, seed);
        let mut random = Random::new(seed + 5);
        let n = network.input_elements();
        let inputs: Vec<f32> = random
            .list(n * TESTS, -1.0, 1.0)
            .iter()
            .map(|&v| v as f32)
            .collect();
        let points = everything(&network);
        let pass = Pass::keep(points.iter().copied()).differentiating(points);
        let trace = network.forward(&inputs, &pass);
        let mut profile = Profile::new(&network);
        profile.observe(&network.forward(&inputs[..n * 4], &Pass::keep(Profile::points(&network))));
        Self {
            means: Means::of(&network, &trace),
            space: InputSpace {
                widths: vec![2.0; n],
                ..InputSpace::default()
            },
            network,
            inputs,
            profile,
            trace,
        }
    }

    fn family(
        &self,
        criterion: &dyn Criterion,
        parameters: &Parameters,
    ) -> Option<Box<dyn deepconcolic_criteria::Family>> {
        let selection = Selection::everything(&self.network);
        let n = self.network.input_elements();
        let seeds: Vec<Vec<f32>> = self.inputs.chunks(n).take(3).map(<[f32]>::to_vec).collect();
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
        family.guide().is_ok().then_some(family)
    }

    fn look(&self, sample: usize) -> SampleView<'_> {
        SampleView {
            trace: &self.trace,
            sample,
            means: &self.means,
        }
    }

    fn recording(&self) -> Recording {
        let layers = self.network.layers().len();
        let values = |s: usize, point: fn(usize) -> Point| {
            let points = (0..layers).map(point).chain([Point::Logits]);
            points.map(|p| self.trace.sample(p, s).to_vec()).collect()
        };
        Recording {
            tests: (0..TESTS)
                .map(|s| RecordedTest {
                    input: self.trace.sample(Point::Input, s).to_vec(),
                    u: values(s, Point::Pre),
                    v: values(s, Point::Post),
                })
                .collect(),
        }
    }
}

fn parameters() -> Vec<Parameters> {
    let plain = Parameters {
        sections: 4,
        top: 2,
        radius: Some(0.4),
        ..Parameters::default()
    };
    vec![
        Parameters {
            threshold: Some(0.1),
            with_logits: true,
            ..plain.clone()
        },
        Parameters {
            scaled: true,
            ..plain.clone()
        },
        plain,
    ]
}

/// Every family that can be steered, on some networks.
fn each(mut visit: impl FnMut(&Setup, &dyn deepconcolic_criteria::Family)) {
    let mut seen = 0;
    for kind in Family::ALL {
        for seed in 0..4 {
            let scene = Setup::new(kind, seed);
            for parameters in parameters() {
                for criterion in deepconcolic_criteria::ALL {
                    if let Some(family) = scene.family(*criterion, &parameters) {
                        seen += 1;
                        visit(&scene, family.as_ref());
                    }
                }
            }
        }
    }
    assert!(seen > 200, "{seen}");
}

fn required(family: &dyn deepconcolic_criteria::Family) -> Vec<BitSet> {
    let groups = family.groups().iter();
    groups
        .map(|group| group.not_required.complement())
        .collect()
}

fn met(
    family: &dyn deepconcolic_criteria::Family,
    look: SampleView<'_>,
    among: &[BitSet],
    clearance: Clearance,
) -> Vec<(usize, usize)> {
    let mut met = Vec::new();
    let guide = family.guide().unwrap();
    guide.met(look, among, clearance, &mut |g, s| met.push((g, s)));
    met
}

#[test]
fn what_is_met_is_what_is_counted() {
    each(|scene, family| {
        let among = required(family);
        let n = scene.network.input_elements();
        for sample in 0..TESTS {
            let look = scene.look(sample);
            let exact = met(family, look, &among, Clearance::Exact);
            let mut tally = family.tally();
            let one = &scene.inputs[sample * n..(sample + 1) * n];
            tally.observe(&scene.network.forward(one, &Pass::keep(family.points())));
            let groups = tally.covered().iter().zip(family.groups()).enumerate();
            let counted: Vec<(usize, usize)> = groups
                .flat_map(|(g, (covered, group))| {
                    let slots: Vec<usize> = covered.without(&group.not_required).iter().collect();
                    slots.into_iter().map(move |slot| (g, slot))
                })
                .collect();
            assert_eq!(exact, counted);
            let firm = met(family, look, &among, Clearance::Firm);
            assert!(firm.iter().all(|slot| exact.contains(slot)));
        }
    });
}

#[test]
fn values_have_the_sign_of_the_truth() {
    each(|scene, family| {
        let among = required(family);
        for sample in 0..TESTS {
            let look = scene.look(sample);
            let exact = met(family, look, &among, Clearance::Exact);
            for (group, among) in among.iter().enumerate() {
                let slots: Vec<u32> = among.iter().map(|slot| slot as u32).collect();
                let mut values = Vec::new();
                let guide = family.guide().unwrap();
                guide.values(look, group, &slots, &mut values);
                for (&slot, value) in slots.iter().zip(values) {
                    let truth = exact.contains(&(group, slot as usize));
                    let label = family.label(group, slot as usize);
                    assert!(value <= 0.0 || truth, "{label} {value}");
                    assert!(value >= 0.0 || !truth, "{label} {value}");
                }
            }
        }
    });
}

#[test]
fn values_are_those_of_the_printed_formulas() {
    each(|scene, family| {
        let recording = scene.recording();
        let evaluator = Evaluator::new(&recording, &scene.space);
        for (group, among) in required(family).iter().enumerate() {
            for slot in among.iter().step_by(3) {
                let Ok(requirement) = family.requirement(group, slot) else {
                    return;
                };
                for sample in 0..TESTS {
                    let tests = Assignment::One(sample);
                    let formula =
                        evaluator.value(&requirement.formula, tests, scene.means.layers());
                    let mut values = Vec::new();
                    let guide = family.guide().unwrap();
                    guide.values(scene.look(sample), group, &[slot as u32], &mut values);
                    let value = f64::from(values[0]);
                    // A comparison of two neurons of a layer counts the layer twice in its scale.
                    let ratio = if requirement.formula.to_string().contains(" - u[") {
                        2.0
                    } else {
                        1.0
                    };
                    let agree = (value - ratio * formula).abs() <= 1e-4 * (1.0 + formula.abs())
                        || (value > 1e30 && formula > 0.0)
                        || value.to_bits() == formula.to_bits();
                    assert!(agree, "{}: {value} {formula}", family.label(group, slot));
                }
            }
        }
    });
}

#[test]
fn the_pull_is_the_gradient_of_the_values() {
    const STEP: f32 = 2e-3;
    let (mut tried, mut agreed) = (0, 0);
    each(|scene, family| {
        let guide = family.guide().unwrap();
        let n = scene.network.input_elements();
        let mut random = Random::new(9);
        let pass = Pass::keep(everything(&scene.network));
        for (group, among) in required(family).iter().enumerate() {
            let slots: Vec<u32> = among.iter().map(|slot| slot as u32).step_by(5).collect();
            for sample in (0..TESTS).step_by(3) {
                let look = scene.look(sample);
                let mut seeds = Vec::new();
                guide.pull(look, group, &slots, 1e9, &mut seeds);
                let row = Row { sample, seeds };
                let gradient = scene.network.vjp(scene.trace.tape().unwrap(), &[row]);
                let direction: Vec<f32> = random
                    .list(n, -1.0, 1.0)
                    .iter()
                    .map(|&v| v as f32)
                    .collect();
                let x = &scene.inputs[sample * n..(sample + 1) * n];
                let sides: Vec<f32> = [-STEP, 0.0, STEP]
                    .iter()
                    .flat_map(|step| x.iter().zip(&direction).map(move |(x, d)| x + step * d))
                    .collect();
                let trace = scene.network.forward(&sides, &pass);
                let sums = [0, 1, 2].map(|sample| {
                    let look = SampleView {
                        trace: &trace,
                        sample,
                        means: &scene.means,
                    };
                    guide.pull(look, group, &slots, 1e9, &mut Vec::new())
                });
                let (left, right) = (sums[1] - sums[0], sums[2] - sums[1]);
                let slope: f32 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
                let predicted = f64::from(slope * STEP);
                let size = 1e-4 + left.abs().max(right.abs());
                // Only where no kink lies between.
                if (left - right).abs() < 0.02 * size {
                    tried += 1;
                    agreed += usize::from((right - predicted).abs() < 0.1 * size);
                }
            }
        }
    });
    // A threshold on the output of an activation is pulled by its input on purpose, and there the
    // slopes differ.
    assert!(
        tried > 1000 && agreed * 10 > tried * 8,
        "{agreed} of {tried}"
    );
}

#[test]
fn written_requirements_are_steered_like_the_criterion_that_prints_them() {
    for kind in Family::ALL {
        let scene = Setup::new(kind, 1);
        for name in ["nc", "nbc", "tknc"] {
            let parameters = &parameters()[2];
            let family = scene
                .family(deepconcolic_criteria::find(name).unwrap(), parameters)
                .unwrap();
            let group = 0;
            let slots: Vec<usize> = required(family.as_ref())[group].iter().take(10).collect();
            let text: String = slots
                .iter()
                .map(|&slot| family.requirement(group, slot).unwrap().to_string() + "\n")
                .collect();
            let file = RequirementFile::parse(&text).unwrap();
            let set = file.resolve(&Signature::of(&scene.network)).unwrap();
            assert_eq!(set.get(0).unwrap().inputs, Inputs::One);
            let written = Written::new(&scene.network, &set, &scene.space).unwrap();
            for sample in 0..TESTS {
                let look = scene.look(sample);
                for clearance in [Clearance::Exact, Clearance::Firm] {
                    let own = met(family.as_ref(), look, &required(family.as_ref()), clearance);
                    let other = met(&written, look, &required(&written), clearance);
                    for (i, &slot) in slots.iter().enumerate() {
                        assert_eq!(
                            own.contains(&(group, slot)),
                            other.contains(&(0, i)),
                            "{name}"
                        );
                    }
                }
            }
        }
    }
}
