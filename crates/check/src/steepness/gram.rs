//! Products of rows: sums over columns of a weight times the entries that two rows have there, and how far they can be from
//! their real values.
//!
//! Rounding: such a sum errs by at most the number of its products and some, times a unit of rounding, times the
//! sum of their magnitudes, which by Cauchy and Schwarz is at most the product of the roots of two diagonal entries.
//! These roots are rounded up by more than what underflow can take, as long as entries are not huge.

use rayon::prelude::*;

use crate::steepness::envelope::Envelope;
use crate::steepness::ranges::{sum_up, up};
use crate::until::Until;

/// An entry above this could lift what underflow takes from a product above what is left for it.
pub(super) const LARGEST_ENTRY: f64 = (1_u64 << 50) as f64;

/// Products of rows: entry (k, l) is the sum of weight times the entries of rows k and l.
pub(super) struct Gram<'a> {
    pub rows: Vec<&'a [(usize, f64)]>,
    /// The same entries, column by column.
    pub columns: Vec<&'a [(usize, f64)]>,
    /// One for each column.
    pub weights: Vec<f64>,
    /// How often a row names one column at most.
    pub repeats: usize,
}

impl Gram<'_> {
    /// The last column of each row of the products that is not 0.
    pub fn last(&self) -> Vec<usize> {
        let furthest = |column: &&[(usize, f64)]| column.iter().map(|(row, _)| *row).max();
        let furthest: Vec<usize> = self
            .columns
            .iter()
            .map(|column| furthest(column).unwrap_or(0))
            .collect();
        let last = self.rows.iter().map(|row| {
            let columns = row.iter().map(|(column, _)| furthest[*column]);
            columns.max().unwrap_or(0)
        });
        last.collect()
    }

    /// Whether a diagonal less the products has no negative eigenvalue.
    pub fn is_below(&self, diagonal: &[f64], until: Until<'_>) -> bool {
        let Some(mut matrix) = Envelope::new(&self.last()) else {
            return false;
        };
        let into = matrix.rows().into_par_iter().enumerate();
        // What time does not allow to be entered is not factorised either.
        into.filter(|_| !until.is_over()).for_each(|(k, into)| {
            for &(column, weight) in self.rows[k] {
                let factor = self.weights[column] * weight;
                for &(l, w) in self.columns[column].iter().filter(|(l, _)| *l >= k) {
                    into[l - k] -= factor * w;
                }
            }
            into[0] += diagonal[k];
        });
        matrix.is_semidefinite(|scales| self.errors(diagonal, scales), until)
    }

    /// For each row of the scaled matrix, how far its entries together can be from their real values.
    fn errors(&self, diagonal: &[f64], scales: &[f64]) -> Vec<f64> {
        let roots: Vec<f64> = self
            .rows
            .iter()
            .zip(scales)
            .map(|(row, scale)| up(root(row, &self.weights, self.repeats) * scale))
            .collect();
        let met = |column: &&[(usize, f64)]| sum_up(column.iter().map(|(row, _)| roots[*row]));
        let met: Vec<f64> = self.columns.iter().map(met).collect();
        let longest = self.rows.iter().map(|row| row.len()).max().unwrap_or(0);
        let rounding = rounding(longest * self.repeats);
        let rows = self.rows.iter().zip(&roots);
        let errors = rows.zip(diagonal.iter().zip(scales));
        errors
            .map(|((row, root), (diagonal, scale))| {
                let others = sum_up(row.iter().map(|(column, _)| met[*column]));
                let own = 4.0 * f64::EPSILON * diagonal * scale * scale;
                up(up(others * root) * rounding + own)
            })
            .collect()
    }
}

/// How much rounding can take of a sum of products of three numbers, in parts of what bounds their magnitudes.
pub(super) fn rounding(terms: usize) -> f64 {
    (terms as f64 + 8.0) * f64::EPSILON
}

/// A bound on the root of the sum of weighted squares along a row, entries of one place taken together: the square of a
/// sum of n numbers is at most n times the sum of their squares.
pub(super) fn root(row: &[(usize, f64)], weights: &[f64], repeats: usize) -> f64 {
    let parts = row.iter();
    let sum = sum_up(parts.map(|&(place, w)| up(weights[place] * w.abs()) * w.abs()));
    up(up(sum * repeats as f64).sqrt())
}

/// How often a row names one place at most.
pub(super) fn repeats<'a>(rows: impl Iterator<Item = &'a [(usize, f64)]>) -> usize {
    let mut most = 1;
    for row in rows {
        let mut places: Vec<usize> = row.iter().map(|(place, _)| *place).collect();
        places.sort_unstable();
        let runs = places.chunk_by(|a, b| a == b);
        most = runs.map(<[usize]>::len).fold(most, usize::max);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_a_sum_that_names_a_variable_again_are_those_of_all_its_terms_together() {
        // Magnitudes 2 + 2 + 2 of one variable are 6, and 8 of another: the length of (6, 8).
        let again = [(0, 2.0), (1, 8.0), (0, 2.0), (0, -2.0)];
        let once = [(0, 6.0), (1, 8.0)];
        let squares = [1.0, 1.0];
        assert_eq!(repeats([&again[..], &once[..]].into_iter()), 3);
        assert_eq!(repeats([&once[..]].into_iter()), 1);
        assert!(root(&again, &squares, 3) >= 10.0);
        let exact = root(&once, &squares, 1);
        assert!((10.0..10.000_000_1).contains(&exact));
    }
}
