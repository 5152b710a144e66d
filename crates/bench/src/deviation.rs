//! How far two answers lie apart.

/// What the output says about how errors are measured.
pub const DEFINITION: &str =
    "error of a sample: max |ours - onnxruntime's| / max(max |onnxruntime's|, 1e-6)";

/// The largest error that passes.
pub const LIMIT: f64 = 1e-4;

/// The worst error over samples; infinite when lengths differ or only one side is not a number.
pub fn worst<A, B>(ours: &[A], theirs: &[B], samples: usize) -> f64
where
    A: Copy + Into<f64>,
    B: Copy + Into<f64>,
{
    if ours.len() != theirs.len() || samples == 0 || !ours.len().is_multiple_of(samples) {
        return f64::INFINITY;
    }
    let each = (ours.len() / samples).max(1);
    ours.chunks(each)
        .zip(theirs.chunks(each))
        .map(|(ours, theirs)| of_sample(ours, theirs))
        .fold(0.0, f64::max)
}

fn of_sample<A: Copy + Into<f64>, B: Copy + Into<f64>>(ours: &[A], theirs: &[B]) -> f64 {
    let scale = theirs.iter().map(|&t| t.into().abs()).fold(1e-6, f64::max);
    let apart = ours.iter().zip(theirs).map(|(&o, &t)| {
        let (o, t): (f64, f64) = (o.into(), t.into());
        let same = o.to_bits() == t.to_bits() || (o.is_nan() && t.is_nan());
        let difference = (o - t).abs();
        match (same, difference.is_nan()) {
            (true, _) => 0.0,
            (false, true) => f64::INFINITY,
            (false, false) => difference,
        }
    });
    apart.fold(0.0, f64::max) / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_sample_counts_relative_to_its_own_largest_number() {
        let ours = [1.0f32, 10.0, 0.0, 1.0];
        let theirs = [2.0f32, 10.0, 0.5, 1.0];
        assert!((worst(&ours, &theirs, 2) - 0.5).abs() < 1e-12);
        assert!(worst(&ours, &theirs[..3], 1).is_infinite());
        assert!(worst(&[f32::NAN], &[1.0f32], 1).is_infinite());
        assert!(worst(&[f32::NAN], &[f32::NAN], 1) < 1e-12);
    }
}
