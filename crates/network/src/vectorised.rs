//! Plain loops compiled for the widest vectors the machine has.
//!
//! A released binary is built for the oldest x86-64, whose vectors are four numbers wide. Loops that
//! run over every neuron deserve better; this compiles them a second time and picks at run time.

/// Runs `work`, compiled with AVX-512 or AVX2 where the machine has it. Whatever `work` calls must be inlined
/// into it to profit, so mark it `#[inline(always)]`. Results are the same bits either way: the
/// compiler does not fuse or reorder floating-point operations.
#[inline]
pub fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        unsafe fn wide<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
        unsafe fn widest<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
        {
            // Safety: the instructions are there.
            return unsafe { widest(work) };
        }
        if is_x86_feature_detected!("avx2") {
            // Safety: the instructions are there.
            return unsafe { wide(work) };
        }
    }
    work()
}
