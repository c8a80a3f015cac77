//! Flow control of a link, at one of its ends.

use crate::{Class, Duration, Packet, Paused, Rate, Time};
use serde::{Deserialize, Serialize};

/// Flow control of the link at one port, both ways: it counts what packets that came in by the port take of their node's
/// memory, says what the neighbour must know of that, and heeds what the neighbour says of its own.
///
/// Its packets have class [`Class::CONTROL`]: they leave before all other packets and are never paused.
pub trait LinkFlowControl: Send {
    /// A packet of that [class](crate::Packet::class) and so many bytes that came in by this port has joined a queue of its node.
    /// Returns what the neighbour is to be told.
    fn enter(&mut self, now: Time, class: Class, size: u32) -> Option<Packet>;

    /// The last bit of such a packet has left the node, or it was lost there. Returns what the neighbour is to be told:
    /// nothing, unless it is [held back](Self::holds_back). While it is not, the engine may call this later than the
    /// packet leaves, `now` being when it left, but before anything else [enters](Self::enter).
    fn leave(&mut self, now: Time, class: Class, size: u32) -> Option<Packet>;

    /// Returns true if the neighbour has been told to pause a class.
    fn holds_back(&self) -> bool;

    /// A packet of class [`Class::CONTROL`] has come in by this port. Returns whether it was flow control's, and ends here.
    fn heed(&mut self, now: Time, packet: &Packet) -> bool;

    /// The classes that this port must not begin to send, after the last of these calls.
    fn paused(&self) -> Paused;

    /// When [`fire`](Self::fire) is to be called; [`Time::NEVER`] if it need not be.
    fn wake(&self) -> Time;

    /// The time has come: what the neighbour said runs out, or what it was told has to be said again. Called until
    /// [`wake`](Self::wake) is later than now.
    fn fire(&mut self, now: Time) -> Option<Packet>;

    /// The link has come up again, and what was said over it before is lost: the neighbour wants nothing held back, and
    /// knows of nothing. Returns what it is to be told.
    fn restart(&mut self, now: Time) -> Option<Packet>;

    /// The counters of flow control up to `now`.
    fn account(&self, now: Time) -> FlowControlAccount;

    /// How fast the node's host takes what comes in by this port for it out of the node's memory, packet by packet;
    /// `None` if at once. It has each packet when that has come in; only the memory is given back later.
    fn drain_rate(&self) -> Option<Rate> {
        None
    }
}

/// The counters of flow control at one end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FlowControlAccount {
    /// Pauses sent to the neighbour, without renewals.
    pub pauses: u64,
    /// How long it was told to hold back what waited here: any priority.
    pub paused: Duration,
    /// Most bytes that packets that came in by this port took of the node's memory.
    pub peak_memory: u64,
    /// Packets for which there was no room left, which lossless Ethernet must never see.
    pub overflows: u64,
}
