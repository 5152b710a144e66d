//! Who reads a group of variables: the weighted squares of the derivatives by the group are a quadratic form
//! `v M v` of the readers' parts v in them, and at most a sum of weighted squares of these parts.
//!
//! - By sizes: for any positive x the form is at most the sum of `v_r^2` times `sum over l of |M_rl| x_l / x_r`. x is
//!   taken to be the largest magnitude of each part, where the two are the same.
//! - By a factor: if `factor - M` has no negative eigenvalue, the form is at most `factor` times the sum of `v_r^2`.

use std::ops::Range;

use rayon::prelude::*;

use crate::bounds::cone::{Cone, Step};
use crate::steepness::envelope::Envelope;
use crate::steepness::ranges::{TINY, sum_up, up};
use crate::until::Until;

/// Products of weights that a group may take; with more, magnitudes of weights are multiplied instead.
const MOST_PRODUCTS: usize = 1 << 32;

/// A reader's part in the derivatives by the variables of a group.
struct Reader {
    variable: usize,
    /// The largest magnitude of its slope, 1 for a sum.
    slope: f64,
    /// The largest magnitude of its part.
    size: f64,
    /// Variables of the group, counted from its first, and weights.
    terms: Vec<(usize, f64)>,
}

/// The readers of a group, and the weights of the squared derivatives by its variables.
pub struct SlopeReading {
    readers: Vec<Reader>,
    /// For each variable of the group, its readers by number, and weights.
    columns: Vec<Vec<(usize, f64)>>,
    squares: Vec<f64>,
    /// How often a reader names one variable at most.
    repeats: usize,
}

/// A reader's share in the sum, before its slope.
pub(super) struct Share {
    pub variable: usize,
    pub slope: f64,
    pub weight: f64,
}

impl SlopeReading {
    /// Of a group of which step `after` and the following can read, given weights for all variables.
    pub(super) fn of(
        cone: &Cone,
        after: usize,
        range: Range<usize>,
        weights: &[f64],
        slopes: &[[f64; 2]],
        magnitudes: &[f64],
    ) -> Self {
        let readers = readers(cone, after, &range, weights, slopes, magnitudes);
        let mut columns: Vec<Vec<(usize, f64)>> = vec![Vec::new(); range.len()];
        for (number, reader) in readers.iter().enumerate() {
            for &(place, weight) in &reader.terms {
                columns[place].push((number, weight));
            }
        }
        Self {
            repeats: repeats(readers.iter().map(|reader| &reader.terms[..])),
            readers,
            columns,
            squares: weights[range].to_vec(),
        }
    }

    /// Whether no variable has two readers, so that sizes lose nothing.
    pub fn is_apart(&self) -> bool {
        self.columns.iter().all(|column| column.len() <= 1)
    }

    /// How many read the group.
    pub fn len(&self) -> usize {
        self.readers.len()
    }

    /// Whether nobody does.
    pub fn is_empty(&self) -> bool {
        self.readers.is_empty()
    }

    /// M times a vector with an entry for each reader, for who looks for a factor; rounded as it comes.
    pub fn times(&self, parts: &[f64]) -> Vec<f64> {
        let derivatives: Vec<f64> = self
            .columns
            .par_iter()
            .zip(&self.squares)
            .map(|(column, square)| {
                let sum: f64 = column.iter().map(|&(reader, w)| w * parts[reader]).sum();
                sum * square
            })
            .collect();
        let own = |reader: &Reader| -> f64 {
            let terms = reader.terms.iter();
            terms.map(|&(place, w)| w * derivatives[place]).sum()
        };
        self.readers.par_iter().map(own).collect()
    }

    /// The readers' shares by sizes.
    pub(super) fn by_sizes(&self) -> Vec<Share> {
        let (readers, columns, squares) = (&self.readers, &self.columns, &self.squares);
        let products: usize = columns.iter().map(|c| c.len() * c.len()).sum();
        let weights = if products <= MOST_PRODUCTS {
            with_cancellation(readers, columns, squares, self.repeats)
        } else {
            by_magnitudes(readers, columns, squares)
        };
        self.shares(weights.into_iter())
    }

    /// The readers' shares by a factor; none if it is not seen to be large enough.
    pub(super) fn by_factor(&self, factor: f64, until: Until<'_>) -> Option<Vec<Share>> {
        let follows = factor > 0.0 && factor.is_finite() && self.is_within(factor, until);
        follows.then(|| self.shares(std::iter::repeat(factor)))
    }

