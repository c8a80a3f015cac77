//! The system's allocator, counting what a thread takes: so that the parts of a few nodes tell what those of all will take.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes that this thread has allocated, less those that it has freed.
    static BYTES: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator, counting; a command makes it global. Without it, the parts of nodes count as nothing in
/// estimates.
pub struct CountingAllocator;

/// Bytes that this thread has allocated and not freed since its start.
pub(crate) fn counted() -> i64 {
    BYTES.try_with(Cell::get).unwrap_or(0)
}

/// The heap's own words beside an allocation, and the unit of its sizes (glibc's malloc).
const WORD: usize = 8;
const UNIT: usize = 16;

fn count(size: usize, sign: i64) {
    let bytes = (size + WORD).next_multiple_of(UNIT).max(2 * UNIT) as i64;
    // A thread that is ending allocates without being counted.
    let _ = BYTES.try_with(|counted| counted.set(counted.get() + sign * bytes));
}

#[expect(unsafe_code, reason = "a global allocator is unsafe to implement")]
// SAFETY: every call goes to the system's allocator unchanged; counting touches nothing that it returns, and does not
// allocate.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(layout.size(), -1);
        count(size, 1);
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(at, layout) }
    }
}
