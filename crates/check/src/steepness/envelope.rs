//! Whether a large symmetric matrix whose entries lie near its diagonal has no negative eigenvalue.
//!
//! Such are the matrices of convolutions: an element meets those of few rows of its picture alone. The envelope is what
//! lies right of the diagonal up to the end of each row, and no row ends before the one above it. Row k changes row i
//! below it in columns where row k has entries, from column i on, which all lie in row i's envelope: what is outside is 0
//! and stays so while the matrix is factorised.
//!
//! The argument is that of [`super::definite`]. Its constant is (n + 1) u as long as no product passes through more
//! roundings than that on its way into an entry, in whatever order products are taken off; here it is its own, two in the
//! sum of four that it is part of, and one for every such sum, at most n + 4. The shift has 8 (n + 4) u.

use rayon::prelude::*;

use crate::steepness::definite::{UNDERFLOW, larger, scale};
use crate::until::Until;

/// Most entries of a matrix: half a gigabyte.
const MOST_ENTRIES: usize = 1 << 26;
/// Most multiplications of a factorisation.
const MOST_WORK: f64 = 1e12;
/// Rows that are taken off the others together.
const PANEL: usize = 16;
/// Rows taken off in one go over another.
const ABREAST: usize = 4;
/// Rows that one thread changes at a time.
const SHARE: usize = 32;

/// The part of a symmetric matrix right of the diagonal, each row up to its end. Ends never go back.
pub(super) struct Envelope {
    /// For each row, where it ends.
    ends: Vec<usize>,
    /// Where each row begins among the entries.
    starts: Vec<usize>,
    entries: Vec<f64>,
}

impl Envelope {
    /// Zeros, given the last column of each row that is not; none if that is too much to work with.
    pub fn new(last: &[usize]) -> Option<Self> {
        let ends = ends(last);
        let mut starts = vec![0];
        let mut size = 0;
        for (row, end) in ends.iter().enumerate() {
            size += end - row;
            starts.push(size);
        }
        let affordable = size <= MOST_ENTRIES && work(last) <= MOST_WORK;
        affordable.then(|| Self {
            ends,
            starts,
            entries: vec![0.0; size],
        })
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    /// The entries of every row, from its diagonal on.
    pub fn rows(&mut self) -> Vec<&mut [f64]> {
        let mut rest = &mut self.entries[..];
        let mut rows = Vec::with_capacity(self.ends.len());
        for (row, &end) in self.ends.iter().enumerate() {
            let (first, others) = rest.split_at_mut(end - row);
            rows.push(first);
            rest = others;
        }
        rows
    }

    /// Whether the matrix, given up to errors, has no negative eigenvalue; no if that takes too long. `errors(scales)` are,
    /// row by row, sums of what entries can be wrong by once rows and columns are scaled.
    pub fn is_semidefinite(
        &mut self,
        errors: impl FnOnce(&[f64]) -> Vec<f64>,
        until: Until<'_>,
    ) -> bool {
        let n = self.len();
        let diagonal = (0..n).map(|k| self.entries[self.starts[k]]);
        let scales: Vec<f64> = diagonal.map(scale).collect();
        if scales.contains(&0.0) {
            return false;
        }
        let worst = errors(&scales).into_iter().fold(0.0, larger);
        let mut trace = 0.0;
        for (k, row) in self.rows().into_iter().enumerate() {
            for (entry, scale) in row.iter_mut().zip(&scales[k..]) {
                *entry *= scales[k] * scale;
            }
            trace += row[0];
        }
        let shift = worst + 4.0 * (n as f64 + 4.0) * f64::EPSILON * trace + UNDERFLOW;
        for row in self.rows() {
            row[0] -= shift;
        }
        self.factorises(until)
    }

    /// Factorises in place; false if a pivot is not positive, or if time is up.
    fn factorises(&mut self, until: Until<'_>) -> bool {
        let ends = self.ends.clone();
        let mut rows = self.rows();
        let mut panel: Vec<f64> = Vec::new();
        for first in (0..rows.len()).step_by(PANEL) {
            if until.is_over() {
                return false;
            }
            let next = (first + PANEL).min(rows.len());
            let (above, below) = rows.split_at_mut(next);
            let own = &mut above[first..];
            if !deepconcolic_network::vectorised(|| factorises_panel(own)) {
                return false;
            }
            // What the panel's rows have right of the panel, side by side and of one length.
            let width = ends[next - 1] - next;
            panel.clear();
            panel.resize(PANEL * width, 0.0);
            if width > 0 {
                for (k, (into, row)) in panel.chunks_exact_mut(width).zip(own.iter()).enumerate() {
                    let right = row.get(next - first - k..).unwrap_or_default();
                    into[..right.len()].copy_from_slice(right);
                }
            }
            let reached = below[..width].par_chunks_mut(SHARE).enumerate();
            reached.for_each(|(share, rows)| {
                deepconcolic_network::vectorised(|| {
                    for (k, row) in rows.iter_mut().enumerate() {
                        take_off(row, &panel, width, share * SHARE + k);
                    }
                });
            });
        }
        true
    }
}

/// Where each row ends, given its last column that is not 0: none before the one above it.
fn ends(last: &[usize]) -> Vec<usize> {
    let mut end = 0;
    let rows = last.iter().enumerate();
    rows.map(|(row, &last)| {
        end = end.max(last + 1).max(row + 1);
        end
    })
    .collect()
}

/// How many multiplications a factorisation takes, at most, given the last column of each row that is not 0.
pub(super) fn work(last: &[usize]) -> f64 {
    let ends = ends(last);
    let lengths = ends.iter().enumerate();
    lengths.map(|(row, end)| ((end - row) as f64).powi(2)).sum()
}

/// Factorises the first rows of a matrix, each from its diagonal on.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "inlined into the function compiled for wide vectors"
)]
fn factorises_panel(rows: &mut [&mut [f64]]) -> bool {
    for k in 0..rows.len() {
        let (above, below) = rows.split_at_mut(k + 1);
        let row = &mut above[k];
        let pivot = row[0];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        let root = pivot.sqrt();
        for entry in row.iter_mut() {
            *entry /= root;
        }
        for (distance, other) in below.iter_mut().enumerate() {
            let right = row.get(distance + 1..).unwrap_or_default();
            let factor = right.first().copied().unwrap_or(0.0);
            for (entry, part) in other.iter_mut().zip(right) {
                *entry -= factor * part;
            }
        }
    }
    true
}

