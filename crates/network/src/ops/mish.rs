//! Mish: `x tanh(softplus(x))`.

use super::curve::Curve;

/// `x tanh(ln(1 + exp(x)))`.
#[derive(Clone, Copy, Debug)]
pub struct Mish;

/// Where the second derivative is 0 (computed to 25 digits).
const BREAKS: [f64; 2] = [-2.256_376_396_360_793, 1.490_571_179_485_428_5];

/// `t = tanh(softplus(x))` and its derivative. With `e = exp(x)`, `t` is `n / (n + 2)` for
/// `n = e (e + 2)`; on the right everything is divided by `e^2`, which would overflow.
fn gate(x: f64) -> (f64, f64) {
    let e = (-x.abs()).exp();
    if x >= 0.0 {
        let whole = 1.0 + 2.0 * e + 2.0 * e * e;
        let slope = 4.0 * e * e * (1.0 + e) / (whole * whole);
        ((1.0 + 2.0 * e) / whole, slope)
    } else {
        let n = e * (e + 2.0);
        let slope = 4.0 * e * (1.0 + e) / ((n + 2.0) * (n + 2.0));
        (n / (n + 2.0), slope)
    }
}

impl Curve for Mish {
    fn kind(&self) -> &'static str {
        "Mish"
    }

    fn value(&self, x: f64) -> f64 {
        x * gate(x).0
    }

    fn slope(&self, x: f64) -> f64 {
        let (open, rise) = gate(x);
        if rise == 0.0 { open } else { open + x * rise }
    }

    fn breaks(&self) -> &[f64] {
        &BREAKS
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Mish;
    use crate::ops::laws::Laws;

    pub(in crate::ops) fn laws(laws: &mut Laws) {
        laws.curve(Mish, (-9.0, 9.0));
    }
}
