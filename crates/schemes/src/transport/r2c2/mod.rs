//! R2C2, the network stack for rack-scale computers (Costa, Ballani, Razavi, Kash, SIGCOMM 2015).
//!
//! Every flow start and finish is broadcast in a packet of 16 bytes over a shortest-path tree (`trees.rs`), so each
//! node holds the table of all flows (`table.rs`). Once per interval rho, each node that sends flows computes weighted
//! max-min rates (`rates.rs`). In this computation, a flow splits over links as its routing protocol defines. Senders
//! pace their flows at these rates (`outgoing.rs`) and source-route each packet (`sender.rs`). Relays read only the
//! next hop of the route (`forwarder.rs`).
//!
//! Broadcasts can be lost. A broadcast that a node drops is sent again (`retries.rs`). If a broadcast arrives damaged,
//! the receiving node requests it again from its neighbour (`resends.rs`). When the topology changes, each node
//! announces its live flows again. While flow tables may differ, nodes compare them (`anti_entropy.rs`,
//! `node/recovery.rs`).
//!
//! Cost: a relay spends one shift and one mask on a data packet. Each node spends one table update on a broadcast. A
//! rate computation visits the links of the eligible flows (the flows that rate computations include). Once per
//! interval rho, only nodes that send an eligible flow compute rates. With the start policies `local` and `residual`, a
//! node also computes rates when one of its flows starts.
//!
//! # Differs from the paper
//! - Byte layouts, tree construction, loss recovery of broadcasts and the start policy are our reconstructions, because
//!   the paper does not specify them.
//! - Demand is estimated from the bytes that a flow has sent (§3.3.2). An estimate from the allocated rate could never
//!   fall below the allocated rate, so no demand would ever be announced.
//! - A node that sends no eligible flow skips the rate computation, because it would not use the result.
//! - Reliability, which the paper leaves to future work, is an option (`arrivals.rs`, `unacknowledged.rs`).
//!   Acknowledgements are not paced. They use the headroom, the capacity that rate computations leave free. A reliable
//!   flow stays in the tables of all nodes until all its packets are acknowledged. No checksum covers all bytes of a
//!   flow, but the checksum of each packet covers its payload.
//!
//! A reliable flow may be a stream. The node sends the bytes as the application appends them, in packets that may be
//! shorter than the MTU. The node estimates the stream's demand, as for any flow whose application may be the
//! bottleneck. If all bytes have already been sent when the application closes the stream, an empty last packet ends
//! the stream.

mod anti_entropy;
mod arrivals;
pub(crate) mod data_plane;
mod demand;
pub(crate) mod entries;
pub(crate) mod fabric;
mod forwarder;
mod node;
pub(crate) mod outbox;
pub(crate) mod outgoing;
mod policy;
mod protocol_number;
pub(crate) mod rates;
mod resends;
mod retries;
mod scheme;
mod selection;
pub(crate) mod sender;
pub(crate) mod setup;
pub(crate) mod table;
pub(crate) mod ticks;
mod trees;
mod unacknowledged;

pub use anti_entropy::Doubt;
pub use fabric::Fabric;
pub use forwarder::SourceRoute;
pub use node::R2c2Node;
pub use policy::Policy;
pub use scheme::TRANSPORT;
pub use selection::{Selecting, Selection};
pub use table::FlowTable;
pub(crate) use trees::{PortSet, Trees};

use crate::choices;
use raddle_core::Duration;
use raddle_topology::routing::Protocol;
use raddle_wire::r2c2::Event;

/// Size in bytes of the packet of a flow event (§3.2).
#[allow(clippy::cast_possible_truncation, reason = "a header has at most a few hundred bytes")]
pub const EVENT_BYTES: u32 = Event::LEN as u32;

choices! {
    /// The rate limit of a new flow until a rate computation includes the flow.
    pub enum StartPolicy {
        /// The rate that the new flow would have in an allocation for all known flows. The rates of other flows do not
        /// change.
        Local = "local",
        /// The rate that the new flow would have in an allocation for itself and the flows that the last rate computation
        /// included, without the flows that have ended since then.
        Batch = "batch",
        /// The rate of the fastest link of the node.
        Link = "link",
        /// No rate limit. Only the ports pace the flow.
        Line = "line",
        /// The unused capacity on the flow's links, but at least a hundredth of the usable capacity of its slowest
        /// link.
        Residual = "residual",
    }
}

/// R2C2's parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each flag is a separate parameter")]
pub struct Params {
    /// Routing protocol of every flow at its start. Routing selection may change a flow's protocol.
    pub protocol: Protocol,
    /// Interval between rate computations. With zero, rates are computed at every event (the ideal in Figs. 15 and 16
    /// of the paper).
    pub rho: Duration,
    /// Fraction of each link's capacity that is kept free for broadcasts and for flows without a rate limit (§3.3).
    pub headroom: f64,
    /// True if rate computations include only flows that have been known for a whole interval (§5.1; Figure 8 shows the
    /// cost of these computations). Otherwise they include every known flow. Even then, a flow that begins and ends
    /// between two computations is never included (§3.3.2).
    pub only_lasting: bool,
    /// True if all nodes compute at the same times. Otherwise each node has a random phase.
    pub synchronous: bool,
    /// True if a node computes rates in every interval from the start, even if it sends no flow. This setting serves to
    /// measure the cost of a computation (Figure 8). Such a node always has a timer, so a simulation with such nodes
    /// never ends by itself.
    pub computes_idle: bool,
    /// The policy that sets a flow's weight.
    pub policy: Policy,
    /// The rate limit of a new flow until a rate computation includes the flow.
    pub start: StartPolicy,
    /// Payload bytes of a full packet.
    pub mtu: u16,
    /// Greatest backlog of a port, in full packets of any flow, up to which a flow without a rate limit adds packets to
    /// the port.
    pub nic_packets: u64,
    /// Routing selection for long flows; `None` turns it off.
    pub selection: Option<Selection>,
    /// When nodes suspect that their flow tables differ.
    pub doubt: Doubt,
    /// Interval at which nodes compare flow tables while these may differ. Zero turns the comparison off.
    pub digest_period: Duration,
    /// Number of recent broadcasts per link that a node announces again to a neighbour that has received a damaged
    /// packet.
    pub resends: u8,
    /// Number of broadcast trees per source.
    pub trees: u8,
    /// Bits per hop in the source route: 3, 4 or 5.
    pub hop_bits: u32,
    /// True if receivers acknowledge packets and senders retransmit lost packets.
    pub reliable: bool,
    /// Number of packets that a receiver of reliable flows accepts, counted from the first missing packet. Must be at
    /// least 1.
    pub window: u16,
    /// True if nodes accept streams and report the progress of flows:
    /// [`Host::carries_streams`](raddle_core::Host::carries_streams). Only reliable flows can be streams.
    pub streams: bool,
}
