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

    /// Whether the agent has a timer: whether it is ever asked for its [`next_tick`](Self::next_tick). Asked once.
    fn has_timer(&self) -> bool {
        false
    }

    /// When [`tick`](Self::tick) is to be called; [`Time::NEVER`] if it need not be. Asked after each tick and, while no tick
    /// is to come, after each packet that [joins](Self::enqueue). An agent that has nothing left to do answers
    /// [`Time::NEVER`]: a fabric in which something ticks never comes to rest.
    fn next_tick(&self) -> Time {
        Time::NEVER
    }

    /// The time of [`next_tick`](Self::next_tick) has come.
    fn tick(&mut self, _now: Time, _port: &PortState) {}

    /// The last bit of a packet of that [class](crate::Packet::class) and so many bytes that was [queued](Self::enqueue) has left,
    /// or it was lost: the queue had no room for it or gave it up, or the link went down. A packet that is cut to its header
    /// leaves whole, and is queued again.
    fn left(&mut self, _now: Time, _class: Class, _size: u32) {}
}
