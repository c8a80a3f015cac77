//! Memory that several processes share, as words that are read and written atomically.
//!
//! This is the crate's one module with `unsafe`. All that it hands out are slices of atomics: whatever another process writes,
//! and whenever, is a value that is read once, and not undefined behaviour. The memory is sealed: it can neither shrink, which
//! would end its readers with SIGBUS, nor grow.

use super::sync::AtomicU64;
use memmap2::MmapRaw;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, ftruncate, memfd_create};
use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::os::fd::OwnedFd;
use std::sync::Arc;

const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// Bytes of a word.
pub(crate) const WORD: usize = 8;

/// A piece of memory that other processes may map too. It is gone when nobody has it mapped or open any more.
#[derive(Debug)]
pub(crate) struct Region {
    map: MmapRaw,
    file: File,
}

/// Why memory cannot be shared.
#[derive(Debug, thiserror::Error)]
pub enum SharedError {
    /// The system refused.
    #[error("cannot share {bytes} bytes of memory: {why}")]
    System {
        /// How much was wanted.
        bytes: usize,
        /// What the system said.
        why: io::Error,
    },
    /// What another process offered is not sealed or has another size.
    #[error(
        "a process offered memory that it could take away: it is not sealed, or not of the size agreed on"
    )]
    Unsealed,
}

impl Region {
    /// So many words of zeros.
    ///
    /// # Errors
    /// [`SharedError::System`], if the system has no such memory.
    pub(crate) fn new(words: usize) -> Result<Arc<Self>, SharedError> {
        let bytes = words * WORD;
        let made = || -> io::Result<File> {
            let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
            let file = memfd_create("raddle-rack", flags)?;
            ftruncate(&file, bytes as u64)?;
            fcntl_add_seals(&file, SEALS)?;
            Ok(File::from(file))
        };
        Self::map(made().map_err(|why| SharedError::System { bytes, why })?, bytes)
    }

    /// The memory that another process has handed over, which must be sealed and have so many words.
    ///
    /// # Errors
    /// [`SharedError`], if it is not, or cannot be mapped.
    pub(crate) fn open(file: OwnedFd, words: usize) -> Result<Arc<Self>, SharedError> {
        let bytes = words * WORD;
        let system = |why| SharedError::System { bytes, why };
        let seals = fcntl_get_seals(&file).map_err(|why| system(why.into()))?;
        let file = File::from(file);
        let size = file.metadata().map_err(system)?.len();
        if !seals.contains(SEALS) || size != bytes as u64 {
            return Err(SharedError::Unsealed);
        }
        Self::map(file, bytes)
    }

    fn map(file: File, bytes: usize) -> Result<Arc<Self>, SharedError> {
        let map = MmapRaw::map_raw(&file).map_err(|why| SharedError::System { bytes, why })?;
        Ok(Arc::new(Self { map, file }))
    }

    /// The descriptor, to hand to another process.
    pub(crate) fn file(&self) -> &File {
        &self.file
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
    #[expect(unsafe_code, reason = "the one view of shared memory")]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: the map is page-aligned, lives as long as `self.region`, and has the words `first..first + len`, as
        // `Region::words` checked; seals keep the file behind it from shrinking. All bit patterns are words. Nobody in this
        // process reaches the memory but by these atomics, and other processes' writes are to us like other threads'.
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
    fn both_maps_see_the_same_words() {
        let ours = Region::new(512).expect("a page of memory");
        let theirs =
            Region::open(ours.file().try_clone().expect("a descriptor").into(), 512).expect("sealed");
        ours.words(8..16)[1].store(7, Ordering::Relaxed);
        assert_eq!(theirs.words(0..512)[9].load(Ordering::Relaxed), 7);
    }

    #[test]
    fn memory_that_could_be_taken_away_is_refused() {
        let file =
            memfd_create("raddle-test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).expect("a memfd");
        ftruncate(&file, 4_096).expect("a page");
        assert!(matches!(Region::open(file, 512), Err(SharedError::Unsealed)));
        let other = Region::new(1_024).expect("two pages");
        let file = other.file().try_clone().expect("a descriptor").into();
        assert!(matches!(Region::open(file, 512), Err(SharedError::Unsealed)), "another size");
        assert!(ftruncate(other.file(), 0).is_err(), "sealed");
    }
}
