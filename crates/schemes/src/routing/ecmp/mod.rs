//! ECMP: each flow takes one shortest path, chosen by a hash (the idea of RFC 2992; the TCP baseline of R2C2 §5.1).
//!
//! At each hop the packet leaves by one of the ports on shortest paths to its destination. A hash of the flow's
//! identity, the node and the seed selects the port. Packets of a flow stay together, flows spread evenly, and the
//! choices of successive hops are independent (no polarization). Acknowledgements are hashed by their own identity, so
//! they can take a different path than the data.
//!
//! Cost per hop: the cost of [`NextHops::forward`], which needs only arithmetic on tori and Clos networks without known
//! failures. If there are several next hops, the flow's hash and the choice of the next hop take five more
//! multiplications.

use crate::fluid::Spread;
use crate::routing::flow_hash::{flow_hash, pick, salt};
use crate::routing::next_hops::{NextHops, ShortestPaths};
use crate::scheme::{Build, Forwarders, Info, Plan, Routing, Unfit, View, forwarders_where_needed};
use raddle_core::{Forwarder, LinkId, NodeId, Packet, PortId, Ports, Time, Verdict};
use raddle_topology::routing::LocalRouting;
use std::sync::Arc;

/// Equal-cost multi-path.
pub const ROUTING: Routing =
    Routing { info: INFO, build: Build::Compiled(build), spread: |_| Spread::AsForwarded, hold: |_| None };

const INFO: Info = Info {
    name: "ecmp",
    summary: "Each flow takes one shortest path, chosen by hash at every hop",
    source: "after RFC 2992; the baseline of R2C2 §5.1 and Expeditus §5",
    differs: &[],
    view: View::Local,
    parameters: &[],
};

fn build(plan: &Plan<'_>) -> Result<Forwarders, Unfit> {
    let (paths, seed) = (ShortestPaths::new(plan.topology), plan.seed);
    Ok(forwarders_where_needed(plan.topology, move |node| Ecmp::new(node, &paths, seed)))
}

/// The forwarder of one node, which fits in one cache line.
#[derive(Debug)]
#[repr(align(64))]
pub struct Ecmp {
    /// Salt of the hash, derived from the seed and the node.
    salt: u64,
    next_hops: NextHops,
}

impl Ecmp {
    /// The forwarder of `node`.
    #[must_use]
    pub fn new(node: NodeId, paths: &Arc<ShortestPaths>, seed: u64) -> Self {
        Self { salt: salt(seed, node), next_hops: NextHops::new(node, paths) }
    }
}

impl Forwarder for Ecmp {
    fn forward(&mut self, _: Time, packet: &mut Packet, _: Option<PortId>, _: &Ports<'_>) -> Verdict {
        let salt = self.salt;
        self.next_hops.forward(packet, |_, count| pick(flow_hash(packet, salt), count))
    }

    fn foresee(&self, packet: &Packet) -> Option<PortId> {
        let routing = self.next_hops.present().filter(|routing| packet.dst() != routing.node())?;
        choose(routing, packet, self.salt)
    }

    fn link(&mut self, link: LinkId, up: bool) {
        self.next_hops.link(link, up);
    }
}

/// The port for a packet that has not reached its destination, at a node with this salt; `None` if there is no path.
#[inline]
pub(crate) fn choose(routing: &LocalRouting, packet: &Packet, salt: u64) -> Option<PortId> {
    routing.choose(packet.dst(), |count| pick(flow_hash(packet, salt), count))
}

#[cfg(test)]
mod tests;
