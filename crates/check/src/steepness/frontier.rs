//! A sum of weighted squares of derivatives, carried from the inputs towards the outputs.
//!
//! The derivative by a variable is the sum, over the variables that read it, of weight times the derivative by
//! the reader (of slope times it, where the reader is a curve). So the weighted squares of the derivatives by a
//! group of variables are a quadratic form `v M v` of their readers' parts v. For any positive x it is at most
//! the sum of `v_r^2` times `sum over l of |M_rl| x_l / x_r`: weights of squares again, now of the readers.
//! x is taken to be the largest magnitude of each part, where the two are the same.

use std::ops::Range;

use rayon::prelude::*;

use crate::bounds::cone::{Cone, Step};
use crate::steepness::ranges::{TINY, sum_up, up};

/// Products of weights that a group may take; with more, magnitudes of weights are multiplied instead.
const MOST_PRODUCTS: usize = 1 << 32;

/// Weights of squared derivatives.
pub(super) struct Frontier {
    /// One for each variable.
    pub weights: Vec<f64>,
    /// Groups eliminated.
    pub cut: usize,
}

/// The variables of a group: the inputs, or what a step defines.
pub(super) fn group(cone: &Cone, number: usize) -> Range<usize> {
    let Some(step) = number.checked_sub(1) else {
        return 0..cone.inputs.len();
    };
    match &cone.steps[step] {
        Step::Sums(sums) => sums.first..sums.first + sums.len(),
        Step::Curves(curves) => curves.first..curves.first + curves.inputs.len(),
    }
}

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

impl Frontier {
    pub fn new(cone: &Cone, inputs: &[f64]) -> Self {
        let mut weights = vec![0.0; cone.variables];
        weights[..inputs.len()].copy_from_slice(inputs);
        Self { weights, cut: 0 }
    }

    /// The largest value of the sum by the magnitudes of derivatives alone.
    pub fn value(&self, cone: &Cone, magnitudes: &[f64]) -> f64 {
        let first = group(cone, self.cut).start;
        let pairs = self.weights.iter().zip(magnitudes).skip(first);
        let parts = pairs.filter(|(weight, size)| **weight != 0.0 && **size != 0.0);
        sum_up(parts.map(|(&weight, &size)| up(weight * size) * size))
    }

    /// Eliminates the next group.
    pub fn advance(&mut self, cone: &Cone, slopes: &[[f64; 2]], magnitudes: &[f64]) {
        let range = group(cone, self.cut);
        let readers = self.readers(cone, slopes, magnitudes, &range);
        let mut columns: Vec<Vec<(usize, f64)>> = vec![Vec::new(); range.len()];
        for (number, reader) in readers.iter().enumerate() {
            for &(place, weight) in &reader.terms {
                columns[place].push((number, weight));
            }
        }
        let squares: Vec<f64> = self.weights[range].to_vec();
        let products: usize = columns.iter().map(|c| c.len() * c.len()).sum();
        let shares = if products <= MOST_PRODUCTS {
            with_cancellation(&readers, &columns, &squares)
        } else {
            by_magnitudes(&readers, &columns, &squares)
        };
        for (reader, share) in readers.iter().zip(shares) {
            let weight = &mut self.weights[reader.variable];
            *weight = up(*weight + up(share * up(reader.slope * reader.slope)));
        }
        self.cut += 1;
    }

    /// Those whose part is not 0 all over the region.
    fn readers(
        &self,
        cone: &Cone,
        slopes: &[[f64; 2]],
        magnitudes: &[f64],
        range: &Range<usize>,
    ) -> Vec<Reader> {
        let mut readers = Vec::new();
        for step in &cone.steps[self.cut..] {
            match step {
                Step::Sums(sums) => {
                    for k in 0..sums.len() {
                        let variable = sums.first + k;
                        let size = magnitudes[variable];
                        let terms = sums.terms(k).filter(|(from, _)| range.contains(from));
                        let terms = terms.filter(|(from, _)| self.weights[*from] != 0.0);
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
                        if range.contains(&input) && self.weights[input] != 0.0 && moves {
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
}

/// The largest terms that a sum of products has here, and how much rounding can take of it.
fn rounding(terms: usize) -> f64 {
    (terms as f64 + 8.0) * f64::EPSILON
}

/// How often a reader names one variable at most; 1 where none does twice.
fn repeats(readers: &[Reader]) -> usize {
    let of_reader = |reader: &Reader| {
        let mut places: Vec<usize> = reader.terms.iter().map(|&(place, _)| place).collect();
        places.sort_unstable();
        let runs = places.chunk_by(|a, b| a == b);
        runs.map(<[usize]>::len).max().unwrap_or(1)
    };
    readers.par_iter().map(of_reader).max().unwrap_or(1)
}

/// A bound on the root of the sum of weighted squares of a reader's terms, those of one variable taken together: the
/// square of a sum of n numbers is at most n times the sum of their squares.
fn root(reader: &Reader, squares: &[f64], repeats: usize) -> f64 {
    let terms = reader.terms.iter();
    let sum = sum_up(terms.map(|&(i, w)| up(squares[i] * w.abs()) * w.abs()));
    up(up(sum * repeats as f64).sqrt())
}

/// The weight of each reader's square, from the entries of M.
fn with_cancellation(
    readers: &[Reader],
    columns: &[Vec<(usize, f64)>],
    squares: &[f64],
) -> Vec<f64> {
    // Entry (r, l) errs by less than its terms' magnitudes, which the roots of (r, r) and (l, l) bound.
    let repeats = repeats(readers);
    let roots: Vec<f64> = readers
        .iter()
        .map(|reader| root(reader, squares, repeats))
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
        let again = reader(&[(0, 2.0), (1, 8.0), (0, 2.0), (0, -2.0)]);
        let once = reader(&[(0, 6.0), (1, 8.0)]);
        let squares = [1.0, 1.0];
        let both = [again, once];
        assert_eq!(repeats(&both), 3);
        assert_eq!(repeats(&both[1..]), 1);
        assert!(root(&both[0], &squares, 3) >= 10.0);
        let exact = root(&both[1], &squares, 1);
        assert!((10.0..10.000_000_1).contains(&exact));
    }

    #[test]
    fn entries_are_sums_over_every_pair_of_terms() {
        // M of 1 + 1 + 1 = 3 and of 3 are the same, but for the room left for rounding.
        let share = |terms: &[(usize, f64)]| {
            let readers = [reader(terms)];
            let columns = [terms.iter().map(|&(_, w)| (0, w)).collect::<Vec<_>>()];
            with_cancellation(&readers, &columns, &[1.0])[0]
        };
        let (again, once) = (share(&[(0, 1.0), (0, 1.0), (0, 1.0)]), share(&[(0, 3.0)]));
        for bound in [again, once] {
            assert!((9.0..9.000_000_1).contains(&bound), "{bound}");
        }
    }
}
