//! Counts the memory the program holds, so that no structure is asked about itself.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator with counters.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grow(bytes: usize) {
    let now = IN_USE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    // Mostly there is nothing to write, and reading lets threads share the line.
    if now > PEAK.load(Ordering::Relaxed) {
        PEAK.fetch_max(now, Ordering::Relaxed);
    }
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Bytes that are allocated now.
pub fn in_use() -> usize {
    IN_USE.load(Ordering::Relaxed)
}

/// Most bytes that were allocated at one time while something ran.
pub fn peak<R>(run: impl FnOnce() -> R) -> (R, usize) {
    PEAK.store(in_use(), Ordering::Relaxed);
    let result = run();
    (result, PEAK.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_freed_again_is_in_the_peak() {
        const LARGE: usize = 1 << 28;
        let (kept, peak) = peak(|| {
            drop(std::hint::black_box(vec![0u8; LARGE]));
            vec![0u8; 10]
        });
        assert!(peak >= LARGE && in_use() < LARGE, "{}", kept.len());
    }
}
