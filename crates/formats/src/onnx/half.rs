//! The two 16-bit floats, widened to `f32` without loss.

/// IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits.
pub(super) fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let exponent = u32::from(bits >> 10) & 0x1f;
    let fraction = u32::from(bits) & 0x3ff;
    let magnitude = match exponent {
        // Zero and subnormals are multiples of 2^-24, all of them normal in f32.
        0 => (fraction as f32 * 2_f32.powi(-24)).to_bits(),
        0x1f => 0x7f80_0000 | (fraction << 13),
        // The exponent bias changes from 15 to 127.
        _ => ((exponent + 112) << 23) | (fraction << 13),
    };
    f32::from_bits(sign | magnitude)
}

/// bfloat16 is the upper half of an `f32`.
pub(super) fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

#[cfg(test)]
mod tests {
    use super::{bf16_to_f32, f16_to_f32};

    #[test]
    fn f16_landmarks() {
        let cases = [
            (0x0000, 0.0),
            (0x0001, 5.960_464_5e-8),
            (0x03ff, 6.097_555e-5),
            (0x0400, 6.103_515_6e-5),
            (0x3555, 0.333_251_95),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x7c00, f32::INFINITY),
            (0xfc00, f32::NEG_INFINITY),
        ];
        for (bits, value) in cases {
            assert_eq!(f16_to_f32(bits).to_bits(), f32::to_bits(value), "{bits:#x}");
        }
        assert!(f16_to_f32(0x7e00).is_nan());
        assert!(f16_to_f32(0x8000).is_sign_negative());
    }

    #[test]
    fn every_finite_f16_is_fraction_times_power_of_two() {
        for bits in 0..=u16::MAX {
            let exponent = i32::from((bits >> 10) & 0x1f);
            if exponent == 31 {
                continue;
            }
            let fraction = f64::from(bits & 0x3ff);
            let hidden = if exponent == 0 { 0.0 } else { 1024.0 };
            let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
            let value = sign * (hidden + fraction) * 2_f64.powi(exponent.max(1) - 25);
            assert_eq!(f64::from(f16_to_f32(bits)).to_bits(), value.to_bits());
        }
    }

    #[test]
    fn bf16_landmarks() {
        assert_eq!(bf16_to_f32(0x3f80).to_bits(), 1_f32.to_bits());
        assert_eq!(bf16_to_f32(0xc0a0).to_bits(), (-5_f32).to_bits());
        assert!(bf16_to_f32(0x7fc0).is_nan());
    }
}
