//! The terms of sums by the variable that they are multiples of, with what many columns have in common held once: a
//! convolution has the same weights wherever it looks, and they are then read from near memory. Sums with
//! neighbouring numbers make a run, whose weights lie side by side.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::bounds::cone::Sums;

/// Neighbouring sums that a variable occurs in, counted from the first sum of its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Run {
    offset: u32,
    length: u32,
}

/// A column without its place.
#[derive(Clone, Copy, Debug)]
struct Shape {
    runs: [u32; 2],
    /// Where its weights begin.
    weights: u32,
}

/// The columns of a step of sums.
#[derive(Debug, Default)]
pub(crate) struct SharedColumns {
    /// For each variable before the step, its shape and the first sum that it occurs in, if any.
    columns: Vec<Option<(u32, u32)>>,
    shapes: Vec<Shape>,
    runs: Vec<Run>,
    weights: Vec<f64>,
}

impl SharedColumns {
    pub fn of(sums: &Sums) -> Self {
        let (starts, terms) = sums.by_variable();
        let mut columns = Self {
            columns: vec![None; sums.first],
            ..Self::default()
        };
        let mut known: HashMap<u64, Vec<u32>> = HashMap::new();
        let (mut runs, mut weights): (Vec<Run>, Vec<f64>) = (Vec::new(), Vec::new());
        for variable in 0..sums.first {
            let mine = &terms[starts[variable] as usize..starts[variable + 1] as usize];
            let Some(&(first, _)) = mine.first() else {
                continue;
            };
            runs.clear();
            weights.clear();
            for &(sum, weight) in mine {
                match runs.last_mut() {
                    Some(run) if run.offset + run.length == sum - first => run.length += 1,
                    _ => runs.push(Run {
                        offset: sum - first,
                        length: 1,
                    }),
                }
                weights.push(weight);
            }
            let mut hasher = DefaultHasher::new();
            runs.hash(&mut hasher);
            for weight in &weights {
                hasher.write_u64(weight.to_bits());
            }
            let alike = known.entry(hasher.finish()).or_default();
            let same = alike.iter().find(|&&shape| {
                let shape = columns.shapes[shape as usize];
                let [from, to] = shape.runs.map(|at| at as usize);
                let own = &columns.weights[shape.weights as usize..];
                let equal = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
                columns.runs[from..to] == runs[..] && own.iter().zip(&weights).all(equal)
            });
            let shape = if let Some(&shape) = same {
                shape
            } else {
                let shape = columns.shapes.len() as u32;
                columns.add(&runs, &weights);
                alike.push(shape);
                shape
            };
            columns.columns[variable] = Some((shape, first));
        }
        columns
    }

    fn add(&mut self, runs: &[Run], weights: &[f64]) {
        let from = self.runs.len() as u32;
        self.shapes.push(Shape {
            runs: [from, from + runs.len() as u32],
            weights: self.weights.len() as u32,
        });
        self.runs.extend_from_slice(runs);
        self.weights.extend_from_slice(weights);
    }

    /// The sums that a variable occurs in, run by run: the first of a run, counted from the first of the step, and the
    /// weights of its sums.
    #[inline]
    pub fn runs(&self, variable: usize) -> impl Iterator<Item = (usize, &[f64])> {
        let column = self.columns.get(variable).copied().flatten();
        column.into_iter().flat_map(move |(shape, first)| {
            let shape = self.shapes[shape as usize];
            let [from, to] = shape.runs.map(|at| at as usize);
            let mut at = shape.weights as usize;
            self.runs[from..to].iter().map(move |run| {
                let weights = &self.weights[at..at + run.length as usize];
                at += run.length as usize;
                ((first + run.offset) as usize, weights)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums over windows of three of ten inputs, two for each window, as a convolution of two channels makes them; the last
    /// window has another weight if asked for.
    fn windows(odd: bool) -> Sums {
        let mut sums = Sums {
            first: 10,
            starts: vec![0],
            ..Sums::default()
        };
        for window in 0..8 {
            for channel in 0..2 {
                for k in 0..3u8 {
                    sums.from.push(window + u32::from(k));
                    let weight = f64::from(1 + k + 3 * channel);
                    let is_odd = odd && window == 7 && k == 0;
                    sums.weights.push(if is_odd { -weight } else { weight });
                }
                sums.starts.push(sums.from.len());
                sums.constants.push(0.0);
            }
        }
        sums
    }

    #[test]
    fn columns_have_all_terms_of_the_sums_and_hold_equal_ones_once() {
        for odd in [false, true] {
            let sums = windows(odd);
            let columns = SharedColumns::of(&sums);
            let mut found = Vec::new();
            for variable in 0..12 {
                for (first, weights) in columns.runs(variable) {
                    let each = weights.iter().enumerate();
                    found.extend(each.map(|(k, &weight)| (first + k, variable, weight)));
                }
            }
            found.sort_by_key(|&(sum, variable, _)| (sum, variable));
            let all = (0..sums.len()).flat_map(|k| sums.terms(k).map(move |(v, w)| (k, v, w)));
            assert_eq!(found, all.collect::<Vec<_>>());
            // Both ends have two columns of their own each; what differs in one place differs from all others there.
            assert_eq!(columns.shapes.len(), 5 + usize::from(odd));
        }
    }
}
