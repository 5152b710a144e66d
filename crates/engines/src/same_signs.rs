//! Neurons of one layer that must have the same sign on both inputs of a pair.

use deepconcolic_language::{Formula, Input, Linear, Relation, Var};
use deepconcolic_network::Point;

use crate::atom::Scales;
use crate::demands::Demands;
use crate::goal::Reason;
use crate::observed::Observed;

/// Most neurons that one step is asked to put right, the worst first: a row each would make the
/// next problem as large as the layer.
const WORST: usize = 24;

/// Neurons of a layer whose signs agree on `x1` and `x2`.
#[derive(Debug, Clone)]
pub(crate) struct SameSigns {
    pub point: Point,
    /// In ascending order.
    neurons: Vec<usize>,
    margin: f64,
    scale: f64,
}

impl SameSigns {
    pub fn new(layer: usize, mut neurons: Vec<usize>, scales: &Scales<'_>) -> Result<Self, Reason> {
        neurons.sort_unstable();
        let point = Point::Pre(layer);
        let last = neurons.last().copied().unwrap_or(0);
        if last >= scales.network.elements(point) {
            return Err(Reason::Unsupported {
                part: Formula::active(Input::First, layer + 2, last).to_string(),
                why: "the network has no such neuron",
            });
        }
        let atom = scales.sign(0, point, 0, true);
        Ok(Self {
            point,
            neurons,
            margin: atom.margin,
            scale: atom.scale,
        })
    }

    /// Hidden layer and neuron, if a formula says that a neuron's sign is the same on both inputs.
    pub fn recognise(formula: &Formula) -> Option<(usize, usize)> {
        let Formula::Iff(a, b) = formula else {
            return None;
        };
        let ((one, x), (other, y)) = (active(a)?, active(b)?);
        let differ = x != y && one == other;
        differ
            .then_some(one)
            .and_then(|(layer, neuron)| Some((layer.checked_sub(2)?, neuron)))
    }

    /// By how much a neuron's signs agree, counting the inputs that can move. What is exactly 0 on both
    /// has nothing to round: no weight or no input reaches it.
    fn slack(&self, observed: &Observed, first: f32, second: f32) -> f64 {
        if first == 0.0 && second == 0.0 {
            return f64::INFINITY;
        }
        let agree = (first >= 0.0) == (second >= 0.0);
        let size = |input: usize, u: f32| {
            if observed.moving[input] {
                f64::from(u.abs()) - self.margin
            } else {
                f64::INFINITY
            }
        };
        if agree {
            return size(0, first).min(size(1, second));
        }
        let away = |input: usize, u: f32| {
            if observed.moving[input] {
                f64::from(u.abs()) + self.margin
            } else {
                f64::INFINITY
            }
        };
        -away(0, first).min(away(1, second))
    }

    pub fn value(&self, observed: &Observed) -> f64 {
        let (first, second) = (
            observed.values(0, self.point),
            observed.values(1, self.point),
        );
        let slacks = self
            .neurons
            .iter()
            .map(|&n| self.slack(observed, first[n], second[n]));
        slacks.fold(f64::INFINITY, f64::min) / self.scale
    }

    /// Asks for the signs that disagree, the worst first. The wanted sign is that of an input that
    /// cannot move; if both can, that which is nearer for the two together.
    pub fn demands(
        &self,
        reference: &Observed,
        now: &Observed,
        scales: &Scales<'_>,
        into: &mut Demands,
    ) {
        let (first, second) = (now.values(0, self.point), now.values(1, self.point));
        let mut wrong: Vec<(f64, usize)> = self
            .neurons
            .iter()
            .map(|&n| (self.slack(now, first[n], second[n]), n))
            .filter(|(slack, _)| *slack < 0.0)
            .collect();
        wrong.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        wrong.truncate(WORST);
        let start = [0, 1].map(|input| reference.values(input, self.point));
        for (_, n) in wrong {
            let positive = match (now.moving[0], now.moving[1]) {
                (false, _) => first[n] >= 0.0,
                (_, false) => second[n] >= 0.0,
                _ => start[0][n] + start[1][n] >= 0.0,
            };
            for input in 0..2 {
                if now.moving[input] {
                    into.signs.push(scales.sign(input, self.point, n, positive));
                }
            }
        }
    }
}

/// Layer, neuron and input of `ap[x][k,i]`.
fn active(formula: &Formula) -> Option<((usize, usize), Input)> {
    let Formula::Compare(comparison) = formula else {
        return None;
    };
    let Linear { terms, constant } = &comparison.linear;
    let [(coefficient, var)] = terms[..] else {
        return None;
    };
    let plain = *constant == 0.0 && coefficient > 0.0 && comparison.relation == Relation::Ge;
    let neuron = Var::u(var.input, var.layer, var.neuron);
    (plain && var == neuron).then_some(((var.layer, var.neuron), var.input))
}
