//! A box and rows; lower bounds and infeasibility by weighing rows.

use deepconcolic_geometry::ConvexNorm;

use super::Solution;

/// `coefficients . d >= least`, scaled to Euclidean length 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub coefficients: Vec<f64>,
    pub least: f64,
}

/// Displacements `d` from a centre that keep to a box and to rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Problem {
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub rows: Vec<Row>,
}

/// How far rows may seem to be missed by rounding alone, in units of the domain.
const ROUNDING: f64 = 1e-11;

impl Problem {
    /// A box without rows.
    pub fn new(lower: Vec<f64>, upper: Vec<f64>) -> Self {
        Self {
            lower,
            upper,
            rows: Vec::new(),
        }
    }

    /// Adds `coefficients . d >= least`. A row of zeros cannot be scaled; it is kept as it is and
    /// is either no condition or one that nothing meets.
    pub fn push(&mut self, mut coefficients: Vec<f64>, mut least: f64) {
        let length = coefficients.iter().map(|a| a * a).sum::<f64>().sqrt();
        if length > 0.0 {
            for a in &mut coefficients {
                *a /= length;
            }
            least /= length;
        }
        self.rows.push(Row {
            coefficients,
            least,
        });
    }

    /// Cuts the box of another problem down to a cube round the centre.
    pub fn keep_to(&mut self, other: &Self, half_width: f64) {
        for e in 0..self.lower.len() {
            self.lower[e] = other.lower[e].max(-half_width).min(other.upper[e]);
            self.upper[e] = other.upper[e].min(half_width).max(other.lower[e]);
        }
    }

    pub fn variables(&self) -> usize {
        self.lower.len()
    }

    /// The centre, or the point of the box nearest to it.
    pub fn clipped_origin(&self) -> Vec<f64> {
        let ends = self.lower.iter().zip(&self.upper);
        ends.map(|(&l, &u)| 0f64.clamp(l, u.max(l))).collect()
    }

    /// The sum of all rows, each times its multiplier: a condition that follows from them.
    pub fn combined(&self, multipliers: &[f64]) -> (Vec<f64>, f64) {
        let mut sum = vec![0.0; self.variables()];
        let mut least = 0.0;
        for (row, &y) in self.rows.iter().zip(multipliers) {
            // A negative multiplier would turn the row round.
            if y > 0.0 {
                for (sum, a) in sum.iter_mut().zip(&row.coefficients) {
                    *sum += y * a;
                }
                least += y * row.least;
            }
        }
        (sum, least)
    }

    /// A lower bound on the distance of every point of the box that meets all rows: the distance
    /// to the combined row, in closed form. Infinite when none does.
    pub fn bound(&self, multipliers: &[f64], norm: &dyn ConvexNorm) -> f64 {
        let (row, least) = self.combined(multipliers);
        self.nearest_on(&row, least, norm)
            .map_or(f64::INFINITY, |(_, distance)| distance.max(0.0))
    }

    /// The displacement of least norm with `row . d >= least` in the box, and its norm; `None` when the box
    /// does not reach that far.
    pub fn nearest_on(
        &self,
        row: &[f64],
        least: f64,
        norm: &dyn ConvexNorm,
    ) -> Option<(Vec<f64>, f64)> {
        norm.nearest_on_row(row, least, &self.lower, &self.upper)
    }

    /// By how much a displacement clears every row.
    pub fn slacks(&self, displacement: &[f64]) -> Vec<f64> {
        let value = |row: &Row| -> f64 {
            let terms = row.coefficients.iter().zip(displacement);
            terms.map(|(a, d)| a * d).sum()
        };
        self.rows.iter().map(|r| value(r) - r.least).collect()
    }

    /// Whether a claim that nothing meets the rows stands: even the best point of the box misses
    /// their combination.
    pub fn excludes(&self, claim: &Solution) -> bool {
        let Solution::Infeasible(multipliers) = claim else {
            return false;
        };
        let (row, least) = self.combined(multipliers);
        let size: f64 = multipliers.iter().map(|y| y.max(0.0)).sum();
        self.reach(&row) < least - ROUNDING * size
    }

    /// The largest value of a row on the box.
    pub fn reach(&self, row: &[f64]) -> f64 {
        let ends = self.lower.iter().zip(&self.upper);
        let best = |(a, (l, u)): (&f64, (&f64, &f64))| if *a > 0.0 { a * u } else { a * l };
        row.iter().zip(ends).map(best).sum()
    }
}
