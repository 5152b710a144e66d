//! The search region X and whatever else a test must be to count: what finders keep to and checkers
//! check.

use deepconcolic_network::BitSet;

use crate::{Domain, ImageShape, InputSpace, Norm, Pixels};

/// Where generated tests may lie.
#[derive(Clone, Debug, PartialEq)]
pub enum Extent {
    /// Anywhere in the domain.
    Domain,
    /// Within this distance of the test's root seed, in units of the domain's width.
    Balls(f64),
    /// In one of these boxes: lowest and highest values, as they were given.
    Boxes(Vec<(Vec<f64>, Vec<f64>)>),
}

/// Least similarity of a test to its root seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Validity {
    /// From 0 to 1.
    pub least: f64,
    /// The image that an input is.
    pub shape: ImageShape,
}

/// Everything that is asked of a generated test apart from its requirement.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchSpace {
    /// Ends of every input element.
    pub domain: Domain,
    /// The unit of distances, and which elements make up a pixel.
    pub units: InputSpace,
    /// How distances are measured.
    pub norm: Norm,
    /// The region.
    pub extent: Extent,
    /// Steps that the domain of an element is divided into, if values lie on a grid.
    pub grid: Option<u32>,
    /// How alike a test must be to its root.
    pub validity: Option<Validity>,
}

impl SearchSpace {
    /// The domain, with nothing else asked.
    pub fn of(domain: Domain, pixels: Pixels, norm: Norm, extent: Extent) -> Self {
        Self {
            units: domain.space(pixels),
            domain,
            norm,
            extent,
            grid: None,
            validity: None,
        }
    }

    /// The distance of two inputs.
    pub fn distance(&self, a: &[f32], b: &[f32]) -> f64 {
        self.norm.distance(a, b, &self.units)
    }

    /// Whether two inputs are this near each other.
    fn is_within(&self, a: &[f32], b: &[f32], radius: f64) -> bool {
        // In most norms few elements show that it is not so; the distance itself has the last word.
        let mut sum = 0.0;
        let far = radius * (1.0 + 1e-9);
        for (element, (&x, &y)) in a.iter().zip(b).enumerate() {
            let change = f64::from((x - y).abs());
            let width = self.units.widths.get(element).copied().unwrap_or(1.0);
            let part = if change == 0.0 { 0.0 } else { change / width };
            sum = match self.norm {
                Norm::Linf => part,
                Norm::L1 => sum + part,
                Norm::L2 => sum + part * part / far.max(f64::MIN_POSITIVE),
                Norm::L0 | Norm::L0Elements => 0.0,
            };
            if sum * (1.0 - 1e-6) > far {
                return false;
            }
        }
        self.distance(a, b) <= radius
    }

    /// The parts of the region that an input lies in, by number: balls of the radius round seeds, which
    /// are given one after the other, or boxes; the domain is one part. Two inputs of one requirement
    /// lie in one part.
    pub fn parts(&self, input: &[f32], seeds: &[f32]) -> BitSet {
        let all = |count: usize, holds: &dyn Fn(usize) -> bool| {
            let mut parts = BitSet::new(count);
            let holding = (0..count).filter(|&part| holds(part));
            holding.for_each(|part| parts.insert(part));
            parts
        };
        match &self.extent {
            Extent::Domain => all(1, &|_| true),
            Extent::Balls(radius) => {
                let each = input.len().max(1);
                let seed = |part: usize| &seeds[part * each..(part + 1) * each];
                let holds = |part: usize| self.is_within(input, seed(part), *radius);
                all(seeds.len() / each, &holds)
            }
            Extent::Boxes(boxes) => all(boxes.len(), &|part| is_in(&boxes[part], input)),
        }
    }

    /// How alike two inputs are, where that is asked.
    pub fn similarity(&self, a: &[f32], b: &[f32]) -> Option<f64> {
        self.validity
            .map(|validity| validity.shape.similarity(a, b, self.widest()))
    }

    fn widest(&self) -> f64 {
        self.units.widths.iter().copied().fold(0.0, f64::max)
    }

    /// The grid point of an element with this number, counted from the lower end of the domain.
    pub fn grid_point(&self, element: usize, number: u32) -> Option<f32> {
        let steps = self.grid?;
        let (low, high) = (self.domain.lower()[element], self.domain.upper()[element]);
        // For the domain 0..1 this is number / steps to the bit, as 8-bit data are read.
        Some(low + number as f32 / steps as f32 * (high - low))
    }

    /// The number of the grid point nearest to a value.
    pub fn grid_number(&self, element: usize, value: f32) -> Option<u32> {
        let steps = self.grid?;
        let (low, high) = (self.domain.lower()[element], self.domain.upper()[element]);
        let part = f64::from(value - low) / f64::from(high - low);
        Some(
            (part * f64::from(steps))
                .round()
                .clamp(0.0, f64::from(steps)) as u32,
        )
    }

