//! A data ring: packets from one sender to one receiver, in memory of the receiver that the sender fills by one-sided writes.
//!
//! Both ends have memory of the same [`Shape`], and every write copies words to the same place of the other end's memory:
//!
//! ```text
//! word 0                         8        8 + S    8 + 2S
//!      taken  beat  check  …     slot 0   slot 1   …
//!
//! a slot of S words:   …  payload (padded to words)  due  length, tag  check  sequence
//! ```
//!
//! The sender writes a packet into its own slot and posts one write of it, payload to sequence: the slot is right-aligned, so that
//! all lengths are one range of words. Its own slot is free again when that write has completed. The receiver's record (the first
//! line) goes the other way: how many packets it has taken, written each eighth of the ring and whenever [`PERIOD`] is over, so
//! that the sender also sees that the receiver is there.
//!
//! # Why a packet is never taken half
//!
//! There is no tail. Providers differ in what they promise about the order in which words become visible: `tcp;ofi_rxm` writes in
//! order, shared memory and RDMA promise no order within a write, and over TCP even a word may arrive in two pieces. So nothing
//! here relies on order. An entry carries its sequence number, and a check of 64 bits over the sequence number, due time, length,
//! tag and payload. The receiver takes it if the sequence number is the next one and the check holds. A mixture of an old
//! entry and a new one, in whatever pieces, passes with a probability of 2⁻⁶⁴. The sequence number stands last, so that with
//! a provider that does write in order the receiver computes the check of an entry once. The record has a check for the same
//! reason, and a beat that grows: a sender ignores a record that is older than the last.
//!
//! One promise is needed: if a write is posted after another one to the same words has completed, its words stay. All reliable
//! connections of libfabric keep it. Neither end posts a write before its last one to the same words has completed.
//!
//! # What a peer can do
//!
//! Numbers that decide something are kept in private memory: how many packets were pushed and taken. A sequence number that
//! cannot be there, not even as a mixture of bytes, is [`Broken`], and so is a record with a valid check and an impossible count. A
//! peer that writes nonsense into the payload or the check makes an entry that never becomes whole, which is as good as silence:
//! [`Receiver::is_partial`] tells. A length is compared with the slot before it is used. The check is no signature: a
//! peer can send whatever packet it likes. A peer can also write to the words from which this end writes. Those writes go
//! to that peer alone.
//!
//! Cost: the sender reads and writes a packet's words once, the receiver reads them once for the check and once more to copy them.

mod check;
mod receiver;
mod sender;

pub use receiver::Receiver;
pub use sender::{Refused, Sender};

use crate::words::{LINE, WORD};
use std::ops::Range;
use std::time::Duration;

/// How often a receiver writes its record at least.
pub const PERIOD: Duration = Duration::from_millis(250);

/// How long a receiver may be silent before it counts as gone.
pub const SILENCE: Duration = Duration::from_millis(1_500);

/// Words of an entry behind its payload.
const BEHIND: usize = 4;

/// Places of the words of a record.
const TAKEN: usize = 0;
const BEAT: usize = 1;
const RECORD_CHECK: usize = 2;
const RECORD: Range<usize> = 0..3;

/// Bit at which an entry's tag begins; its length is below.
const TAG: u32 = 32;

/// Carries the writes of a ring's end to the other end.
pub trait Wire {
    /// Why it cannot.
    type Error;

    /// Posts a write of these words of the ring's own memory to the same words of the other end's. Returns false if there is no
    /// room for it now. When the write has completed, the end hears of it by its `completed`, with the same tag.
    ///
    /// # Errors
    /// If the other end cannot be reached any more.
    fn write(&mut self, words: Range<usize>, tag: u32) -> Result<bool, Self::Error>;
}

/// How large a ring is. Both ends must have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    capacity: u32,
    packet_bytes: u32,
}

/// A ring cannot have such a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a ring has a power of two of packets, 8 to 65,536, of 1 to 1,048,576 bytes (got {capacity} of {packet_bytes})"
)]
pub struct NoShape {
    /// Packets.
    pub capacity: u32,
    /// Bytes of the longest.
    pub packet_bytes: u32,
}

impl Shape {
    /// A ring for `capacity` packets of at most `packet_bytes` bytes.
    ///
    /// # Errors
    /// [`NoShape`], if the capacity is not a power of two from 8 to 65,536, or a packet would have more than a megabyte, or none.
    pub fn new(capacity: u32, packet_bytes: u32) -> Result<Self, NoShape> {
        let is_shape = capacity.is_power_of_two()
            && (8..=1 << 16).contains(&capacity)
            && (1..=1 << 20).contains(&packet_bytes);
        if !is_shape {
            return Err(NoShape { capacity, packet_bytes });
        }
        Ok(Self { capacity, packet_bytes })
    }

    /// Packets that the ring holds.
    #[must_use]
    pub const fn capacity(self) -> u32 {
        self.capacity
    }

    /// Most bytes of a packet.
    #[must_use]
    pub const fn packet_bytes(self) -> u32 {
        self.packet_bytes
    }

    /// Words of memory that each end needs.
    #[must_use]
    pub const fn words(self) -> usize {
        LINE + self.capacity as usize * self.words_of_slot()
    }

    /// An odd number of cache lines, so that slots do not all want the same few places in the caches.
    const fn words_of_slot(self) -> usize {
        let lines = ((self.packet_bytes as usize).div_ceil(WORD) + BEHIND).div_ceil(LINE);
        (lines | 1) * LINE
    }

    /// The slot of the packet before which so many were pushed.
    const fn slot(self, count: u64) -> u32 {
        (count & (self.capacity as u64 - 1)) as u32
    }

    /// The words of an entry with so many bytes of payload.
    const fn entry(self, slot: u32, len: usize) -> Range<usize> {
        let end = LINE + (slot as usize + 1) * self.words_of_slot();
        end - BEHIND - len.div_ceil(WORD)..end
    }

    /// Packets between two records.
    const fn eighth(self) -> u64 {
        self.capacity as u64 / 8
    }
}

/// The tag of a record's write; those of packets are their slots.
const RECORD_TAG: u32 = u32::MAX;

/// The other end has written what cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the other end of a ring between machines has written {what} that cannot be")]
pub struct Broken {
    /// The word.
    pub what: &'static str,
}

/// A packet in a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// When it is due at the receiver, in ps of virtual time.
    pub due: u64,
    /// Its bytes.
    pub len: u32,
    /// What the ends have to know of it beside.
    pub tag: u8,
}

impl Entry {
    /// Length and tag in a word.
    const fn packed(self) -> u64 {
        (self.tag as u64) << TAG | self.len as u64
    }
}

#[cfg(test)]
mod tests;
