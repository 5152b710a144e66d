//! The weights that readers of a group have by sizes: for any positive x, `2 |v_r v_l| <= v_r^2 x_l / x_r + v_l^2 x_r / x_l`,
//! so that `v M v` is at most the sum of `v_r^2` times `sum over l of |M_rl| x_l / x_r`. x is taken to be the largest magnitude
//! of each part, where the two are the same.

use rayon::prelude::*;

use crate::steepness::gram::{root, rounding};
use crate::steepness::ranges::{TINY, sum_up, up};
use crate::steepness::reading::{Reader, SlopeReading};
use crate::until::Until;

/// Products of weights that a group may take; with more, magnitudes of weights are multiplied instead.
const MOST_PRODUCTS: usize = 1 << 32;

/// The weight of each reader's square; infinite ones if time is up.
pub(super) fn by_sizes(reading: &SlopeReading, until: Until<'_>) -> Vec<f64> {
    let columns = reading.columns.iter();
    let products: usize = columns.map(|c| c.len() * c.len()).sum();
    if products <= MOST_PRODUCTS && reading.is_moderate() {
        with_cancellation(reading, until)
    } else {
        by_magnitudes(reading)
    }
}

/// The weight of each reader's square, from the entries of M.
fn with_cancellation(reading: &SlopeReading, until: Until<'_>) -> Vec<f64> {
    let SlopeReading {
        readers,
        columns,
        squares,
        ..
    } = reading;
    // Entry (r, l) errs by less than its terms' magnitudes, which the roots of (r, r) and (l, l) bound.
    let roots: Vec<f64> = readers
        .iter()
        .map(|reader| root(&reader.terms, squares, reading.repeats))
        .collect();
    let share = |sums: &mut Sparse, reader: &Reader, root: f64| {
        if until.is_over() {
            return f64::INFINITY;
        }
        for &(place, weight) in &reader.terms {
            let factor = squares[place] * weight;
            for &(other, w) in &columns[place] {
                sums.add(other, factor * w);
            }
        }
        let error = rounding(reader.terms.len() * reading.repeats) * root;
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
pub(super) fn by_magnitudes(reading: &SlopeReading) -> Vec<f64> {
    let SlopeReading {
        readers,
        columns,
        squares,
        ..
    } = reading;
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
