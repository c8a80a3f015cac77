//! Memory in which rings and slots are, as words that are read and written atomically.
//!
//! This is the crate's one module with `unsafe`. All that it hands out are slices of atomics: whatever another thread writes, and
//! whenever, is a value that is read once, and not undefined behaviour.

use super::sync::AtomicU64;
use memmap2::{Advice, MmapOptions, MmapRaw};
use std::io;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Bytes of a word.
pub(crate) const WORD: usize = 8;

/// A piece of memory.
#[derive(Debug)]
pub(crate) struct Region {
    map: MmapRaw,
}

/// The system has no such memory.
#[derive(Debug, thiserror::Error)]
#[error("no {bytes} bytes of memory for rings and packets: {why}")]
pub struct NoMemory {
    /// How much was wanted.
    pub bytes: usize,
    /// What the system said.
    pub why: io::Error,
}

impl Region {
    /// So many words of zeros.
    ///
    /// # Errors
    /// [`NoMemory`], if the system has none.
    pub(crate) fn new(words: usize) -> Result<Arc<Self>, NoMemory> {
        let bytes = words * WORD;
        let map = MmapOptions::new().len(bytes).map_anon().map_err(|why| NoMemory { bytes, why })?;
        // In large pages, where the system has them. It may not, and the run is slower then.
        let _ = map.advise(Advice::HugePage);
        // All of it is there before the clock starts: a page that is first touched in a run would make its packet late.
        map.advise(Advice::PopulateWrite).map_err(|why| NoMemory { bytes, why })?;
        Ok(Arc::new(Self { map: map.into() }))
    }

    /// Some of its words.
    ///
    /// # Panics
    /// If it does not have them.
    pub(crate) fn words(self: &Arc<Self>, range: Range<usize>) -> Words {
        assert!(range.start <= range.end && range.end <= self.map.len() / WORD, "words of the region");
        Words { region: Arc::clone(self), first: range.start, len: range.len() }
    }
}

/// Words of a [`Region`].
#[derive(Debug, Clone)]
pub(crate) struct Words {
    region: Arc<Region>,
    first: usize,
    len: usize,
}

impl Deref for Words {
    type Target = [AtomicU64];

    #[inline]
    #[expect(unsafe_code, reason = "the one view of the memory")]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the map is page-aligned, is as long as `Region::words` has checked, and lives as long as `self.region`. All bit
        // patterns are words, and nobody reaches the memory but by these atomics.
        unsafe {
            let base = self.region.map.as_ptr().cast::<AtomicU64>();
            std::slice::from_raw_parts(base.add(self.first), self.len)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn pieces_that_overlap_share_their_words() {
        let region = Region::new(512).expect("a page of memory");
        region.words(8..16)[1].store(7, Ordering::Relaxed);
        assert_eq!(region.words(0..512)[9].load(Ordering::Relaxed), 7);
        assert_eq!(region.words(10..512)[0].load(Ordering::Relaxed), 0);
    }
}
