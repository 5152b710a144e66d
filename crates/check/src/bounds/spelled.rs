//! Weighted conditions with the sums that they are about spelled out, so that what two of them have in common is
//! counted once. Maxima are left as they are: what they are made of is not bounded everywhere.

use crate::bounds::cone::{Cone, Step, Sums};

/// A sum of variables and a number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spelled {
    /// Variables, each once: its weight, and the sum of the magnitudes that make it.
    pub terms: Vec<(usize, f64, f64)>,
    pub constant: f64,
    /// The sum of the magnitudes that make the number.
    pub constants: f64,
    /// How many products were added up.
    pub count: f64,
}

impl Spelled {
    pub fn of(cone: &Cone, terms: &[(usize, f64)], constant: f64) -> Self {
        let mut all = Self {
            terms: Vec::new(),
            constant,
            constants: constant.abs(),
            count: 1.0,
        };
        for &(variable, weight) in terms {
            all.count += 1.0;
            let Some((sums, k)) = sum(cone, variable) else {
                all.terms.push((variable, weight, weight.abs()));
                continue;
            };
            all.constant += weight * sums.constants[k];
            all.constants += (weight * sums.constants[k]).abs();
            for (variable, own) in sums.terms(k) {
                let weight = weight * own;
                all.terms.push((variable, weight, weight.abs()));
                all.count += 1.0;
            }
        }
        all.merge();
        all
    }

    /// So much of each of several.
    pub fn weighted<'s>(parts: impl IntoIterator<Item = (&'s Self, f64)>) -> Self {
        let mut all = Self::default();
        for (part, factor) in parts {
            all.constant += factor * part.constant;
            all.constants += factor.abs() * part.constants;
            all.count += part.count;
            let terms = part.terms.iter();
            let times = |&(variable, weight, size): &(usize, f64, f64)| {
                (variable, factor * weight, factor.abs() * size)
            };
            all.terms.extend(terms.map(times));
        }
        all.merge();
        all
    }

    /// Every variable once.
    fn merge(&mut self) {
        if self.terms.is_sorted_by(|a, b| a.0 < b.0) {
            return;
        }
        self.terms.sort_by_key(|term| term.0);
        self.terms.dedup_by(|term, kept| {
            let same = term.0 == kept.0;
            if same {
                kept.1 += term.1;
                kept.2 += term.2;
            }
            same
        });
    }
}

/// The sum that a variable is, if it is one and no maximum.
fn sum(cone: &Cone, variable: usize) -> Option<(&Sums, usize)> {
    let (at, sums) = cone
        .steps
        .iter()
        .enumerate()
        .find_map(|(at, step)| match step {
            Step::Sums(sums) if (sums.first..sums.first + sums.len()).contains(&variable) => {
                Some((at, sums))
            }
            _ => None,
        })?;
    let mut extremes = cone.extremes.iter();
    (!extremes.any(|extremes| extremes.steps.contains(&at)))
        .then_some((sums, variable - sums.first))
}
