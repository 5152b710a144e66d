//! The published program for one neuron and one test, and where it puts what it leaves free.

use deepconcolic_geometry::{Norm, SearchSpace};
use deepconcolic_network::{Network, Point};
use deepconcolic_simplex::{Ending, Tableau};

use super::straight::{Reach, Row, Straight, Values};
use crate::budget::{Budget, Effort};
use crate::solver::{self, Problem, Solution};

/// What the published tool asks of a target, and the least change it makes, in units of the domain.
const STEP: f64 = 1.0 / 255.0;
/// Rows of neurons that must stay active, added after one solve, the most broken first.
const ADDED: usize = 64;
/// Most solves of one program while rows are added to it.
const SOLVES: usize = 100;
/// How far a row may be missed, by rounding.
const TOLERANCE: f64 = 1e-9;

/// What the published program is made of, for one network: read once, used for every step.
pub struct PublishedProgram {
    straight: Straight,
}

/// One step's test and what is known of it.
struct Attempt<'a> {
    program: &'a PublishedProgram,
    network: &'a Network,
    space: &'a SearchSpace,
    test: &'a [f32],
    values: Values,
    /// Hidden layers before the target's whose active neurons stay active.
    earlier: Vec<usize>,
    budget: &'a Budget<'a>,
}

/// A neuron that must stay active, as a row over displacements.
type Condition = (Vec<f64>, f64);

impl PublishedProgram {
    /// The program of a network, or why it has none.
    pub fn of(network: &Network) -> Result<Self, String> {
        Ok(Self {
            straight: Straight::of(network)?,
        })
    }

    /// The input that the published tool makes of a test for a neuron of a hidden layer, in the file's order; none where its
    /// program has no solution, or where `budget` interrupts it. Whether the neuron is active there is not looked at.
    pub fn step(
        &self,
        (network, space): (&Network, &SearchSpace),
        test: &[f32],
        (layer, neuron): (usize, usize),
        budget: &Budget<'_>,
        effort: &mut Effort,
    ) -> Option<Vec<f32>> {
        let point = Point::Pre(layer);
        let straight = &self.straight;
        let place = |layer: usize| network.element(Point::Pre(layer), 0).value;
        let reach = straight.reach(place(layer));
        if reach == Reach::Beyond {
            return None;
        }
        let attempt = Attempt {
            program: self,
            network,
            space,
            test,
            values: straight.run(network, test, None),
            earlier: (0..layer)
                .filter(|&layer| straight.reach(place(layer)) == Reach::Straight)
                .collect(),
            budget,
        };
        if reach == Reach::Pooled {
            let grows = straight.grows(network, point, neuron);
            return if grows {
                attempt.lowest(STEP, None, effort)
            } else {
                None
            };
        }
        let row = straight.row(network, point, neuron, &attempt.values);
        let target = attempt.condition(&row, STEP);
        if attempt.earlier.is_empty() {
            effort.lp += 1;
            return attempt.first_layer(&target);
        }
        let size = attempt.least_size(&target, effort)?;
        attempt.lowest(size, Some(&target), effort)
    }
}

