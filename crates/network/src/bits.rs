//! A bit per element: taken where a function has one kink, and used to choose between two slopes
//! on the way back. Both run over every neuron of every sample, so they are written for the
//! vectoriser.

use crate::Scalar;

/// Bits of one sample: element `e` is bit `e % 64` of word `e / 64`.
#[inline]
pub fn pack<'a, T: Scalar>(
    data: &'a [T],
    holds: impl Fn(T) -> bool + 'a,
) -> impl Iterator<Item = u64> + 'a {
    data.chunks(64).map(move |chunk| {
        let (blocks, rest) = chunk.as_chunks::<8>();
        let mut bytes = [0u8; 8];
        for (byte, block) in bytes.iter_mut().zip(blocks) {
            *byte = gather(block.map(|x| u8::from(holds(x))));
        }
        for (lane, &x) in rest.iter().enumerate() {
            bytes[blocks.len()] |= u8::from(holds(x)) << lane;
        }
        u64::from_le_bytes(bytes)
    })
}

/// Bits of up to 64 pairs: where the first number is larger.
pub fn larger(a: &[f32], b: &[f32]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if let (Ok(a), Ok(b)) = (a.try_into(), b.try_into()) {
        if is_x86_feature_detected!("avx512f") {
            // Safety: the instructions are there.
            return unsafe { x86::larger_in_sixteens(a, b) };
        }
        if is_x86_feature_detected!("avx2") {
            // Safety: the instructions are there.
            return unsafe { x86::larger(a, b) };
        }
    }
    let pairs = a.iter().zip(b).take(64).enumerate();
    pairs.fold(0, |word, (i, (a, b))| word | u64::from(a > b) << i)
}

/// Bits of up to 64 numbers: where one reaches a bar.
pub fn reaching(a: &[f32], bar: f32) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if let Ok(a) = a.try_into() {
        if is_x86_feature_detected!("avx512f") {
            // Safety: the instructions are there.
            return unsafe { x86::reaching_in_sixteens(a, bar) };
        }
        if is_x86_feature_detected!("avx2") {
            // Safety: the instructions are there.
            return unsafe { x86::reaching(a, bar) };
        }
    }
    let numbers = a.iter().take(64).enumerate();
    numbers.fold(0, |word, (i, &a)| word | u64::from(a >= bar) << i)
}

/// Comparisons of eight or sixteen numbers that leave as many bits side by side.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _CMP_GE_OQ, _CMP_GT_OQ, _mm256_cmp_ps, _mm256_loadu_ps, _mm256_movemask_ps, _mm256_set1_ps,
        _mm512_cmp_ps_mask, _mm512_loadu_ps, _mm512_set1_ps,
    };

    #[target_feature(enable = "avx512f")]
    pub fn larger_in_sixteens(a: &[f32; 64], b: &[f32; 64]) -> u64 {
        let (a, _) = a.as_chunks::<16>();
        let (b, _) = b.as_chunks::<16>();
        let sixteens = a.iter().zip(b).enumerate();
        sixteens.fold(0, |word, (i, (a, b))| {
            // Safety: both are sixteen numbers long.
            let (a, b) = unsafe { (_mm512_loadu_ps(a.as_ptr()), _mm512_loadu_ps(b.as_ptr())) };
            word | u64::from(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b)) << (16 * i)
        })
    }

    #[target_feature(enable = "avx512f")]
    pub fn reaching_in_sixteens(a: &[f32; 64], bar: f32) -> u64 {
        let (a, _) = a.as_chunks::<16>();
        let bar = _mm512_set1_ps(bar);
        a.iter().enumerate().fold(0, |word, (i, a)| {
            // Safety: sixteen numbers long.
            let a = unsafe { _mm512_loadu_ps(a.as_ptr()) };
            word | u64::from(_mm512_cmp_ps_mask::<_CMP_GE_OQ>(a, bar)) << (16 * i)
        })
    }

    #[target_feature(enable = "avx2")]
    pub fn larger(a: &[f32; 64], b: &[f32; 64]) -> u64 {
        let (a, _) = a.as_chunks::<8>();
        let (b, _) = b.as_chunks::<8>();
        let eights = a.iter().zip(b).enumerate();
        eights.fold(0, |word, (i, (a, b))| {
            // Safety: both are eight numbers long.
            let (a, b) = unsafe { (_mm256_loadu_ps(a.as_ptr()), _mm256_loadu_ps(b.as_ptr())) };
            let mask = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(a, b));
            word | u64::from(mask as u8) << (8 * i)
        })
    }

    #[target_feature(enable = "avx2")]
    pub fn reaching(a: &[f32; 64], bar: f32) -> u64 {
        let (a, _) = a.as_chunks::<8>();
        let bar = _mm256_set1_ps(bar);
        a.iter().enumerate().fold(0, |word, (i, a)| {
            // Safety: eight numbers long.
            let a = unsafe { _mm256_loadu_ps(a.as_ptr()) };
            let mask = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(a, bar));
            word | u64::from(mask as u8) << (8 * i)
        })
    }
}

