//! `HardSwish`: `x` times a hard sigmoid; a parabola between two straight parts.

use super::curve::Curve;

/// `x min(max(x + 3, 0), 6) / 6`.
#[derive(Clone, Copy, Debug)]
pub struct HardSwish;

impl Curve for HardSwish {
    fn kind(&self) -> &'static str {
        "HardSwish"
    }

    fn value(&self, x: f64) -> f64 {
        if x >= 3.0 {
            x
        } else if x <= -3.0 {
            0.0
        } else {
            x * (x + 3.0) / 6.0
        }
    }

    fn slope(&self, x: f64) -> f64 {
        if x >= 3.0 {
            1.0
        } else if x < -3.0 {
            0.0
        } else {
            (2.0 * x + 3.0) / 6.0
        }
    }

    fn breaks(&self) -> &[f64] {
        &[-3.0, 3.0]
    }

    fn line(&self, x: f64) -> Option<(f64, f64)> {
        if x >= 3.0 {
            Some((1.0, 0.0))
        } else if x < -3.0 {
            Some((0.0, 0.0))
        } else {
            None
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::HardSwish;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.curve(HardSwish, (-6.0, 6.0));
    }
}
