//! Who reads a group of variables. A reader's part v is the derivative by it, times its slope if it is a curve. With R the
//! weights that readers have for the group's variables and W the weights of the squares, derivatives by the group are `R' v` and
//! their weighted squares `v M v` with `M = R W R'`. That is at most a sum of weighted squares of the parts, of which each is at most
//! that of the derivative times the largest square of the slope:
//!
//! - By sizes: [`super::sizes`] has the argument.
//! - By a factor: if `factor - M` has no negative eigenvalue, `v M v` is at most `factor` times the sum of `v_r^2`. The
//!   eigenvalues of `R W R'` above 0 are those of `sqrt(W) R' R sqrt(W)`; with rows and columns divided by `sqrt(W)`, which
//!   changes no sign, `factor / W - R' R` may be judged instead. Both are products of rows: [`super::gram`] judges them.

use std::ops::Range;

use rayon::prelude::*;

use crate::bounds::cone::{Cone, Step};
use crate::steepness::envelope;
use crate::steepness::gram::{Gram, LARGEST_ENTRY, repeats};
use crate::steepness::ranges::up;
use crate::steepness::sizes;
use crate::until::Until;

/// A reader's part in the derivatives by the variables of a group.
pub(super) struct Reader {
    variable: usize,
    /// The largest magnitude of its slope, 1 for a sum.
    slope: f64,
    /// The largest magnitude of its part.
    pub size: f64,
    /// Variables of the group, counted from its first, and weights.
    pub terms: Vec<(usize, f64)>,
}

