//! The forwarder of a switch, which follows the path number in each packet.

use super::Paths;
use raddle_core::{DropReason, Forwarder, NodeId, Packet, PortId, Ports, Shim, Time, Verdict};
use raddle_topology::routing::LocalRouting;
use std::ops::Range;

/// The forwarder of a switch.
#[derive(Debug)]
pub(crate) struct Switch {
    routing: LocalRouting,
    /// The switch's hosts; empty unless this is an edge switch.
    hosts: Range<u32>,
    /// The number by which path numbers are divided. The quotient, modulo the number of next hops, selects the plane at
    /// an edge switch and the core at an aggregation switch.
    divisor: u16,
}

impl Switch {
    /// The forwarder of switch `node`.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "an aggregation switch has a port to each core of its plane, and a port number has 16 bits"
    )]
    pub(crate) fn new(node: NodeId, paths: &Paths) -> Self {
        let routing = paths.routing();
        let hosts = routing.topology().links_from(node).map(|(_, link)| link.to);
        let mut hosts = hosts.filter(|&neighbour| routing.topology().is_host(neighbour));
        let hosts = hosts.next().map_or(0..0, |first| first.0..first.0 + paths.hosts());
        let divisor = if hosts.is_empty() { 1 } else { paths.cores() as u16 };
        Self { routing: LocalRouting::new(routing.clone(), node), hosts, divisor }
    }
}

impl Forwarder for Switch {
    fn forward(&mut self, _: Time, packet: &mut Packet, _: Option<PortId>, _: &Ports<'_>) -> Verdict {
        let to = packet.dst();
        let path = if let Shim::Path(path) = packet.shim { Some(path) } else { None };
        if self.hosts.contains(&to.0) {
            packet.set_shim(Shim::None);
        } else if path.is_none() {
            return Verdict::Drop(DropReason::Malformed);
        }
        let way = |count| usize::from(path.unwrap_or(0) / self.divisor) % count;
        match self.routing.choose(to, way) {
            Some(port) => Verdict::Forward(port),
            None => Verdict::Drop(DropReason::NoRoute),
        }
    }

    fn foresee(&self, packet: &Packet) -> Option<PortId> {
        let Shim::Path(path) = packet.shim else { return None };
        self.routing.choose(packet.dst(), |count| usize::from(path / self.divisor) % count)
    }
}
