//! Memory that a peer may write to at any time. All accesses are atomic reads and writes of words, so that a concurrent
//! write of a peer is not undefined behavior. A reader that checks a word, such as a length or a count, loads the word
//! once and works with the loaded value.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Size of a word in bytes.
pub const WORD: usize = 8;

/// Number of words in a cache line.
pub(crate) const LINE: usize = 8;

/// A region of words. Clones share the region, which is freed when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct Words {
    all: Arc<[AtomicU64]>,
    /// Index of the first word that is used. The region begins at the start of a cache line.
    first: usize,
    len: usize,
}

impl Words {
    /// A region of `len` zeros.
    #[must_use]
    pub fn new(len: usize) -> Self {
        let all: Arc<[AtomicU64]> = (0..len + LINE).map(|_| AtomicU64::new(0)).collect();
        let first = all.as_ptr().align_offset(LINE * WORD).min(LINE);
        Self { all, first, len }
    }

    /// Returns true if `self` and `other` are the same region.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.all, &other.all)
    }
}

impl Deref for Words {
    type Target = [AtomicU64];

    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        &self.all[self.first..self.first + self.len]
    }
}
