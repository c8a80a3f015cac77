//! The contract of a port agent.

use crate::{Class, Packet, PortState, Time};

/// The agent of one port. It sees packets arrive, join the queue and leave. It measures and marks packets, and sends
/// notices.
pub trait PortAgent: Send {
    /// A packet has arrived over the link.
    fn arrive(&mut self, _now: Time, _packet: &mut Packet, _port: &PortState) {}

    /// A packet is about to be queued. If the agent returns a packet, the node sends that packet by the port that the
    /// node's forwarder chooses.
    fn enqueue(&mut self, _now: Time, _packet: &mut Packet, _port: &PortState) -> Option<Packet> {
        None
    }

    /// The port begins to send a packet.
    fn dequeue(&mut self, _now: Time, _packet: &mut Packet, _port: &PortState) {}

    /// True if the agent has a timer. If it has none, [`next_tick`](Self::next_tick) is never called. The engine
    /// queries this once.
    fn has_timer(&self) -> bool {
        false
    }

    /// Time of the next call of [`tick`](Self::tick); [`Time::NEVER`] if no call is needed. The engine queries this
    /// time after each tick and, while no tick is scheduled, after each packet that [joins](Self::enqueue). An agent
    /// with no work left must return [`Time::NEVER`]: a fabric with scheduled ticks never comes to rest.
    fn next_tick(&self) -> Time {
        Time::NEVER
    }

    /// The time of [`next_tick`](Self::next_tick) has come.
    fn tick(&mut self, _now: Time, _port: &PortState) {}

    /// The last bit of a [queued](Self::enqueue) packet has left, or the packet was lost: the queue refused or dropped
    /// it, or the link went down. A packet that is trimmed leaves with its full size and is queued again.
    fn left(&mut self, _now: Time, _class: Class, _size: u32) {}
}
