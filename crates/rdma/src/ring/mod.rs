//! A data ring carries packets from one sender to one receiver. The ring is in the receiver's memory, and the sender
//! fills it by one-sided writes.
//!
//! Both ends have memory of the same [`Shape`], and every write copies words to the same place of the other end's
//! memory:
//!
//! ```text
//! word 0                         8        8 + S    8 + 2S
//!      taken  beat  check  …     slot 0   slot 1   …
//!
//! a slot of S words:   …  payload (padded to words)  due  length, tag  check  sequence
//! ```
//!
//! The sender writes a packet into its own copy of the slot and posts one write of it, from payload to sequence number.
//! The entry is right-aligned in its slot, so that an entry of any length is one range of words. When the write has
//! completed, the sender may reuse its copy of the slot. The receiver's record (words 0 to 2) is written in the other
//! direction. The record counts the packets that the receiver has taken. The receiver writes the record after each
//! eighth of the ring and at least once per [`PERIOD`], so that the sender also sees that the receiver is alive.
//!
//! # Why the receiver never takes a partial packet
//!
//! The ring has no tail pointer. Providers make different promises about the order in which words become visible:
//! `tcp;ofi_rxm` writes in order, shared memory and RDMA promise no order within a write, and over TCP even one word
//! may arrive in two pieces. So the ring relies on no order. An entry carries its sequence number, and a 64-bit
//! checksum over sequence number, due time, length, tag and payload. The receiver takes the entry if the sequence
//! number is the next one and the checksum matches. A mixture of an old and a new entry has a matching checksum with a
//! probability of 2⁻⁶⁴. The sequence number is the last word, so that with a provider that writes in order, the
//! receiver computes the checksum of an entry only once. The record also has a checksum, for the same reason. In
//! addition, each record has a counter, the beat, which is greater than the beat of the previous record. The sender
//! ignores a record with an older beat.
//!
//! The ring needs one promise: if a write is posted after an earlier write to the same words has completed, the words
//! of the later write remain. All reliable connections of libfabric keep this promise. Neither end posts a write before
//! its previous write to the same words has completed.
//!
//! # What a peer can do
//!
//! Each end keeps the counts of packets pushed and taken in private memory, which the peer cannot write. If a sequence
//! number cannot occur, even as a mixture of bytes, the end reports [`Broken`]. An end also reports [`Broken`] for a
//! record with a valid checksum and an impossible count. A peer that writes an invalid payload or checksum creates an
//! entry that never becomes complete. Such an entry has the same effect as silence, and [`Receiver::is_partial`]
//! reports it. The receiver compares a length with the size of the slot before it uses the length. The checksum is not
//! a signature: a peer can send any packet. A peer can also overwrite the words from which this end writes. Only that
//! peer then receives wrong data.
//!
//! Cost: the sender copies a packet's words once, and reads the copy once for the checksum. The receiver reads a
//! packet's words once for the checksum and once to copy the packet.

mod check;
mod receiver;
mod sender;

pub use receiver::Receiver;
pub use sender::{Refused, Sender};

use crate::words::{LINE, WORD};
use std::ops::Range;
use std::time::Duration;

/// Interval at which a receiver writes a record, even if it takes no packets.
pub const PERIOD: Duration = Duration::from_millis(250);

/// Time without a new record after which the sender considers the receiver gone.
pub const SILENCE: Duration = Duration::from_millis(1_500);

/// Number of words between the payload and the end of an entry: due time, length and tag, checksum, sequence number.
const BEHIND: usize = 4;

/// Offsets of the words of a receiver's record.
const TAKEN: usize = 0;
const BEAT: usize = 1;
const RECORD_CHECK: usize = 2;
const RECORD: Range<usize> = 0..3;

/// The bit at which an entry's tag begins. The length occupies the lower bits.
const TAG: u32 = 32;

/// Carries the writes of a ring's end to the other end.
pub trait Wire {
    /// The error of a write that cannot be posted.
    type Error;

