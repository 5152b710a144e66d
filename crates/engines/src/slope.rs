//! What searches for large ratios share: running pairs of inputs, how steep they are, and which way a ratio
//! grows.

use deepconcolic_criteria::{Objective, Ratio};
use deepconcolic_geometry::LinearForm;
use deepconcolic_network::{Pass, Point, Row, Seed, Trace};

use crate::budget::{Budget, Effort, StopReason};
use crate::goal::{Goal, Reason};
use crate::report::{Found, Report, Witness};
use crate::slope_region::SlopeRegion;

/// Part of the outputs that rounding in single precision may make up: what a pair gains by it does not count.
const NOISE: f64 = 1e-5;

/// Two inputs and how steep the network is between them.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub inputs: [Vec<f32>; 2],
    pub ratio: f64,
}

/// The search for a large ratio round one root.
pub(crate) struct SlopeSearch<'a> {
    pub goal: &'a Goal<'a>,
    pub ratio: &'a Ratio,
    pub region: SlopeRegion<'a>,
    form: LinearForm,
    budget: Budget<'a>,
    /// Most passes.
    limit: usize,
    pub effort: Effort,
    pub best: Option<Pair>,
}

impl SlopeSearch<'_> {
    /// Passes that may still be made.
    pub fn left(&self) -> usize {
        self.limit.saturating_sub(self.effort.passes())
    }

    /// Whether to end: a witness was found, or nothing may be spent any more.
    pub fn is_over(&self) -> bool {
        self.is_met() || self.left() == 0 || self.budget.interruption().is_some()
    }

    /// Whether some pair is steeper than the constant.
    pub fn is_met(&self) -> bool {
        let exceeds = |constant: f64| self.best.as_ref().is_some_and(|pair| pair.ratio > constant);
        self.ratio.constant.is_some_and(exceeds)
    }

    /// Runs inputs, given one after the other.
    pub fn run(&mut self, inputs: &[f32], differentiating: bool) -> Trace<f32> {
        let network = self.goal.network;
        let mut pass = Pass::keep([Point::Logits]);
        if differentiating {
            pass = pass.differentiating([Point::Logits]);
        }
        self.effort.forward += inputs.len() / network.input_elements().max(1);
        network.forward(inputs, &pass)
    }

    /// The outputs that are compared, of one sample.
    pub fn outputs(&self, trace: &Trace<f32>, sample: usize) -> Vec<f64> {
        let logits = trace.sample(Point::Logits, sample);
        let outputs = self.ratio.outputs.iter();
        outputs.map(|&output| f64::from(logits[output])).collect()
    }

    /// The gradient of a weighted sum of the outputs, for each sample with its weights.
    pub fn gradients(&mut self, trace: &Trace<f32>, weights: &[(usize, Vec<f64>)]) -> Vec<f32> {
        let Some(tape) = trace.tape() else {
            return Vec::new();
        };
        let rows: Vec<Row<f32>> = weights
            .iter()
            .map(|(sample, weights)| Row {
                sample: *sample,
                seeds: (self.ratio.outputs.iter().zip(weights))
                    .filter(|(_, weight)| **weight != 0.0)
                    .map(|(&element, &weight)| Seed {
                        point: Point::Logits,
                        element,
                        weight: weight as f32,
                    })
                    .collect(),
            })
            .collect();
        self.effort.vjp += rows.len();
        self.goal.network.vjp(tape, &rows)
    }

    /// How long a change of the outputs is.
    pub fn length(&self, change: &[f64]) -> f64 {
        self.length_of(change.iter().copied())
    }

    fn length_of(&self, change: impl Iterator<Item = f64>) -> f64 {
        let sizes = change.map(f64::abs);
        match self.form {
            LinearForm::Largest => sizes.fold(0.0, f64::max),
            LinearForm::Sum => sizes.sum(),
            LinearForm::Squares => sizes.map(|c| c * c).sum::<f64>().sqrt(),
        }
    }

    /// By how much outputs differ for certain.
    fn change(&self, outputs: [&[f64]; 2]) -> f64 {
        let change = outputs[0].iter().zip(outputs[1]).map(|(a, b)| a - b);
        let noise = NOISE * self.length(outputs[0]).max(self.length(outputs[1]));
        self.length_of(change) - noise
    }

    /// Whether a pair can be steeper than the steepest known. Most cannot, which few of their elements show.
    pub fn may_be_steepest(&self, inputs: [&[f32]; 2], outputs: [&[f64]; 2]) -> bool {
        let known = self.best.as_ref().map_or(0.0, |best| best.ratio);
        let change = self.change(outputs);
        if known == 0.0 || change <= 0.0 {
            return change > 0.0;
        }
        // Further apart than this, they are less steep, whatever rounding does.
        let furthest = change / known * (1.0 + 1e-6);
        let (norm, units) = (self.ratio.norm, &self.goal.space.units);
        norm.is_within(inputs[0], inputs[1], furthest, units)
    }

    /// Takes note of a pair, given with its outputs; returns how steep it is for certain.
    pub fn offer(&mut self, inputs: [&[f32]; 2], outputs: [&[f64]; 2]) -> f64 {
        let distance = self
            .ratio
            .norm
            .distance(inputs[0], inputs[1], &self.goal.space.units);
        let ratio = self.change(outputs) / distance;
        let known = self.best.as_ref().map_or(0.0, |best| best.ratio);
        if ratio.is_finite() && ratio > known && inputs.iter().all(|x| self.region.allows(x)) {
            self.best = Some(Pair {
                inputs: inputs.map(<[f32]>::to_vec),
                ratio,
            });
        }
        if ratio.is_finite() { ratio } else { 0.0 }
    }

    /// The weights of outputs along which a change is as long as it is: the dual vector of the norm.
    pub fn weights(&self, change: &[f64]) -> Vec<f64> {
        let length = self.length(change);
        let sign = |c: f64| if c < 0.0 { -1.0 } else { 1.0 };
        match self.form {
            LinearForm::Sum => change.iter().map(|&c| sign(c)).collect(),
            LinearForm::Squares if length > 0.0 => change.iter().map(|c| c / length).collect(),
            _ => {
                let mut weights = vec![0.0; change.len()];
                let largest = largest(change.iter().copied());
                if let Some(at) = largest {
                    weights[at] = sign(change[at]);
                }
                weights
            }
        }
    }

    /// The change of the input, one unit long, along which a linear function with this gradient grows most.
    pub fn direction(&self, gradient: &[f64]) -> Vec<f64> {
        let units = &self.goal.space.units;
        let slope = |e: usize| {
            if self.region.moves(e) {
                gradient[e] * units.width(e)
            } else {
                0.0
            }
        };
        let elements = gradient.len();
        match self.form {
            LinearForm::Largest => {
                let sign = |s: f64| if s == 0.0 { 0.0 } else { s.signum() };
                (0..elements)
                    .map(|e| sign(slope(e)) * units.width(e))
                    .collect()
            }
            LinearForm::Sum => {
                let mut direction = vec![0.0; elements];
                if let Some(e) = largest((0..elements).map(slope)) {
                    direction[e] = slope(e).signum() * units.width(e);
                }
                direction
            }
            LinearForm::Squares => {
                let slopes = (0..elements).map(slope);
                let length = slopes.map(|s| s * s).sum::<f64>().sqrt();
                let each = |e: usize| slope(e) / length * units.width(e);
                if length > 0.0 {
                    (0..elements).map(each).collect()
                } else {
                    vec![0.0; elements]
                }
            }
        }
    }

    /// How much a linear function with this gradient grows along its best direction, one unit long: the dual
    /// norm of the gradient over the elements that can move.
    pub fn steepness(&self, gradient: &[f32]) -> f64 {
        let units = &self.goal.space.units;
        let slopes = gradient
            .iter()
            .enumerate()
            .filter(|(e, _)| self.region.moves(*e));
        let slopes = slopes.map(|(e, &g)| (f64::from(g) * units.width(e)).abs());
        match self.form {
            LinearForm::Largest => slopes.sum(),
            LinearForm::Sum => slopes.fold(0.0, f64::max),
            LinearForm::Squares => slopes.map(|s| s * s).sum::<f64>().sqrt(),
        }
    }
}