    fn shares(&self, weights: impl Iterator<Item = f64>) -> Vec<Share> {
        let pairs = self.readers.iter().zip(weights);
        let share = |(reader, weight): (&Reader, f64)| Share {
            variable: reader.variable,
            slope: reader.slope,
            weight,
        };
        pairs.map(share).collect()
    }

    /// Whether `factor - M` has no negative eigenvalue. With R the weights and W the squares, M is `R W R'`, and
    /// `factor / W - R' R` has one exactly if that does: the smaller of the two is judged.
    fn is_within(&self, factor: f64, until: Until<'_>) -> bool {
        let rows: Vec<&[(usize, f64)]> = self.readers.iter().map(|r| &r.terms[..]).collect();
        let columns: Vec<&[(usize, f64)]> = self.columns.iter().map(|c| &c[..]).collect();
        let live = columns.iter().filter(|column| !column.is_empty()).count();
        if rows.len() <= live {
            let diagonal = vec![factor; rows.len()];
            return Gram {
                rows,
                columns,
                weights: &self.squares,
                repeats: self.repeats,
            }
            .is_below(&diagonal, until);
        }
        // Variables that nobody reads have a row of their own, with nothing but its diagonal.
        let pairs = columns.iter().zip(&self.squares);
        let diagonal = pairs.map(|(c, w)| if c.is_empty() { 1.0 } else { factor / w });
        let diagonal: Vec<f64> = diagonal.collect();
        Gram {
            weights: &vec![1.0; rows.len()],
            rows: columns,
            columns: rows,
            repeats: self.repeats,
        }
        .is_below(&diagonal, until)
    }
}

/// Products of rows: entry (k, l) is the sum of weight times the entries of rows k and l.
struct Gram<'a> {
    rows: Vec<&'a [(usize, f64)]>,
    /// The same entries, column by column.
    columns: Vec<&'a [(usize, f64)]>,
    /// One for each column.
    weights: &'a [f64],
    repeats: usize,
}