/// The lowest bits of eight bytes in one: the product moves bit `8 i` to place `56 + i`, and no
/// other sum reaches the highest byte.
#[inline]
fn gather(flags: [u8; 8]) -> u8 {
    (u64::from_le_bytes(flags).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// `result[e] = on(cotangent[e])` where bit `e` is set, else `off(cotangent[e])`.
pub(crate) fn select<T: Scalar>(
    bits: &[u64],
    cotangent: &[T],
    result: &mut [T],
    on: impl Fn(T) -> T,
    off: impl Fn(T) -> T,
) {
    let choose = |byte: u8, lane: usize, c: T| {
        if byte & (1 << lane) == 0 {
            off(c)
        } else {
            on(c)
        }
    };
    let (blocks, rest) = cotangent.as_chunks::<8>();
    let (results, last) = result.as_chunks_mut::<8>();
    let mut bytes = bits.iter().flat_map(|word| word.to_le_bytes());
    for ((block, result), byte) in blocks.iter().zip(results).zip(&mut bytes) {
        *result = std::array::from_fn(|lane| choose(byte, lane, block[lane]));
    }
    let byte = bytes.next().unwrap_or(0);
    for (lane, (result, &c)) in last.iter_mut().zip(rest).enumerate() {
        *result = choose(byte, lane, c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_bits_in_order() {
        let a: Vec<f32> = (0..64).map(|i| ((i * 37 % 11) as f32) - 5.0).collect();
        let b: Vec<f32> = (0..64).map(|i| ((i * 17 % 7) as f32) - 3.0).collect();
        for n in [1, 7, 63, 64] {
            let (a, b) = (&a[..n], &b[..n]);
            for i in 0..64 {
                let expected = i < n && a[i] > b[i];
                assert_eq!(larger(a, b) >> i & 1 == 1, expected, "{n} {i}");
                let expected = i < n && a[i] >= 1.0;
                assert_eq!(reaching(a, 1.0) >> i & 1 == 1, expected, "{n} {i}");
            }
        }
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            let (a, b) = (a[..].try_into().unwrap(), b[..].try_into().unwrap());
            // Safety: the instructions are there.
            let eights = unsafe { (super::x86::larger(a, b), super::x86::reaching(a, 1.0)) };
            assert_eq!(eights, (larger(a, b), reaching(a, 1.0)));
        }
    }

    #[test]
    fn packed_bits_select_what_they_were_packed_from() {
        for n in [0usize, 1, 7, 8, 9, 63, 64, 65, 130] {
            let x: Vec<f32> = (0..n).map(|i| ((i * 37 % 11) as f32) - 5.0).collect();
            let bits: Vec<u64> = pack(&x, |x| x >= 0.0).collect();
            assert_eq!(bits.len(), n.div_ceil(64));
            let mut selected = vec![f32::NAN; n];
            select(&bits, &x, &mut selected, |c| c, |_| 0.0);
            let expected: Vec<f32> = x.iter().map(|x| x.max(0.0)).collect();
            assert_eq!(selected, expected);
        }
    }
}
