//! Prefetch hints to the processor.

/// Size of a cache line in bytes.
const LINE: usize = 64;

/// Prefetches the first cache line of `place`, which is about to be read. Does nothing on targets other than x86-64.
#[inline(always)]
#[expect(clippy::inline_always, reason = "a function call would cost as much as the prefetch")]
pub fn prefetch<T: ?Sized>(place: &T) {
    prefetch_lines(place, 1);
}

/// Prefetches all cache lines of `place`, which is about to be read completely.
#[inline]
pub fn prefetch_whole<T: ?Sized>(place: &T) {
    prefetch_lines(place, size_of_val(place).div_ceil(LINE));
}

/// Prefetches `lines` cache lines from the first byte of `place` on. These lines may extend beyond `place`.
#[inline(always)]
#[expect(clippy::inline_always, reason = "a function call would cost as much as the prefetch")]
pub fn prefetch_lines<T: ?Sized>(place: &T, lines: usize) {
    let start = std::ptr::from_ref(place).cast::<u8>();
    for line in 0..lines {
        ask_for(start.wrapping_add(line * LINE));
    }
}

/// Prefetches the cache line of an address, which need not be valid.
#[inline(always)]
fn ask_for(place: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[expect(unsafe_code, reason = "the prefetch intrinsic is unsafe")]
    // SAFETY: a prefetch is a hint. It reads and writes nothing that a program could see, and cannot fault.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}