/// The place of the number that is furthest from 0, the first of equals.
fn largest(numbers: impl Iterator<Item = f64>) -> Option<usize> {
    let sizes = numbers.map(f64::abs).enumerate();
    let best = sizes.reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map(|(at, _)| at)
}

/// The ratio that a goal asks for, if it asks for one, and the form of its norm.
pub(crate) fn supports<'a>(goal: &Goal<'a>) -> Result<(&'a Ratio, LinearForm), Reason> {
    if goal.origins.is_empty() {
        return Err(Reason::Unsupported {
            part: "goal".into(),
            why: "it names no input to start from",
        });
    }
    match goal.single()? {
        Objective::Ratio(ratio) => Ok((ratio, ratio.norm.convex()?.form())),
        other => Err(Reason::Objective {
            asked: other.kind(),
            takes: "ratios of distances",
        }),
    }
}

/// Searches round the origins of a goal, one after the other, until a pair is steeper than the constant; where
/// the largest ratio is wanted, round all of them. `usual` is how many passes an origin takes where nobody limits
/// them.
pub(crate) fn from_origins(
    goal: &Goal<'_>,
    budget: &Budget<'_>,
    usual: usize,
    climb: impl Fn(&mut SlopeSearch<'_>, &[&[f32]]),
) -> Report {
    let (ratio, form) = match supports(goal) {
        Ok(supported) => supported,
        Err(reason) => return Report::refused(reason),
    };
    let mut report = Report::default();
    let mut best: Option<(usize, Pair)> = None;
    for (number, origin) in goal.origins.iter().enumerate() {
        if let Some(stop) = budget.stop(report.effort) {
            report.stop = stop;
            break;
        }
        let Some(region) = SlopeRegion::new(goal.space, ratio, origin.root) else {
            continue;
        };
        let mut search = SlopeSearch {
            goal,
            ratio,
            region,
            form,
            limit: budget.for_attempt(report.effort).passes.unwrap_or(usual),
            budget: *budget,
            effort: Effort::default(),
            best: None,
        };
        climb(&mut search, origin.starts);
        report.effort += search.effort;
        let (met, found) = (search.is_met(), search.best);
        let steeper = |pair: &Pair| {
            best.as_ref()
                .is_none_or(|(_, known)| pair.ratio > known.ratio)
        };
        if let Some(pair) = found.filter(steeper) {
            best = Some((number, pair));
        }
        if met {
            break;
        }
    }
    let cut = budget
        .stop(report.effort)
        .filter(|_| report.stop == StopReason::Complete);
    conclude(goal, ratio, best, &mut report);
    if report.found.is_empty() || ratio.constant.is_none() {
        report.stop = cut.unwrap_or(report.stop);
    }
    report
}

/// Enters the steepest pair, as a witness if it is one.
fn conclude(goal: &Goal<'_>, ratio: &Ratio, best: Option<(usize, Pair)>, report: &mut Report) {
    report.reason = Some(Reason::NotFound {
        cells: 0,
        infeasible: 0,
    });
    let Some((origin, pair)) = best else {
        return;
    };
    let root = goal.origins[origin].root;
    let distances = pair.inputs.each_ref().map(|x| goal.space.distance(x, root));
    let witness = Witness {
        objective: 0,
        tests: vec![0, 1],
        distance: distances[0].max(distances[1]),
        bound: None,
    };
    let mut found = Found {
        origin,
        tests: pair.inputs.into(),
        witnesses: Vec::new(),
    };
    if ratio.constant.is_none_or(|constant| pair.ratio > constant) {
        found.witnesses.push(witness);
        report.found.push(found);
        report.reason = None;
    } else {
        report.steepest = Some(found);
    }
}
