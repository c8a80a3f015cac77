//! Graceful work: work that must not be cut off by an interruption. While such work is under way, it checks by itself
//! whether it is interrupted. If it is, it puts its files in order before it stops.
//!
//! All other work (reading inputs, building a topology, checking flows) leaves nothing behind, so a process that does
//! only other work can exit at once.

use std::sync::atomic::{AtomicU64, Ordering};

/// Number of pieces of graceful work that have begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Number of pieces of graceful work that have ended.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// A piece of work that must not be cut off. It lasts from [`Graceful::begin`] until this value is dropped.
pub(crate) struct Graceful(());

impl Graceful {
    /// Begins a piece of work.
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

/// The number of pieces of graceful work that have ended; `None` while a piece is under way.
#[must_use]
pub fn finished_work() -> Option<u64> {
    let ended = ENDED.load(Ordering::SeqCst);
    (BEGUN.load(Ordering::SeqCst) == ended).then_some(ended)
}
