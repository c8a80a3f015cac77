//! Work that an interruption must not cut off: it hears of the interruption itself, and leaves its files as they should be.
//!
//! All else (reading inputs, building a topology, checking flows) leaves nothing behind, so that a process that does no
//! such work can just end.

use std::sync::atomic::{AtomicU64, Ordering};

/// Pieces of work that have begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Pieces of work that have ended.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// A piece of such work, from its beginning until this is dropped.
pub(crate) struct Graceful(());

impl Graceful {
    /// A piece of work begins.
    pub(crate) fn begin() -> Self {
        BEGUN.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Graceful {
    fn drop(&mut self) {
        ENDED.fetch_add(1, Ordering::SeqCst);
    }
}

/// The number of pieces of work that have ended so far; `None` while one is under way.
#[must_use]
pub fn finished_work() -> Option<u64> {
    let ended = ENDED.load(Ordering::SeqCst);
    (BEGUN.load(Ordering::SeqCst) == ended).then_some(ended)
}
