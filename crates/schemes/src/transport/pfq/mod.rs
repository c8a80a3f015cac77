//! PFQ: idealised per-flow queueing with back-pressure, the upper bound that R2C2 is compared with (Costa et al.,
//! SIGCOMM 2015, §5.1; the mechanism is a reconstruction).
//!
//! Every egress port has a queue a flow, served by deficit round robin. A flow has a few packet buffers of its own at
//! the far end of each link; a packet moves on only into a free one, and a buffer that is freed sends a
//! [credit](raddle_wire::credit) back, which takes the link's delay and no bandwidth. Nothing is ever dropped. A credit that a
//! link loses is [given again](ledger).
//!
//! In `adaptive` mode a packet takes, at each hop, a port that is uniform among those one hop closer *with credit*, and
//! waits if there is none. In `strict` mode it keeps to a path drawn at its source. Either way flows move along
//! shortest paths only, whose buffers form no cycle, so no deadlock is possible.
//!
//! Cost: two events a packet-hop and one a credit. Memory follows live flows times the links they use, which is the
//! paper's argument against it.
//!
//! # Differs from the paper
//! - The paper gives no parameters: buffers of 2 link delays and 2 packets, rounded up to at least 4 packets.
//! - Packets carry R2C2's data header, so that both put the same bytes on the wire.
//! - Failures are not recovered from: packets that a link loses are lost for good, with the buffers that they would have
//!   freed. Waiting packets wait on.

mod forwarder;
mod host;
mod ledger;
mod queue;
mod scheme;

pub(crate) use forwarder::{Mode, PfqForwarder};
pub(crate) use host::PfqHost;
pub(crate) use queue::FlowQueues;
pub(crate) use scheme::TRANSPORT;

#[cfg(test)]
mod tests;
