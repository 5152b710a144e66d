//! What is asked of one box: its cone, bounds of all units, and the parts that phases cut it into.

use std::collections::HashMap;

use deepconcolic_network::{Element, Network, Point};

use crate::bounds::cone::{Cone, Step};
use crate::bounds::context::Context;
use crate::bounds::lines::kink;
use crate::certificate::{Region, Unit};
use crate::error::Unsupported;
use crate::steepness::adjoints::magnitudes;
use crate::steepness::definite::larger;
use crate::steepness::forms::{Forms, open_units};
use crate::steepness::frontier::{Frontier, group};
use crate::steepness::quadratic::Quadratic;
use crate::steepness::ranges::{slope_range, sum_up, up};
use crate::steepness::reading::SlopeReading;
use crate::steepness::subject::SlopeSubject;
use crate::until::Until;

/// How steep some outputs are over a box.
pub struct SlopeProblem {
    cone: Cone,
    /// What each unit lies between.
    bounds: Vec<[f64; 2]>,
    numbers: HashMap<Unit, usize>,
    region: Region,
    subject: SlopeSubject,
    cases: Vec<Vec<usize>>,
}

impl SlopeProblem {
    /// Bounds every unit that the outputs depend on; none if that is to stop before it is done.
    pub fn new(
        network: &Network,
        region: &Region,
        subject: &SlopeSubject,
        until: Until<'_>,
    ) -> Result<Option<Self>, Unsupported> {
        if !subject.is_supported() {
            return Err(Unsupported::Steepness(subject.norm.name()));
        }
        // Segments between inputs of the region must lie in it.
        let region = &region.hull();
        let mut ends = region.lower.iter().zip(&region.upper);
        if let Some(element) = ends.position(|(l, u)| !(l.is_finite() && u.is_finite())) {
            return Err(Unsupported::Unbounded(element));
        }
        let outputs = subject.outputs.iter();
        let targets: Vec<Element> = outputs
            .map(|&output| network.element(Point::Logits, output as usize))
            .collect();
        let mut context = Context::new(network, region, until);
        let cone = context.prepare(&targets);
        let cone = match cone.and_then(|()| Cone::of(network, &targets, until)) {
            Err(Unsupported::Time) => return Ok(None),
            cone => cone?,
        };
        let unbounded = [f64::NEG_INFINITY, f64::INFINITY];
        let bounds = cone.units.iter();
        let bounds = bounds.map(|unit| context.known.get(unit).copied().unwrap_or(unbounded));
        let numbers = cone.units.iter().enumerate().map(|(n, &unit)| (unit, n));
        Ok(Some(Self {
            bounds: bounds.collect(),
            numbers: numbers.collect(),
            cone,
            region: region.clone(),
            subject: subject.clone(),
            cases: subject.cases(),
        }))
    }

    #[cfg(test)]
    pub(super) fn cone(&self) -> &Cone {
        &self.cone
    }

    /// The box.
    pub(super) fn region(&self) -> &Region {
        &self.region
    }

    /// Outputs, norm and widths.
    pub(super) fn subject(&self) -> &SlopeSubject {
        &self.subject
    }

    /// How many cases there are; each has a proof of its own.
    pub fn cases(&self) -> usize {
        self.cases.len()
    }

    /// How many groups of variables can be eliminated: those before the first output. The derivative by an output has
    /// a share of its own beside what its readers put into it.
    pub fn groups(&self) -> usize {
        let first = self.cone.targets.iter().copied().min().unwrap_or(0);
        let groups = 0..self.cone.steps.len();
        groups
            .take_while(|&number| group(&self.cone, number).end <= first)
            .count()
    }

    /// The inputs where units lie at or below (false) or at or above (true) their kinks; or what is wrong, be it that time
    /// is up.
    pub fn part(
        &self,
        case: usize,
        phases: &[(Unit, bool)],
        until: Until<'_>,
    ) -> Result<SlopePart<'_>, String> {
        let mut bounds = self.bounds.clone();
        let mut kinks: HashMap<usize, f64> = HashMap::new();
        for curves in self.cone.steps.iter().filter_map(|step| match step {
            Step::Curves(curves) => Some(curves),
            Step::Sums(_) => None,
        }) {
            if let Some(kink) = kink(&curves.parts) {
                let units = curves.first_unit..curves.first_unit + curves.inputs.len();
                kinks.extend(units.map(|unit| (unit, kink)));
            }
        }
        for (unit, above) in phases {
            let number = self.numbers.get(unit);
            let number = *number.ok_or("a split names a unit that does not matter here")?;
            let kink = kinks.get(&number);
            let kink = *kink.ok_or("a split names a unit with several kinks")?;
            let [l, u] = &mut bounds[number];
            if *above {
                *l = l.max(kink);
            } else {
                *u = u.min(kink);
            }
        }
        SlopePart::new(self, case, &bounds, until).map_err(|e| e.to_string())
    }
}

/// A part of the box, for one case.
pub struct SlopePart<'a> {
    problem: &'a SlopeProblem,
    /// The variables of the outputs.
    targets: Vec<usize>,
    /// Whether no input is here.
    empty: bool,
    slopes: Vec<[f64; 2]>,
    /// The largest magnitude of every variable's derivative.
    magnitudes: Vec<f64>,
    /// In L1, a bound by these magnitudes, output by output.
    by_columns: f64,
    frontier: Frontier,
    factor: f64,
}

