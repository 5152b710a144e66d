//! Whether a symmetric matrix has no negative eigenvalue, beyond doubt.
//!
//! If a Cholesky factorisation in floating point runs through, the product R'R of what it finds, which has no
//! negative eigenvalue, differs from the matrix in entry (i, j) by at most `g sqrt(a_ii a_jj)`, g being
//! (n + 1) u / (1 - 2 (n + 1) u) for a matrix of n rows and u = 2^-53 (Demmel; Rump, "Verification of positive
//! definiteness"). The difference as a whole is then at most g times the trace. So the matrix is factorised with that
//! taken off its diagonal, and with it all that entries can be wrong by.

use crate::until::Until;

/// More than underflow adds up to in a factorisation of numbers of about 1.
pub(super) const UNDERFLOW: f64 = 1e-200;

/// Whether a symmetric matrix, given up to errors, is seen in time to have no negative eigenvalue. Of its rows of length `n` the part
/// right of the diagonal counts. Rows and columns are scaled by powers of two first, so that the diagonal is about 1;
/// `errors(scales)` are, row by row, sums of what the scaled entries can be wrong by.
pub(super) fn is_semidefinite(
    n: usize,
    mut matrix: Vec<f64>,
    errors: impl FnOnce(&[f64]) -> Vec<f64>,
    until: Until<'_>,
) -> bool {
    let scales: Vec<f64> = (0..n).map(|k| scale(matrix[k * n + k])).collect();
    if scales.contains(&0.0) {
        return false;
    }
    let worst = errors(&scales).into_iter().fold(0.0, larger);
    let mut trace = 0.0;
    for row in 0..n {
        for column in row..n {
            matrix[row * n + column] *= scales[row] * scales[column];
        }
        trace += matrix[row * n + row];
    }
    let shift = worst + 4.0 * (n as f64 + 4.0) * f64::EPSILON * trace + UNDERFLOW;
    for k in 0..n {
        matrix[k * n + k] -= shift;
    }
    factorises(n, &mut matrix, until)
}

/// The larger; what is no number wins.
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a >= b { a } else { b }
}

/// A power of two that brings a diagonal entry near 1; 0 if there is none.
pub(super) fn scale(entry: f64) -> f64 {
    let scale = (-0.5 * entry.log2()).round();
    if entry > 0.0 && scale.abs() < 150.0 {
        2.0_f64.powi(scale as i32)
    } else {
        0.0
    }
}

/// Factorises in place, right of the diagonal; false if a pivot is not positive, or time is up.
fn factorises(n: usize, matrix: &mut [f64], until: Until<'_>) -> bool {
    deepconcolic_network::vectorised(|| {
        for k in 0..n {
            if until.is_over() {
                return false;
            }
            let (above, below) = matrix.split_at_mut((k + 1) * n);
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
                    for (entry, &part) in other[i..].iter_mut().zip(&row[i..]) {
                        *entry -= factor * part;
                    }
                }
            }
        }
        true
    })
}

#[cfg(test)]
pub(super) mod tests {
    use deepconcolic_testing::Random;
    use num_bigint::BigInt;
    use num_rational::BigRational;

    use super::*;

    fn exact(x: f64) -> BigRational {
        BigRational::from_float(x).expect("finite")
    }

    /// Whether all pivots are positive, in rational numbers.
    fn is_definite(n: usize, matrix: &[f64]) -> bool {
        let zero = BigRational::from_integer(BigInt::from(0));
        let mut rows: Vec<Vec<BigRational>> = (0..n)
            .map(|i| {
                (0..n)
                    .map(|j| exact(matrix[i.min(j) * n + i.max(j)]))
                    .collect()
            })
            .collect();
        for k in 0..n {
            if rows[k][k] <= zero {
                return false;
            }
            for i in k + 1..n {
                let pivot = rows[k].clone();
                let factor = &rows[i][k] / &pivot[k];
                for (entry, part) in rows[i].iter_mut().zip(&pivot).skip(k) {
                    *entry -= &factor * part;
                }
            }
        }
        true
    }

    /// A matrix next to singular: the last row depends on the others but for a little.
    fn next_to_singular(random: &mut Random, little: f64) -> (usize, Vec<f64>) {
        let n = 1 + random.below(6);
        let factor: Vec<f64> = random.list(n * n, -1.0, 1.0);
        let sizes: Vec<f64> = (0..n)
            .map(|_| 10f64.powi(random.below(9) as i32 - 4))
            .collect();
        let mut matrix = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                let own = (0..n.saturating_sub(1)).map(|k| factor[i * n + k] * factor[j * n + k]);
                let entry = own.sum::<f64>() + if i == j { little } else { 0.0 };
                matrix[i * n + j] = entry * sizes[i] * sizes[j];
            }
        }
        (n, matrix)
    }

    /// Asks of matrices next to singular whether they have a negative eigenvalue, beside rational numbers.
    pub fn accepts_what_is_definite(is_semidefinite: impl Fn(usize, Vec<f64>) -> bool) {
        let mut random = Random::new(3);
        let (mut accepted, mut missed) = (0, 0);
        for round in 0..300 {
            let little = [0.0, 1e-17, 1e-15, -1e-15, 1e-12, -1e-12, 1e-6, -1e-6][round % 8];
            let (n, matrix) = next_to_singular(&mut random, little);
            let yes = is_semidefinite(n, matrix.clone());
            let is = is_definite(n, &matrix);
            assert!(is || !yes, "{n} {matrix:?}");
            accepted += usize::from(yes);
            missed += usize::from(is && !yes && little >= 1e-12);
        }
        assert!(accepted > 50, "{accepted}");
        assert_eq!(missed, 0);
    }

    #[test]
    fn what_is_accepted_is_definite_in_rational_numbers() {
        accepts_what_is_definite(|n, matrix| {
            is_semidefinite(n, matrix, |_| vec![0.0; n], Until::NEVER)
        });
    }

    #[test]
    fn errors_of_entries_are_taken_off() {
        let matrix = vec![1.0, 0.9, 0.9, 1.0];
        assert!(is_semidefinite(
            2,
            matrix.clone(),
            |_| vec![0.05; 2],
            Until::NEVER
        ));
        assert!(!is_semidefinite(
            2,
            matrix.clone(),
            |_| vec![0.05, 0.2],
            Until::NEVER
        ));
        assert!(!is_semidefinite(
            2,
            matrix,
            |_| vec![f64::NAN, 0.0],
            Until::NEVER
        ));
        assert!(!is_semidefinite(
            1,
            vec![f64::NAN],
            |_| vec![0.0],
            Until::NEVER
        ));
        assert!(!is_semidefinite(1, vec![0.0], |_| vec![0.0], Until::NEVER));
    }
}
