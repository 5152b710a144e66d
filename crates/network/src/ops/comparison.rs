//! Comparisons and logic of two tensors, element by element: 1 where something holds, else 0. They run and can
//! be bounded; their derivative is zero.

use super::binary::{Ends, Pairwise};
use crate::Scalar;
use crate::operator::Nature;

/// What is asked of two numbers. For logic, a number is true unless it is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Whether they are equal.
    Equal,
    /// Whether the first is larger.
    Greater,
    /// Whether the first is at least the second.
    GreaterOrEqual,
    /// Whether the first is smaller.
    Less,
    /// Whether the first is at most the second.
    LessOrEqual,
    /// Whether both are true.
    And,
    /// Whether one or both are true.
    Or,
    /// Whether one is true and the other not.
    Xor,
}

impl Comparison {
    fn holds<T: Scalar>(self, x: T, y: T) -> bool {
        let [p, q] = [x, y].map(|z| z != T::ZERO);
        match self {
            Self::Equal => x == y,
            Self::Greater => x > y,
            Self::GreaterOrEqual => x >= y,
            Self::Less => x < y,
            Self::LessOrEqual => x <= y,
            Self::And => p && q,
            Self::Or => p || q,
            Self::Xor => p != q,
        }
    }

    /// The truth over two intervals, where it is the same everywhere.
    fn decided<T: Scalar>(self, x: Ends<T>, y: Ends<T>) -> Option<bool> {
        match self {
            Self::Equal if x[0] == y[1] && x[1] == y[0] => Some(true),
            Self::Equal => (x[1] < y[0] || y[1] < x[0]).then_some(false),
            Self::Greater => sure(x[0] > y[1], x[1] <= y[0]),
            Self::GreaterOrEqual => sure(x[0] >= y[1], x[1] < y[0]),
            Self::Less => sure(x[1] < y[0], x[0] >= y[1]),
            Self::LessOrEqual => sure(x[1] <= y[0], x[0] > y[1]),
            Self::And | Self::Or | Self::Xor => match (self, truth(x), truth(y)) {
                (Self::And, Some(false), _) | (Self::And, _, Some(false)) => Some(false),
                (Self::Or, Some(true), _) | (Self::Or, _, Some(true)) => Some(true),
                (Self::And, Some(p), Some(q)) => Some(p && q),
                (Self::Or, Some(p), Some(q)) => Some(p || q),
                (_, Some(p), Some(q)) => Some(p != q),
                _ => None,
            },
        }
    }
}

fn sure(holds: bool, fails: bool) -> Option<bool> {
    (holds || fails).then_some(holds)
}

/// Whether all numbers of an interval are true, or all false.
pub(super) fn truth<T: Scalar>([low, high]: Ends<T>) -> Option<bool> {
    sure(
        low > T::ZERO || high < T::ZERO,
        low == T::ZERO && high == T::ZERO,
    )
}

impl Pairwise for Comparison {
    fn kind(&self) -> &'static str {
        match self {
            Self::Equal => "Equal",
            Self::Greater => "Greater",
            Self::GreaterOrEqual => "GreaterOrEqual",
            Self::Less => "Less",
            Self::LessOrEqual => "LessOrEqual",
            Self::And => "And",
            Self::Or => "Or",
            Self::Xor => "Xor",
        }
    }

    fn nature(&self, _: [bool; 2]) -> Nature {
        Nature::Discrete
    }

    fn at<T: Scalar>(&self, x: T, y: T) -> T {
        if self.holds(x, y) { T::ONE } else { T::ZERO }
    }

    fn pull<T: Scalar>(&self, _: usize, _: T, _: T, _: T) -> T {
        T::ZERO
    }

    fn interval<T: Scalar>(&self, x: Ends<T>, y: Ends<T>) -> Ends<T> {
        match self.decided(x, y) {
            Some(true) => [T::ONE; 2],
            Some(false) => [T::ZERO; 2],
            None => [T::ZERO, T::ONE],
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ops::laws::Laws;

    const ALL: [Comparison; 8] = [
        Comparison::Equal,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::And,
        Comparison::Or,
        Comparison::Xor,
    ];

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        for comparison in ALL {
            laws.pairwise(comparison, (-1.0, 1.0));
        }
    }

    #[test]
    fn intervals_decide_what_all_their_pairs_agree_on() {
        let ends = [-1.0f64, 0.0, 1.0];
        let intervals = || (0..3).flat_map(|i| (i..3).map(move |j| [ends[i], ends[j]]));
        for comparison in ALL {
            for x in intervals() {
                for y in intervals() {
                    let inside = |z: [f64; 2]| {
                        [-1.0, -0.5, 0.0, 0.5, 1.0]
                            .into_iter()
                            .filter(move |v| (z[0]..=z[1]).contains(v))
                    };
                    let mut seen =
                        inside(x).flat_map(|x| inside(y).map(move |y| comparison.holds(x, y)));
                    let first = seen.next();
                    let agreed = first.filter(|&f| seen.all(|s| s == f));
                    assert_eq!(
                        comparison.decided(x, y),
                        agreed,
                        "{comparison:?} {x:?} {y:?}"
                    );
                }
            }
        }
    }
}
