//! Where an input may lie: the domain, the ball round the root, boxes of the formula.

use deepconcolic_geometry::{Ball, ConvexNorm, Ends, Norm, SearchSpace, Unsupported, Which};
use deepconcolic_language::InputBox;

use crate::goal::Reason;

/// What makes the region that is searched round a root.
pub(crate) type RegionOf = for<'a> fn(&'a SearchSpace, &'a [f32]) -> Result<Region<'a>, Reason>;

/// All of the region round a root, as far as programs can state it.
pub(crate) fn stated_region<'a>(
    space: &'a SearchSpace,
    root: &'a [f32],
) -> Result<Region<'a>, Reason> {
    Region::of(space, root)
}

/// A box of inputs whose ends are floats that the region really holds, and the ball that a box
/// cannot express.
#[derive(Debug, Clone)]
pub(crate) struct Region<'a> {
    pub space: &'a SearchSpace,
    /// The norm that programs measure steps in.
    pub norm: &'static dyn ConvexNorm,
    /// Whether the box is all there is to the region.
    pub is_box: bool,
    pub root: &'a [f32],
    pub lower: Vec<f32>,
    pub upper: Vec<f32>,
}

impl<'a> Region<'a> {
    /// The region round a root, or why this engine cannot search it.
    pub fn of(space: &'a SearchSpace, root: &'a [f32]) -> Result<Self, Reason> {
        let (norm, is_box) = match (space.norm.convex(), space.radius()) {
            (Ok(norm), _) => (norm, space.norm.is_box()),
            // Where no radius limits the search, a count that no program states limits nothing.
            (Err(_), None) => (Norm::LINF.convex()?, true),
            (Err(unsupported), Some(_)) => return Err(unsupported.into()),
        };
        let Ends { low, high } = space.part(Which::Holding(root), root)?.ends;
        let mut region = Self {
            space,
            norm,
            is_box,
            root,
            lower: low,
            upper: high,
        };
        if let Some(radius) = space.radius() {
            region.keep_to_ball(root, space.norm.span(radius));
        }
        Ok(region)
    }

    /// The box round a root that is left of the region when balls are set aside: the domain, or the box that
    /// holds the root. For a ball of a norm that counts changes, whoever changes few elements of the root
    /// stays in it.
    pub fn without_ball(space: &'a SearchSpace, root: &'a [f32]) -> Result<Self, Reason> {
        let Ends { low, high } = space.part(Which::Holding(root), root)?.ends;
        Ok(Self {
            space,
            norm: Norm::LINF.convex()?,
            is_box: true,
            root,
            lower: low,
            upper: high,
        })
    }

    /// Keeps elements that are not free at the root's value.
    pub fn fix_all_but(&mut self, is_free: impl Fn(usize) -> bool) {
        for (e, &root) in self.root.iter().enumerate() {
            if !is_free(e) {
                (self.lower[e], self.upper[e]) = (root, root);
            }
        }
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

    /// The float that stands for a computed value, wherever the grid is.
    pub fn clip(&self, element: usize, value: f64) -> f32 {
        (value as f32)
            .max(self.lower[element])
            .min(self.upper[element])
    }

    /// The float, on the grid if there is one, that stands for a computed value.
    pub fn settle(&self, element: usize, value: f64) -> f32 {
        let (low, high) = (self.lower[element], self.upper[element]);
        let clipped = self.clip(element, value);
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