    /// Whether an input lies in the region as far as that can be said without its seed: in one of the
    /// boxes, where there are boxes.
    pub fn has(&self, input: &[f32]) -> bool {
        match &self.extent {
            Extent::Domain | Extent::Balls(_) => true,
            Extent::Boxes(boxes) => boxes.iter().any(|each| is_in(each, input)),
        }
    }

    /// Why a generated input with this root is no test, if it is none. An element that has its
    /// root's value is not generated and may lie off the grid.
    pub fn violation(&self, input: &[f32], root: &[f32]) -> Option<String> {
        self.outside_domain(input)
            .or_else(|| self.outside_region(input, root))
            .or_else(|| self.off_grid(input, root))
            .or_else(|| self.unlike(input, root))
    }

    fn outside_domain(&self, input: &[f32]) -> Option<String> {
        let ends = self.domain.lower().iter().zip(self.domain.upper());
        let outside = |(x, (low, high)): &(&f32, (&f32, &f32))| !(low <= x && x <= high);
        let at = input.iter().zip(ends).position(|each| outside(&each))?;
        Some(format!("element {at} is outside the domain"))
    }

    fn outside_region(&self, input: &[f32], root: &[f32]) -> Option<String> {
        match &self.extent {
            Extent::Domain => None,
            Extent::Balls(radius) => {
                let distance = self.distance(input, root);
                // Not `>`: a distance that is no number is no distance within the radius.
                let inside = distance <= *radius;
                (!inside).then(|| format!("it is {distance} from its seed, more than {radius}"))
            }
            Extent::Boxes(_) => (!self.has(input)).then(|| "it lies in none of the boxes".into()),
        }
    }

    fn off_grid(&self, input: &[f32], root: &[f32]) -> Option<String> {
        self.grid?;
        let off = |element: usize| {
            let x = input[element];
            let number = self.grid_number(element, x)?;
            let on = self.grid_point(element, number)?.to_bits() == x.to_bits();
            Some(!on && x.to_bits() != root[element].to_bits())
        };
        let at = (0..input.len()).find(|&element| off(element) == Some(true))?;
        Some(format!("element {at} is not on the grid"))
    }

    fn unlike(&self, input: &[f32], root: &[f32]) -> Option<String> {
        let (validity, found) = (self.validity?, self.similarity(input, root)?);
        let alike = found >= validity.least;
        (!alike).then(|| {
            format!(
                "its similarity to its seed is {found}, below {}",
                validity.least
            )
        })
    }
}

fn is_in((low, high): &(Vec<f64>, Vec<f64>), input: &[f32]) -> bool {
    let ends = low.iter().zip(high);
    let mut inside = input.iter().map(|&x| f64::from(x)).zip(ends);
    inside.all(|(x, (l, h))| *l <= x && x <= *h)
}

/// The numbers of single precision next to the ends of a box, on the inner side.
pub fn inward((low, high): &(Vec<f64>, Vec<f64>)) -> (Vec<f32>, Vec<f32>) {
    let above = |&end: &f64| {
        let nearest = end as f32;
        if f64::from(nearest) < end {
            nearest.next_up()
        } else {
            nearest
        }
    };
    let lower = low.iter().map(above);
    let upper = high.iter().map(|&end| -above(&-end));
    (lower.collect(), upper.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(extent: Extent) -> SearchSpace {
        let domain = Domain::uniform(2, 0.0, 1.0).unwrap();
        SearchSpace::of(domain, Pixels::Single, Norm::Linf, extent)
    }

    #[test]
    fn what_leaves_the_domain_or_the_region_is_no_test() {
        let root = [0.5, 0.5];
        let ball = space(Extent::Balls(0.25));
        assert_eq!(ball.violation(&[0.75, 0.25], &root), None);
        assert!(ball.violation(&[0.75, 0.2], &root).is_some());
        assert!(ball.violation(&[f32::NAN, 0.5], &root).is_some());
        let anywhere = space(Extent::Domain);
        assert_eq!(anywhere.violation(&[1.0, 0.0], &root), None);
        assert!(anywhere.violation(&[1.5, 0.0], &root).is_some());
        let boxes = space(Extent::Boxes(vec![(vec![0.0, 0.5], vec![0.1, 1.0])]));
        assert_eq!(boxes.violation(&[0.1f32.next_down(), 0.5], &root), None);
        // In single precision a tenth is more than a tenth.
        assert!(boxes.violation(&[0.1, 0.5], &root).is_some());
        assert!(boxes.violation(&[0.2, 0.5], &root).is_some());
    }

    #[test]
    fn grid_points_are_those_of_8_bit_data() {
        let mut space = space(Extent::Domain);
        space.grid = Some(255);
        for number in 0..=255u32 {
            let value = space.grid_point(0, number).unwrap();
            assert_eq!(value.to_bits(), (number as f32 / 255.0).to_bits());
            assert_eq!(space.grid_number(0, value), Some(number));
        }
        let root = [0.123, 0.5];
        assert_eq!(space.violation(&[0.123, 100.0 / 255.0], &root), None);
        assert!(space.violation(&[0.124, 100.0 / 255.0], &root).is_some());
    }
}
