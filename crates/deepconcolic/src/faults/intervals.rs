//! How sure a share is: Wilson's interval, and paired differences by the bootstrap.

use deepconcolic_geometry::Random;

/// The quantile of the normal distribution for an interval of 95 %.
const Z: f64 = 1.959_963_985;
/// Resamples of the bootstrap.
const RESAMPLES: usize = 2000;
/// The share of the resamples below an interval, and above it.
const TAIL: f64 = 0.025;

/// Wilson's interval of 95 % for a share.
pub fn wilson(hits: usize, of: usize) -> [f64; 2] {
    if of == 0 {
        return [0.0, 1.0];
    }
    let (n, p) = (of as f64, hits as f64 / of as f64);
    let middle = p + Z * Z / (2.0 * n);
    let reach = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    [
        ((middle - reach) / scale).max(0.0),
        ((middle + reach) / scale).min(1.0),
    ]
}

/// The mean of differences, one for each fault, and its interval of 95 % by the bootstrap over faults.
pub fn bootstrap(differences: &[f64], seed: u64) -> (f64, [f64; 2]) {
    let count = differences.len();
    if count == 0 {
        return (0.0, [0.0, 0.0]);
    }
    let mean = differences.iter().sum::<f64>() / count as f64;
    let mut random = Random::of(&[seed, 0xb007]);
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let drawn = (0..count).map(|_| differences[random.below(count)]);
            drawn.sum::<f64>() / count as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |part: f64| means[((RESAMPLES - 1) as f64 * part).round() as usize];
    (mean, [at(TAIL), at(1.0 - TAIL)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilsons_interval_is_that_of_the_tables() {
        // 15 of 20, as in Agresti and Coull's examples: 0.5313 to 0.8881.
        let [low, high] = wilson(15, 20);
        assert!((low - 0.5313).abs() < 1e-4 && (high - 0.8881).abs() < 1e-4);
        let [low, high] = wilson(0, 10);
        assert!(low < 1e-12 && (high - 0.2775).abs() < 1e-4);
    }

    #[test]
    fn equal_differences_leave_no_doubt_and_others_do() {
        let sure = |(mean, [low, high]): (f64, [f64; 2])| {
            [mean, low, high].map(|v| (v - 0.5).abs() < 1e-12) == [true; 3]
        };
        assert!(sure(bootstrap(&[0.5; 7], 1)));
        let (mean, [low, high]) = bootstrap(&[1.0, -1.0, 1.0, -1.0, 1.0, -1.0], 1);
        assert!(mean.abs() < 1e-12 && low < -0.5 && high > 0.5);
    }
}
