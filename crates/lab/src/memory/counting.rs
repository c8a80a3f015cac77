//! An allocator that counts the bytes that each thread allocates. It measures the memory that a scheme takes at a few
//! nodes, from which the memory at all nodes is estimated.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes that this thread has allocated, minus the bytes that it has freed, with the overhead of the heap.
    static BYTES: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator, with a count of allocated bytes. If a program does not install it as the global allocator,
/// estimates take the memory of the scheme at the nodes as 0.
pub struct CountingAllocator;

/// Bytes that this thread has allocated since its start, minus the bytes that it has freed; 0 if the thread is ending.
pub(crate) fn counted() -> i64 {
    BYTES.try_with(Cell::get).unwrap_or(0)
}

/// Overhead of the heap per allocation (`WORD`), and granularity of allocations (`UNIT`), in bytes, for glibc's malloc.
const WORD: usize = 8;
const UNIT: usize = 16;

fn count(size: usize, sign: i64) {
    let bytes = (size + WORD).next_multiple_of(UNIT).max(2 * UNIT) as i64;
    // The allocations of a thread that is ending are not counted.
    let _ = BYTES.try_with(|counted| counted.set(counted.get() + sign * bytes));
}

#[expect(unsafe_code, reason = "a global allocator is unsafe to implement")]
// SAFETY: every call is passed unchanged to the system's allocator. Counting neither touches the returned memory nor
// allocates.
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
