//! The receiving end of a ring.

use super::{
    BEAT, BEHIND, Broken, Entry, PERIOD, RECORD, RECORD_CHECK, RECORD_TAG, Shape, TAG, TAKEN, Wire,
    check::{self, Check},
};
use crate::words::WORD;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The receiving end of a ring. Its memory has the size that the ring's [`Shape`] gives, and is initially zero.
#[derive(Debug)]
pub struct Receiver<W> {
    words: W,
    shape: Shape,
    taken: u64,
    /// The next entry, if it has arrived completely and its checksum has matched.
    next: Option<Entry>,
    is_partial: bool,
    /// The value of `taken` in the latest record.
    told: u64,
    /// The time at which [`keep_up`](Self::keep_up) most recently wrote a record. Records that [`take`](Self::take)
    /// writes do not count.
    told_at: Option<Duration>,
    beat: u64,
    /// True while the write of a record is in progress.
    is_telling: bool,
}

impl<W: Deref<Target = [AtomicU64]>> Receiver<W> {
    /// Creates the receiver of an empty ring.
    ///
    /// # Panics
    /// If `words` does not have the number of words that the shape requires.
    pub fn new(words: W, shape: Shape) -> Self {
        assert_eq!(words.len(), shape.words(), "`words` must have the length that the ring's shape requires");
        Self {
            words,
            shape,
            taken: 0,
            next: None,
            is_partial: false,
            told: 0,
            told_at: None,
            beat: 0,
            is_telling: false,
        }
    }

    /// Returns the first packet in the ring, if the packet has arrived completely.
    ///
    /// # Errors
    /// [`Broken`], if the sender has written an impossible sequence number.
    #[allow(clippy::cast_possible_truncation, reason = "each cast keeps the bits of one field")]
    pub fn peek(&mut self) -> Result<Option<Entry>, Broken> {
        if self.next.is_some() {
            return Ok(self.next);
        }
        let slot = self.shape.slot(self.taken);
        let behind = &self.words[self.shape.entry(slot, 0)];
        let sequence = self.taken + 1;
        let is = behind[BEHIND - 1].load(Ordering::Acquire);
        if is != sequence {
            let was = sequence.saturating_sub(u64::from(self.shape.capacity));
            if is != was && !is_mixture(is, was, sequence) {
                return Err(Broken { what: "a sequence number" });
            }
            return Ok(None);
        }
        let [due, packed, check] = [0, 1, 2].map(|place| behind[place].load(Ordering::Relaxed));
        let len = packed as u32;
        // Until the checksum matches, the length may be a mixture of bytes with any value.
        let entry = Entry { due, len, tag: (packed >> TAG) as u8 };
        let holds = len <= self.shape.packet_bytes && entry.packed() == packed && {
            let words = &self.words[self.shape.entry(slot, len as usize)];
            Check::of_entry(sequence, due, packed).over(&words[..words.len() - BEHIND]) == check
        };
        self.is_partial = !holds;
        self.next = holds.then_some(entry);
        Ok(self.next)
    }

    /// Returns true if [`peek`](Self::peek) has found the sequence number of the next packet, but not the whole packet
    /// yet. If this persists, the sender is gone or writes invalid data.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Reads the first bytes of the packet that [`peek`](Self::peek) returned.
    ///
    /// # Panics
    /// If no packet was peeked, or the packet is shorter than `into`.
    pub fn read(&self, into: &mut [u8]) {
        let entry = self.next.expect("`peek` must have returned a packet");
        assert!(into.len() <= entry.len as usize, "`into` must not be longer than the packet");
        let words = &self.words[self.shape.entry(self.shape.slot(self.taken), entry.len as usize)];
        let (whole, rest) = into.as_chunks_mut::<WORD>();
        for (bytes, word) in whole.iter_mut().zip(words) {
            *bytes = word.load(Ordering::Relaxed).to_le_bytes();
        }
        if !rest.is_empty() {
            let last = words[whole.len()].load(Ordering::Relaxed).to_le_bytes();
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }

    /// Copies the packet that [`peek`](Self::peek) returned into words. Zeros fill the rest of the last word.
    ///
    /// # Panics
    /// If no packet was peeked, or `into` is too short for the packet.
    pub fn read_words(&self, into: &[AtomicU64]) {
        let entry = self.next.expect("`peek` must have returned a packet");
        let range = self.shape.entry(self.shape.slot(self.taken), entry.len as usize);
        let payload = &self.words[range.start..range.end - BEHIND];
        assert!(payload.len() <= into.len(), "`into` must have room for the packet");
        for (from, to) in payload.iter().zip(into) {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Returns true if this end has written at least one record, and no write of a record is in progress.
    #[must_use]
    pub fn has_told(&self) -> bool {
        self.beat > 0 && !self.is_telling
    }

    /// Removes the packet that [`peek`](Self::peek) returned. Writes a record after each eighth of the ring.
    ///
    /// # Errors
    /// If the [`Wire`] fails.
    ///
    /// # Panics
    /// If no packet was peeked.
    pub fn take<N: Wire>(&mut self, wire: &mut N) -> Result<(), N::Error> {
        assert!(self.next.take().is_some(), "`peek` must have returned a packet");
        self.taken += 1;
        if self.taken - self.told >= self.shape.eighth() { self.tell(wire).map(drop) } else { Ok(()) }
    }

    /// Writes a record to the sender if a record is due. Call this method at least every few milliseconds. `now` may
    /// come from any clock that never runs backward.
    ///
    /// # Errors
    /// If the [`Wire`] fails.
    pub fn keep_up<N: Wire>(&mut self, now: Duration, wire: &mut N) -> Result<(), N::Error> {
        let is_time = self.told_at.is_none_or(|at| now.saturating_sub(at) >= PERIOD);
        if (is_time || self.taken - self.told >= self.shape.eighth()) && self.tell(wire)? {
            self.told_at = Some(now);
        }
        Ok(())
    }

    /// Posts a record. Returns false if the write of the previous record is still in progress, or the [`Wire`] has no
    /// room.
    fn tell<N: Wire>(&mut self, wire: &mut N) -> Result<bool, N::Error> {
        if self.is_telling {
            return Ok(false);
        }
        let beat = self.beat + 1;
        let record = [(TAKEN, self.taken), (BEAT, beat), (RECORD_CHECK, check::of_record(self.taken, beat))];
        for (place, value) in record {
            self.words[place].store(value, Ordering::Relaxed);
        }
        if wire.write(RECORD, RECORD_TAG)? {
            (self.told, self.beat, self.is_telling) = (self.taken, beat, true);
            return Ok(true);
        }
        Ok(false)
    }

    /// Handles the completion of the write with this tag.
    pub fn completed(&mut self, tag: u32) {
        if tag == RECORD_TAG {
            self.is_telling = false;
        }
    }
}

/// Returns true if each byte of `word` equals the byte of `one` or of `other` at the same position.
fn is_mixture(word: u64, one: u64, other: u64) -> bool {
    let bytes = word.to_le_bytes().into_iter().zip(one.to_le_bytes()).zip(other.to_le_bytes());
    bytes.into_iter().all(|((byte, one), other)| byte == one || byte == other)
}
