//! The search region X and whatever else a test must be to count: what finders keep to and checkers
//! check.

use deepconcolic_network::BitSet;

use crate::{
    Cover, Domain, Extent, ImageShape, InputSpace, Norm, Part, Pixels, ScopeWords, Unsupported,
    Which, WholeNumbers,
};

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
    /// Elements that are whole numbers of the data's own unit, whatever the grid of the others.
    pub whole: Option<WholeNumbers>,
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
            whole: None,
            validity: None,
        }
    }

    /// Lets tests have their root's values in these elements only. What differs there is infinitely far apart.
    pub fn fix(&mut self, elements: &[usize]) {
        for &element in elements {
            self.units.widths[element] = 0.0;
        }
    }

    /// The distance of two inputs.
    pub fn distance(&self, a: &[f32], b: &[f32]) -> f64 {
        self.norm.distance(a, b, &self.units)
    }

    /// The parts of the region that an input lies in, by number: balls of the radius round seeds, which
    /// are given one after the other, or boxes; the domain is one part. Two inputs of one requirement
    /// lie in one part.
    pub fn parts(&self, input: &[f32], seeds: &[f32]) -> BitSet {
        self.extent.kind().parts(self, input, seeds)
    }

    /// The same of each of many inputs.
    pub fn parts_of_each(&self, inputs: &[&[f32]], seeds: &[f32]) -> Vec<BitSet> {
        self.extent.kind().parts_of_each(self, inputs, seeds)
    }

    /// The part that a search from a root keeps to, as far as a box can say it, or why there is none. Where a
    /// radius limits the search as well, [`radius`](Self::radius) has it.
    pub fn part(&self, which: Which<'_>, root: &[f32]) -> Result<Part, Unsupported> {
        let mut part = self.extent.kind().part(self, which)?;
        part.ends.fix(root, &self.units);
        Ok(part)
    }

    /// How far from its root a test may be, if that is what limits it.
    pub fn radius(&self) -> Option<f64> {
        self.extent.kind().radius()
    }

    /// How many widths of the domain an element can move: those of the radius, where elements move
    /// independently of each other; none where they share the radius.
    pub fn reach_in_widths(&self) -> Option<f64> {
        match self.radius() {
            None => Some(1.0),
            Some(radius) => self.norm.is_box().then_some(radius),
        }
    }

    /// Boxes that hold every input of the region, of so many seeds: what proofs cover.
    pub fn covers(&self, seeds: usize) -> Vec<Cover> {
        self.extent.kind().covers(self.norm, seeds)
    }

    /// Whether a seed lies in every part of the region that it is the root of.
    pub fn holds_seeds(&self) -> bool {
        self.extent.kind().holds_seeds()
    }

    /// Where inputs of the region lie, in a few words.
    pub fn place(&self) -> String {
        self.extent.kind().place(self.norm)
    }

    /// What the two inputs of one requirement may be, in words. One meaning holds in search, proofs, counts
    /// and checks.
    pub fn two_inputs(&self) -> String {
        self.extent.kind().two_inputs(self.norm)
    }

    /// Which inputs the figures of a run speak of, in words.
    pub fn scope(&self, words: &ScopeWords<'_>) -> String {
        self.extent.kind().scope(words)
    }

    /// What an assessor must know of proofs over the region: a sentence with a space before it, or nothing.
    pub fn proof_note(&self) -> &'static str {
        self.extent.kind().proof_note(self.norm)
    }

    /// How alike two inputs are, where that is asked.
    pub fn similarity(&self, a: &[f32], b: &[f32]) -> Option<f64> {
        self.validity
            .map(|validity| validity.shape.similarity(a, b, self.widest()))
    }

    fn widest(&self) -> f64 {
        self.units.widths.iter().copied().fold(0.0, f64::max)
    }

    /// Whether some elements take certain values only.
    pub fn has_grid(&self) -> bool {
        self.grid.is_some() || self.whole.is_some()
    }

    /// The whole numbers that an element takes, if it takes no others.
    fn whole_numbers(&self, element: usize) -> Option<&WholeNumbers> {
        self.whole.as_ref().filter(|whole| whole.has(element))
    }

    /// How far apart two neighbouring grid points of an element are, if it has a grid.
    pub fn grid_step(&self, element: usize) -> Option<f64> {
        match self.whole_numbers(element) {
            Some(whole) => Some(whole.step()),
            None => Some(self.units.width(element) / f64::from(self.grid?)),
        }
    }

    /// The grid point of an element with this number, counted from the lower end of the domain.
    pub fn grid_point(&self, element: usize, number: u32) -> Option<f32> {
        let (low, high) = (self.domain.lower()[element], self.domain.upper()[element]);
        if let Some(whole) = self.whole_numbers(element) {
            return whole.point(number, low, high);
        }
        let steps = self.grid?;
        // For the domain 0..1 this is number / steps to the bit, as 8-bit data are read.
        Some(low + number as f32 / steps as f32 * (high - low))
    }

    /// The number of the grid point nearest to a value.
    pub fn grid_number(&self, element: usize, value: f32) -> Option<u32> {
        let (low, high) = (self.domain.lower()[element], self.domain.upper()[element]);
        if let Some(whole) = self.whole_numbers(element) {
            return whole.number(value, low, high);
        }
        let steps = self.grid?;
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
        self.extent.kind().has(input)
    }

    /// Why a generated input with this root is no test, if it is none. An element that has its
    /// root's value is not generated and may lie off the grid.
    pub fn violation(&self, input: &[f32], root: &[f32]) -> Option<String> {
        self.outside_domain(input)
            .or_else(|| self.not_fixed(input, root))
            .or_else(|| self.extent.kind().outside(self, input, root))
            .or_else(|| self.off_grid(input, root))
            .or_else(|| self.unlike(input, root))
    }

    fn outside_domain(&self, input: &[f32]) -> Option<String> {
        let ends = self.domain.lower().iter().zip(self.domain.upper());
        let outside = |(x, (low, high)): &(&f32, (&f32, &f32))| !(low <= x && x <= high);
        let at = input.iter().zip(ends).position(|each| outside(&each))?;
        Some(format!("element {at} is outside the domain"))
    }

    /// The first fixed element in which an input differs from its root.
    #[expect(clippy::float_cmp, reason = "changed means not the same")]
    pub(crate) fn changed_fixed(&self, input: &[f32], root: &[f32]) -> Option<usize> {
        let is_changed = |&e: &usize| self.units.is_fixed(e) && input[e] != root[e];
        (0..input.len()).find(is_changed)
    }

    fn not_fixed(&self, input: &[f32], root: &[f32]) -> Option<String> {
        let at = self.changed_fixed(input, root)?;
        Some(format!(
            "element {at} is fixed, and differs from that of its seed"
        ))
    }

    fn off_grid(&self, input: &[f32], root: &[f32]) -> Option<String> {
        if !self.has_grid() {
            return None;
        }
        let at = (0..input.len()).find(|&element| self.is_off_grid(element, input, root))?;
        Some(match self.whole_numbers(at) {
            Some(_) => format!("element {at} is not a whole number of the data's unit"),
            None => format!("element {at} is not on the grid"),
        })
    }

    fn is_off_grid(&self, element: usize, input: &[f32], root: &[f32]) -> bool {
        let x = input[element];
        if self.grid_step(element).is_none() || x.to_bits() == root[element].to_bits() {
            return false;
        }
        let point = |number| self.grid_point(element, number);
        let nearest = self.grid_number(element, x).and_then(point);
        nearest.map(f32::to_bits) != Some(x.to_bits())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn space(extent: Extent) -> SearchSpace {
        let domain = Domain::uniform(2, 0.0, 1.0).unwrap();
        SearchSpace::of(domain, Pixels::Single, Norm::LINF, extent)
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
    fn a_fixed_element_keeps_its_seeds_value_in_every_norm() {
        let root = [0.5, 0.5];
        for norm in Norm::ALL {
            let domain = Domain::uniform(2, 0.0, 1.0).unwrap();
            let extent = Extent::Balls(1.0);
            let mut space = SearchSpace::of(domain, Pixels::Single, norm, extent);
            assert_eq!(space.violation(&[0.5, 0.75], &root), None, "{norm}");
            space.fix(&[1]);
            let violation = space.violation(&[0.5, 0.75], &root);
            assert!(violation.is_some_and(|why| why.contains("element 1 is fixed")));
            assert_eq!(space.violation(&[0.75, 0.5], &root), None, "{norm}");
            let ends = space.part(Which::Turn(0), &root).unwrap().ends;
            assert_eq!((ends.low, ends.high), (vec![0.0, 0.5], vec![1.0, 0.5]));
        }
    }

    #[test]
    fn inputs_that_differ_in_a_fixed_element_lie_in_no_ball_together() {
        let seeds = [0.5, 0.5, 0.5, 0.75];
        for norm in Norm::ALL {
            let domain = Domain::uniform(2, 0.0, 1.0).unwrap();
            let mut space = SearchSpace::of(domain, Pixels::Single, norm, Extent::Balls(2.0));
            let parts = |space: &SearchSpace| space.parts(&[0.625, 0.5], &seeds).count();
            assert_eq!(parts(&space), 2, "{norm}");
            space.fix(&[1]);
            assert_eq!(parts(&space), 1, "{norm}");
        }
    }

    #[test]
    fn whole_numbers_are_those_of_the_data_beside_any_other_grid() {
        let mut space = space(Extent::Domain);
        space.whole = Some(WholeNumbers::new(2, &[1], 8.0));
        let root = [0.123, 0.5];
        assert_eq!(space.violation(&[0.3, 0.875], &root), None);
        let violation = space.violation(&[0.3, 0.8], &root);
        assert!(violation.is_some_and(|why| why.contains("element 1 is not a whole number")));
        space.grid = Some(255);
        assert!(space.violation(&[0.3, 0.875], &root).is_some());
        assert_eq!(space.violation(&[100.0 / 255.0, 0.875], &root), None);
        assert_eq!(space.grid_step(1), Some(0.125));
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
