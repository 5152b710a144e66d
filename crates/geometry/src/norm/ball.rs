//! Balls as searches keep to them: changes from a centre in units of the domain's width, and ends of
//! elements in single precision.

use super::InputSpace;
use crate::{Domain, Random};

/// Radii are kept to with this much to spare, so that a distance computed in single precision does
/// not exceed them either.
pub(crate) const SLACK: f64 = 1e-6;

/// The inputs within a radius of a root.
#[derive(Clone, Copy, Debug)]
pub struct Ball<'a> {
    /// The centre.
    pub root: &'a [f32],
    /// In units of the domain's width, or what the norm counts.
    pub radius: f64,
    /// The domain's widths, and which elements make up a pixel.
    pub units: &'a InputSpace,
}

impl Ball<'_> {
    /// The change of an element from the root, in units of the domain's width.
    pub(super) fn change(&self, point: &[f32], element: usize) -> f64 {
        let width = self.units.width(element);
        if width > 0.0 {
            (f64::from(point[element]) - f64::from(self.root[element])) / width
        } else {
            0.0
        }
    }

    /// Rounded towards the root: many elements rounded away from it add up to more than the radius.
    pub(super) fn place(&self, point: &mut [f32], element: usize, change: f64) {
        let root = f64::from(self.root[element]);
        let wanted = change * self.units.width(element);
        let mut x = (root + wanted) as f32;
        if (f64::from(x) - root).abs() > wanted.abs() {
            x = if wanted > 0.0 {
                x.next_down()
            } else {
                x.next_up()
            };
        }
        point[element] = x;
    }

    /// A gradient's slope along an element, for changes in units of the domain's width.
    pub(super) fn slope(&self, gradient: &[f32], element: usize) -> f64 {
        f64::from(gradient[element]) * self.units.width(element)
    }

    /// The furthest value of an element, on the lower or upper side, whose distance from the root does not
    /// exceed so many widths; with this part of them to spare.
    fn furthest(&self, element: usize, side: f64, widths: f64, spare: f64) -> f32 {
        let (centre, width) = (f64::from(self.root[element]), self.units.width(element));
        if width <= 0.0 {
            return self.root[element];
        }
        let mut end = (centre + side * (widths * (1.0 - spare)) * width) as f32;
        while (f64::from(end) - centre).abs() / width > widths {
            end = if side > 0.0 {
                end.next_down()
            } else {
                end.next_up()
            };
        }
        end
    }

    /// The values that elements have within so many widths of the root, with this part of them to spare.
    pub fn ends(&self, widths: f64, spare: f64) -> Ends {
        let side = |side: f64| {
            let elements = 0..self.root.len();
            elements
                .map(|e| self.furthest(e, side, widths, spare))
                .collect()
        };
        Ends {
            low: side(-1.0),
            high: side(1.0),
        }
    }

    /// A point whose change from the root has a direction drawn element by element, and a length that
    /// fills the ball evenly.
    pub(super) fn fill(
        &self,
        random: &mut Random,
        mut direction: impl FnMut(&mut Random) -> f64,
        length_of: impl Fn(&[f64]) -> f64,
    ) -> Vec<f32> {
        let elements = self.root.len();
        let free = (0..elements).filter(|&e| self.units.width(e) > 0.0).count();
        let length = self.radius * f64::from(random.part()).powf(1.0 / free.max(1) as f64);
        let direction: Vec<f64> = (0..elements).map(|_| direction(random)).collect();
        let drawn = length_of(&direction).max(f64::MIN_POSITIVE);
        let mut point = self.root.to_vec();
        for (e, d) in direction.iter().enumerate() {
            self.place(&mut point, e, d * length / drawn);
        }
        point
    }
}

/// Lowest and highest value of each element, both in single precision and both allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Ends {
    /// Lowest values.
    pub low: Vec<f32>,
    /// Highest values.
    pub high: Vec<f32>,
}

impl Ends {
    /// Those of the domain.
    pub fn of(domain: &Domain) -> Self {
        Self {
            low: domain.lower().to_vec(),
            high: domain.upper().to_vec(),
        }
    }

    /// The numbers of single precision next to the ends of a box, on the inner side.
    pub fn inward((low, high): &(Vec<f64>, Vec<f64>)) -> Self {
        let above = |&end: &f64| {
            let nearest = end as f32;
            if f64::from(nearest) < end {
                nearest.next_up()
            } else {
                nearest
            }
        };
        Self {
            low: low.iter().map(above).collect(),
            high: high.iter().map(|&end| -above(&-end)).collect(),
        }
    }

    /// What is within others as well.
    pub fn narrow(&mut self, low: &[f32], high: &[f32]) {
        for (own, &bound) in self.low.iter_mut().zip(low) {
            *own = own.max(bound);
        }
        for (own, &bound) in self.high.iter_mut().zip(high) {
            *own = own.min(bound);
        }
    }

    /// What is left when elements that have no width keep the value of a root.
    pub(crate) fn fix(&mut self, root: &[f32], units: &InputSpace) {
        for (e, &value) in root.iter().enumerate() {
            if units.is_fixed(e) {
                self.low[e] = self.low[e].max(value);
                self.high[e] = self.high[e].min(value);
            }
        }
    }

    /// Whether some input is within them.
    pub fn are_ordered(&self) -> bool {
        self.low
            .iter()
            .zip(&self.high)
            .all(|(low, high)| low <= high)
    }

    /// Whether an input is within them.
    pub fn hold(&self, input: &[f32]) -> bool {
        let ends = self.low.iter().zip(&self.high);
        input.iter().zip(ends).all(|(x, (l, h))| l <= x && x <= h)
    }

    /// Moves a point to the nearest within them.
    pub fn clamp(&self, point: &mut [f32]) {
        for (x, (&low, &high)) in point.iter_mut().zip(self.low.iter().zip(&self.high)) {
            *x = x.clamp(low, high);
        }
    }

    /// A point drawn evenly from all within them.
    pub fn draw(&self, random: &mut Random) -> Vec<f32> {
        let ends = self.low.iter().zip(&self.high);
        ends.map(|(&low, &high)| random.between(low, high))
            .collect()
    }
}
