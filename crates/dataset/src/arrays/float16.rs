//! Half precision, which Rust does not have yet: reading it is one function, not worth a dependency.

/// The value of an IEEE 754 binary16, exactly.
pub(crate) fn from_bits(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let exponent = u32::from(bits >> 10) & 0x1f;
    let fraction = u32::from(bits) & 0x3ff;
    match exponent {
        // Zero and subnormals: fraction * 2^-24, exact in f32.
        0 => f32::from_bits(sign | (fraction as f32 * 2.0_f32.powi(-24)).to_bits()),
        // Infinity and NaN keep their fraction.
        0x1f => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        // Rebias the exponent from 15 to 127.
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "conversions are exact")]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert_eq!(from_bits(0x3c00), 1.0);
        assert_eq!(from_bits(0xc000), -2.0);
        assert_eq!(from_bits(0x7bff), 65504.0);
        assert_eq!(from_bits(0x3555), 0.333_251_95);
        assert_eq!(from_bits(0x0001), 5.960_464_5e-8);
        assert_eq!(from_bits(0x0400), 6.103_515_6e-5);
        assert_eq!(from_bits(0x8000).to_bits(), (-0.0_f32).to_bits());
        assert_eq!(from_bits(0xfc00), f32::NEG_INFINITY);
        assert!(from_bits(0x7e00).is_nan());
    }

    #[test]
    fn finite_values_ascend_with_their_bits() {
        for bits in 0..0x7c00 {
            assert!(from_bits(bits) < from_bits(bits + 1));
        }
    }
}
