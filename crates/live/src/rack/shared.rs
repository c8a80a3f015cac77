//! The memory that holds rings and slots, as words that are read and written atomically.
//!
//! This is the crate's only module with `unsafe`. The module hands out only slices of atomics. If another thread writes
//! a word at the same time, a read gives some value, and is not undefined behavior.

use super::sync::AtomicU64;
use memmap2::{Advice, MmapOptions, MmapRaw};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, memfd_create};
use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Size of a word in bytes.
pub(crate) const WORD: usize = 8;

/// Seals that fix the size of memory that several processes map.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// A piece of memory, private to this process or shared with other processes.
#[derive(Debug)]
pub(crate) struct Region {
    map: MmapRaw,
}

/// The memory for rings and packets cannot be allocated, passed to another process or mapped.
#[derive(Debug, thiserror::Error)]
#[error("cannot allocate or map {bytes} bytes of memory for packets and packet rings: {why}")]
pub struct NoMemory {
    /// Number of bytes that were requested.
    pub bytes: usize,
    /// The reason, such as the system's error.
    pub why: io::Error,
}

impl Region {
    /// Allocates `words` words of zeros for this process alone.
    ///
    /// # Errors
    /// [`NoMemory`], if the system refuses the memory.
    pub(crate) fn new(words: usize) -> Result<Arc<Self>, NoMemory> {
        let bytes = words * WORD;
        let map = MmapOptions::new().len(bytes).map_anon().map_err(|why| NoMemory { bytes, why })?;
        // Large pages make the run faster. An error is ignored, because the system may not have large pages.
        let _ = map.advise(Advice::HugePage);
        // All pages exist before the clock starts. A page that is first touched during a run would make a packet late.
        map.advise(Advice::PopulateWrite).map_err(|why| NoMemory { bytes, why })?;
        Ok(Arc::new(Self { map: map.into() }))
    }

    /// Allocates zeroed words for several processes. Returns the memory, and the descriptor with which the other
    /// processes [map](Self::of) the memory. The memory is sealed against shrinking, so no process can remove words
    /// that another process uses.
    ///
    /// # Errors
    /// [`NoMemory`], if the system refuses the memory.
    pub(crate) fn shared(words: usize) -> Result<(Arc<Self>, OwnedFd), NoMemory> {
        let make = || -> io::Result<OwnedFd> {
            let descriptor = memfd_create("raddle", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
            let file = File::from(descriptor);
            file.set_len((words * WORD) as u64)?;
            fcntl_add_seals(&file, SEALS)?;
            Ok(file.into())
        };
        let descriptor = make().map_err(|why| NoMemory { bytes: words * WORD, why })?;
        Ok((Self::of(&descriptor, words)?, descriptor))
    }

    /// Maps `words` words of memory that a process has [made](Self::shared).
    ///
    /// # Errors
    /// [`NoMemory`], if the memory has another length or its length is not sealed, or the system refuses to map the
    /// memory.
    pub(crate) fn of(descriptor: &OwnedFd, words: usize) -> Result<Arc<Self>, NoMemory> {
        let bytes = words * WORD;
        let map = || -> io::Result<MmapRaw> {
            let seals = fcntl_get_seals(descriptor)?;
            let len = File::from(descriptor.try_clone()?).metadata()?.len();
            if !seals.contains(SEALS) || len != bytes as u64 {
                return Err(io::Error::other(format!(
                    "the shared memory must have {bytes} bytes and be sealed (got \
                        {len} bytes and the seals {seals:?})"
                )));
            }
            let map = MmapOptions::new().len(bytes).map_raw(descriptor)?;
            let _ = map.advise(Advice::HugePage);
            map.advise(Advice::PopulateWrite)?;
            Ok(map)
        };
        Ok(Arc::new(Self { map: map().map_err(|why| NoMemory { bytes, why })? }))
    }

    /// A range of the region's words.
    ///
    /// # Panics
    /// If the region does not have all words of the range.
    #[expect(unsafe_code, reason = "only this function turns the memory into a slice")]
    #[expect(clippy::cast_ptr_alignment, reason = "a memory map begins at a page boundary")]
    pub(crate) fn words(self: &Arc<Self>, range: Range<usize>) -> Words {
        let (first, count) = (self.map.as_ptr().cast::<AtomicU64>(), self.map.len() / WORD);
        // SAFETY: the map is page-aligned and has `count` words. It lives at least as long as each `Words`, which lends
        // the slice for no longer than the `Words` itself lives. All bit patterns are valid words, and all accesses to
        // the memory use these atomics.
        let all: &'static [AtomicU64] = unsafe { std::slice::from_raw_parts(first, count) };
        Words { words: &all[range], _region: Arc::clone(self) }
    }
}

/// Words of a [`Region`].
#[derive(Debug, Clone)]
pub(crate) struct Words {
    /// The slice is valid while `_region` lives. Access through the slice avoids a lookup in the region.
    words: &'static [AtomicU64],
    _region: Arc<Region>,
}

impl Deref for Words {
    type Target = [AtomicU64];

    #[inline]
    fn deref(&self) -> &[AtomicU64] {
        self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn memory_of_another_process_is_taken_only_as_long_as_it_is_and_stays() {
        let (region, descriptor) = Region::shared(512).expect("a page of memory");
        let other = Region::of(&descriptor, 512).expect("the same memory");
        region.words(0..512)[3].store(9, Ordering::Relaxed);
        assert_eq!(other.words(0..512)[3].load(Ordering::Relaxed), 9);
        assert!(Region::of(&descriptor, 511).is_err() && Region::of(&descriptor, 513).is_err());
        let unsealed = memfd_create("raddle", MemfdFlags::ALLOW_SEALING).expect("a descriptor");
        File::from(unsealed.try_clone().expect("a descriptor")).set_len(4_096).expect("a page");
        assert!(Region::of(&unsealed, 512).is_err(), "whoever has made it could take it away");
    }

    #[test]
    fn pieces_that_overlap_share_their_words() {
        let region = Region::new(512).expect("a page of memory");
        region.words(8..16)[1].store(7, Ordering::Relaxed);
        assert_eq!(region.words(0..512)[9].load(Ordering::Relaxed), 7);
        assert_eq!(region.words(10..512)[0].load(Ordering::Relaxed), 0);
    }
}
