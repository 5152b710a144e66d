//! Where an input may lie: the domain, the ball round the root, boxes of the formula.

use deepconcolic_geometry::{Extent, Norm, SearchSpace, inward};
use deepconcolic_language::InputBox;

use crate::goal::Reason;

/// A box of inputs whose ends are floats that the region really holds, and the ball that a box
/// cannot express.
#[derive(Debug, Clone)]
pub(crate) struct Region<'a> {
    pub space: &'a SearchSpace,
    pub root: &'a [f32],
    pub lower: Vec<f32>,
    pub upper: Vec<f32>,
}

impl<'a> Region<'a> {
    /// The region round a root, or why this engine cannot search it.
    pub fn of(space: &'a SearchSpace, root: &'a [f32]) -> Result<Self, Reason> {
        if matches!(space.norm, Norm::L0 | Norm::L0Elements) {
            return Err(Reason::Unsupported {
                part: space.norm.name().into(),
                why: "the number of changed pixels is no linear objective; use engine l0",
            });
        }
        let mut region = Self {
            space,
            root,
            lower: space.domain.lower().to_vec(),
            upper: space.domain.upper().to_vec(),
        };
        match &space.extent {
            Extent::Domain => {}
            Extent::Balls(radius) => region.keep_to_ball(root, *radius),
            Extent::Boxes(boxes) => {
                let holds = |(low, high): &(Vec<f32>, Vec<f32>)| {
                    let ends = low.iter().zip(high);
                    root.iter().zip(ends).all(|(x, (l, h))| l <= x && x <= h)
                };
                let Some((low, high)) = boxes.iter().map(inward).find(holds) else {
                    return Err(Reason::Unsupported {
                        part: "region".into(),
                        why: "the seed lies in none of its boxes",
                    });
                };
                for e in 0..root.len() {
                    region.lower[e] = region.lower[e].max(low[e]);
                    region.upper[e] = region.upper[e].min(high[e]);
                }
            }
        }
        Ok(region)
    }

    /// In every norm the ball lies in the box of its radius.
    pub fn keep_to_ball(&mut self, centre: &[f32], radius: f64) {
        for (e, &middle) in centre.iter().enumerate() {
            let (centre, width) = (f64::from(middle), self.width(e));
            let inside = |x: f32| {
                x.to_bits() == middle.to_bits() || (f64::from(x) - centre).abs() / width <= radius
            };
            let mut low = (centre - radius * width) as f32;
            while !inside(low) {
                low = low.next_up();
            }
            let mut high = (centre + radius * width) as f32;
            while !inside(high) {
                high = high.next_down();
            }
            self.lower[e] = self.lower[e].max(low);
            self.upper[e] = self.upper[e].min(high);
        }
    }

    /// Cuts the box down to one that the formula asks for; `false` when nothing is left.
    pub fn intersect(&mut self, other: &InputBox) -> bool {
        for e in 0..self.root.len() {
            let (low, high) = (other.lower.at(e), other.upper.at(e));
            let mut low32 = low as f32;
            if f64::from(low32) < low {
                low32 = low32.next_up();
            }
            let mut high32 = high as f32;
            if f64::from(high32) > high {
                high32 = high32.next_down();
            }
            self.lower[e] = self.lower[e].max(low32);
            self.upper[e] = self.upper[e].min(high32);
        }
        self.lower.iter().zip(&self.upper).all(|(l, u)| l <= u)
    }

    /// The unit of distances along an element.
    pub fn width(&self, element: usize) -> f64 {
        self.space.units.widths.get(element).copied().unwrap_or(1.0)
    }

    /// Whether an element can move at all.
    pub fn moves(&self, element: usize) -> bool {
        self.lower[element] < self.upper[element] && self.width(element) > 0.0
    }

    /// The float, on the grid if there is one, that stands for a computed value.
    pub fn settle(&self, element: usize, value: f64) -> f32 {
        let (low, high) = (self.lower[element], self.upper[element]);
        let clipped = (value as f32).max(low).min(high);
        let root = self.root[element];
        let near = (value - f64::from(root)).abs() <= 1e-9 * self.width(element);
        if near && low <= root && root <= high {
            return root;
        }
        let Some(number) = self.space.grid_number(element, clipped) else {
            return clipped;
        };
        let on_grid = |number: u32| self.space.grid_point(element, number);
        [number, number.saturating_sub(1), number + 1]
            .into_iter()
            .filter_map(on_grid)
            .find(|x| low <= *x && *x <= high)
            .unwrap_or(root)
    }

    /// Whether an input is a test that may be returned.
    pub fn allows(&self, input: &[f32]) -> bool {
        self.space.violation(input, self.root).is_none()
    }
}
