//! A ring of packets from one producer to one consumer, in memory that both share. Neither side trusts the other side.
//!
//! ```text
//! word 0         8          16
//!      consumed  produced   entry 0    entry 1  …
//! ```
//!
//! An entry is two words: the time at which the packet is due at the consumer, and the packet's slot, length and tag.
//! `produced` and `consumed` count entries since the ring was made. Each count has its own cache line, and each side
//! caches the other side's count. The consumer reads `produced` again when its cached count shows no further entry. The
//! producer reads `consumed` again when its cached count shows a full ring. If the producer is asked for the
//! [room](Producer::room), it also reads `consumed` when the cached count shows room for at most half of the ring. In a
//! burst, one cache line of entries crosses between cores for every four packets. An impossible count, which only a
//! faulty process can have written, causes the error [`Broken`].

use super::sync::{AtomicU64, Ordering};
use std::ops::{Deref, Not};

const CONSUMED: usize = 0;
const PRODUCED: usize = 8;
const ENTRIES: usize = 16;
const WORDS_OF_ENTRY: usize = 2;

/// A packet on its way over a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The time at which the packet is due at the consumer, in ps of virtual time.
    pub(crate) due: u64,
    /// The number of the slot that holds the packet.
    pub(crate) slot: u32,
    /// Number of bytes of the packet, fewer than 2^24.
    pub(crate) len: u32,
    /// Extra information for the two ends of the link. The ring carries it unchanged.
    pub(crate) tag: u8,
}

/// Number of bits below the tag in an entry's second word: 32 bits for the slot, and 24 bits for the length.
const BELOW_TAG: u32 = 56;

/// Maximum size of a packet in bytes, so that its length fits an entry.
pub(crate) const MOST_BYTES: usize = (1 << 24) - 1;

/// The other side has written an impossible count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the process at the other end of a packet ring has written an impossible count")]
pub(crate) struct Broken;

/// Number of words of memory for a ring of `capacity` entries, which must be a power of two.
pub(crate) const fn words(capacity: usize) -> usize {
    ENTRIES + capacity * WORDS_OF_ENTRY
}

fn capacity(words: &[AtomicU64]) -> u64 {
    let capacity = (words.len() - ENTRIES) / WORDS_OF_ENTRY;
    assert!(capacity.is_power_of_two(), "the number of entries of a ring must be a power of two");
    capacity as u64
}

#[allow(clippy::cast_possible_truncation, reason = "a `usize` has 64 bits")]
fn place(count: u64, capacity: u64) -> usize {
    ENTRIES + (count & (capacity - 1)) as usize * WORDS_OF_ENTRY
}

/// The producing end of a ring.
#[derive(Debug)]
pub(crate) struct Producer<W> {
    words: W,
    capacity: u64,
    produced: u64,
    /// The consumer's count when it was last read.
    consumed: u64,
}

impl<W: Deref<Target = [AtomicU64]>> Producer<W> {
    /// The producer of an empty ring in these words, which must all be zero.
    pub(crate) fn new(words: W) -> Self {
        Self { capacity: capacity(&words), words, produced: 0, consumed: 0 }
    }

    /// A lower bound of the number of entries for which the ring has room.
    #[inline]
    pub(crate) fn room(&mut self) -> Result<u64, Broken> {
        let room = self.capacity - (self.produced - self.consumed);
        if room > self.capacity / 2 {
            return Ok(room);
        }
        let consumed = self.words[CONSUMED].load(Ordering::Acquire);
        if consumed < self.consumed || consumed > self.produced {
            return Err(Broken);
        }
        self.consumed = consumed;
        Ok(self.capacity - (self.produced - consumed))
    }

    /// Returns true if at least half of the ring is full, or the ring is broken.
    #[inline]
    pub(crate) fn is_half_full(&mut self) -> bool {
        self.room().is_ok_and(|room| room > self.capacity / 2).not()
    }

    /// Puts a packet into the ring. Returns false if the ring is full.
    #[inline]
    pub(crate) fn push(&mut self, entry: Entry) -> Result<bool, Broken> {
        if self.produced - self.consumed == self.capacity && self.room()? == 0 {
            return Ok(false);
        }
        let at = place(self.produced, self.capacity);
        self.words[at].store(entry.due, Ordering::Relaxed);
        let packet = u64::from(entry.tag) << BELOW_TAG | u64::from(entry.len) << 32 | u64::from(entry.slot);
        self.words[at + 1].store(packet, Ordering::Relaxed);
        self.produced += 1;
        self.words[PRODUCED].store(self.produced, Ordering::Release);
        Ok(true)
    }
}

/// The consuming end of a ring.
#[derive(Debug)]
pub(crate) struct Consumer<W> {
    words: W,
    capacity: u64,
    consumed: u64,
    /// The producer's count when it was last read.
    produced: u64,
}

impl<W: Deref<Target = [AtomicU64]>> Consumer<W> {
    /// The consumer of an empty ring in these words, which must all be zero.
    pub(crate) fn new(words: W) -> Self {
        Self { capacity: capacity(&words), words, consumed: 0, produced: 0 }
    }

    /// The first packet in the ring, or `None` if the ring is empty.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "each field is masked to its width")]
    pub(crate) fn peek(&mut self) -> Result<Option<Entry>, Broken> {
        if self.consumed == self.produced {
            let produced = self.words[PRODUCED].load(Ordering::Acquire);
            if produced < self.produced || produced - self.consumed > self.capacity {
                return Err(Broken);
            }
            if produced == self.produced {
                return Ok(None);
            }
            self.produced = produced;
        }
        let at = place(self.consumed, self.capacity);
        let due = self.words[at].load(Ordering::Relaxed);
        let packet = self.words[at + 1].load(Ordering::Relaxed);
        let len = (packet >> 32) as u32 & MOST_BYTES as u32;
        Ok(Some(Entry { due, slot: packet as u32, len, tag: (packet >> BELOW_TAG) as u8 }))
    }

    /// Removes the packet that [`peek`](Self::peek) returned.
    #[inline]
    pub(crate) fn take(&mut self) {
        debug_assert!(self.consumed < self.produced, "`peek` must have returned a packet");
        self.consumed += 1;
        self.words[CONSUMED].store(self.consumed, Ordering::Release);
    }
}
