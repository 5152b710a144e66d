//! Weighted squares of derivatives by what maxima read, as weighted squares of the derivatives by the maxima.
//!
//! A maximum is a chain of comparisons: with the next member m it goes from M to `M + d (m - M)`, that is `(1 - d) M + d m`, and
//! the slope d of the comparison lies between 0 and 1. A minimum goes from M to `M - d (M - m)`, which is the same. So the derivative of the
//! last one by each place of its members is a share of at least 0, and all shares of a maximum add up to 1: their
//! squares add up to at most 1. With A the derivatives by the maxima, the derivative by a member is the sum of `share * A`
//! over the n places where maxima have it, and its square is at most n times the sum of `share^2 A^2`. So, w being the weights of the
//! members' squares,
//!
//! > sum of `w * derivative^2` <= sum over places of `n w share^2 A^2` <= sum over maxima of `A^2` times the largest `n w` among its members.
//!
//! For windows that do not overlap nothing is lost if one member has it all. All this needs that nothing but the maxima
//! reads the members; what the chain computes on the way gets no weight.

use std::ops::Range;

use crate::bounds::cone::{Cone, Extremes, Step, Sums};
use crate::steepness::definite::larger;
use crate::steepness::ranges::up;
use crate::steepness::reading::Share;

/// The shares of the maxima that read the variables of `range`, whose squares have these weights; none if anything else
/// after so many steps reads one whose weight is not 0.
pub(super) fn through_maxima(
    cone: &Cone,
    after: usize,
    range: Range<usize>,
    squares: &[f64],
) -> Option<Vec<Share>> {
    let place = |variable: usize| {
        let inside = range.contains(&variable) && squares[variable - range.start] != 0.0;
        inside.then(|| variable - range.start)
    };
    let chains = cone.extremes.iter();
    let chains: Vec<(&Extremes, &Sums)> = chains
        .filter(|chain| chain.steps.start >= after)
        .filter_map(|chain| {
            let read = chain.members.iter().flatten().any(|&m| place(m).is_some());
            // The last step of a chain is what its maxima are.
            match &cone.steps[chain.steps.clone()] {
                [.., Step::Sums(maxima)] if read => Some((chain, maxima)),
                _ => None,
            }
        })
        .collect();
    if chains.is_empty() || is_read_elsewhere(cone, after, &chains, &place) {
        return None;
    }
    let mut times = vec![0.0; range.len()];
    for member in chains
        .iter()
        .flat_map(|(chain, _)| chain.members.iter().flatten())
    {
        if let Some(place) = place(*member) {
            times[place] += 1.0;
        }
    }
    let mut shares = Vec::new();
    for (chain, maxima) in chains {
        for (k, members) in chain.members.iter().enumerate() {
            let places = members.iter().filter_map(|&member| place(member));
            let weight = places.map(|place| up(squares[place] * times[place]));
            shares.push(Share {
                variable: maxima.first + k,
                slope: 1.0,
                weight: weight.fold(0.0, larger),
            });
        }
    }
    shares.retain(|share| share.weight != 0.0);
    Some(shares)
}

/// Whether a step that is part of none of these chains reads a variable that has a place. Inside a chain its members
/// are read, and what it computes itself: a group of the latter is none that its maxima alone read.
fn is_read_elsewhere(
    cone: &Cone,
    after: usize,
    chains: &[(&Extremes, &Sums)],
    place: &impl Fn(usize) -> Option<usize>,
) -> bool {
    let mut steps = cone.steps.iter().enumerate().skip(after);
    steps.any(|(number, step)| {
        let inside = chains
            .iter()
            .any(|(chain, _)| chain.steps.contains(&number));
        let read = match step {
            Step::Sums(sums) => &sums.from,
            Step::Curves(curves) => &curves.inputs,
        };
        !inside
            && read
                .iter()
                .any(|&variable| place(variable as usize).is_some())
    })
}
