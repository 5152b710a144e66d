//! Norms whose balls are convex: how programs state them, and the nearest point beyond one hyperplane.
//!
//! Everything here is in displacements from a centre, in units of the domain's width per element, so that
//! all norms are plain.

use std::fmt;

/// How a norm is made small by a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinearForm {
    /// One size that no element exceeds.
    Largest,
    /// The sum of the parts of all elements above and below the centre.
    Sum,
    /// The sum of squares: quadratic, no linear program.
    Squares,
}

/// A norm that programs can make small.
pub trait ConvexNorm: Sync {
    /// The length of a displacement.
    fn length(&self, displacement: &[f64]) -> f64;

    /// What a program makes small.
    fn form(&self) -> LinearForm;

    /// The displacement of least length with `row . d >= least`; `None` when the helpful elements do not
    /// reach that far.
    fn nearest_beyond(&self, row: &[f64], least: f64, helpful: Helpful) -> Option<Vec<f64>>;
}

impl fmt::Debug for dyn ConvexNorm + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.form())
    }
}

impl dyn ConvexNorm + '_ {
    /// The displacement of least length with `row . d >= least` between ends that hold the centre, up to
    /// rounding, and its length; `None` when the ends do not reach that far.
    pub fn nearest_on_row(
        &self,
        row: &[f64],
        least: f64,
        lower: &[f64],
        upper: &[f64],
    ) -> Option<(Vec<f64>, f64)> {
        if least <= 0.0 {
            return Some((vec![0.0; row.len()], 0.0));
        }
        let displacement = self.nearest_beyond(row, least, Helpful::of(row, lower, upper))?;
        let length = self.length(&displacement);
        Some((displacement, length))
    }
}

/// The elements that can help a row: their coefficient is not 0, and they have room on the helpful side.
#[derive(Debug, Clone)]
pub struct Helpful(pub(super) Vec<(usize, f64)>);

impl Helpful {
    fn of(row: &[f64], lower: &[f64], upper: &[f64]) -> Self {
        let room = |e: usize| {
            let room = if row[e] > 0.0 { upper[e] } else { -lower[e] };
            room.max(0.0)
        };
        let elements = (0..row.len()).filter(|&e| row[e] != 0.0);
        let elements = elements.map(|e| (e, room(e)));
        Self(elements.filter(|&(_, room)| room > 0.0).collect())
    }

    /// All elements move together, each at its rate and until its room ends, until the row is met.
    pub(super) fn move_together(
        mut self,
        row: &[f64],
        least: f64,
        rate: impl Fn(usize) -> f64,
    ) -> Option<Vec<f64>> {
        let step = self.common_step(least, |e| row[e].abs(), &rate)?;
        let mut displacement = vec![0.0; row.len()];
        for (e, room) in self.0 {
            displacement[e] = (step * rate(e)).min(room).copysign(row[e]);
        }
        Some(displacement)
    }

    /// The step `s` with `sum gain min(s rate, room) = least`.
    fn common_step(
        &mut self,
        least: f64,
        gain: impl Fn(usize) -> f64,
        rate: impl Fn(usize) -> f64,
    ) -> Option<f64> {
        let helpful = &mut self.0;
        helpful.sort_by(|a, b| (a.1 / rate(a.0)).total_cmp(&(b.1 / rate(b.0))));
        let mut slope: f64 = helpful.iter().map(|&(e, _)| gain(e) * rate(e)).sum();
        let mut full = 0.0;
        for &(e, room) in helpful.iter() {
            let step = (least - full) / slope;
            if step * rate(e) <= room {
                return Some(step);
            }
            full += gain(e) * room;
            slope -= gain(e) * rate(e);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::Norm;

    #[test]
    fn elements_without_room_leave_the_work_to_others() {
        let (lower, upper) = ([0.0, -1.0, -1.0], [0.1, 1.0, 1.0]);
        let row = [1.0, -1.0, 0.5];
        let nearest = |norm: Norm, least| {
            let convex = norm.convex().unwrap();
            convex.nearest_on_row(&row, least, &lower, &upper)
        };
        let (d, t) = nearest(Norm::LINF, 0.85).unwrap();
        assert!((t - 0.5).abs() < 1e-12 && (d[0] - 0.1).abs() < 1e-12);
        let (d, t) = nearest(Norm::L1, 0.85).unwrap();
        assert!((t - 0.85).abs() < 1e-12, "{d:?}");
        assert!(nearest(Norm::L2, 1.61).is_none());
        assert!(nearest(Norm::L2, 1.59).is_some());
    }
}
