//! Dense square matrices, as little as the search for multipliers needs. Rows are added to rows, so that the
//! inner loops run over neighbours.

use deepconcolic_network::vectorised;

/// Rows of equal length.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    pub rows: usize,
    pub columns: usize,
    pub entries: Vec<f64>,
}

impl Matrix {
    pub fn zero(rows: usize, columns: usize) -> Self {
        Self {
            rows,
            columns,
            entries: vec![0.0; rows * columns],
        }
    }

    pub fn identity(rows: usize) -> Self {
        let mut identity = Self::zero(rows, rows);
        for k in 0..rows {
            identity.entries[k * rows + k] = 1.0;
        }
        identity
    }

    pub fn row(&self, row: usize) -> &[f64] {
        &self.entries[row * self.columns..(row + 1) * self.columns]
    }

    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.entries[row * self.columns..(row + 1) * self.columns]
    }

    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.entries[row * self.columns + column]
    }

    pub fn transposed(&self) -> Self {
        let mut other = Self::zero(self.columns, self.rows);
        for row in 0..self.rows {
            for column in 0..self.columns {
                other.entries[column * self.rows + row] = self.at(row, column);
            }
        }
        other
    }

    /// The product with another; entries here that are 0 cost nothing.
    pub fn times(&self, other: &Self) -> Self {
        let mut product = Self::zero(self.rows, other.columns);
        vectorised(|| {
            for row in 0..self.rows {
                let into = &mut product.entries[row * other.columns..(row + 1) * other.columns];
                for (k, &factor) in self.row(row).iter().enumerate() {
                    if factor != 0.0 {
                        add_multiple(into, other.row(k), factor);
                    }
                }
            }
        });
        product
    }

    /// The part of a square matrix between two places, as a matrix of its own.
    pub fn block(&self, rows: std::ops::Range<usize>, columns: std::ops::Range<usize>) -> Self {
        let mut block = Self::zero(rows.len(), columns.len());
        for (to, row) in rows.enumerate() {
            let from = &self.row(row)[columns.clone()];
            block.row_mut(to).copy_from_slice(from);
        }
        block
    }

    /// The largest eigenvalue of a symmetric matrix without negative ones, roughly and rather too large.
    pub fn largest_eigenvalue(&self) -> f64 {
        let mut vector = vec![1.0; self.rows];
        // Not orthogonal to anything in particular.
        for (k, entry) in vector.iter_mut().enumerate() {
            *entry += 0.1 * ((k * 7919 % 101) as f64 / 101.0);
        }
        let mut value = 0.0;
        for _ in 0..40 {
            let mut next = vec![0.0; self.rows];
            for (k, &factor) in vector.iter().enumerate() {
                add_multiple(&mut next, self.row(k), factor);
            }
            value = next.iter().map(|x| x * x).sum::<f64>().sqrt();
            if value == 0.0 {
                return 0.0;
            }
            vector = next.into_iter().map(|x| x / value).collect();
        }
        1.1 * value
    }
}

#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "inlined into the function compiled for wide vectors"
)]
pub(super) fn add_multiple(into: &mut [f64], from: &[f64], factor: f64) {
    for (to, &part) in into.iter_mut().zip(from) {
        *to += factor * part;
    }
}

/// U with U'U a symmetric matrix.
pub(super) struct Factor(Matrix);

impl Factor {
    /// None if the matrix is not positive definite.
    pub fn of(mut matrix: Matrix) -> Option<Self> {
        let n = matrix.rows;
        let whole = vectorised(|| {
            for k in 0..n {
                let (above, below) = matrix.entries.split_at_mut((k + 1) * n);
                let row = &mut above[k * n..];
                let pivot = row[k];
                if !(pivot > 0.0 && pivot.is_finite()) {
                    return false;
                }
                let root = pivot.sqrt();
                for entry in &mut row[k..] {
                    *entry /= root;
                }
                for (i, other) in below.chunks_exact_mut(n).enumerate() {
                    let i = k + 1 + i;
                    let factor = row[i];
                    if factor != 0.0 {
                        add_multiple(&mut other[i..], &row[i..], -factor);
                    }
                }
            }
            true
        });
        whole.then_some(Self(matrix))
    }

    /// Solves for several right sides at once: the columns of a matrix.
    pub fn solve(&self, mut right: Matrix) -> Matrix {
        let (n, width) = (right.rows, right.columns);
        vectorised(|| {
            for k in 0..n {
                let (above, below) = right.entries.split_at_mut((k + 1) * width);
                let row = &mut above[k * width..];
                let pivot = self.0.at(k, k);
                for entry in row.iter_mut() {
                    *entry /= pivot;
                }
                for (i, other) in below.chunks_exact_mut(width).enumerate() {
                    let factor = self.0.at(k, k + 1 + i);
                    if factor != 0.0 {
                        add_multiple(other, row, -factor);
                    }
                }
            }
            for k in (0..n).rev() {
                let (above, below) = right.entries.split_at_mut(k * width);
                let row = &mut below[..width];
                let pivot = self.0.at(k, k);
                for entry in row.iter_mut() {
                    *entry /= pivot;
                }
                for (i, other) in above.chunks_exact_mut(width).enumerate() {
                    let factor = self.0.at(i, k);
                    if factor != 0.0 {
                        add_multiple(other, row, -factor);
                    }
                }
            }
        });
        right
    }
}

#[cfg(test)]
mod tests {
    use deepconcolic_testing::Random;

    use super::*;

    #[test]
    fn solutions_solve() {
        let mut random = Random::new(1);
        for n in 1..12 {
            let half = Matrix {
                rows: n,
                columns: n,
                entries: random.list(n * n, -1.0, 1.0),
            };
            let mut matrix = half.transposed().times(&half);
            for k in 0..n {
                matrix.row_mut(k)[k] += 0.1;
            }
            let inverse = Factor::of(matrix.clone())
                .unwrap()
                .solve(Matrix::identity(n));
            let product = matrix.times(&inverse);
            for row in 0..n {
                for column in 0..n {
                    let expected = f64::from(u8::from(row == column));
                    assert!((product.at(row, column) - expected).abs() < 1e-9);
                }
            }
            matrix.row_mut(n - 1)[n - 1] = -1.0;
            assert!(Factor::of(matrix).is_none());
        }
    }
}
