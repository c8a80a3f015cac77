//! R2C2, the network stack for rack-scale computers (Costa, Ballani, Razavi, Kash, SIGCOMM 2015).
//!
//! Every flow start and finish is broadcast in 16 bytes over a shortest-path tree (`trees.rs`), so each node holds
//! the table of all flows (`table.rs`). Every rho each node computes weighted max-min rates, where a flow's split over
//! links is what its routing protocol implies (`rates.rs`). Senders pace their flows at these rates (`outgoing.rs`)
//! and source-route each packet (`sender.rs`); relays look at nothing but the next hop of the route (`forwarder.rs`).
//!
//! Broadcasts can be lost. A node that notices a drop repeats the broadcast (`retries.rs`), and a node that receives a
//! damaged broadcast requests it again (`resends.rs`). Nodes announce all live flows again when the topology changes. While
//! flow tables may differ, nodes compare them (`anti_entropy.rs`, `node/recovery.rs`).
//!
//! Cost: a data packet costs a relay one shift and mask; a broadcast costs each node one table update; a rate
//! computation costs the links that the eligible flows touch, and only nodes that own one compute.
//!
//! # Differs from the paper
//! - Byte layouts, tree construction, loss recovery of broadcasts and the start policy are reconstructions: the
//!   paper leaves them open.
//! - Demand is estimated from the bytes really released, not from the allocation: with the latter an estimate could
//!   never fall below the allocation, and the rule would never fire (§3.3.2).
//! - A node that owns no eligible flow skips the computation, whose result it would not install.
//! - Reliability, which the paper leaves for later, is an option (`arrivals.rs`, `unacknowledged.rs`). Acknowledgements
//!   are not paced and use headroom. A flow ends, for the rates of all, once everything has arrived. A
//!   checksum over all bytes of a flow is left out: the one of each packet covers its payload.
//!
//! A reliable flow may be a stream. Its bytes are sent as they come, in packets as full as what has been appended, and its demand
//! is estimated, as that of any flow whose application may be the bottleneck. If all of them are sent when the application
//! closes the stream, a packet without payload is the last.

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

/// Bytes of a flow event on the wire (§3.2).
pub const EVENT_BYTES: u32 = Event::LEN as u32;

choices! {
    /// The rate of a flow that no rate computation has included yet.
    pub enum StartPolicy {
        /// One allocation of all known flows and this one; installed for this one only.
        Local = "local",
        /// No limiter: paced only by the ports.
        Line = "line",
        /// The unused capacity of the flow's links, but at least a hundredth of the slowest link.
        Residual = "residual",
    }
}

/// R2C2's parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Params {
    /// Routing protocol of every flow.
    pub protocol: Protocol,
    /// Rates are recomputed this often; zero recomputes at every event (the ideal of Figs. 15 and 16).
    pub rho: Duration,
    /// Capacity kept free for broadcasts and flows not yet limited, as a fraction (§3.3).
    pub headroom: f64,
    /// Rate computations count only flows that have been known for a whole interval (§5.1, the cost of Figure 8), rather
    /// than every known flow (§3.3.2: batching by itself hides flows that begin and end between two computations).
    pub only_lasting: bool,
    /// All nodes compute at the same instants, rather than each at a phase of its own.
    pub synchronous: bool,
    /// A node computes every interval from the start on, whether or not it sends a flow whose rate it would install. For
    /// measurements of what a computation costs (Figure 8): such a node never rests, so a whole simulation of them never ends.
    pub computes_idle: bool,
    /// The policy that sets a flow's weight.
    pub policy: Policy,
    /// The rate of a flow before the first computation.
    pub start: StartPolicy,
    /// Payload bytes of a full packet.
    pub mtu: u16,
    /// Packets that an unlimited flow may leave waiting at its first hop.
    pub nic_packets: u64,
    /// Routing selection for long flows; `None` turns it off.
    pub selection: Option<Selection>,
    /// When nodes suspect that their flow tables differ.
    pub doubt: Doubt,
    /// Interval at which nodes compare flow tables while these may differ; zero turns the comparison off.
    pub digest_period: Duration,
    /// Broadcasts over a link whose flows a node can announce again to a neighbour that received one of them damaged.
    pub resends: u8,
    /// Number of broadcast trees per source.
    pub trees: u8,
    /// Bits per hop in the source route: 3, 4 or 5.
    pub hop_bits: u32,
    /// Receivers acknowledge, and senders repeat what is lost.
    pub reliable: bool,
    /// Packets that a receiver of reliable flows accepts, counted from the first missing packet; at least 1.
    pub window: u16,
    /// Take streams, and report how far flows have come: [`Host::carries_streams`](raddle_core::Host::carries_streams). Only
    /// reliable flows can be streams.
    pub streams: bool,
}