impl Attempt<'_> {
    /// The width of an element's domain.
    fn width(&self, element: usize) -> f64 {
        let domain = &self.space.domain;
        f64::from(domain.upper()[element]) - f64::from(domain.lower()[element])
    }

    /// How far elements can move, in widths.
    fn room(&self) -> Problem {
        let domain = &self.space.domain;
        let side = |end: f32, e: usize| {
            let width = self.width(e);
            if width > 0.0 {
                (f64::from(end) - f64::from(self.test[e])) / width
            } else {
                0.0
            }
        };
        let all = 0..self.test.len();
        Problem::new(
            (all.clone())
                .map(|e| side(domain.lower()[e], e).min(0.0))
                .collect(),
            all.map(|e| side(domain.upper()[e], e).max(0.0)).collect(),
        )
    }

    /// A row over the input as one over displacements from the test, in widths: at least so much.
    fn condition(&self, row: &Row, least: f64) -> Condition {
        let here = (row.coefficients.iter().zip(self.test))
            .fold(row.constant, |sum, (a, &x)| sum + a * f64::from(x));
        let scaled = row.coefficients.iter().enumerate();
        let scaled = scaled.map(|(e, a)| a * self.width(e)).collect();
        (scaled, least - here)
    }

    fn input(&self, displacement: &[f64]) -> Vec<f32> {
        let domain = &self.space.domain;
        let moved = displacement.iter().enumerate();
        moved
            .map(|(e, d)| {
                let value = (f64::from(self.test[e]) + d * self.width(e)) as f32;
                value.clamp(domain.lower()[e], domain.upper()[e])
            })
            .collect()
    }

    /// For a target of the first layer: its receptive field by the most that helps, all else down by as much, or up.
    fn first_layer(&self, (row, least): &Condition) -> Option<Vec<f32>> {
        let room = self.room();
        let norm = Norm::LINF.convex().ok()?;
        let (_, size) = norm.nearest_on_row(row, *least, &room.lower, &room.upper)?;
        let size = size.max(STEP);
        if size > 1.0 {
            return None;
        }
        let moved = row.iter().enumerate().map(|(e, &a)| {
            let (low, high) = (room.lower[e], room.upper[e]);
            if a != 0.0 {
                (size * a.signum()).clamp(low, high)
            } else if -size >= low {
                -size
            } else {
                size.min(high)
            }
        });
        Some(self.input(&moved.collect::<Vec<_>>()))
    }

    /// The least size of a change that meets the target and keeps active what is, if one in the domain does.
    fn least_size(&self, target: &Condition, effort: &mut Effort) -> Option<f64> {
        let norm = Norm::LINF.convex().ok()?;
        let mut problem = self.room();
        problem.push(target.0.clone(), target.1);
        let mut held = Vec::new();
        let mut known = Vec::new();
        for _ in 0..SOLVES {
            effort.lp += 1;
            let Solution::Nearest {
                displacement,
                multipliers,
            } = solver::nearest(&problem, norm, &known, self.budget)
            else {
                return None;
            };
            let broken = self.broken(&displacement, &mut held);
            if broken.is_empty() {
                let size = norm.length(&displacement).max(STEP);
                return (size <= 1.0).then_some(size);
            }
            for (row, least) in broken {
                problem.push(row, least);
            }
            known = multipliers;
        }
        None
    }

    /// With changes of at most this size: the input with the least sum that meets the target, if there is one, and keeps
    /// active what is.
    fn lowest(
        &self,
        size: f64,
        target: Option<&Condition>,
        effort: &mut Effort,
    ) -> Option<Vec<f32>> {
        let room = self.room();
        let lower = room.lower.iter().map(|low| low.max(-size)).collect();
        let upper = room.upper.iter().map(|high| high.min(size)).collect();
        let cost = (0..self.test.len()).map(|e| self.width(e)).collect();
        let mut tableau = Tableau::new(lower, upper, cost);
        if let Some((row, least)) = target {
            // The size is that of the least change, up to rounding.
            tableau.add(row, least - TOLERANCE);
        }
        let mut held = Vec::new();
        for _ in 0..SOLVES {
            effort.lp += 1;
            let stops = || self.budget.interruption().is_some();
            if tableau.solve_until(&stops) != Ending::Optimal {
                return None;
            }
            let broken = self.broken(tableau.point(), &mut held);
            if broken.is_empty() {
                return Some(self.input(tableau.point()));
            }
            for (row, least) in broken {
                tableau.add(&row, least);
            }
        }
        None
    }

    /// Neurons of earlier layers that were active and no longer are, the most broken first, as conditions. Those that
    /// are held already are left out.
    fn broken(&self, displacement: &[f64], held: &mut Vec<(usize, usize)>) -> Vec<Condition> {
        let straight = &self.program.straight;
        let moved: Vec<f32> = self.input(displacement);
        let now = straight.run(self.network, &moved, Some(&self.values));
        let mut broken: Vec<(f64, usize, usize)> = Vec::new();
        for &layer in &self.earlier {
            let scale = self.scale(layer);
            for neuron in 0..self.network.layers()[layer].neurons() {
                let at = self.network.element(Point::Pre(layer), neuron);
                let (before, after) = (
                    self.values.of(at.value)[at.index],
                    now.of(at.value)[at.index],
                );
                // Inputs are rounded to floats between solves.
                if before >= 0.0 && after < -1e-6 * scale && !held.contains(&(layer, neuron)) {
                    broken.push((after / scale, layer, neuron));
                }
            }
        }
        broken.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        broken.truncate(ADDED);
        let conditions = broken.into_iter().map(|(_, layer, neuron)| {
            held.push((layer, neuron));
            let point = Point::Pre(layer);
            let row = straight.row(self.network, point, neuron, &self.values);
            self.condition(&row, 0.0)
        });
        conditions.collect()
    }

    /// How large the values of a layer are at the test.
    fn scale(&self, layer: usize) -> f64 {
        let values = self
            .values
            .of(self.network.element(Point::Pre(layer), 0).value);
        let sum: f64 = values.iter().map(|u| u.abs()).sum();
        (sum / values.len().max(1) as f64).max(f64::MIN_POSITIVE)
    }
}
