//! The search region as boxes, each with a point in it for searches to start from. Which boxes a
//! certificate must cover is the checker's to say: [`deepconcolic_check::regions`].

use deepconcolic_check::{Region, SearchBox};
use deepconcolic_geometry::SearchSpace;

/// Boxes that hold every input of the search space with these seeds, each with a point: the seed of a
/// ball, a seed where the box is the whole domain, the middle of any other box.
pub fn regions(space: &SearchSpace, seeds: &[Vec<f32>]) -> Vec<(Region, Vec<f32>)> {
    let boxes = deepconcolic_check::regions(space, seeds);
    let point = |part: &SearchBox| match part.seed {
        Some(number) => seeds.get(number).cloned(),
        None if space.holds_seeds() => seeds.first().cloned(),
        None => None,
    };
    boxes
        .into_iter()
        .map(|part| {
            let point = point(&part).unwrap_or_else(|| middle(&part.region));
            (part.region, point)
        })
        .collect()
}

fn middle(region: &Region) -> Vec<f32> {
    let ends = region.lower.iter().zip(&region.upper);
    ends.map(|(l, u)| (0.5 * l + 0.5 * u) as f32).collect()
}
