//! When an input gets another answer than a given one, as linear conditions on the logits.

use deepconcolic_language::{Formula, Input, Linear, Relation, Var};
use deepconcolic_network::Head;

/// One way to another answer: a sum of at most two logits and a constant is above 0 (or at least 0).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Way {
    /// The logit that counts for it, and the one that counts against it.
    pub plus: Option<usize>,
    pub minus: Option<usize>,
    pub constant: f64,
    /// Whether 0 is enough.
    pub closed: bool,
}

impl Way {
    /// The sum. Either there are two logits or a constant that is not 0: it is one rounded operation, so
    /// that its sign is right.
    fn value(&self, logits: &[f32]) -> f64 {
        let at = |place: Option<usize>| place.map_or(0.0, |i| f64::from(logits[i]));
        at(self.plus) - at(self.minus) + self.constant
    }

    fn holds(&self, logits: &[f32]) -> bool {
        let value = self.value(logits);
        value > 0.0 || (self.closed && value == 0.0)
    }

    fn logits(&self) -> impl Iterator<Item = (usize, f32)> {
        let plus = self.plus.map(|i| (i, 1.0));
        plus.into_iter().chain(self.minus.map(|i| (i, -1.0)))
    }
}

/// The ways to another answer than that of one input. Where a bound cannot be said exactly on the logits
/// it is rounded so that it is met too early: what is proven of it holds of the answer too.
#[derive(Clone, Debug, PartialEq)]
pub struct Departure {
    pub(super) ways: Vec<Way>,
}

impl Departure {
    /// How near the nearest way is, per logit it looks at (met above 0), and the logits that move it
    /// with the factors to move them by. None if there is no way at all.
    pub fn nearest(&self, logits: &[f32]) -> Option<(f64, Vec<(usize, f32)>)> {
        let value = |way: &Way| way.value(logits) / way.logits().count().max(1) as f64;
        let ways = self.ways.iter().map(|way| (value(way), way));
        // The first of equals.
        let (value, way) = ways.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
        let share = 1.0 / way.logits().count().max(1) as f32;
        Some((value, way.logits().map(|(i, f)| (i, f * share)).collect()))
    }

    /// Whether these logits stand for another answer.
    pub fn holds(&self, logits: &[f32]) -> bool {
        logits.iter().all(|logit| logit.is_finite())
            && self.ways.iter().any(|way| way.holds(logits))
    }

    /// The same of the logits as the layer with this number.
    pub fn formula(&self, input: Input, layer: usize) -> Formula {
        let atom = |way: &Way| {
            let mut sum = Linear::constant(way.constant);
            for (logit, factor) in way.logits() {
                let logit = Linear::variable(Var::v(input, layer, logit));
                sum.add(f64::from(factor), &logit);
            }
            let relation = if way.closed {
                Relation::Ge
            } else {
                Relation::Gt
            };
            Formula::compare(sum, relation)
        };
        Formula::Or(self.ways.iter().map(atom).collect())
    }
}

/// A logit that cannot be said exactly: the real number lies from the first to the second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cut {
    pub below: f64,
    pub above: f64,
}

impl Cut {
    /// The logit at which a Sigmoid gives 0.5.
    pub const ZERO: Self = Self {
        below: 0.0,
        above: 0.0,
    };

    /// The logit at which a head gives a value. None where it never does, or not by one logit alone.
    pub fn at(head: Head, value: f64) -> Option<Self> {
        match head {
            Head::Identity => Some(Self {
                below: value,
                above: value,
            }),
            Head::Sigmoid if value > 0.0 && value < 1.0 => Some(logit(value)),
            Head::Sigmoid | Head::Softmax | Head::LogSoftmax => None,
        }
    }
}

/// The logit above which an output is more than the tolerance above that of `z`, or less; none if no
/// output is.
pub(super) fn raised(head: Head, z: f32, tolerance: f64) -> Option<f64> {
    let z = f64::from(z);
    if head != Head::Sigmoid {
        return Some(sum(z, tolerance).0);
    }
    let value = sum(sigmoid(z).0, tolerance).0;
    match value {
        _ if value >= 1.0 => None,
        // The order of logits is that of outputs, so that z itself is a bound too.
        _ if value > 0.0 => Some(logit(value).below.max(z)),
        _ => Some(z),
    }
}

