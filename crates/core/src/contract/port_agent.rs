//! The contract of a port agent.

use crate::{Class, Packet, PortState, Time};

/// One per port: the agent sees packets arrive, join the queue and leave; it measures, marks and sends notices.
pub trait PortAgent: Send {
    /// A packet comes in from the wire.
    fn arrive(&mut self, _now: Time, _packet: &mut Packet, _port: &PortState) {}

    /// A packet is about to be queued; a packet returned is sent by this node's forwarder.
    fn enqueue(&mut self, _now: Time, _packet: &mut Packet, _port: &PortState) -> Option<Packet> {
        None
    }

    /// A packet begins to leave.
    fn dequeue(&mut self, _now: Time, _packet: &mut Packet, _port: &PortState) {}

    /// True if the agent has a timer; otherwise it is never asked for its [`next_tick`](Self::next_tick). Asked once.
    fn has_timer(&self) -> bool {
        false
    }

    /// Time of the next call of [`tick`](Self::tick); [`Time::NEVER`] if none is needed. Asked after each tick and, while
    /// no tick is to come, after each packet that [joins](Self::enqueue). An agent with no work left must return
    /// [`Time::NEVER`]: a fabric with ticks to come never comes to rest.
    fn next_tick(&self) -> Time {
        Time::NEVER
    }

    /// The time of [`next_tick`](Self::next_tick) has come.
    fn tick(&mut self, _now: Time, _port: &PortState) {}

    /// The last bit of a [queued](Self::enqueue) packet has left, or the packet was lost: the queue had no room for it or
    /// gave it up, or the link went down. A packet that is trimmed leaves with its full size, and is queued again.
    fn left(&mut self, _now: Time, _class: Class, _size: u32) {}
}
