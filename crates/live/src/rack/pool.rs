//! Slots for packets in shared memory, and the ownership of slots.
//!
//! A slot has one holder at a time: first the node that took it from the free list, then each node that takes the
//! slot's number from a ring. Unless [`Config::copies`](super::Config::copies) is set, a relay does not copy a packet
//! to another slot. The slot that was freed last is reused first, so that the memory in use stays in the cache
//! (specifications/live.md §2).

use super::shared::{WORD, Words};
use raddle_core::prefetch;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Size of a cache line in bytes.
pub(super) const LINE: usize = 64;

/// All slots in one piece of memory, which several threads share.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    words: Words,
    words_of_slot: usize,
    count: u32,
}

/// Number of words of memory for `count` slots, each for a packet of at most `packet_bytes` bytes.
pub(crate) const fn words(count: u32, packet_bytes: usize) -> usize {
    count as usize * words_of_slot(packet_bytes)
}

/// Number of words of a slot. A slot has an odd number of cache lines, so that the first lines of slots spread over all
/// sets of the caches.
const fn words_of_slot(packet_bytes: usize) -> usize {
    (packet_bytes.div_ceil(LINE) | 1) * LINE / WORD
}

impl Slots {
    /// The slots in these words, each for a packet of at most `packet_bytes` bytes.
    pub(crate) fn new(words: Words, packet_bytes: usize) -> Self {
        let words_of_slot = words_of_slot(packet_bytes);
        let count = u32::try_from(words.len() / words_of_slot).expect("the number of slots must fit a `u32`");
        Self { words, words_of_slot, count }
    }

    /// Number of slots.
    pub(crate) const fn count(&self) -> u32 {
        self.count
    }

    /// Size of a slot in bytes.
    pub(crate) const fn bytes(&self) -> usize {
        self.words_of_slot * WORD
    }

    fn first(&self, slot: u32) -> usize {
        slot as usize * self.words_of_slot
    }

    /// The words of a slot.
    #[inline]
    pub(crate) fn words(&self, slot: u32) -> &[AtomicU64] {
        let first = self.first(slot);
        &self.words[first..first + self.words_of_slot]
    }

    /// Prefetches the first cache line of a slot, if the slot exists.
    #[inline]
    pub(crate) fn foresee(&self, slot: u32) {
        if let Some(word) = self.words.get(self.first(slot)) {
            prefetch(word);
        }
    }