/// Takes the products of a panel's rows off a row that lies `place` rows below the panel.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "inlined into the function compiled for wide vectors"
)]
fn take_off(row: &mut [f64], panel: &[f64], width: usize, place: usize) {
    for lines in panel.chunks_exact(ABREAST * width) {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| &lines[k * width + place..(k + 1) * width]);
        let [p, q, r, s] = [a[0], b[0], c[0], d[0]];
        let parts = a.iter().zip(b).zip(c.iter().zip(d));
        for (entry, ((a, b), (c, d))) in row.iter_mut().zip(parts) {
            *entry -= (p * a + q * b) + (r * c + s * d);
        }
    }
}

#[cfg(test)]
mod tests {
    use deepconcolic_testing::Random;

    use super::*;
    use crate::steepness::definite;

    /// A matrix with entries up to so far from the diagonal, dense and as an envelope.
    fn banded(n: usize, reach: usize, random: &mut Random, added: f64) -> (Vec<f64>, Envelope) {
        let half: Vec<f64> = random.list(n * n, -1.0, 1.0);
        let near = |i: usize, k: usize| i <= k && k <= i + reach / 2;
        let mut dense = vec![0.0; n * n];
        let last: Vec<usize> = (0..n).map(|i| (i + reach / 2 * 2).min(n - 1)).collect();
        let mut envelope = Envelope::new(&last).unwrap();
        for (i, row) in envelope.rows().into_iter().enumerate() {
            for j in i..n {
                let shared = (0..n).filter(|&k| near(i, k) && near(j, k));
                let entry: f64 = shared.map(|k| half[i * n + k] * half[j * n + k]).sum();
                let entry = entry + if i == j { added } else { 0.0 };
                dense[i * n + j] = entry;
                if let Some(into) = row.get_mut(j - i) {
                    *into = entry;
                } else {
                    assert!(entry.abs() <= 0.0, "{entry}");
                }
            }
        }
        (dense, envelope)
    }

    #[test]
    fn envelopes_are_judged_as_whole_matrices_are() {
        let mut random = Random::new(8);
        let mut outcomes = [0; 2];
        for round in 0..400 {
            let n = 1 + random.below(90);
            let reach = random.below(n + 1);
            let added = [1e-3, 1e-9, -1e-9, -1e-3, -0.1][round % 5];
            let (dense, mut envelope) = banded(n, reach, &mut random, added);
            let expected = definite::is_semidefinite(n, dense, |_| vec![0.0; n], Until::NEVER);
            let found = envelope.is_semidefinite(|_| vec![0.0; n], Until::NEVER);
            assert_eq!(found, expected, "{n} {reach} {added}");
            outcomes[usize::from(found)] += 1;
        }
        assert!(outcomes.iter().all(|&count| count > 50), "{outcomes:?}");
    }

    #[test]
    fn what_is_accepted_is_definite_in_rational_numbers() {
        definite::tests::accepts_what_is_definite(|n, matrix| {
            let mut envelope = Envelope::new(&vec![n - 1; n]).unwrap();
            for (k, row) in envelope.rows().into_iter().enumerate() {
                row.copy_from_slice(&matrix[k * n + k..(k + 1) * n]);
            }
            envelope.is_semidefinite(|_| vec![0.0; n], Until::NEVER)
        });
    }

    #[test]
    fn errors_are_taken_off_and_time_ends_it() {
        let mut random = Random::new(9);
        let matrix = |random: &mut Random| banded(40, 6, random, 1.0).1;
        assert!(matrix(&mut random).is_semidefinite(|_| vec![0.0; 40], Until::NEVER));
        let mut errors = vec![0.0; 40];
        errors[17] = 4.0;
        assert!(!matrix(&mut random).is_semidefinite(|_| errors, Until::NEVER));
        assert!(!matrix(&mut random).is_semidefinite(|_| vec![f64::NAN; 40], Until::NEVER));
        let over = Until {
            deadline: Some(std::time::Instant::now()),
            interrupt: None,
        };
        assert!(!matrix(&mut random).is_semidefinite(|_| vec![0.0; 40], over));
    }

    #[test]
    fn what_is_too_large_is_not_begun() {
        let wide = 1 << 14;
        assert!(Envelope::new(&vec![wide - 1; wide]).is_none());
        assert!(Envelope::new(&vec![0; wide]).is_some());
    }
}
