//! Lipschitz continuity, by its refutation: two inputs whose outputs differ more than c times as
//! much as they do themselves.

use deepconcolic_geometry::{InputSpace, Norm, Together};
use deepconcolic_language::{
    Formula, Input, Inputs, Linear, Quantifier, Relation, Requirement, Var,
};
use deepconcolic_network::{BitSet, Point, Trace};
use rayon::prelude::*;

use super::criterion::{Criterion, Family, Group, Ratios, Rerun, Setting, Tally};
use super::guide::Guide;
use super::objective::Objective;
use super::parameters::LipschitzOutput;
use super::polarity::Polarity;
use super::ratio::Ratio;
use super::region::{Ball, Region};
use crate::Prediction;

/// The criterion.
pub struct Lipschitz;

impl Criterion for Lipschitz {
    fn name(&self) -> &'static str {
        "lipschitz"
    }

    fn definition(&self) -> &'static str {
        "per region: some two tests of it have |f(x1) - f(x2)| > c |x1 - x2|, f the logits, inputs \
         in units of the domain's width (--constant c, --ratio-norm, --lipschitz-output); without \
         --radius the region is the domain, else the ball round each seed"
    }

    fn polarity(&self) -> Polarity {
        Polarity::Property
    }

    fn family(&self, setting: &Setting<'_>) -> Result<Box<dyn Family>, String> {
        let parameters = setting.parameters;
        if parameters.ratio_norm.convex().is_err() {
            return Err(format!(
                "--ratio-norm must be {}",
                Norm::names(|norm| norm.convex().is_ok())
            ));
        }
        let boxed = |(lower, upper): &(Vec<f64>, Vec<f64>)| {
            let (lower, upper) = (lower.clone(), upper.clone());
            (Region::Box { lower, upper }, None)
        };
        let regions = match parameters.radius {
            _ if !parameters.boxes.is_empty() => parameters.boxes.iter().map(boxed).collect(),
            None => vec![(Region::Domain, None)],
            Some(radius) => setting
                .seeds
                .iter()
                .map(|seed| {
                    let logit = own_logit(setting, seed)?;
                    let ball = Ball {
                        centre: seed.clone(),
                        radius,
                        norm: parameters.norm,
                    };
                    Ok((Region::Ball(ball), logit))
                })
                .collect::<Result<_, String>>()?,
        };
        let seedless = parameters.radius.is_none() || !parameters.boxes.is_empty();
        if seedless && parameters.lipschitz_output == LipschitzOutput::Label {
            return Err("--lipschitz-output label is the label of a seed; give --radius".into());
        }
        Ok(Box::new(Slopes {
            groups: vec![Group::full(None, regions.len())],
            regions,
            norm: parameters.ratio_norm,
            output: parameters.lipschitz_output,
            constant: parameters.constant,
            space: setting.space.clone(),
            logits: setting.network.layers().len() + 2,
            classes: setting.network.elements(Point::Logits),
        }))
    }
}

/// The logit of a seed's own label, if it is asked about.
fn own_logit(setting: &Setting<'_>, seed: &[f32]) -> Result<Option<usize>, String> {
    match setting.decision.predict(&setting.network.logits(seed)) {
        _ if setting.parameters.lipschitz_output == LipschitzOutput::All => Ok(None),
        _ if setting.network.elements(Point::Logits) == 1 => Ok(Some(0)),
        Prediction::Class(class) => Ok(Some(class)),
        _ => Err(
            "--lipschitz-output label is the logit of a seed's class, and not every seed has one"
                .into(),
        ),
    }
}

struct Slopes {
    regions: Vec<(Region, Option<usize>)>,
    groups: Vec<Group>,
    norm: Norm,
    output: LipschitzOutput,
    constant: Option<f64>,
    space: InputSpace,
    logits: usize,
    classes: usize,
}

impl Slopes {
    /// The logits that are compared in a region.
    fn outputs(&self, label: Option<usize>) -> Vec<usize> {
        match (self.output, label) {
            (LipschitzOutput::Label, Some(label)) => vec![label],
            _ => (0..self.classes).collect(),
        }
    }

    fn ratio(&self, slot: usize) -> Ratio {
        let (region, label) = &self.regions[slot];
        Ratio {
            region: region.clone(),
            outputs: self.outputs(*label),
            layer: self.logits,
            norm: self.norm,
            constant: self.constant,
        }
    }
}

impl Family for Slopes {
    fn guide(&self) -> Result<&dyn Guide, String> {
        Err("it asks for two inputs at once".into())
    }

    fn groups(&self) -> &[Group] {
        &self.groups
    }

    fn label(&self, _: usize, slot: usize) -> String {
        self.region(slot)
    }

