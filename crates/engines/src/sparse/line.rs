//! Exact line search: the best value of one element, all others held.
//!
//! Along one element a network of Relus is piecewise linear, and its kinks can be listed without a grid. A value
//! that goes into the first layer is linear along the whole line, so its two ends say where it crosses zero. Between
//! two such crossings the second layer is linear, and so on: one batch of runs a layer. The best value of a
//! goal is then at one of the points that were run. What bends elsewhere (smooth functions, maxima, two conditions
//! that cross) is found by looking again between the neighbours of the best point.

use deepconcolic_network::Point;

use super::trial::{Sparse, Tried};
use crate::budget::Effort;
use crate::observed::Observed;

/// Most points of a line.
const POINTS: usize = 2048;
/// Looks between the neighbours of the best point, and points of each.
const ZOOMS: usize = 2;
const ZOOM: usize = 7;

/// A point of a line that was run.
struct Stop {
    at: f32,
    tried: Tried,
    /// The values that go into each hidden layer.
    layers: Vec<Vec<f32>>,
}

impl Sparse<'_> {
    /// The best that changing one element of an input leads to, the input itself included.
    pub fn along(&self, from: &[f32], element: usize, effort: &mut Effort) -> Option<Tried> {
        let region = &self.task.region;
        let ends = [region.lower[element], from[element], region.upper[element]];
        let mut line = Vec::new();
        self.extend(&mut line, from, element, ends.to_vec(), effort);
        for _ in 0..=self.task.network.layers().len() {
            let kinks: Vec<f32> = line
                .windows(2)
                .flat_map(|pair| kinks(&pair[0], &pair[1]))
                .collect();
            if line.len() + kinks.len() > POINTS
                || !self.extend(&mut line, from, element, kinks, effort)
            {
                break;
            }
        }
        for _ in 0..ZOOMS {
            let between = zoom(&line);
            if !self.extend(&mut line, from, element, between, effort) {
                break;
            }
        }
        super::trial::best(line.into_iter().map(|stop| stop.tried).collect())
    }

    /// Runs values that a line does not have yet; says whether there were any. On a grid a value stands for the
    /// grid points on either side of it.
    fn extend(
        &self,
        line: &mut Vec<Stop>,
        from: &[f32],
        element: usize,
        values: Vec<f32>,
        effort: &mut Effort,
    ) -> bool {
        let region = &self.task.region;
        let mut fresh: Vec<f32> = values
            .into_iter()
            .flat_map(|value| self.on_grid(from, element, value))
            .filter(|x| region.lower[element] <= *x && *x <= region.upper[element])
            .filter(|x| line.iter().all(|stop| stop.at.to_bits() != x.to_bits()))
            .collect();
        fresh.sort_by(f32::total_cmp);
        fresh.dedup_by(|a, b| a.to_bits() == b.to_bits());
        if fresh.is_empty() {
            return false;
        }
        let state = |&x: &f32| {
            let mut input = from.to_vec();
            input[element] = x;
            vec![input]
        };
        let hidden = self.task.network.layers().len();
        let mut points = self.task.points.clone();
        for point in (0..hidden).map(Point::Pre) {
            if !points.contains(&point) {
                points.push(point);
            }
        }
        let layers = |observed: &Observed| -> Vec<Vec<f32>> {
            let layers = (0..hidden).map(|layer| observed.values(0, Point::Pre(layer)));
            layers.map(<[f32]>::to_vec).collect()
        };
        let states = fresh.iter().map(state).collect();
        let run = self.run_keeping(&points, states, effort, layers);
        let any = !run.is_empty();
        line.extend(
            run.into_iter()
                .zip(&fresh)
                .map(|((tried, layers), &at)| Stop { at, tried, layers }),
        );
        line.sort_by(|a, b| a.at.total_cmp(&b.at));
        any
    }

    fn on_grid(&self, from: &[f32], element: usize, value: f32) -> Vec<f32> {
        let (space, root) = (self.task.region.space, self.root()[element]);
        let is_kept = [from[element], root]
            .iter()
            .any(|x| x.to_bits() == value.to_bits());
        match space.grid_number(element, value) {
            Some(number) if !is_kept => [number.saturating_sub(1), number, number + 1]
                .into_iter()
                .filter_map(|number| space.grid_point(element, number))
                .collect(),
            _ => vec![value],
        }
    }
}

