//! Flow control of a link, at one of its ends.

use crate::{Class, Duration, Packet, Paused, Rate, Time};
use serde::{Deserialize, Serialize};

/// Flow control of the link at one port, in both directions. It counts the node's memory that is occupied by packets
/// that arrived by this port. It creates the messages to the neighbour about this memory, and obeys the messages from
/// the neighbour.
///
/// The packets of flow control have class [`Class::CONTROL`]: they leave before all other packets and are never paused.
pub trait LinkFlowControl: Send {
    /// A packet that arrived by this port has joined a queue of its node. `class` is the packet's
    /// [class](crate::Packet::class) and `size` is its size in bytes. Returns the message to the neighbour, if a
    /// message is due.
    fn enter(&mut self, now: Time, class: Class, size: u32) -> Option<Packet>;

    /// The last bit of a packet that had [entered](Self::enter) has left the node, or the packet was lost in the node.
    /// Returns the message to the neighbour, if a message is due. A message can be due only while the neighbour is
    /// [held back](Self::holds_back). While the neighbour is not held back, the engine may call this later, with the
    /// time of departure as `now`, but before the next packet [enters](Self::enter).
    fn leave(&mut self, now: Time, class: Class, size: u32) -> Option<Packet>;

    /// Returns true while the neighbour is asked to pause at least one class.
    fn holds_back(&self) -> bool;

    /// A packet of class [`Class::CONTROL`] has arrived by this port. Returns true if the packet belongs to flow
    /// control. The node does not process such a packet further.
    fn heed(&mut self, now: Time, packet: &Packet) -> bool;

    /// The paused classes: this port must not begin to send a packet of these classes. The answer reflects all earlier
    /// calls of the other methods.
    fn paused(&self) -> Paused;

    /// Time of the next call of [`fire`](Self::fire); [`Time::NEVER`] if no call is needed.
    fn wake(&self) -> Time;

    /// The timer has expired: a pause from the neighbour ends, or a message to the neighbour must be repeated. The
    /// engine repeats the call until [`wake`](Self::wake) is later than `now`.
    fn fire(&mut self, now: Time) -> Option<Packet>;

    /// The link has come up again. Earlier messages have no effect any more: neither end is paused. Returns the message
    /// to the neighbour, if a message is due.
    fn restart(&mut self, now: Time) -> Option<Packet>;

    /// The counters of flow control up to `now`.
    fn account(&self, now: Time) -> FlowControlAccount;

    /// Rate at which the node's host frees the memory of packets that arrived by this port; `None` if the host frees
    /// the memory at once. The host receives each packet on arrival. Only the memory is freed later.
    fn drain_rate(&self) -> Option<Rate> {
        None
    }
}

/// The counters of flow control at one end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FlowControlAccount {
    /// Number of pauses sent to the neighbour. Renewals of a pause are not counted.
    pub pauses: u64,
    /// Time for which the neighbour paused at least one priority at this port.
    pub paused: Duration,
    /// Maximum number of bytes of the node's memory that packets of a single class occupied at once. Only packets that
    /// arrived by this port are counted.
    pub peak_memory: u64,
    /// Number of packets for which the node's memory had no room left. In lossless Ethernet this number must be 0.
    pub overflows: u64,
}
