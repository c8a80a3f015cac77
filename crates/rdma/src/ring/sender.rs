//! The sending end of a ring.

use super::{
    BEAT, BEHIND, Broken, Entry, PERIOD, RECORD_CHECK, SILENCE, Shape, TAKEN, Wire,
    check::{self, Check},
};
use crate::words::WORD;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The sending end of a ring. Its memory has the size that the ring's [`Shape`] gives, and is initially zero.
#[derive(Debug)]
pub struct Sender<W> {
    words: W,
    shape: Shape,
    pushed: u64,
    /// Number of packets that the receiver had taken, according to its latest record.
    taken: u64,
    /// The beat of the receiver's latest record.
    beat: u64,
    /// Indexed by slot: true while a write of the slot is in progress.
    under_way: Box<[bool]>,
    /// Duration of the receiver's silence.
    silent: Duration,
    /// The time of the latest call of `is_deserted`.
    looked: Option<Duration>,
    beat_then: u64,
}

/// The reason why a packet was not pushed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused<E> {
    /// The packet is too long for this ring.
    #[error("a packet of {bytes} bytes is too long for this ring, whose packets have at most {most} bytes")]
    TooLong {
        /// Size of the packet in bytes.
        bytes: usize,
        /// Maximum size of a packet in bytes.
        most: usize,
    },
    /// The receiver has written invalid data.
    #[error(transparent)]
    Broken(Broken),
    /// The [`Wire`] has failed.
    #[error("{0}")]
    Wire(E),
}

impl<W: Deref<Target = [AtomicU64]>> Sender<W> {
    /// Creates the sender of an empty ring.
    ///
    /// # Panics
    /// If `words` does not have the number of words that the shape requires.
    pub fn new(words: W, shape: Shape) -> Self {
        assert_eq!(words.len(), shape.words(), "`words` must have the length that the ring's shape requires");
        let under_way = vec![false; shape.capacity as usize].into();
        Self {
            words,
            shape,
            pushed: 0,
            taken: 0,
            beat: 0,
            under_way,
            silent: Duration::ZERO,
            looked: None,
            beat_then: 0,
        }
    }

    /// Reads the receiver's record. Ignores a record that has arrived only in part. A later call reads the complete
    /// record.
    fn look(&mut self) -> Result<(), Broken> {
        let [taken, beat, check] =
            [TAKEN, BEAT, RECORD_CHECK].map(|place| self.words[place].load(Ordering::Acquire));
        if beat <= self.beat || check != check::of_record(taken, beat) {
            return Ok(());
        }
        if taken < self.taken || taken > self.pushed {
            return Err(Broken { what: "a count of received packets" });
        }
        (self.taken, self.beat) = (taken, beat);
        Ok(())
    }

    /// Returns a lower bound of the number of packets for which the receiver has room.
    ///
    /// # Errors
    /// [`Broken`], if the receiver has written invalid data.
    pub fn room(&mut self) -> Result<u64, Broken> {
        let capacity = u64::from(self.shape.capacity);
        if self.pushed - self.taken > capacity / 2 {
            self.look()?;
        }
        Ok(capacity - (self.pushed - self.taken))
    }

    /// Puts a packet into the ring. Returns false if the ring or the [`Wire`] is full, or the previous write of the
    /// packet's slot is still in progress.
    ///
    /// # Errors
    /// [`Refused`], if the packet is too long, the receiver has written invalid data, or the [`Wire`] fails.
    pub fn push<N: Wire>(
        &mut self,
        due: u64,
        tag: u8,
        bytes: &[u8],
        wire: &mut N,
    ) -> Result<bool, Refused<N::Error>> {
        self.push_with(due, tag, bytes.len(), wire, |payload| write_bytes(payload, bytes))
    }

