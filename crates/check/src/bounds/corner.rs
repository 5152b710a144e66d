//! What executions of a single sum of inputs can reach, such as those of a first layer's neurons.
//!
//! Rounding to nearest never turns an order round: with `a <= b` also `round(a) <= round(b)`. So a sum that
//! is executed term by term, each input multiplied by one stored weight, grows with every input whose
//! weight is positive and falls with every other, rounding included, in whatever order it is added up. The
//! corner of the box that is best by the signs of the weights is then best for executions too, and running
//! the network there once settles what none of them can exceed.
//!
//! This decides requirements whose threshold was itself measured on data, at that very corner: in real
//! numbers it may be missed or cleared by a rounding error, by executions never.

use deepconcolic_network::{Pass, Point};

use crate::bounds::cone::{Cone, Step};
use crate::bounds::context::Context;
use crate::question::Atom;

/// The largest value that a condition has in executions over the context's box, if the condition is on
/// one sum of inputs.
pub(crate) fn largest(context: &Context<'_>, cone: &Cone, atoms: &[Atom]) -> Result<f64, String> {
    let ([Step::Sums(sums)], [atom]) = (&cone.steps[..], atoms) else {
        return Err("a corner proves nothing but conditions on one sum of inputs".into());
    };
    let [term] = &atom.terms[..] else {
        return Err("a corner proves nothing about several neurons".into());
    };
    if sums.len() != 1 || term.point == Point::Input {
        return Err("a corner proves nothing about sums of sums".into());
    }
    let mut seen = vec![false; cone.inputs.len()];
    let mut input: Vec<f32> = context.region.lower.iter().map(|&l| l as f32).collect();
    for (variable, weight) in sums.terms(0) {
        // Met twice, an input could pull both ways.
        if std::mem::replace(&mut seen[variable], true) {
            return Err("an input occurs twice in the sum".into());
        }
        let element = cone.inputs[variable];
        input[element] = if weight * term.weight > 0.0 {
            at_least(context.region.upper[element])
        } else {
            -at_least(-context.region.lower[element])
        };
    }
    let trace = context.network.forward(&input, &Pass::keep([term.point]));
    let u = f64::from(trace.sample(term.point, 0)[term.element]);
    Ok(term.weight * u + atom.constant)
}

/// The smallest single-precision number that is not below a number.
fn at_least(end: f64) -> f32 {
    let near = end as f32;
    if f64::from(near) < end {
        near.next_up()
    } else {
        near
    }
}
