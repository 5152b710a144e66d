//! The search region as boxes. A ball of any norm lies in the box of its radius, so proofs over the
//! boxes hold over the balls; for other norms than L-infinity they speak of more than was asked.

use deepconcolic_check::Region;
use deepconcolic_spec::{Extent, Norm, SearchSpace};

/// Boxes that hold every input of the search space with these seeds, each with a point in it.
pub fn regions(space: &SearchSpace, seeds: &[Vec<f32>]) -> Vec<(Region, Vec<f32>)> {
    let ends = |list: &[f32]| list.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let (low, high) = (ends(space.domain.lower()), ends(space.domain.upper()));
    let domain = Region {
        lower: low.clone(),
        upper: high.clone(),
    };
    let inner = |region: &Region| -> Vec<f32> {
        let ends = region.lower.iter().zip(&region.upper);
        ends.map(|(l, u)| (0.5 * l + 0.5 * u) as f32).collect()
    };
    match &space.extent {
        Extent::Domain => {
            let point = seeds.first().cloned().unwrap_or_else(|| inner(&domain));
            vec![(domain, point)]
        }
        // Any number of elements may change as far as the domain allows.
        Extent::Balls(_) if matches!(space.norm, Norm::L0 | Norm::L0Elements) => {
            let point = seeds.first().cloned().unwrap_or_else(|| inner(&domain));
            vec![(domain, point)]
        }
        Extent::Balls(radius) => seeds
            .iter()
            .map(|seed| {
                let reach = |e: usize| radius * space.units.widths[e];
                let lower = (0..seed.len()).map(|e| below(f64::from(seed[e]), reach(e), low[e]));
                let upper =
                    (0..seed.len()).map(|e| -below(-f64::from(seed[e]), reach(e), -high[e]));
                let region = Region {
                    lower: lower.collect(),
                    upper: upper.collect(),
                };
                (region, seed.clone())
            })
            .collect(),
        Extent::Boxes(boxes) => boxes
            .iter()
            .map(|(lower, upper)| {
                let meet = |e: usize| {
                    (
                        f64::from(lower[e]).max(low[e]),
                        f64::from(upper[e]).min(high[e]),
                    )
                };
                let (lower, upper) = (0..lower.len()).map(meet).unzip();
                let region = Region { lower, upper };
                let point = inner(&region);
                (region, point)
            })
            .filter(|(region, _)| region.lower.iter().zip(&region.upper).all(|(l, u)| l <= u))
            .collect(),
    }
}

/// The lower end of a ball, within the domain. A distance is computed with rounding, so the end lies
/// a little further out than where it says.
fn below(centre: f64, reach: f64, domain: f64) -> f64 {
    let slack = 8.0 * f64::EPSILON * (centre.abs() + reach);
    (centre - reach - slack).max(domain)
}
