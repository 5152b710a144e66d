//! Softsign: `x / (1 + |x|)`.

use super::curve::Curve;

/// `x / (1 + |x|)`.
#[derive(Clone, Copy, Debug)]
pub struct Softsign;

impl Curve for Softsign {
    fn kind(&self) -> &'static str {
        "Softsign"
    }

    fn value(&self, x: f64) -> f64 {
        x / (1.0 + x.abs())
    }

    fn slope(&self, x: f64) -> f64 {
        let shrink = 1.0 + x.abs();
        1.0 / (shrink * shrink)
    }

    fn breaks(&self) -> &[f64] {
        &[0.0]
    }

    fn range(&self) -> (f64, f64) {
        (-1.0, 1.0)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Softsign;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.curve(Softsign, (-9.0, 9.0));
    }
}
