//! Tile routines for x86-64 with fused multiply-add: AVX2 and AVX-512, chosen by what the CPU
//! reports at run time, so that one released binary is as fast as a local build.

use std::arch::x86_64::{
    __m256, _mm256_broadcast_sd, _mm256_broadcast_ss, _mm256_fmadd_pd, _mm256_fmadd_ps,
    _mm256_loadu_pd, _mm256_loadu_ps, _mm256_permute2f128_ps, _mm256_shuffle_ps, _mm256_storeu_pd,
    _mm256_storeu_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps, _mm512_fmadd_pd, _mm512_fmadd_ps,
    _mm512_loadu_pd, _mm512_loadu_ps, _mm512_set1_pd, _mm512_set1_ps, _mm512_storeu_pd,
    _mm512_storeu_ps,
};

use super::{Kernel, Tile};

pub(super) fn best_f32() -> Option<&'static Kernel<f32>> {
    if is_x86_feature_detected!("avx512f") {
        Some(&avx512_f32::KERNEL)
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        Some(&avx2_f32::KERNEL)
    } else {
        None
    }
}

pub(super) fn best_f64() -> Option<&'static Kernel<f64>> {
    if is_x86_feature_detected!("avx512f") {
        Some(&avx512_f64::KERNEL)
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        Some(&avx2_f64::KERNEL)
    } else {
        None
    }
}

/// Eight by eight numbers: pairs of lines are woven together in halves, then the halves change
/// places.
#[target_feature(enable = "avx")]
unsafe fn transpose_f32(from: *const f32, from_stride: usize, to: *mut f32, to_stride: usize) {
    // Safety: as the caller promises.
    unsafe {
        let line: [__m256; 8] = std::array::from_fn(|i| _mm256_loadu_ps(from.add(i * from_stride)));
        let weave = |a, b| (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (p0, p1) = weave(line[0], line[1]);
        let (p2, p3) = weave(line[2], line[3]);
        let (p4, p5) = weave(line[4], line[5]);
        let (p6, p7) = weave(line[6], line[7]);
        let even = |a, b| _mm256_shuffle_ps::<0b01_00_01_00>(a, b);
        let odd = |a, b| _mm256_shuffle_ps::<0b11_10_11_10>(a, b);
        let low = [even(p0, p2), odd(p0, p2), even(p1, p3), odd(p1, p3)];
        let high = [even(p4, p6), odd(p4, p6), even(p5, p7), odd(p5, p7)];
        for i in 0..4 {
            let top = _mm256_permute2f128_ps::<0x20>(low[i], high[i]);
            let bottom = _mm256_permute2f128_ps::<0x31>(low[i], high[i]);
            _mm256_storeu_ps(to.add(i * to_stride), top);
            _mm256_storeu_ps(to.add((i + 4) * to_stride), bottom);
        }
    }
}

/// One routine: a panel is two vectors wide and a tile `$rows` rows high, which fills the register
/// file with sums. Only the intrinsics differ between the instantiations.
macro_rules! tile_routine {
    ($module:ident, $name:literal, $features:literal, $t:ty, lanes $lanes:literal, rows $rows:literal,
     $load:ident, $store:ident, $fma:ident, |$a:ident| $broadcast:expr, $transpose:expr,
     [$($height:literal)*]) => {
        pub(super) mod $module {
            use super::*;

            pub static KERNEL: Kernel<$t> = Kernel {
                name: $name,
                columns: 2 * $lanes,
                rows: $rows,
                tile,
                transpose: $transpose,
            };

            unsafe fn tile(tile: &Tile<'_, $t>) {
                // Safety: as the caller promises; the features were detected before `KERNEL` was
                // handed out.
                unsafe {
                    match (tile.rows.len(), tile.columns > $lanes) {
                        $(($height, true) => sums::<$height, true>(tile),
                        ($height, false) => sums::<$height, false>(tile),)*
                        _ => {}
                    }
                }
            }

            /// Of a panel that is not `WIDE` the second vector holds no column, and nothing is done for it.
            #[target_feature(enable = $features)]
            unsafe fn sums<const ROWS: usize, const WIDE: bool>(tile: &Tile<'_, $t>) {
                // Safety: as the caller promises.
                unsafe {
                    let rows: [*const $t; ROWS] = std::array::from_fn(|r| tile.rows[r]);
                    let bias = [$load(tile.bias), $load(tile.bias.add($lanes))];
                    let mut left = [bias[0]; ROWS];
                    let mut right = [bias[1]; ROWS];
                    let mut weights = tile.panel;
                    for &tap in tile.taps {
                        for k in tap..tap + tile.run {
                            let b0 = $load(weights);
                            let b1 = if WIDE { $load(weights.add($lanes)) } else { b0 };
                            for r in 0..ROWS {
                                let $a = rows[r].add(k);
                                let a = $broadcast;
                                left[r] = $fma(a, b0, left[r]);
                                if WIDE {
                                    right[r] = $fma(a, b1, right[r]);
                                }
                            }
                            weights = weights.add(2 * $lanes);
                        }
                    }
                    if tile.columns == if WIDE { 2 * $lanes } else { $lanes } {
                        for r in 0..ROWS {
                            $store(tile.outputs[r], left[r]);
                            if WIDE {
                                $store(tile.outputs[r].add($lanes), right[r]);
                            }
                        }
                    } else {
                        let mut whole = [0.0; 2 * $lanes];
                        for r in 0..ROWS {
                            $store(whole.as_mut_ptr(), left[r]);
                            $store(whole.as_mut_ptr().add($lanes), right[r]);
                            std::ptr::copy_nonoverlapping(
                                whole.as_ptr(),
                                tile.outputs[r],
                                tile.columns,
                            );
                        }
                    }
                }
            }
        }
    };
}

tile_routine!(avx2_f32, "avx2", "avx2,fma", f32, lanes 8, rows 6,
    _mm256_loadu_ps, _mm256_storeu_ps, _mm256_fmadd_ps, |a| _mm256_broadcast_ss(&*a), Some(transpose_f32),
    [1 2 3 4 5 6]);
tile_routine!(avx2_f64, "avx2", "avx2,fma", f64, lanes 4, rows 6,
    _mm256_loadu_pd, _mm256_storeu_pd, _mm256_fmadd_pd, |a| _mm256_broadcast_sd(&*a), None,
    [1 2 3 4 5 6]);
tile_routine!(avx512_f32, "avx512", "avx512f", f32, lanes 16, rows 12,
    _mm512_loadu_ps, _mm512_storeu_ps, _mm512_fmadd_ps, |a| _mm512_set1_ps(*a), Some(transpose_f32),
    [1 2 3 4 5 6 7 8 9 10 11 12]);
tile_routine!(avx512_f64, "avx512", "avx512f", f64, lanes 8, rows 12,
    _mm512_loadu_pd, _mm512_storeu_pd, _mm512_fmadd_pd, |a| _mm512_set1_pd(*a), None,
    [1 2 3 4 5 6 7 8 9 10 11 12]);
