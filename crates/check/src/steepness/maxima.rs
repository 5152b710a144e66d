//! Weighted squares of derivatives by what maxima read, as weighted squares of the derivatives by the maxima.
//!
//! Wherever a maximum (or a minimum) has a derivative by its members, that is a weighted mean of theirs: of shares d, none
//! negative, that add up to 1, so that their squares add up to at most 1. Spelled out as a chain of comparisons with
//! slopes between 0 and 1 it is one too. If a member is read n times, the square of its derivative is at most n
//! times the sum of the squares of what the maxima put into it. So each maximum gets the largest of n times the weight
//! among its members: for windows that do not overlap that is exact.

use std::ops::Range;

use crate::bounds::cone::{Cone, Extremes, Step, Sums};
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
            let weight = places.map(|place| squares[place] * times[place]);
            shares.push(Share {
                variable: maxima.first + k,
                slope: 1.0,
                weight: weight.fold(0.0, f64::max),
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
