//! Seeds that an input is too far from, seen by a few of its elements: most of a thousand seeds are, and to compare
//! an input with all elements of all of them takes longer than to run it.

use crate::SearchSpace;

/// Elements looked at.
const PIVOTS: usize = 16;
/// Of elements in which seeds differ most, one in so many is taken: neighbours mostly differ alike.
const STRIDE: usize = 8;
/// Seeds that tell in which elements seeds differ.
const SAMPLE: usize = 64;
/// Fewer inputs or seeds than this are compared at once.
const LEAST: usize = 16;

/// Some elements of every seed.
pub(super) struct Pivots {
    elements: [usize; PIVOTS],
    /// How far an element of an input in the ball can be from the seed's, rounded up.
    reach: [f32; PIVOTS],
    /// By seed.
    values: Vec<[f32; PIVOTS]>,
}

/// An input, ready to be compared with seeds.
pub(super) struct Sight<'a> {
    pivots: &'a Pivots,
    values: [f32; PIVOTS],
}

impl Pivots {
    /// For balls round seeds and so many inputs; nothing where looking at elements first gains nothing.
    pub fn of(space: &SearchSpace, radius: f64, seeds: &[&[f32]], inputs: usize) -> Option<Self> {
        let span = space.norm.span(radius);
        let each = seeds.first().map_or(0, |seed| seed.len());
        if !span.is_finite() || each < PIVOTS || seeds.len().min(inputs) < LEAST {
            return None;
        }
        let chosen = differing(seeds, |element| space.units.width(element));
        let mut elements = [0; PIVOTS];
        let stride = (chosen.len() / PIVOTS).clamp(1, STRIDE);
        for (place, &element) in elements.iter_mut().zip(chosen.iter().step_by(stride)) {
            *place = element;
        }
        // A difference in single precision is off by less than this takes into account.
        let reach = |element: usize| {
            (span * space.units.width(element) * (1.0 + 1e-6)) as f32 + f32::MIN_POSITIVE
        };
        Some(Self {
            elements,
            reach: elements.map(reach),
            values: seeds.iter().map(|seed| elements.map(|e| seed[e])).collect(),
        })
    }

    pub fn sight(&self, input: &[f32]) -> Sight<'_> {
        Sight {
            pivots: self,
            values: self.elements.map(|element| input[element]),
        }
    }
}

impl Sight<'_> {
    /// Whether the input is certainly outside the ball round a seed.
    pub fn is_far(&self, seed: usize) -> bool {
        let (seed, reach) = (&self.pivots.values[seed], &self.pivots.reach);
        let mut far = false;
        for pivot in 0..PIVOTS {
            far |= (self.values[pivot] - seed[pivot]).abs() > reach[pivot];
        }
        far
    }
}

/// Elements in which seeds differ, those first in which they differ most, in units of their widths.
fn differing(seeds: &[&[f32]], width: impl Fn(usize) -> f64) -> Vec<usize> {
    let count = seeds.len().min(SAMPLE);
    let sample = || (0..count).map(|number| seeds[number * seeds.len() / count]);
    let mut spread: Vec<(f64, usize)> = (0..seeds[0].len())
        .filter(|&element| width(element) > 0.0)
        .map(|element| {
            let values = || sample().map(|seed| f64::from(seed[element]));
            let mean = values().sum::<f64>() / count as f64;
            let squares: f64 = values().map(|value| (value - mean).powi(2)).sum();
            (squares / width(element).powi(2), element)
        })
        .collect();
    spread.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    spread.into_iter().map(|(_, element)| element).collect()
}

#[cfg(test)]
mod tests {
    use deepconcolic_network::BitSet;

    use crate::{Domain, Extent, Norm, Pixels, Random, SearchSpace};

    #[test]
    fn looking_at_some_elements_first_changes_nothing() {
        const ELEMENTS: usize = 40;
        let mut random = Random::of(&[7]);
        let mut near = |centre: &[f32], by: f32| -> Vec<f32> {
            let moved = centre.iter().map(|x| x + by * (2.0 * random.part() - 1.0));
            moved.map(|x| x.clamp(0.0, 1.0)).collect()
        };
        let seeds: Vec<Vec<f32>> = (0..30).map(|_| near(&[0.5; ELEMENTS], 0.5)).collect();
        let mut inputs: Vec<Vec<f32>> = Vec::new();
        for seed in &seeds {
            // Inside, at the very edge, and outside.
            inputs.push(near(seed, 0.05));
            inputs.push(seed.iter().map(|x| x + 0.125).collect());
            inputs.push(near(seed, 0.25));
        }
        let seeds = seeds.concat();
        let inputs: Vec<&[f32]> = inputs.iter().map(Vec::as_slice).collect();
        for (norm, radius) in [
            (Norm::LINF, 0.125),
            (Norm::L1, 1.5),
            (Norm::L2, 0.5),
            (Norm::L0, 3.0),
        ] {
            let domain = Domain::uniform(ELEMENTS, 0.0, 1.0).unwrap();
            let extent = Extent::Balls(radius);
            let space = SearchSpace::of(domain, Pixels::Single, norm, extent);
            let apart: Vec<BitSet> = (inputs.iter())
                .map(|input| space.parts(input, &seeds))
                .collect();
            assert_eq!(space.parts_of_each(&inputs, &seeds), apart, "{norm}");
            let held = apart.iter().map(BitSet::count).sum::<usize>();
            assert!(norm == Norm::L0 || held >= 30, "{norm}: {held}");
        }
    }
}
