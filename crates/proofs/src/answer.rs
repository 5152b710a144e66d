//! Witnesses for conditions on the answer of a Softmax or Sigmoid: gradient steps through the network as it
//! is executed. The programs that the other searches work on end at the logits.

use deepconcolic_check::{Region, Until};
use deepconcolic_language::{Comparison, Formula, Relation};
use deepconcolic_network::{Network, Pass, Point, Row, Seed, Trace};

use crate::attack::{Random, start};
use crate::lanes::LANES;

/// Steps from each start.
const STEPS: usize = 40;

/// A search over one box.
pub(crate) struct Climb<'a> {
    pub network: &'a Network,
    /// In normal form.
    pub goal: &'a Formula,
    pub region: &'a Region,
    /// Batches of starts.
    pub batches: usize,
    /// When to end.
    pub until: Until<'a>,
    /// Execution in single precision: the input, if it meets the goal.
    pub confirm: &'a dyn Fn(&[f64]) -> Option<Vec<f32>>,
}

/// How far the goal is from being met, below 0, and which way it rises.
type Steer = (f64, Vec<Seed<f64>>);

impl Climb<'_> {
    /// An input that meets the goal.
    pub fn run(&self, seed: u64) -> Option<Vec<f32>> {
        let Region { lower, upper, .. } = self.region;
        let ends: Vec<[f64; 2]> = lower.iter().zip(upper).map(|(&l, &u)| [l, u]).collect();
        let mut random = Random::new(seed);
        (0..self.batches).find_map(|batch| {
            let starts = (0..LANES).flat_map(|lane| start(batch, lane, &ends, &mut random));
            self.batch(starts.collect(), &ends)
        })
    }

    fn batch(&self, mut inputs: Vec<f64>, ends: &[[f64; 2]]) -> Option<Vec<f32>> {
        let points = self.points();
        let pass = Pass::keep(points.clone()).differentiating(points);
        for step in 0..=STEPS {
            if self.until.is_over() {
                return None;
            }
            let trace = self.network.forward(&inputs, &pass);
            let steer: Vec<Steer> = (0..trace.samples())
                .map(|sample| self.steer(self.goal, &trace, sample))
                .collect();
            let each = inputs.chunks_exact(ends.len().max(1));
            for (point, (value, _)) in each.zip(&steer) {
                // Rounding may meet at a start what real numbers do not.
                let may = *value >= 0.0 || step == 0;
                if let Some(input) = may.then(|| (self.confirm)(point)).flatten() {
                    return Some(input);
                }
            }
            let rows = steer.into_iter().enumerate();
            let rows: Vec<Row<f64>> = rows
                .map(|(sample, (_, seeds))| Row { sample, seeds })
                .collect();
            let gradients = self.network.vjp(trace.tape()?, &rows);
            // Long steps first, to cross the box; short ones at the end, to decide.
            let length = 0.5 * 0.85f64.powi(step as i32);
            let moves = inputs.iter_mut().zip(&gradients);
            for ((x, &slope), &[low, high]) in moves.zip(ends.iter().cycle()) {
                if slope != 0.0 {
                    *x = (*x + length * (high - low) * slope.signum()).clamp(low, high);
                }
            }
        }
        None
    }

    fn points(&self) -> Vec<Point> {
        let hidden = self.network.layers().len();
        let mut points = Vec::new();
        self.goal.each_variable(&mut |var| {
            let point = var.point(hidden);
            if point != Point::Input && !points.contains(&point) {
                points.push(point);
            }
        });
        points
    }

    fn steer(&self, formula: &Formula, trace: &Trace<f64>, sample: usize) -> Steer {
        let parts = |of: &[Formula]| -> Vec<Steer> {
            let mut parts: Vec<Steer> = of.iter().map(|f| self.steer(f, trace, sample)).collect();
            parts.sort_by(|a, b| b.0.total_cmp(&a.0));
            parts
        };
        let held = (f64::INFINITY, Vec::new());
        match formula {
            Formula::Compare(comparison) => self.steer_comparison(comparison, trace, sample),
            Formula::And(of) => parts(of).pop().unwrap_or(held),
            Formula::Or(of) => {
                let best = parts(of).into_iter().next();
                best.unwrap_or((f64::NEG_INFINITY, Vec::new()))
            }
            Formula::Count { of, count, .. } => match count.checked_sub(1) {
                Some(last) => parts(of).into_iter().nth(last).unwrap_or(held),
                None => held,
            },
            // Boxes are kept to; the rest is for execution to judge.
            _ => held,
        }
    }

    fn steer_comparison(
        &self,
        comparison: &Comparison,
        trace: &Trace<f64>,
        sample: usize,
    ) -> Steer {
        let hidden = self.network.layers().len();
        let linear = &comparison.linear;
        let terms = linear.terms.iter().filter(|(_, var)| var.layer > 1);
        let terms: Vec<Seed<f64>> = terms
            .map(|&(weight, var)| Seed {
                point: var.point(hidden),
                element: var.neuron,
                weight,
            })
            .collect();
        let value = |seed: &Seed<f64>| seed.weight * trace.sample(seed.point, sample)[seed.element];
        let left = linear.constant + terms.iter().map(value).sum::<f64>();
        let sign = match comparison.relation {
            Relation::Ge | Relation::Gt => 1.0,
            Relation::Le | Relation::Lt => -1.0,
            Relation::Eq | Relation::Ne => -left.signum(),
        };
        let turned = |seed: Seed<f64>| Seed {
            weight: sign * seed.weight,
            ..seed
        };
        (sign * left, terms.into_iter().map(turned).collect())
    }
}
