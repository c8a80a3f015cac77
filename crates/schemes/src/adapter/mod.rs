//! The adapter of a host on lossless Ethernet: a queue for each destination, served in turn, each with a rate limiter of its
//! own if the protocol has one; and at the other end, frames put back in order (specs/cee.md §2.1).
//!
//! An [`Adapter`] sends one frame at a time, at line rate, and stops at the end of a frame while its priority is paused.
//! What it is asked to send waits in memory of the host, which has no end. A [`Protocol`] says what frames look like and how
//! congestion limits rates: [`cee`](crate::cee) and [`dcqcn`](crate::dcqcn) are two of them.
//!
//! Cost: a frame sent, an entry of a ring and mostly none of a heap; a frame received, a look-up by flow and mostly an
//! extended range.

mod host;
mod incoming;
mod queues;
#[cfg(test)]
mod tests;

pub use host::Adapter;

use raddle_core::{Flow, Packet, Time};

/// What limits the rate to one destination, or does not.
pub trait RateLimiter: Send {
    /// When the next frame may begin, which is now if it has passed.
    fn ready_at(&self) -> Time;
    /// A frame with so many bytes of a flow begins to leave; whether it leaves the destination's queue empty.
    fn sent(&mut self, now: Time, bytes: u32, queue_empty: bool);
    /// When [`fire`](Self::fire) has to be called; [`Time::NEVER`] if it need not be.
    fn timer(&self) -> Time;
    /// The timer is due.
    fn fire(&mut self, now: Time);
}

/// A frame of a flow, whatever its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data {
    /// Receiving host's number.
    pub dst: u32,
    /// Sending host's number.
    pub src: u32,
    /// The flow, in its source's numbering.
    pub flow: u32,
    /// Priority, 0 to 7.
    pub priority: u8,
    /// Bytes of the flow that the frame stands for.
    pub len: u16,
    /// Place in the flow of the first of them.
    pub offset: u64,
    /// Bytes of the flow.
    pub size: u64,
    /// When the frame was made.
    pub birth: Time,
}

/// What has come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival<N> {
    /// A frame of a flow.
    Data(Data),
    /// Congestion on the way to a host.
    Notice {
        /// Its number.
        dst: u32,
        /// The priority that is congested.
        priority: u8,
        /// What the rate limiter learns.
        notice: N,
    },
}

/// Frames, notices and rate limiters of an adapter.
pub trait Protocol: Send {
    /// The rate limiter of a destination.
    type Limiter: RateLimiter;
    /// What a notice says.
    type Notice: Copy;

    /// The packet of a frame.
    fn packet(&mut self, data: &Data) -> Packet;
    /// What a packet is, if it is the protocol's.
    fn read(&self, packet: &Packet) -> Option<Arrival<Self::Notice>>;
    /// The priority of a flow's frames, 0 to 7.
    fn priority(&self, flow: &Flow) -> u8;
    /// The name of a flow on the wire.
    fn key(&self, src: u32, dst: u32, flow: u32) -> u64;
    /// The limiter of a destination to which nothing has been sent.
    fn limiter(&self, dst: u32) -> Self::Limiter;
    /// A notice has come in for a limiter.
    fn notice(&self, now: Time, notice: Self::Notice, limiter: &mut Self::Limiter);
    /// What the receiver of a packet says at once, if anything.
    fn answer(&mut self, _now: Time, _packet: &Packet) -> Option<Packet> {
        None
    }
}