    /// Like [`push`](Self::push), but for a packet of `len` bytes that is stored in words.
    ///
    /// # Errors
    /// [`Refused`], in the same cases as `push`.
    ///
    /// # Panics
    /// If the words hold fewer than `len` bytes.
    pub fn push_words<N: Wire>(
        &mut self,
        due: u64,
        tag: u8,
        words: &[AtomicU64],
        len: usize,
        wire: &mut N,
    ) -> Result<bool, Refused<N::Error>> {
        assert!(len <= words.len() * WORD, "`words` must contain the whole packet");
        self.push_with(due, tag, len, wire, |payload| write_words(payload, words, len))
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "a packet's length is at most `packet_bytes`, which is a `u32`"
    )]
    fn push_with<N: Wire>(
        &mut self,
        due: u64,
        tag: u8,
        len: usize,
        wire: &mut N,
        fill: impl FnOnce(&[AtomicU64]),
    ) -> Result<bool, Refused<N::Error>> {
        let most = self.shape.packet_bytes as usize;
        if len > most {
            return Err(Refused::TooLong { bytes: len, most });
        }
        let slot = self.shape.slot(self.pushed);
        if self.room().map_err(Refused::Broken)? == 0 || self.under_way[slot as usize] {
            return Ok(false);
        }
        let range = self.shape.entry(slot, len);
        let (payload, behind) = self.words[range.clone()].split_at(range.len() - BEHIND);
        fill(payload);
        close(payload, behind, self.pushed + 1, Entry { due, len: len as u32, tag });
        if !wire.write(range, slot).map_err(Refused::Wire)? {
            return Ok(false);
        }
        self.under_way[slot as usize] = true;
        self.pushed += 1;
        Ok(true)
    }

    /// Handles the completion of the write with this tag.
    pub fn completed(&mut self, tag: u32) {
        if let Some(under_way) = self.under_way.get_mut(tag as usize) {
            *under_way = false;
        }
    }

    /// Returns true if the receiver's records show that it has taken all packets.
    ///
    /// # Errors
    /// [`Broken`], if the receiver has written invalid data.
    pub fn is_drained(&mut self) -> Result<bool, Broken> {
        self.look()?;
        Ok(self.taken == self.pushed)
    }

    /// Returns true if a record of the receiver has arrived. In that case the receiver has set up its end of the ring,
    /// and its writes reach this end.
    ///
    /// # Errors
    /// [`Broken`], if the receiver has written invalid data.
    pub fn has_heard(&mut self) -> Result<bool, Broken> {
        self.look()?;
        Ok(self.beat > 0)
    }

    /// Returns true if the receiver has been silent for [`SILENCE`]. `now` may come from any clock that never runs
    /// backward. At most one [`PERIOD`] of the time between two calls counts as silence, because a suspended sender
    /// cannot receive a record.
    ///
    /// # Errors
    /// [`Broken`], if the receiver has written invalid data.
    pub fn is_deserted(&mut self, now: Duration) -> Result<bool, Broken> {
        self.look()?;
        let since = now.saturating_sub(self.looked.unwrap_or(now));
        self.looked = Some(now);
        self.silent =
            if self.beat == self.beat_then { self.silent + since.min(PERIOD) } else { Duration::ZERO };
        self.beat_then = self.beat;
        Ok(self.silent >= SILENCE)
    }
}

/// Writes a packet's bytes into its words. Fills the rest of the last word with zeros.
fn write_bytes(payload: &[AtomicU64], bytes: &[u8]) {
    let (whole, rest) = bytes.as_chunks::<WORD>();
    for (bytes, word) in whole.iter().zip(payload) {
        word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
    }
    if !rest.is_empty() {
        let mut last = [0; WORD];
        last[..rest.len()].copy_from_slice(rest);
        payload[whole.len()].store(u64::from_le_bytes(last), Ordering::Relaxed);
    }
}

/// Copies a packet's words. Fills the rest of the last word with zeros.
#[allow(clippy::cast_possible_truncation, reason = "at most 7 bytes of the last word are unused")]
fn write_words(payload: &[AtomicU64], words: &[AtomicU64], len: usize) {
    for (to, from) in payload.iter().zip(words) {
        to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
    }
    let beyond = (payload.len() * WORD - len) as u32 * 8;
    if let Some(last) = payload.last().filter(|_| beyond > 0) {
        last.store(last.load(Ordering::Relaxed) & u64::MAX >> beyond, Ordering::Relaxed);
    }
}

/// Completes an entry whose payload is already written: writes its due time, length and tag, checksum and sequence
/// number.
fn close(payload: &[AtomicU64], behind: &[AtomicU64], sequence: u64, entry: Entry) {
    let check = Check::of_entry(sequence, entry.due, entry.packed()).over(payload);
    for (value, word) in [entry.due, entry.packed(), check].into_iter().zip(behind) {
        word.store(value, Ordering::Relaxed);
    }
    behind[BEHIND - 1].store(sequence, Ordering::Release);
}
