//! Telling the processor what will be read soon.

/// Asks for the first cache line of `place`, which is about to be read. Does nothing where that cannot be asked.
#[inline(always)]
pub(crate) fn prefetch<T: ?Sized>(place: &T) {
    prefetch_at(std::ptr::from_ref(place).cast());
}

/// Asks for the cache line of an address, whatever is there.
#[inline(always)]
pub(crate) fn prefetch_at(place: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[expect(unsafe_code, reason = "the only way to ask")]
    // SAFETY: a prefetch is a hint. It reads and writes nothing that a program could see, and cannot fault.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}