/// The logit below which an output is more than the tolerance below that of `z`, or more; none if no
/// output is.
pub(super) fn lowered(head: Head, z: f32, tolerance: f64) -> Option<f64> {
    let z = f64::from(z);
    if head != Head::Sigmoid {
        return Some(sum(z, -tolerance).1);
    }
    let value = sum(sigmoid(z).1, -tolerance).1;
    match value {
        _ if value <= 0.0 => None,
        _ if value < 1.0 => Some(logit(value).above.min(z)),
        _ => Some(z),
    }
}

/// ln(p / (1 - p)), for p between 0 and 1.
fn logit(p: f64) -> Cut {
    // Exact where it matters most; the difference below would be so only by luck.
    if p.to_bits() == 0.5f64.to_bits() {
        return Cut::ZERO;
    }
    let (own, other) = (p.ln(), (-p).ln_1p());
    // Logarithms of common libraries are right to a unit in the last place; this allows for four.
    let error = 4.0 * f64::EPSILON * (own.abs() + other.abs());
    Cut {
        below: own - other - error,
        above: own - other + error,
    }
}

/// The two numbers between which the sum of two numbers lies: one, where it is one.
pub(super) fn sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    // What rounding took away, exactly (Knuth's two-sum).
    let part = sum - a;
    let lost = (a - (sum - part)) + (b - part);
    (
        if lost < 0.0 { sum.next_down() } else { sum },
        if lost > 0.0 { sum.next_up() } else { sum },
    )
}

/// The numbers between which 1 / (1 + exp(-z)) lies.
pub(super) fn sigmoid(z: f64) -> (f64, f64) {
    /// More than the relative error of an exponential, a sum and a quotient.
    const ERROR: f64 = 8.0 * f64::EPSILON;
    let value = if z >= 0.0 {
        1.0 / (1.0 + (-z).exp())
    } else {
        z.exp() / (1.0 + z.exp())
    };
    // What is too small for a number of double precision is above 0 all the same.
    let least = f64::MIN_POSITIVE;
    (
        if value < least {
            0.0
        } else {
            value * (1.0 - ERROR)
        },
        (value * (1.0 + ERROR)).clamp(least, 1.0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_of_a_sigmoid_encloses_its_logit() {
        let half = Cut::at(Head::Sigmoid, 0.5).unwrap();
        assert_eq!((half.below, half.above), (0.0, 0.0));
        // ln(0.9 / 0.1) of the double nearest to 0.9, to forty digits.
        let nine = Cut::at(Head::Sigmoid, 0.9).unwrap();
        assert!(nine.below < 2.197_224_577_336_219_5 && 2.197_224_577_336_219_5 < nine.above);
        assert!(nine.above - nine.below < 1e-14);
        for p in [1e-300, 1e-9, 0.3, 0.499_999_999, 0.7, 1.0 - 1e-12] {
            let cut = Cut::at(Head::Sigmoid, p).unwrap();
            let (low, high) = (sigmoid(cut.below).0, sigmoid(cut.above).0);
            assert!(low <= p * (1.0 + 1e-13) && p * (1.0 - 1e-13) <= high, "{p}");
        }
        assert!(Cut::at(Head::Sigmoid, 0.0).is_none());
        assert!(Cut::at(Head::Sigmoid, 1.0).is_none());
    }

    #[test]
    fn a_sum_is_one_number_where_it_is_exact() {
        assert_eq!(sum(0.5, 0.25), (0.75, 0.75));
        let (low, high) = sum(1.0, 1e-20);
        assert_eq!((low, high), (1.0, 1f64.next_up()));
        let (low, high) = sum(1.0, -1e-20);
        assert_eq!((low, high), (1f64.next_down(), 1.0));
    }
}