impl Gram<'_> {
    /// Whether a diagonal less the products has no negative eigenvalue.
    fn is_below(&self, diagonal: &[f64], until: Until<'_>) -> bool {
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
        let Some(mut matrix) = Envelope::new(&last.collect::<Vec<_>>()) else {
            return false;
        };
        let into = matrix.rows().into_par_iter().enumerate();
        into.for_each(|(k, into)| {
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
            .map(|(row, scale)| up(root(row, self.weights, self.repeats) * scale))
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

/// Those whose part is not 0 all over the region.
fn readers(
    cone: &Cone,
    after: usize,
    range: &Range<usize>,
    weights: &[f64],
    slopes: &[[f64; 2]],
    magnitudes: &[f64],
) -> Vec<Reader> {
    let mut readers = Vec::new();
    for step in &cone.steps[after..] {
        match step {
            Step::Sums(sums) => {
                for k in 0..sums.len() {
                    let variable = sums.first + k;
                    let size = magnitudes[variable];
                    let terms = sums.terms(k).filter(|(from, _)| range.contains(from));
                    let terms = terms.filter(|(from, _)| weights[*from] != 0.0);
                    let terms: Vec<_> = terms.map(|(v, w)| (v - range.start, w)).collect();
                    if size != 0.0 && !terms.is_empty() {
                        readers.push(Reader {
                            variable,
                            slope: 1.0,
                            size,
                            terms,
                        });
                    }
                }
            }
            Step::Curves(curves) => {
                for (k, &input) in curves.inputs.iter().enumerate() {
                    let [a, b] = slopes[curves.first_unit + k];
                    let slope = a.abs().max(b.abs());
                    let variable = curves.first + k;
                    let size = magnitudes[variable];
                    let input = input as usize;
                    let moves = slope != 0.0 && size != 0.0;
                    if range.contains(&input) && weights[input] != 0.0 && moves {
                        readers.push(Reader {
                            variable,
                            slope,
                            size: up(slope * size),
                            terms: vec![(input - range.start, 1.0)],
                        });
                    }
                }
            }
        }
    }
    readers
}

/// How much rounding can take of a sum of products of three numbers, in parts of what bounds their magnitudes.
fn rounding(terms: usize) -> f64 {
    (terms as f64 + 8.0) * f64::EPSILON
}

/// A bound on the root of the sum of weighted squares along a row, entries of one place taken together: the square of a
/// sum of n numbers is at most n times the sum of their squares.
fn root(row: &[(usize, f64)], weights: &[f64], repeats: usize) -> f64 {
    let parts = row.iter();
    let sum = sum_up(parts.map(|&(place, w)| up(weights[place] * w.abs()) * w.abs()));
    up(up(sum * repeats as f64).sqrt())
}

/// How often a row names one place at most.
fn repeats<'a>(rows: impl Iterator<Item = &'a [(usize, f64)]>) -> usize {
    let mut most = 1;
    for row in rows {
        let mut places: Vec<usize> = row.iter().map(|(place, _)| *place).collect();
        places.sort_unstable();
        let runs = places.chunk_by(|a, b| a == b);
        most = runs.map(<[usize]>::len).fold(most, usize::max);
    }
    most
}

/// The weight of each reader's square, from the entries of M.
fn with_cancellation(
    readers: &[Reader],
    columns: &[Vec<(usize, f64)>],
    squares: &[f64],
    repeats: usize,
) -> Vec<f64> {
    // Entry (r, l) errs by less than its terms' magnitudes, which the roots of (r, r) and (l, l) bound.
    let roots: Vec<f64> = readers
        .iter()
        .map(|reader| root(&reader.terms, squares, repeats))
        .collect();
    let share = |sums: &mut Sparse, reader: &Reader, root: f64| {
        for &(place, weight) in &reader.terms {
            let factor = squares[place] * weight;
            for &(other, w) in &columns[place] {
                sums.add(other, factor * w);
            }
        }
        let error = rounding(reader.terms.len() * repeats) * root;
        let entries = sums.drain().map(|(other, sum)| {
            let entry = sum.abs() + error * roots[other] + TINY;
            entry * readers[other].size
        });
        sum_up(entries) / reader.size
    };
    readers
        .par_iter()
        .zip(&roots)
        .map_init(
            || Sparse::new(readers.len()),
            |sums, (reader, &root)| up(share(sums, reader, root)),
        )
        .collect()
}

/// The weight of each reader's square, with the magnitudes of all products.
fn by_magnitudes(readers: &[Reader], columns: &[Vec<(usize, f64)>], squares: &[f64]) -> Vec<f64> {
    let sizes: Vec<f64> = columns
        .iter()
        .map(|column| {
            sum_up(
                column
                    .iter()
                    .map(|&(other, w)| w.abs() * readers[other].size),
            )
        })
        .collect();
    let share = |reader: &Reader| {
        let terms = reader.terms.iter();
        let parts = terms.map(|&(i, w)| up(squares[i] * w.abs()) * sizes[i]);
        up(sum_up(parts) / reader.size)
    };
    readers.par_iter().map(share).collect()
}

/// Sums by number, of which few are touched.
struct Sparse {
    sums: Vec<f64>,
    is_touched: Vec<bool>,
    touched: Vec<usize>,
}

impl Sparse {
    fn new(count: usize) -> Self {
        Self {
            sums: vec![0.0; count],
            is_touched: vec![false; count],
            touched: Vec::new(),
        }
    }

    #[inline]
    fn add(&mut self, number: usize, part: f64) {
        if !self.is_touched[number] {
            self.is_touched[number] = true;
            self.touched.push(number);
        }
        self.sums[number] += part;
    }

    /// Hands out every sum that was touched and forgets it.
    fn drain(&mut self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let Self {
            sums,
            is_touched,
            touched,
        } = self;
        touched.drain(..).map(|number| {
            is_touched[number] = false;
            (number, std::mem::take(&mut sums[number]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(terms: &[(usize, f64)]) -> Reader {
        Reader {
            variable: 9,
            slope: 1.0,
            size: 1.0,
            terms: terms.to_vec(),
        }
    }

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

    #[test]
    fn entries_are_sums_over_every_pair_of_terms() {
        // M of 1 + 1 + 1 = 3 and of 3 are the same, but for the room left for rounding.
        let share = |terms: &[(usize, f64)]| {
            let readers = [reader(terms)];
            let columns = [terms.iter().map(|&(_, w)| (0, w)).collect::<Vec<_>>()];
            let repeats = repeats([terms].into_iter());
            with_cancellation(&readers, &columns, &[1.0], repeats)[0]
        };
        let (again, once) = (share(&[(0, 1.0), (0, 1.0), (0, 1.0)]), share(&[(0, 3.0)]));
        for bound in [again, once] {
            assert!((9.0..9.000_000_1).contains(&bound), "{bound}");
        }
    }
}
