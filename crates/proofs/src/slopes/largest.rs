//! About the largest eigenvalue of what the checker wants a factor for: Lanczos steps. Nothing rests on it: whether a
//! factor is large enough is for the checker to say.

use deepconcolic_check::Until;
use deepconcolic_check::steepness::SlopeReading;

/// Most steps; each takes two products with the readers' weights.
const STEPS: usize = 60;
/// Halvings of the interval that the eigenvalue is known to lie in.
const HALVINGS: usize = 60;

/// An eigenvalue near the largest, from below; none if numbers are too large, nothing is read or time is up.
pub(super) fn eigenvalue(reading: &SlopeReading, until: Until<'_>) -> Option<f64> {
    let n = reading.len();
    // Any beginning will do that favours no pattern: fractions of multiples of the golden ratio.
    let start = (0..n).map(|k| 0.5 + (k as f64 * 0.618_033_988_749_895).fract());
    let mut current: Vec<f64> = start.collect();
    let length = dot(&current, &current).sqrt();
    divide(&mut current, length);
    let mut before = vec![0.0; n];
    let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..STEPS.min(n) {
        if until.is_over() {
            return None;
        }
        let mut next = reading.times(&current);
        let own = dot(&next, &current);
        let last = beside.last().copied().unwrap_or(0.0);
        for ((next, current), before) in next.iter_mut().zip(&current).zip(&before) {
            *next -= own * current + last * before;
        }
        let length = dot(&next, &next).sqrt();
        diagonal.push(own);
        if length.is_nan() || length <= 1e-12 * own.abs() {
            break;
        }
        divide(&mut next, length);
        beside.push(length);
        before = std::mem::replace(&mut current, next);
    }
    largest(&diagonal, &beside).filter(|value| value.is_finite() && *value > 0.0)
}

fn divide(list: &mut [f64], by: f64) {
    for entry in list {
        *entry /= by;
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The largest eigenvalue of a matrix with entries on the diagonal and beside it alone.
fn largest(diagonal: &[f64], beside: &[f64]) -> Option<f64> {
    let reach = |k: usize| {
        let left = k.checked_sub(1).map_or(0.0, |k| beside[k]);
        let right = if k + 1 < diagonal.len() {
            beside[k]
        } else {
            0.0
        };
        diagonal[k] + left.abs() + right.abs()
    };
    let mut high = (0..diagonal.len()).map(reach).reduce(f64::max)?;
    let mut low = diagonal.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        // All pivots of the matrix less the middle are negative exactly if no eigenvalue lies above.
        let mut pivot = f64::NEG_INFINITY;
        let above = diagonal.iter().enumerate().any(|(k, entry)| {
            let left = k.checked_sub(1).map_or(0.0, |k| beside[k] * beside[k]);
            pivot = entry - middle - if k == 0 { 0.0 } else { left / pivot };
            pivot >= 0.0
        });
        if above {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_eigenvalue_of_a_path_is_known() {
        for n in 1..20 {
            let found = largest(&vec![2.0; n], &vec![-1.0; n]).unwrap();
            let angle = std::f64::consts::PI / (n as f64 + 1.0);
            assert!(
                (found - 2.0 - 2.0 * angle.cos()).abs() < 1e-9,
                "{n} {found}"
            );
        }
        assert_eq!(largest(&[], &[]), None);
    }
}
