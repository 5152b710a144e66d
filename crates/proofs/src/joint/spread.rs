//! Conditions on both inputs of a path, and the inputs seen so far for each. A condition is the sum of a
//! part on the one input and a part on the other; where no two inputs meet all conditions, some sum of
//! multiples of them is out of reach.

use deepconcolic_language::{Comparison, Input, Linear, Relation};
use deepconcolic_simplex::{Ending, Tableau};

use super::path::Path;
use super::pool::{Pool, Seen};

/// Factors tried between the one and the other of two conditions. Few binary digits, so that a factor times
/// a weight is exact, as the checker wants it.
const STEPS: u32 = 64;
/// Most inputs of a side that are looked at, the latest first.
const MAX: usize = 24;

/// Conditions on both inputs, and what inputs bring to each.
pub(super) struct Spread {
    /// For each condition, its parts on the first and on the second input.
    parts: Vec<[Linear; 2]>,
    constants: Vec<f64>,
    /// For each of the two, inputs and the values of the parts there.
    values: [Vec<(Seen, Vec<f64>)>; 2],
}

impl Spread {
    /// The conditions of a path and the inputs that meet what it holds; none if a condition is an
    /// equation, or there are more than two.
    pub fn of(pool: &Pool, path: &Path<'_>) -> Option<Self> {
        if path.mixed.len() > 2 {
            return None;
        }
        let mut parts: Vec<[Linear; 2]> = Vec::new();
        let mut constants = Vec::new();
        for Comparison { linear, relation } in &path.mixed {
            let sign = match relation {
                Relation::Ge | Relation::Gt => 1.0,
                Relation::Le | Relation::Lt => -1.0,
                Relation::Eq | Relation::Ne => return None,
            };
            constants.push(sign * linear.constant);
            parts.push([Input::First, Input::Second].map(|input| {
                let mine = linear.terms.iter().filter(|(_, var)| var.input == input);
                Linear {
                    terms: mine.map(|&(weight, var)| (sign * weight, var)).collect(),
                    constant: 0.0,
                }
            }));
        }
        let values = [0, 1].map(|number| {
            let shown = path.shown[number].iter().rev();
            let seen = path.seen[number].iter().chain(shown);
            let fit = seen.filter(|seen| pool.holds(&path.held[number], seen));
            let valued = fit.take(MAX).map(|seen| {
                let value = |part: &[Linear; 2]| pool.value(&part[number], [seen; 2]);
                (seen.clone(), parts.iter().map(value).collect())
            });
            valued.collect()
        });
        Some(Self {
            parts,
            constants,
            values,
        })
    }

    /// The part of a sum of multiples on one of the inputs.
    pub fn sum(&self, number: usize, factors: &[f64]) -> Linear {
        let mut sum = Linear::default();
        for (part, &factor) in self.parts.iter().zip(factors) {
            if factor > 0.0 {
                sum.add(factor, &part[number]);
            }
        }
        sum
    }

    /// The most that it came to.
    pub fn maximum(&self, number: usize, factors: &[f64]) -> f64 {
        let sums = self.values[number].iter().map(|(_, values)| {
            let terms = values.iter().zip(factors);
            terms.map(|(value, factor)| value * factor).sum::<f64>()
        });
        sums.fold(f64::NEG_INFINITY, f64::max)
    }

    /// The factors for which the inputs seen come to the least, and how much is missing then.
    pub fn factors(&self) -> (Vec<f64>, f64) {
        let missing = |factors: &[f64]| {
            let constants = self.constants.iter().zip(factors);
            let constant: f64 = constants.map(|(c, factor)| c * factor).sum();
            -(self.maximum(0, factors) + self.maximum(1, factors) + constant)
        };
        if self.parts.len() < 2 {
            let missing = missing(&[1.0]);
            return (vec![1.0], missing);
        }
        // A power of two, so that factors keep few digits.
        let scale = |condition: usize| {
            let seen = self.values.iter().flatten();
            let maximum = seen.map(|(_, values)| values[condition].abs());
            let maximum = maximum.fold(f64::MIN_POSITIVE, f64::max);
            (-maximum.log2().round()).exp2()
        };
        let scales = [scale(0), scale(1)];
        let tried = (0..=STEPS).map(|step| {
            let share = f64::from(step) / f64::from(STEPS);
            let factors = vec![scales[0] * (1.0 - share), scales[1] * share];
            let missing = missing(&factors);
            (factors, missing)
        });
        let better = |a: (Vec<f64>, f64), b: (Vec<f64>, f64)| if b.1 > a.1 { b } else { a };
        tried.reduce(better).unwrap_or_default()
    }

    /// Two inputs between those seen that come nearest to meeting all conditions, as far as the network is
    /// a sum between them.
    pub fn blend(&self) -> Option<[Vec<f32>; 2]> {
        let [firsts, seconds] = &self.values;
        let count = firsts.len() + seconds.len();
        let (mut lower, mut upper) = (vec![0.0; count], vec![1.0; count]);
        lower.push(-1e9);
        upper.push(1e9);
        let mut cost = vec![0.0; count];
        cost.push(-1.0);
        let mut tableau = Tableau::new(lower, upper, cost);
        for side in [true, false] {
            for sign in [1.0, -1.0] {
                let share = |at: usize| {
                    if (at < firsts.len()) == side {
                        sign
                    } else {
                        0.0
                    }
                };
                let mut row: Vec<f64> = (0..count).map(share).collect();
                row.push(0.0);
                tableau.add(&row, sign);
            }
        }
        for (condition, constant) in self.constants.iter().enumerate() {
            let all = firsts.iter().chain(seconds);
            let mut row: Vec<f64> = all.map(|(_, values)| values[condition]).collect();
            row.push(-1.0);
            tableau.add(&row, -constant);
        }
        if tableau.solve() != Ending::Optimal {
            return None;
        }
        let (of_first, rest) = tableau.point().split_at(firsts.len());
        Some([blended(firsts, of_first)?, blended(seconds, rest)?])
    }
}

/// The mean of inputs with these shares.
fn blended(side: &[(Seen, Vec<f64>)], shares: &[f64]) -> Option<Vec<f32>> {
    let mut input = vec![0.0; side.first()?.0.input().len()];
    for ((seen, _), share) in side.iter().zip(shares) {
        for (sum, &x) in input.iter_mut().zip(seen.input()) {
            *sum += share * f64::from(x);
        }
    }
    Some(input.into_iter().map(|x| x as f32).collect())
}
