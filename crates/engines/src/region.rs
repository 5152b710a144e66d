//! Where an input may lie: the domain, the ball round the root, boxes of the formula.

use deepconcolic_geometry::{Ball, ConvexNorm, Ends, SearchSpace, Unsupported, Which};
use deepconcolic_language::InputBox;

use crate::goal::Reason;

/// A box of inputs whose ends are floats that the region really holds, and the ball that a box
/// cannot express.
#[derive(Debug, Clone)]
pub(crate) struct Region<'a> {
    pub space: &'a SearchSpace,
    pub norm: &'static dyn ConvexNorm,
    pub root: &'a [f32],
    pub lower: Vec<f32>,
    pub upper: Vec<f32>,
}

impl<'a> Region<'a> {
    /// The region round a root, or why this engine cannot search it.
    pub fn of(space: &'a SearchSpace, root: &'a [f32]) -> Result<Self, Reason> {
        let norm = space.norm.convex()?;
        let Ends { low, high } = space.part(Which::Holding(root))?.ends;
        let mut region = Self {
            space,
            norm,
            root,
            lower: low,
            upper: high,
        };
        if let Some(radius) = space.radius() {
            region.keep_to_ball(root, space.norm.span(radius));
        }
        Ok(region)
    }

    /// Keeps to the box that is so many widths of the domain on either side of a centre.
    pub fn keep_to_ball(&mut self, centre: &[f32], widths: f64) {
        let ball = Ball {
            root: centre,
            radius: widths,
            units: &self.space.units,
        };
        let ends = ball.ends(widths, 0.0);
        for e in 0..centre.len() {
            self.lower[e] = self.lower[e].max(ends.low[e]);
            self.upper[e] = self.upper[e].min(ends.high[e]);
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
        self.space.units.width(element)
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

impl From<Unsupported> for Reason {
    fn from(reason: Unsupported) -> Self {
        Self::Unsupported {
            part: reason.what.into(),
            why: reason.why,
        }
    }
}
