//! Which elements make up a pixel, as the norm counts: all channels of a position, or each element alone.

use deepconcolic_geometry::SearchSpace;

/// The pixels of an input.
pub(crate) struct PixelMap {
    of_element: Vec<usize>,
    elements: Vec<Vec<usize>>,
}

impl PixelMap {
    pub fn new(space: &SearchSpace) -> Self {
        let count = space.domain.lower().len();
        let position = |e| space.norm.position(e, count, space.units.pixels);
        let of_element: Vec<usize> = (0..count).map(position).collect();
        let pixels = of_element.iter().max().map_or(0, |last| last + 1);
        let mut elements = vec![Vec::new(); pixels];
        for (e, &pixel) in of_element.iter().enumerate() {
            elements[pixel].push(e);
        }
        Self {
            of_element,
            elements,
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.elements.len()
    }

    /// The pixel that an element belongs to.
    pub fn of(&self, element: usize) -> usize {
        self.of_element[element]
    }

    /// The elements of a pixel, in ascending order.
    pub fn elements(&self, pixel: usize) -> &[usize] {
        &self.elements[pixel]
    }

    /// The pixels in which some of these inputs differ from the root, in ascending order.
    #[expect(clippy::float_cmp, reason = "changed means not the same")]
    pub fn changed(&self, inputs: &[Vec<f32>], root: &[f32]) -> Vec<usize> {
        let differs = |e: &usize| inputs.iter().any(|x| x[*e] != root[*e]);
        let is_changed = |pixel: &usize| self.elements[*pixel].iter().any(differs);
        (0..self.count()).filter(is_changed).collect()
    }

    /// Gives a pixel of all these inputs the root's values.
    pub fn take_back(&self, inputs: &mut [Vec<f32>], root: &[f32], pixel: usize) {
        for x in inputs {
            for &e in &self.elements[pixel] {
                x[e] = root[e];
            }
        }
    }
}
