//! How steep a network is between two inputs, in double precision and less what rounding can have added.
//!
//! The outputs of both inputs are enclosed by intervals that are rounded outward at every operator, so that two
//! inputs whose outputs differ by rounding alone are not steep at all. What is left is a ratio that the network
//! in real arithmetic has at least.

use deepconcolic_criteria::Ratio;
use deepconcolic_geometry::{InputSpace, LinearForm};
use deepconcolic_network::{Network, Point};

/// Relative error of a distance or a length computed here, with much to spare: a few roundings an element.
const ROUNDING: f64 = 1e-9;

/// The ratio of two inputs that is certain, rounded down; none where both differ by nothing but rounding, or
/// where one of them lies outside the region.
pub fn certain_ratio(
    network: &Network,
    ratio: &Ratio,
    inputs: [&[f32]; 2],
    space: &InputSpace,
) -> Option<f64> {
    if !inputs
        .iter()
        .all(|input| ratio.region.contains(input, space))
    {
        return None;
    }
    let form = ratio.norm.convex().ok()?.form();
    let distance = ratio.norm.distance(inputs[0], inputs[1], space);
    let both: Vec<f64> = inputs.concat().into_iter().map(f64::from).collect();
    let bounds = network.intervals(&both, &both);
    let (lower, upper) = network.range(&bounds, Point::Logits);
    let each = lower.len() / 2;
    // The least that an output can differ: the gap between its two intervals.
    let gap = |&output: &usize| {
        let apart = lower[output] - upper[each + output];
        let other = lower[each + output] - upper[output];
        apart.max(other).max(0.0)
    };
    let gaps = ratio.outputs.iter().map(gap);
    let change = match form {
        LinearForm::Largest => gaps.fold(0.0, f64::max),
        LinearForm::Sum => gaps.sum(),
        LinearForm::Squares => gaps.map(|gap| gap * gap).sum::<f64>().sqrt(),
    };
    let certain = change / distance * (1.0 - ROUNDING);
    (certain.is_finite() && certain > 0.0).then_some(certain)
}