    /// Posts a write of these words of this end's memory to the same words of the other end's memory. Returns false if
    /// the `Wire` has no room for the write now. After the write has completed, the user of the ring must pass `tag` to
    /// the method `completed` of this end.
    ///
    /// # Errors
    /// If the write cannot be posted, for example because the other end is no longer reachable.
    fn write(&mut self, words: Range<usize>, tag: u32) -> Result<bool, Self::Error>;
}

/// The shape of a ring: its capacity and the maximum size of a packet. Both ends must have the same shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    capacity: u32,
    packet_bytes: u32,
}

/// The ring's shape is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the capacity of a ring must be a power of two from 8 to 65,536 packets, and the maximum packet size \
     must be 1 to 1,048,576 bytes (got {capacity} packets of {packet_bytes} bytes)"
)]
pub struct NoShape {
    /// Number of packets.
    pub capacity: u32,
    /// Maximum size of a packet in bytes.
    pub packet_bytes: u32,
}

impl Shape {
    /// Creates the shape of a ring for `capacity` packets of at most `packet_bytes` bytes.
    ///
    /// # Errors
    /// [`NoShape`], if the capacity is not a power of two from 8 to 65,536, or `packet_bytes` is not from 1 to
    /// 1,048,576.
    pub fn new(capacity: u32, packet_bytes: u32) -> Result<Self, NoShape> {
        let is_shape = capacity.is_power_of_two()
            && (8..=1 << 16).contains(&capacity)
            && (1..=1 << 20).contains(&packet_bytes);
        if !is_shape {
            return Err(NoShape { capacity, packet_bytes });
        }
        Ok(Self { capacity, packet_bytes })
    }

    /// Maximum number of packets in the ring.
    #[must_use]
    pub const fn capacity(self) -> u32 {
        self.capacity
    }

    /// Maximum size of a packet in bytes.
    #[must_use]
    pub const fn packet_bytes(self) -> u32 {
        self.packet_bytes
    }

    /// Number of words of memory that each end needs.
    #[must_use]
    pub const fn words(self) -> usize {
        LINE + self.capacity as usize * self.words_of_slot()
    }

    /// Number of words of a slot: an odd number of cache lines, so that the slots spread over all sets of the caches.
    const fn words_of_slot(self) -> usize {
        let lines = ((self.packet_bytes as usize).div_ceil(WORD) + BEHIND).div_ceil(LINE);
        (lines | 1) * LINE
    }

    /// Returns the slot of a packet that was pushed after `count` other packets.
    #[allow(clippy::cast_possible_truncation, reason = "a slot's number is below the capacity")]
    const fn slot(self, count: u64) -> u32 {
        (count & (self.capacity as u64 - 1)) as u32
    }

    /// Returns the range of words of an entry with `len` bytes of payload.
    const fn entry(self, slot: u32, len: usize) -> Range<usize> {
        let end = LINE + (slot as usize + 1) * self.words_of_slot();
        end - BEHIND - len.div_ceil(WORD)..end
    }

    /// Number of packets after which the receiver writes a record, even if [`PERIOD`] is not over: an eighth of the
    /// ring.
    const fn eighth(self) -> u64 {
        self.capacity as u64 / 8
    }
}

/// The tag of a record's write. The tag of a packet's write is the packet's slot.
const RECORD_TAG: u32 = u32::MAX;

/// The other end has written an impossible value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the peer has written an impossible value into a packet ring: {what}")]
pub struct Broken {
    /// The word with the impossible value.
    pub what: &'static str,
}

/// A packet in a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The time at which the packet is due at the receiver, in ps of virtual time.
    pub due: u64,
    /// Size of the packet in bytes.
    pub len: u32,
    /// Extra information for the users of the ring. The ring carries it unchanged.
    pub tag: u8,
}

impl Entry {
    /// Packs length and tag into one word.
    const fn packed(self) -> u64 {
        (self.tag as u64) << TAG | self.len as u64
    }
}

#[cfg(test)]
mod tests;
