//! PFQ: idealised per-flow queueing with back-pressure. The R2C2 paper uses it as the upper bound of performance (Costa
//! et al., SIGCOMM 2015, §5.1). The mechanism in this module is a reconstruction.
//!
//! Every egress port has one queue per flow, served by deficit round robin. At the far end of each link, a few packet
//! buffers are reserved for each flow. A packet is sent only if such a buffer is free. When a buffer becomes free, the
//! far end returns a [credit](raddle_wire::credit), which takes the link's propagation delay and no bandwidth. No
//! packet is dropped for lack of buffers. If a link loses a credit, the far end [sends it again](ledger).
//!
//! In `adaptive` mode, a packet draws its port uniformly at each hop: from the ports *with credit* that lead one hop
//! closer to the destination. A packet waits if no such port exists. In `strict` mode, a packet follows a path that is
//! drawn at its source. In both modes flows use only shortest paths, whose buffers form no cycle, so a deadlock is
//! impossible.
//!
//! Cost: two events per packet and hop, and one event per credit. Memory grows with the number of live flows times the
//! links that they use, which is why the paper considers PFQ impractical.
//!
//! # Differs from the paper
//! - The paper gives no parameters. At each link, a flow has buffers for the bytes of 2 link delays plus 2 packets, but
//!   for at least 4 packets.
//! - Packets carry R2C2's data header, so that both schemes send the same number of bytes.
//! - There is no recovery from failures. Packets that a link loses are lost for good, and the buffers that they would
//!   have freed stay occupied. Packets that wait for these buffers keep waiting.

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
