//! The adapter of a host on lossless Ethernet (specifications/cee.md §2.1). A sending adapter has one queue for each
//! destination and priority, or one queue for each flow. It serves the highest priority first, and the queues of one
//! priority in turn. If the protocol limits rates, each queue has its own rate limiter. A receiving adapter puts the
//! frames back in order or, with go-back-N, discards frames that are out of order.
//!
//! An [`Adapter`] sends one frame at a time, at line rate. While a priority is paused, the adapter begins no frame of
//! that priority. Frames wait in the host's memory, which is unbounded. A [`Protocol`] defines the frame format and the
//! rate limits under congestion: [`cee`](crate::transport::cee) and [`dcqcn`](crate::transport::dcqcn) are two
//! protocols. The adapter retransmits lost frames if the protocol has acknowledgements ([`go_back_n`]).
//!
//! Cost per frame sent: one ring-buffer entry, and a heap entry if the rate limiter delays the queue. Cost per frame
//! received: one look-up by flow (two with go-back-N), and usually the extension of one range of received bytes.

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

/// Checks that every host has exactly one port, because an adapter has a single port.
///
/// # Errors
/// If a host has another number of ports. The message names the first such host.
pub(crate) fn check_ports(topology: &Topology) -> Result<(), Unfit> {
    let Some(host) = topology.hosts().find(|&host| topology.port_count(host) != 1) else { return Ok(()) };
    let problem = format!(
        "with this transport, every host must have exactly one port (host {host} has {} ports)",
        topology.port_count(host)
    );
    let hint = if topology.hosts().count() < topology.node_count() {
        "give each host exactly one port, or choose a transport for hosts with several ports, such as `dctcp`"
    } else {
        "choose a topology with switches, such as kind = \"k_ary_n_tree\""
    };
    let hint = hint.to_owned();
    Err(Unfit { key: "topology".to_owned(), problem, hint })
}

/// Checks that every flow's priority is less than 8 (IEEE 802.1Q). A flow with priority 0 uses the default priority of
/// `transport`.
///
/// # Errors
/// If a flow's priority is 8 or more.
pub(crate) fn check_priorities(plan: &Plan<'_>, transport: &str) -> Result<(), Unfit> {
    if plan.most_priority < 8 {
        return Ok(());
    }
    Err(Unfit {
        key: "workload.priority".to_owned(),
        problem: format!("the priority of a flow must be 0 to 7 (got {})", plan.most_priority),
        hint: format!("give 1 to 7, or 0 for the default priority in [scheme.{transport}]"),
    })
}

/// The rate limiter of one queue. An implementation may impose no limit.
pub(crate) trait RateLimiter: Send {
    /// Earliest time at which the next frame may begin. A time in the past means now.
    fn ready_at(&self) -> Time;
    /// Called when a frame with `bytes` bytes of a flow begins to leave. `queue_empty` is true if the queue contains no
    /// further frame.
    fn sent(&mut self, now: Time, bytes: u32, queue_empty: bool);
    /// Time of the next call of [`fire`](Self::fire), or [`Time::NEVER`].
    fn timer(&self) -> Time;
    /// Called when the timer is due.
    fn fire(&mut self, now: Time);
}

/// A frame of a flow, independent of the wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Data {
    /// Receiving host's number.
    pub dst: u32,
    /// Sending host's number.
    pub src: u32,
    /// The flow's number at its source.
    pub flow: u32,
    /// Priority, 0 to 7.
    pub priority: u8,
    /// Number of the flow's bytes in the frame.
    pub len: u16,
    /// Offset of the frame's first byte in the flow.
    pub offset: u64,
    /// Size of the flow in bytes.
    pub size: u64,
    /// True if the receiver must acknowledge the frame at once.
    pub ack_request: bool,
    /// Time at which the frame's bytes joined the sender's queue. Zero for a received frame, if the frame format does
    /// not carry this time.
    pub birth: Time,
}

/// A received packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival<N> {
    /// A frame of a flow.
    Data(Data),
    /// A notice that frames of one queue meet congestion on their path.
    Notice {
        /// The queue whose frames meet congestion.
        lane: Lane,
        /// The contents of the notice, for the rate limiter.
        notice: N,
    },
    /// Acknowledgement from the receiver of a flow.
    Acknowledged {
        /// The flow.
        key: FlowKey,
        /// Sequence number, as in the header, of the next frame that the receiver accepts.
        expected: u32,
        /// True if the receiver discarded a later frame because the expected frame was missing.
        refused: bool,
    },
}

/// One of an adapter's queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Lane {
    /// The queue of all flows to one host at one priority.
    To {
        /// The host's number.
        dst: u32,
        /// Priority, 0 to 7.
        priority: u8,
    },
    /// The queue of one flow. The queue and its rate limiter are removed when the flow's last frame begins to leave.
    /// With [`recovery`](Protocol::recovery), they are removed when the flow is acknowledged completely or given up.
    Of {
        /// The flow's number at its source.
        flow: u32,
    },
}

/// Defines the frames, congestion notices and rate limiters of an adapter.
pub(crate) trait Protocol: Send {
    /// The rate limiter of a queue.
    type Limiter: RateLimiter;
    /// The contents of a congestion notice.
    type Notice: Copy;

    /// Encodes a frame as a packet.
    fn packet(&mut self, data: &Data) -> Packet;
    /// Decodes a packet; `None` if the packet is not of this protocol.
    fn read(&self, packet: &Packet) -> Option<Arrival<Self::Notice>>;
    /// The priority of a flow's frames, 0 to 7.
    fn priority(&self, flow: &Flow) -> u8;
    /// The key of a flow in packet headers.
    fn key(&self, src: u32, dst: u32, flow: u32) -> FlowKey;
    /// The queue of a flow.
    fn lane(&self, dst: u32, priority: u8, _flow: u32) -> Lane {
        Lane::To { dst, priority }
    }
    /// Creates the rate limiter of a queue to host `dst`.
    fn limiter(&self, dst: u32) -> Self::Limiter;
    /// Called when a notice has arrived for the queue of a rate limiter.
    fn notice(&self, now: Time, notice: Self::Notice, limiter: &mut Self::Limiter);
    /// The receiver's immediate answer to a frame, if there is an answer. Not called if the flow is complete after this
    /// frame.
    fn answer(&mut self, _now: Time, _packet: &Packet) -> Option<Packet> {
        None
    }
    /// The parameters of go-back-N if the protocol retransmits lost frames. Every flow must then have its own
    /// [queue](Lane::Of).
    fn recovery(&self) -> Option<go_back_n::Params> {
        None
    }
    /// The packet that carries go-back-N's answer to a frame. The receiver has the flow's first `in_order` bytes.
    ///
    /// # Panics
    /// If the protocol has no [`recovery`](Self::recovery).
    fn acknowledgement(&self, _data: &Data, _answer: Answer, _in_order: u64) -> Packet {
        unreachable!("this protocol has no acknowledgements")
    }
    /// Called when a frame arrives and its flow, with key `key`, is complete.
    fn complete(&mut self, _key: FlowKey) {}
}
