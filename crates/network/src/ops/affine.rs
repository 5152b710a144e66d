//! Ranges of a product with stored weights, for dense layers and convolutions alike.

use crate::Scalar;
use crate::numbers::Numbers;
use crate::operator::Boxes;

/// Bounds `W x + b` over boxes by centre and radius: the centre goes through the weights, the
/// radius through their magnitudes.
///
/// `depth` is the number of products in one sum. A sum of `depth` products in floating point, in
/// any order, errs by at most gamma times the sum of magnitudes; widening the radius by that much
/// on the way in makes the result contain both the real values and every float execution.
///
/// `product(magnitudes, input, output)` multiplies with the weights, or with their magnitudes and
/// `2 gamma |b|` for a bias.
pub(super) fn interval<T: Scalar>(
    boxes: &Boxes<'_, T>,
    depth: usize,
    lower: &mut [T],
    upper: &mut [T],
    mut product: impl FnMut(bool, &[T], &mut [T]),
) {
    let range = &boxes.inputs[0];
    let gamma = gamma::<T>(depth);
    let two = T::ONE + T::ONE;
    let mut centre = Vec::with_capacity(range.lower.data.len());
    let mut radius = Vec::with_capacity(range.lower.data.len());
    for (&l, &u) in range.lower.data.iter().zip(range.upper.data) {
        let c = l / two + u / two;
        let r = (u - c).max(c - l).next_up();
        centre.push(c);
        radius.push(r + two * gamma * (c.abs() + r));
    }
    product(false, &centre, lower);
    product(true, &radius, upper);
    for (l, u) in lower.iter_mut().zip(upper.iter_mut()) {
        let (c, r) = (*l, *u * (T::ONE + two * gamma));
        // An unbounded input leaves nothing to say of the output.
        let bounded = c.abs() <= T::MAX && r <= T::MAX;
        *l = if bounded {
            (c - r).next_down()
        } else {
            T::NEG_INFINITY
        };
        *u = if bounded {
            (c + r).next_up()
        } else {
            T::INFINITY
        };
    }
}

/// Refuses weights that single precision cannot hold: no answer of theirs means anything.
pub(super) fn all_finite(what: &str, numbers: &Numbers) -> Result<(), String> {
    match numbers.not_finite() {
        None => Ok(()),
        Some(at) => Err(not_finite(what, numbers.at(at))),
    }
}

/// The same of few numbers.
pub(super) fn finite(what: &str, numbers: &[f64]) -> Result<(), String> {
    match numbers.iter().find(|&&n| !(n as f32).is_finite()) {
        None => Ok(()),
        Some(&number) => Err(not_finite(what, number)),
    }
}

fn not_finite(what: &str, number: f64) -> String {
    format!("its {what} hold {number}, which is not finite in single precision")
}

/// Relative error bound of a sum of `depth` products and a bias.
pub(super) fn gamma<T: Scalar>(depth: usize) -> T {
    T::of((depth + 2) as f64) * T::EPSILON
}
