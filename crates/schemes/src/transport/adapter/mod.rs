//! The adapter of a host on lossless Ethernet: a queue for each destination, or for each flow, served in turn, each with a rate
//! limiter of its own if the protocol has one; and at the other end, frames put back in order (specs/cee.md §2.1).
//!
//! An [`Adapter`] sends one frame at a time, at line rate, and stops at the end of a frame while its priority is paused.
//! What it is asked to send waits in memory of the host, which has no end. A [`Protocol`] says what frames look like and how
//! congestion limits rates: [`cee`](crate::transport::cee) and [`dcqcn`](crate::transport::dcqcn) are two of them. Frames that
//! are lost are sent again if the protocol has acknowledgements ([`go_back_n`]).
//!
//! Cost: a frame sent, an entry of a ring and mostly none of a heap; a frame received, a look-up by flow and mostly an
//! extended range.

mod host;
mod incoming;
mod queues;
mod recovery;
#[cfg(test)]
mod tests;

pub(crate) use host::Adapter;

use crate::scheme::{Plan, Unfit};
use crate::transport::go_back_n::{self, Answer};
use raddle_core::{Flow, FlowKey, Packet, Time};
use raddle_topology::Topology;

/// Checks that every host has one port, as adapters need it.
///
/// # Errors
/// With the first that has more.
pub(crate) fn check_ports(topology: &Topology) -> Result<(), Unfit> {
    let Some(host) = topology.hosts().find(|&host| topology.port_count(host) != 1) else { return Ok(()) };
    let problem = format!("an adapter has one port, but host {host} has {}", topology.port_count(host));
    let hint = "choose a fabric of switches, such as kind = \"k_ary_n_tree\"".to_owned();
    Err(Unfit { key: "topology".to_owned(), problem, hint })
}

/// Checks that every flow has one of the eight priorities of IEEE 802.1Q, or 0 for the priority of `transport`.
///
/// # Errors
/// If one has more.
pub(crate) fn check_priorities(plan: &Plan<'_>, transport: &str) -> Result<(), Unfit> {
    if plan.most_priority < 8 {
        return Ok(());
    }
    Err(Unfit {
        key: "workload.priority".to_owned(),
        problem: format!("a flow has priority {}, and Ethernet has 0 to 7", plan.most_priority),
        hint: format!(
            "give 1 to 7, or 0 for the priority that [scheme.{transport}] gives to flows without one"
        ),
    })
}

/// What limits the rate of one queue, or does not.
pub(crate) trait RateLimiter: Send {
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
pub(crate) struct Data {
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
    /// Whether the receiver is to acknowledge the frame at once.
    pub ack_request: bool,
    /// When the frame was made; zero in one that came in, if the format does not say.
    pub birth: Time,
}

/// What has come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival<N> {
    /// A frame of a flow.
    Data(Data),
    /// Congestion on the way of a queue's frames.
    Notice {
        /// The queue.
        lane: Lane,
        /// What the rate limiter learns.
        notice: N,
    },
    /// What the receiver of a flow has of it.
    Acknowledged {
        /// The flow.
        key: FlowKey,
        /// Number, on the wire, of the next frame that the receiver takes.
        expected: u32,
        /// Whether a later frame came in its place, and was discarded.
        refused: bool,
    },
}

/// One of an adapter's queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    /// That of all flows to a host at a priority.
    To {
        /// The host's number.
        dst: u32,
        /// Priority, 0 to 7.
        priority: u8,
    },
    /// A flow's own, which is forgotten, and its limiter with it, when the flow's last frame begins to leave.
    Of {
        /// The flow, in its source's numbering.
        flow: u32,
    },
}

/// Frames, notices and rate limiters of an adapter.
pub(crate) trait Protocol: Send {
    /// The rate limiter of a queue.
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
    fn key(&self, src: u32, dst: u32, flow: u32) -> FlowKey;
    /// The queue of a flow.
    fn lane(&self, dst: u32, priority: u8, _flow: u32) -> Lane {
        Lane::To { dst, priority }
    }
    /// The limiter of a queue to a destination from which nothing has been sent.
    fn limiter(&self, dst: u32) -> Self::Limiter;
    /// A notice has come in for a limiter.
    fn notice(&self, now: Time, notice: Self::Notice, limiter: &mut Self::Limiter);
    /// What the receiver of a frame says at once, if anything, while more of its flow is to come.
    fn answer(&mut self, _now: Time, _packet: &Packet) -> Option<Packet> {
        None
    }
    /// Go-back-N's constants, if frames that are lost are sent again. Then every flow has a [lane of its own](Lane::Of).
    fn recovery(&self) -> Option<go_back_n::Params> {
        None
    }
    /// The answer of go-back-N to a frame, after which the receiver has `in_order` bytes of the flow in order.
    ///
    /// # Panics
    /// Without [`recovery`](Self::recovery).
    fn acknowledgement(&self, _data: &Data, _answer: Answer, _in_order: u64) -> Packet {
        unreachable!("nothing is acknowledged")
    }
    /// A flow of that name has come in whole.
    fn complete(&mut self, _key: FlowKey) {}
}