/// The readers of a group, and the weights of the squared derivatives by its variables.
pub struct SlopeReading {
    pub(super) readers: Vec<Reader>,
    /// For each variable of the group, its readers by number, and weights.
    pub(super) columns: Vec<Vec<(usize, f64)>>,
    pub(super) squares: Vec<f64>,
    /// How often a reader names one variable at most.
    pub(super) repeats: usize,
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
        Self::new(readers, weights[range].to_vec())
    }

    fn new(readers: Vec<Reader>, squares: Vec<f64>) -> Self {
        let mut columns: Vec<Vec<(usize, f64)>> = vec![Vec::new(); squares.len()];
        for (number, reader) in readers.iter().enumerate() {
            for &(place, weight) in &reader.terms {
                columns[place].push((number, weight));
            }
        }
        Self {
            repeats: repeats(readers.iter().map(|reader| &reader.terms[..])),
            readers,
            columns,
            squares,
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

    /// The readers' shares by sizes; infinite ones if time is up.
    pub(super) fn by_sizes(&self, until: Until<'_>) -> Vec<Share> {
        self.shares(sizes::by_sizes(self, until).into_iter())
    }

    /// The readers' shares by a factor; none if it is not seen to be large enough.
    pub(super) fn by_factor(&self, factor: f64, until: Until<'_>) -> Option<Vec<Share>> {
        let sound = factor > 0.0 && factor.is_finite() && self.is_moderate();
        let follows = sound && self.gram().is_below(&self.diagonal(factor), until);
        follows.then(|| self.shares(std::iter::repeat(factor)))
    }

    /// How many multiplications it takes, at most, to see whether a factor is large enough.
    pub fn work(&self) -> f64 {
        envelope::work(&self.gram().last())
    }

    /// Whether all weights are small enough for what [`super::gram`] says of rounding.
    pub(super) fn is_moderate(&self) -> bool {
        let mut weights = self.readers.iter().flat_map(|reader| &reader.terms);
        weights.all(|(_, weight)| weight.abs() <= LARGEST_ENTRY)
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

    /// Whether M itself is judged, which has a row for each reader, or the products of variables.
    fn is_by_readers(&self) -> bool {
        let live = self.columns.iter().filter(|column| !column.is_empty());
        self.readers.len() <= live.count()
    }

    fn gram(&self) -> Gram<'_> {
        let rows: Vec<&[(usize, f64)]> = self.readers.iter().map(|r| &r.terms[..]).collect();
        let columns: Vec<&[(usize, f64)]> = self.columns.iter().map(|c| &c[..]).collect();
        let repeats = self.repeats;
        if self.is_by_readers() {
            Gram {
                rows,
                columns,
                weights: self.squares.clone(),
                repeats,
            }
        } else {
            Gram {
                weights: vec![1.0; rows.len()],
                rows: columns,
                columns: rows,
                repeats,
            }
        }
    }

    /// What the products are taken off.
    fn diagonal(&self, factor: f64) -> Vec<f64> {
        if self.is_by_readers() {
            return vec![factor; self.readers.len()];
        }
        // Variables that nobody reads have a row of their own, with nothing but its diagonal.
        let pairs = self.columns.iter().zip(&self.squares);
        let diagonal = pairs.map(|(c, w)| if c.is_empty() { 1.0 } else { factor / w });
        diagonal.collect()
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

#[cfg(test)]
mod tests {
    use deepconcolic_testing::Random;
    use num_bigint::BigInt;
    use num_rational::BigRational;

    use super::*;

    /// Readers that have these terms, of which the sizes do not matter.
    fn reading(readers: &[&[(usize, f64)]], squares: &[f64]) -> SlopeReading {
        let reader = |terms: &&[(usize, f64)]| Reader {
            variable: 9,
            slope: 1.0,
            size: 1.0,
            terms: terms.to_vec(),
        };
        SlopeReading::new(readers.iter().map(reader).collect(), squares.to_vec())
    }

    #[test]
    fn entries_are_sums_over_every_pair_of_terms() {
        // M of 1 + 1 + 1 = 3 and of 3 are the same, but for the room left for rounding.
        let share =
            |terms: &[(usize, f64)]| reading(&[terms], &[1.0]).by_sizes(Until::NEVER)[0].weight;
        let (again, once) = (share(&[(0, 1.0), (0, 1.0), (0, 1.0)]), share(&[(0, 3.0)]));
        for bound in [again, once] {
            assert!((9.0..9.000_000_1).contains(&bound), "{bound}");
        }
    }

    fn exact(x: f64) -> BigRational {
        BigRational::from_float(x).expect("finite")
    }

    /// Whether weights of squared parts, less M, leave nothing negative, in rational numbers: no pivot is below 0, and next
    /// to one that is 0 there is nothing.
    fn is_at_least(weights: &[f64], reading: &SlopeReading) -> bool {
        let zero = BigRational::from_integer(BigInt::from(0));
        let count = reading.squares.len();
        let dense = |reader: &Reader| {
            let mut row = vec![zero.clone(); count];
            for &(place, weight) in &reader.terms {
                row[place] += exact(weight);
            }
            row
        };
        let rows: Vec<Vec<BigRational>> = reading.readers.iter().map(dense).collect();
        let n = rows.len();
        let mut left: Vec<Vec<BigRational>> = (0..n)
            .map(|r| {
                let entry = |l: usize| {
                    let parts =
                        (0..count).map(|i| exact(reading.squares[i]) * &rows[r][i] * &rows[l][i]);
                    let product = parts.fold(zero.clone(), |sum, part| sum + part);
                    if r == l {
                        exact(weights[r]) - product
                    } else {
                        zero.clone() - product
                    }
                };
                (0..n).map(entry).collect()
            })
            .collect();
        for k in 0..n {
            let pivot = left[k].clone();
            if pivot[k] < zero || (pivot[k] == zero && pivot[k..].iter().any(|x| *x != zero)) {
                return false;
            }
            for row in left.iter_mut().skip(k + 1).filter(|_| pivot[k] != zero) {
                let factor = &row[k] / &pivot[k];
                for (entry, part) in row.iter_mut().zip(&pivot).skip(k) {
                    *entry -= &factor * part;
                }
            }
        }
        true
    }

    /// Readers that are drawn: few or many of them, variables named again, weights and squares of any size, and
    /// variables that nobody reads. Where they cancel, terms are a million times as large as what is left of them.
    fn drawn(random: &mut Random, cancel: bool) -> SlopeReading {
        let (readers, variables) = (1 + random.below(6), 1 + random.below(6));
        let size = |random: &mut Random| 10_f64.powi(random.below(7) as i32 - 3);
        let terms: Vec<Vec<(usize, f64)>> = (0..readers)
            .map(|_| {
                let count = 1 + random.below(5);
                let scale = size(random);
                let term = |random: &mut Random| {
                    let weight = scale * random.between(-1.0, 1.0);
                    (random.below(variables), weight)
                };
                let mut terms: Vec<(usize, f64)> = (0..count).map(|_| term(random)).collect();
                for k in 0..if cancel { count } else { 0 } {
                    let (place, weight) = terms[k];
                    terms.push((place, 1e6 * weight));
                    terms.push((place, -1e6 * weight));
                }
                terms
            })
            .collect();
        let squares: Vec<f64> = (0..variables)
            .map(|_| random.between(0.1, 1.0) * size(random))
            .collect();
        let terms: Vec<&[(usize, f64)]> = terms.iter().map(|terms| &terms[..]).collect();
        let mut reading = reading(&terms, &squares);
        for reader in &mut reading.readers {
            reader.size = random.between(0.1, 1.0) * size(random);
        }
        reading
    }

    #[test]
    fn shares_are_at_least_the_form_in_rational_numbers() {
        let mut random = Random::new(5);
        let mut ways = [0; 2];
        for round in 0..400 {
            let cancel = round % 2 == 1;
            let reading = drawn(&mut random, cancel);
            let shares =
                |shares: Vec<Share>| -> Vec<f64> { shares.iter().map(|s| s.weight).collect() };
            let by_sizes = shares(reading.by_sizes(Until::NEVER));
            assert!(is_at_least(&by_sizes, &reading), "{round} {by_sizes:?}");
            let by_magnitudes = sizes::by_magnitudes(&reading);
            assert!(is_at_least(&by_magnitudes, &reading), "{round}");
            // The least factor that is accepted is the one to doubt.
            let holds = |factor: f64| reading.by_factor(factor, Until::NEVER).is_some();
            let mut ends = [0.0, 1e15];
            assert!(holds(ends[1]), "{round}");
            while ends[1] - ends[0] > 1e-15 * ends[1] {
                let middle = 0.5 * (ends[0] + ends[1]);
                if middle <= ends[0] {
                    break;
                }
                ends[usize::from(holds(middle))] = middle;
            }
            let factor = vec![ends[1]; reading.len()];
            assert!(is_at_least(&factor, &reading), "{round} {}", ends[1]);
            // Not much is given away either.
            let less = vec![ends[1] * (1.0 - 1e-6); reading.len()];
            assert!(
                cancel || !is_at_least(&less, &reading),
                "{round} {}",
                ends[1]
            );
            ways[usize::from(reading.is_by_readers())] += 1;
        }
        assert!(ways.iter().all(|&count| count > 50), "{ways:?}");
    }

    #[test]
    fn by_sizes_nothing_is_lost_where_parts_have_their_sizes() {
        // Of both signs, so that products cancel: (1, 1) and (1, -1) have nothing in common.
        let apart = reading(
            &[&[(0, 1.0), (1, 1.0)], &[(0, 1.0), (1, -1.0)]],
            &[1.0, 1.0],
        );
        for share in apart.by_sizes(Until::NEVER) {
            assert!((2.0..2.000_000_1).contains(&share.weight));
        }
        let factor = apart.by_factor(2.000_000_1, Until::NEVER);
        assert!(factor.is_some() && apart.by_factor(1.999_999, Until::NEVER).is_none());
    }

    #[test]
    fn what_is_no_factor_is_refused() {
        let one = reading(&[&[(0, 1.0)]], &[1.0]);
        assert!(one.by_factor(2.0, Until::NEVER).is_some());
        for factor in [f64::NAN, f64::INFINITY, -2.0, 0.0, 1e-300] {
            assert!(one.by_factor(factor, Until::NEVER).is_none(), "{factor}");
        }
        for square in [f64::NAN, f64::INFINITY] {
            for readers in [&[&[(0, 1.0)][..]][..], &[&[(0, 1.0)], &[(0, -1.0)]]] {
                let wrong = reading(readers, &[square]);
                assert!(wrong.by_factor(1e30, Until::NEVER).is_none());
                let shares = wrong.by_sizes(Until::NEVER);
                assert!(shares.iter().all(|share| !share.weight.is_finite()));
            }
        }
    }

    #[test]
    fn huge_weights_go_by_magnitudes() {
        let huge = reading(&[&[(0, 1e200), (1, 1.0)], &[(1, 1.0)]], &[1e-320, 1.0]);
        assert!(huge.by_factor(1e90, Until::NEVER).is_none());
        let weights = huge.by_sizes(Until::NEVER);
        let weights: Vec<f64> = weights.iter().map(|share| share.weight).collect();
        assert!(is_at_least(&weights, &huge), "{weights:?}");
    }

    #[test]
    fn when_time_is_up_nothing_is_bounded() {
        let over = Until {
            deadline: Some(std::time::Instant::now()),
            interrupt: None,
        };
        let one = reading(&[&[(0, 1.0)]], &[1.0]);
        assert!(one.by_factor(2.0, over).is_none());
        assert!(
            one.by_sizes(over)
                .iter()
                .all(|share| share.weight == f64::INFINITY)
        );
    }
}