    /// Copies the first `len` bytes of a slot to another slot. `len` is rounded up to whole words.
    #[inline]
    pub(crate) fn copy(&self, from: u32, to: u32, len: usize) {
        for (from, to) in self.words(from).iter().zip(self.words(to)).take(len.div_ceil(WORD)) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// The first cache line of a slot. The slot's number must be in range.
    #[inline]
    pub(crate) fn front(&self, slot: u32) -> [u8; LINE] {
        let words: &[AtomicU64; LINE / WORD] =
            self.words(slot).first_chunk().expect("a slot must have at least one cache line");
        let mut front = [0; LINE];
        for (bytes, word) in front.as_chunks_mut::<WORD>().0.iter_mut().zip(words) {
            *bytes = word.load(Ordering::Relaxed).to_le_bytes();
        }
        front
    }

    /// Lets `change` edit the first word of a slot. Stores the word if `change` returns true. The slot's number must be
    /// in range.
    #[inline]
    pub(crate) fn patch(&self, slot: u32, change: impl FnOnce(&mut [u8; WORD]) -> bool) -> bool {
        let first = &self.words[self.first(slot)];
        let mut bytes = first.load(Ordering::Relaxed).to_le_bytes();
        let is_changed = change(&mut bytes);
        if is_changed {
            first.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
        }
        is_changed
    }

    /// Reads the first bytes of a slot. The slot's number and the length must be in range.
    #[inline]
    pub(crate) fn read(&self, slot: u32, into: &mut [u8]) {
        let words = self.words(slot);
        let (whole, rest) = into.as_chunks_mut::<WORD>();
        for (bytes, word) in whole.iter_mut().zip(words) {
            *bytes = word.load(Ordering::Relaxed).to_le_bytes();
        }
        if !rest.is_empty() {
            let last = words[whole.len()].load(Ordering::Relaxed).to_le_bytes();
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }

    /// Writes bytes to the start of a slot. The remaining bytes of the slot stay unchanged.
    #[inline]
    pub(crate) fn write(&self, slot: u32, bytes: &[u8]) {
        let words = self.words(slot);
        let (whole, rest) = bytes.as_chunks::<WORD>();
        for (bytes, word) in whole.iter().zip(words) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        if !rest.is_empty() {
            let last = &words[whole.len()];
            let mut bytes = last.load(Ordering::Relaxed).to_le_bytes();
            bytes[..rest.len()].copy_from_slice(rest);
            last.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
        }
    }
}

/// The slots of a thread, and which of them are free.
#[derive(Debug)]
pub(crate) struct FreeList {
    own: Range<u32>,
    free: Vec<u32>,
    /// Indexed by slot of `own`: true if the slot is free. If a slot is given back twice, the second time has no
    /// effect.
    is_free: Vec<bool>,
}

impl FreeList {
    /// A list of the slots `own`, all of which are free.
    pub(crate) fn new(own: Range<u32>) -> Self {
        Self { free: own.clone().rev().collect(), is_free: vec![true; own.len()], own }
    }

    /// Takes a free slot, if there is one.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<u32> {
        let slot = self.free.pop()?;
        self.is_free[(slot - self.own.start) as usize] = false;
        Some(slot)
    }

    /// Index of the thread that owns a slot, among the threads that share the slots. All these threads must own equally
    /// many slots, in thread order.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the number of slots fits a `u32`")]
    pub(crate) fn owner(&self, slot: u32) -> usize {
        (slot / self.own.len() as u32) as usize
    }

    /// Gives a slot back. Returns false if the thread does not own the slot, or the slot is already free.
    #[inline]
    pub(crate) fn give_back(&mut self, slot: u32) -> bool {
        let Some(is_free) =
            slot.checked_sub(self.own.start).and_then(|place| self.is_free.get_mut(place as usize))
        else {
            return false;
        };
        if *is_free {
            return false;
        }
        *is_free = true;
        self.free.push(slot);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::shared::Region;
    use super::*;

    #[test]
    fn bytes_are_read_as_they_were_written() {
        let region = Region::new(words(3, 100)).expect("memory");
        let slots = Slots::new(region.words(0..words(3, 100)), 100);
        assert_eq!((slots.count(), slots.bytes()), (3, 192));
        let packet: Vec<u8> = (0..100).collect();
        slots.write(1, &packet);
        slots.write(1, &[200, 201, 202]);
        let mut read = [0; 100];
        slots.read(1, &mut read);
        assert_eq!(read[..3], [200, 201, 202]);
        assert_eq!(read[3..], packet[3..]);
        slots.copy(1, 2, 100);
        let mut copied = [0; 100];
        slots.read(2, &mut copied);
        assert_eq!(copied, read);
        let mut beside = [0; 100];
        slots.read(0, &mut beside);
        assert_eq!(beside, [0; 100], "the neighbours are as they were");
    }

    #[test]
    fn the_slot_that_was_used_last_is_used_next() {
        let mut free = FreeList::new(10..13);
        let taken: Vec<_> = std::iter::from_fn(|| free.take()).collect();
        assert_eq!(taken, [10, 11, 12]);
        assert!(free.give_back(11));
        assert!(!free.give_back(11), "twice");
        assert!(!free.give_back(9) && !free.give_back(13), "another thread's");
        assert_eq!((free.take(), free.take()), (Some(11), None));
    }
}