    /// In the norm L-infinity the outputs differ by more than c times the inputs if one output does
    /// by more than c times every input element, whichever way round.
    fn requirement(&self, _: usize, slot: usize) -> Result<Requirement, String> {
        if !self.norm.is_box() {
            return Err(format!(
                "a ratio in the norm {} is not linear in the inputs",
                self.norm.name()
            ));
        }
        let Some(constant) = self.constant else {
            return Err("the largest constant is no formula".into());
        };
        let (region, label) = &self.regions[slot];
        let difference = |layer: usize, neuron: usize, factor: f64| {
            let mut linear = Linear::variable(Var::v(Input::First, layer, neuron));
            let other = Linear::variable(Var::v(Input::Second, layer, neuron));
            linear.add(-1.0, &other);
            linear.scaled(factor)
        };
        let steeper = |output: usize, up: f64| {
            let elements = self.space.widths.iter().enumerate();
            let elements = elements.flat_map(|(e, &w)| [(e, w), (e, -w)]);
            Formula::And(
                elements
                    .filter(|(_, w)| *w != 0.0)
                    .map(|(element, width)| {
                        let mut lead = difference(self.logits, output, up);
                        lead.add(-constant / width, &difference(1, element, 1.0));
                        Formula::compare(lead, Relation::Gt)
                    })
                    .collect(),
            )
        };
        let outputs = self.outputs(*label);
        let cases = outputs
            .iter()
            .flat_map(|&o| [steeper(o, 1.0), steeper(o, -1.0)]);
        Ok(Requirement {
            name: None,
            quantifier: Quantifier::Exists,
            inputs: Inputs::Two,
            formula: Formula::And(vec![
                region.formula(Input::First, &self.space)?,
                region.formula(Input::Second, &self.space)?,
                Formula::Or(cases.collect()),
            ]),
        })
    }

    fn objective(&self, _: usize, slot: usize) -> Result<Objective, String> {
        Ok(Objective::Ratio(self.ratio(slot)))
    }

    fn ratios(&self) -> Option<(usize, &dyn Ratios)> {
        Some((0, self))
    }

    fn points(&self) -> Vec<Point> {
        vec![Point::Input, Point::Logits]
    }

    fn tally(&self) -> Box<dyn Tally + '_> {
        Box::new(SlopeTally {
            family: self,
            tests: Vec::new(),
            covered: vec![BitSet::new(self.regions.len())],
        })
    }
}

impl Ratios for Slopes {
    fn region(&self, slot: usize) -> String {
        match &self.regions[slot].0 {
            Region::Domain => "domain".into(),
            Region::Ball(_) => format!("seed {slot}"),
            Region::Box { .. } => format!("box {slot}"),
        }
    }

    fn ratio(&self, slot: usize) -> Ratio {
        Slopes::ratio(self, slot)
    }

    fn seed(&self, slot: usize) -> Option<usize> {
        matches!(self.regions[slot].0, Region::Ball(_)).then_some(slot)
    }
}

struct Test {
    input: Vec<f32>,
    logits: Vec<f32>,
}

/// Holds the inputs: a pair can be of any two tests, so this costs a distance for each pair of tests
/// in a region.
struct SlopeTally<'a> {
    family: &'a Slopes,
    tests: Vec<Test>,
    covered: Vec<BitSet>,
}

impl Tally for SlopeTally<'_> {
    fn observe(&mut self, trace: &Trace<f32>) {
        self.tests.extend((0..trace.samples()).map(|s| Test {
            input: trace.sample(Point::Input, s).to_vec(),
            logits: trace.sample(Point::Logits, s).to_vec(),
        }));
    }

    fn finish(&mut self, _: &Rerun<'_>, _: &Together) {
        let family = self.family;
        let met: Vec<usize> = (0..family.regions.len())
            .into_par_iter()
            .filter(|&slot| {
                let ratio = family.ratio(slot);
                let value = |test: &Test| -> Vec<f32> {
                    let outputs = ratio.outputs.iter();
                    outputs.map(|&output| test.logits[output]).collect()
                };
                let inside: Vec<(&[f32], Vec<f32>)> = self
                    .tests
                    .iter()
                    .filter(|test| ratio.region.contains(&test.input, &family.space))
                    .map(|test| (test.input.as_slice(), value(test)))
                    .collect();
                inside.par_iter().enumerate().any(|(i, first)| {
                    let exceeds = |second: &(&[f32], Vec<f32>)| {
                        let [first, second] = [first, second].map(|t| (t.0, t.1.as_slice()));
                        ratio.is_exceeded(first, second, &family.space)
                    };
                    inside[i + 1..].iter().any(exceeds)
                })
            })
            .collect();
        for slot in met {
            self.covered[0].insert(slot);
        }
    }

    fn covered(&self) -> &[BitSet] {
        &self.covered
    }
}