impl<'a> SlopePart<'a> {
    fn new(
        problem: &'a SlopeProblem,
        case: usize,
        bounds: &[[f64; 2]],
        until: Until<'_>,
    ) -> Result<Self, Unsupported> {
        let cone = &problem.cone;
        let slopes = slopes(cone, bounds);
        let outputs = problem.cases[case].iter();
        let targets: Vec<usize> = outputs.map(|&output| cone.targets[output]).collect();
        let each: Vec<Vec<f64>> = targets
            .iter()
            .map(|&target| {
                until.go_on()?;
                Ok(magnitudes(cone, &slopes, target))
            })
            .collect::<Result<_, Unsupported>>()?;
        // Of a unit combination of the outputs: at most the root of the squares.
        let whole = |variable: usize| match &each[..] {
            [one] => one[variable],
            many => {
                let live = many.iter().map(|m| m[variable]).filter(|m| *m != 0.0);
                let squares = sum_up(live.map(|m| m * m));
                if squares == 0.0 {
                    0.0
                } else {
                    up(squares.sqrt())
                }
            }
        };
        let magnitudes: Vec<f64> = (0..cone.variables).map(whole).collect();
        let column = |(place, &element): (usize, &usize)| match problem.subject.widths[element] {
            0.0 => 0.0,
            width => up(width * sum_up(each.iter().map(|m| m[place]))),
        };
        let columns = cone.inputs.iter().enumerate().map(column);
        let weights = problem
            .subject
            .weights(targets.len(), &cone.inputs, &magnitudes);
        let by_columns = if problem.subject.norm == deepconcolic_geometry::Norm::L1 {
            columns.fold(0.0, larger)
        } else {
            f64::INFINITY
        };
        Ok(Self {
            frontier: Frontier::new(cone, &weights.inputs),
            factor: weights.factor,
            empty: bounds.iter().any(|[l, u]| l > u),
            problem,
            targets,
            slopes,
            magnitudes,
            by_columns,
        })
    }

    #[cfg(test)]
    pub(super) fn slopes(&self) -> &[[f64; 2]] {
        &self.slopes
    }

    /// Whether nothing changes with a variable.
    #[cfg(test)]
    pub(super) fn is_dead(&self, variable: usize) -> bool {
        self.magnitudes[variable] == 0.0
    }

    /// Whether no input is here, so that any bound holds.
    pub fn is_empty(&self) -> bool {
        self.empty
    }

    /// How many groups of variables are eliminated.
    pub fn cut(&self) -> usize {
        self.frontier.cut
    }

    /// Eliminates the next group. If time is up before that is done, no bound is finite any more.
    pub fn advance(&mut self, until: Until<'_>) {
        let (cone, slopes) = (&self.problem.cone, &self.slopes);
        self.frontier.advance(cone, slopes, &self.magnitudes, until);
    }

    /// Who reads the next group; none if eliminating it loses nothing as it is.
    pub fn reading(&self) -> Option<SlopeReading> {
        let (cone, sizes) = (&self.problem.cone, &self.magnitudes);
        if self.frontier.through_maxima(cone, sizes).is_some() {
            return None;
        }
        let reading = self.frontier.reading(cone, &self.slopes, sizes);
        (!reading.is_apart()).then_some(reading)
    }

    /// Eliminates the next group by a factor: the weighted squares of derivatives by the group
    /// are at most so many times those of the readers' parts. False, and nothing done, if that is not seen to be so
    /// in time.
    pub fn advance_within(&mut self, factor: f32, until: Until<'_>) -> bool {
        let cone = &self.problem.cone;
        let reading = self.frontier.reading(cone, &self.slopes, &self.magnitudes);
        self.frontier.advance_within(&reading, factor.into(), until)
    }

    /// The units whose slope is open in what is left.
    pub fn open_units(&self) -> usize {
        let cone = &self.problem.cone;
        open_units(cone, &self.slopes, &self.magnitudes, self.cut()).len()
    }

    /// A bound by the magnitudes of derivatives.
    pub fn by_magnitudes(&self) -> f64 {
        let value = self.frontier.value(&self.problem.cone, &self.magnitudes);
        let bound = up(up(value * self.factor).sqrt());
        if bound < self.by_columns {
            bound
        } else {
            self.by_columns
        }
    }

    /// The form that bounds what is left; none if it is too large, or time is up.
    pub fn quadratic(&self, until: Until<'_>) -> Option<Quadratic> {
        let cone = &self.problem.cone;
        let (slopes, sizes) = (&self.slopes, &self.magnitudes);
        let forms = Forms::new(cone, slopes, sizes, &self.targets, self.cut())?;
        let units = forms.units.iter().map(|&unit| cone.units[unit]).collect();
        let weights = &self.frontier.weights;
        Quadratic::new(self.targets.len(), units, forms, weights, until)
    }

    /// The largest number whose square, times the factor of the case, is not above that of the bound.
    pub fn square_of(&self, bound: f64) -> f64 {
        let square = bound * bound / self.factor;
        (square * (1.0 - 4.0 * f64::EPSILON)).max(0.0)
    }

    /// The bound that a square shows, rounded up.
    pub fn bound_of(&self, square: f64) -> f64 {
        up((square * self.factor).sqrt())
    }
}

/// The slopes that units can have.
fn slopes(cone: &Cone, bounds: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut slopes = Vec::with_capacity(bounds.len());
    for step in &cone.steps {
        if let Step::Curves(curves) = step {
            let units = curves.first_unit..curves.first_unit + curves.inputs.len();
            slopes.extend(units.map(|unit| slope_range(&curves.parts, bounds[unit])));
        }
    }
    slopes
}
