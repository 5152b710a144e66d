//! A bit per element: taken where a function has one kink, and used to choose between two slopes
//! on the way back. Both run over every neuron of every sample, so they are written for the
//! vectoriser.

use crate::Scalar;

/// Bits of one sample: element `e` is bit `e % 64` of word `e / 64`.
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

/// Bits of up to 64 pairs: whether something holds of both elements.
pub fn pack_pairs<T: Scalar>(a: &[T], b: &[T], holds: impl Fn(T, T) -> bool) -> u64 {
    let mut flags = [0u8; 64];
    for ((flag, &a), &b) in flags.iter_mut().zip(a).zip(b) {
        *flag = u8::from(holds(a, b));
    }
    let (blocks, _) = flags.as_chunks::<8>();
    let mut bytes = [0u8; 8];
    for (byte, block) in bytes.iter_mut().zip(blocks) {
        *byte = gather(*block);
    }
    u64::from_le_bytes(bytes)
}

/// The lowest bits of eight bytes in one: the product moves bit `8 i` to place `56 + i`, and no
/// other sum reaches the highest byte.
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