/// Where values that go into the first layer with other signs at the two ends cross zero.
fn kinks(a: &Stop, b: &Stop) -> Vec<f32> {
    let (low, high) = (f64::from(a.at), f64::from(b.at));
    for (before, after) in a.layers.iter().zip(&b.layers) {
        let crossings: Vec<f32> = before
            .iter()
            .zip(after)
            .filter(|(u, w)| (**u > 0.0) != (**w > 0.0))
            .map(|(&u, &w)| {
                let (u, w) = (f64::from(u), f64::from(w));
                (low + (high - low) * u / (u - w)) as f32
            })
            .filter(|x| a.at < *x && *x < b.at)
            .collect();
        // Deeper layers are linear only between these.
        if !crossings.is_empty() {
            return crossings;
        }
    }
    Vec::new()
}

/// Points between the best of a line and its neighbours.
fn zoom(line: &[Stop]) -> Vec<f32> {
    let mut order: Vec<usize> = (0..line.len()).collect();
    order.sort_by(|&a, &b| {
        line[b]
            .tried
            .value
            .total_cmp(&line[a].tried.value)
            .then(a.cmp(&b))
    });
    let Some(&best) = order.first() else {
        return Vec::new();
    };
    let neighbours = [best.saturating_sub(1), (best + 1).min(line.len() - 1)];
    let step = |(end, k): (f32, usize)| {
        let part = k as f32 / (ZOOM + 1) as f32;
        line[best].at + (end - line[best].at) * part
    };
    neighbours
        .into_iter()
        .flat_map(|n| (1..=ZOOM).map(move |k| (line[n].at, k)))
        .map(step)
        .collect()
}

#[cfg(test)]
mod tests {
    use deepconcolic_criteria::Objective;
    use deepconcolic_geometry::{Domain, Extent, Norm, Pixels, SearchSpace};
    use deepconcolic_language::{Formula, Input, Inputs};
    use deepconcolic_testing::{Family, Random, network};

    use super::*;
    use crate::budget::Budget;
    use crate::goal::{Goal, Margin, Origin};
    use crate::sparse::region_of_pixels;
    use crate::task::Task;

    /// Points of the scan that a line is compared with.
    const SCAN: usize = 1000;

    #[test]
    fn a_line_is_searched_as_well_as_by_a_dense_scan() {
        for (family, slack) in [(Family::Relu, 1e-5), (Family::Smooth, 1e-3)] {
            for seed in 0..12 {
                compare(family, seed, slack);
            }
        }
    }

    fn compare(family: Family, seed: u64, slack: f64) {
        let network = network(family, seed);
        let n = network.input_elements();
        let list = Random::new(seed).list(n, 0.0, 1.0);
        let root: Vec<f32> = list.into_iter().map(|x| x as f32).collect();
        let domain = Domain::uniform(n, 0.0, 1.0).unwrap();
        let space = SearchSpace::of(domain, Pixels::Single, Norm::L0, Extent::Balls(1.0));
        let last = network.layers().len() - 1;
        for neuron in 0..network.layers()[last].neurons() {
            let objective = Objective::Formula {
                formula: Formula::active(Input::First, last + 2, neuron),
                inputs: Inputs::One,
            };
            let root = root.as_slice();
            let goal = Goal {
                network: &network,
                objectives: &[],
                origins: &[],
                space: &space,
                means: &[],
                margin: Margin::default(),
                rng_seed: 0,
            };
            let origin = Origin::seed(&root);
            let task = Task::new(
                &goal,
                &objective,
                &origin,
                region_of_pixels,
                Budget::default(),
            );
            let task = task.unwrap();
            let sparse = Sparse::new(&task);
            for element in 0..n {
                let mut effort = Effort::default();
                let best = sparse.along(root, element, &mut effort).unwrap();
                assert!(effort.forward < SCAN / 2, "{effort:?}");
                let at = |k: usize| {
                    let mut input = root.to_vec();
                    input[element] = k as f32 / SCAN as f32;
                    vec![input]
                };
                let scan = sparse.run((0..=SCAN).map(at).collect(), &mut Effort::default());
                let most = scan.iter().map(|tried| tried.value);
                let most = most.fold(f64::NEG_INFINITY, f64::max);
                let found = best.value;
                assert!(
                    found >= most - slack,
                    "{family:?} {seed} {element}: {found} {most}"
                );
            }
        }
    }
}
