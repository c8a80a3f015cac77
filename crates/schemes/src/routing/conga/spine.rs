//! The forwarder of a spine. It raises the congestion in a packet's overlay header to the load of the egress link, if
//! that load is greater.

use super::Fabric;
use super::meters::Meters;
use crate::routing::ecmp;
use crate::routing::flow_hash::salt;
use crate::routing::next_hops::NextHops;
use raddle_core::{DropReason, Forwarder, LinkId, NodeId, Packet, PortId, Ports, Shim, Time, Verdict};

/// The forwarder of a spine.
#[derive(Debug)]
pub(super) struct Spine {
    next_hops: NextHops,
    salt: u64,
    downlinks: Meters,
}

impl Spine {
    pub(super) fn new(fabric: &Fabric, node: NodeId) -> Self {
        let topology = fabric.paths.topology();
        let ports =
            u16::try_from(topology.port_count(node)).expect("a switch must have fewer than 2^16 ports");
        Self {
            next_hops: NextHops::new(node, &fabric.paths),
            salt: salt(fabric.seed, node),
            downlinks: Meters::new(topology, 0..ports, &fabric.dre),
        }
    }
}

impl Forwarder for Spine {
    fn forward(&mut self, now: Time, packet: &mut Packet, _: Option<PortId>, ports: &Ports<'_>) -> Verdict {
        let Some(port) = ecmp::choose(self.next_hops.routing(), packet, self.salt) else {
            return Verdict::Drop(DropReason::NoRoute);
        };
        self.downlinks.count(now, port, packet);
        if let Shim::Conga(overlay) = packet.shim {
            packet.shim = Shim::Conga(overlay.met(self.downlinks.load(now, port, ports)));
        }
        Verdict::Forward(port)
    }

    fn foresee(&self, packet: &Packet) -> Option<PortId> {
        ecmp::choose(self.next_hops.present()?, packet, self.salt)
    }

    fn link(&mut self, link: LinkId, up: bool) {
        self.next_hops.link(link, up);
    }
}
