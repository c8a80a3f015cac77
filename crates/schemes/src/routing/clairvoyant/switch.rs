//! The forwarder of a switch of any level. At an edge switch, it selects paths by the loads of the whole network.

use super::world::{Ascent, World};
use crate::routing::ecmp;
use crate::routing::expeditus::flow_id::{FlowHash, five_tuple};
use crate::routing::expeditus::path_table::Path;
use crate::routing::expeditus::tagging::opening;
use crate::routing::next_hops::NextHops;
use raddle_core::{DropReason, Forwarder, LinkId, NodeId, Packet, PortId, Ports, Stream, Time, Verdict};
use raddle_wire::Opening;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// The forwarder of one switch.
pub(super) struct Seer {
    pub(super) next_hops: NextHops,
    /// Salt for choices by hash, derived from the seed and the node.
    pub(super) salt: u64,
    /// Hosts below this switch.
    pub(super) below: Range<u32>,
    /// The link of the switch's first port.
    pub(super) first_link: LinkId,
    /// Number of ports that lead to hosts. The links of these ports are not metered.
    pub(super) host_ports: u16,
    /// Selects paths; `None` unless this is an edge switch.
    pub(super) selector: Option<Selector>,
    pub(super) world: Arc<Mutex<World>>,
}

/// Selects the paths of an edge switch's flows.
pub(super) struct Selector {
    /// Random stream that breaks ties.
    pub(super) stream: Stream,
    /// If true, only a connection's SYN selects a path, and ECMP forwards the reverse direction.
    pub(super) forward_only: bool,
}

impl Selector {
    /// Selects a least loaded path for a flow without a stored path. Returns `None` if this packet must not select a
    /// path, or if there is no path.
    fn select(
        &mut self,
        now: Time,
        packet: &Packet,
        next_hops: &NextHops,
        world: &World,
        ports: &Ports<'_>,
    ) -> Option<Ascent> {
        if self.forward_only && opening(packet) != Some(Opening::Syn) {
            return None;
        }
        let up = |port| ports.get(port).up;
        let paths = world.least_loaded(now, next_hops.node(), packet.dst(), next_hops.down(), up);
        (!paths.is_empty()).then(|| paths[self.stream.index(paths.len())])
    }
}

/// True if a selected port is up and, after the known link failures, still leads to the host `to`.
fn leads(next_hops: &mut NextHops, port: PortId, to: NodeId, ports: &Ports<'_>) -> bool {
    ports.get(port).up && (next_hops.down().is_empty() || next_hops.ports(to).contains(&port))
}

impl Forwarder for Seer {
    fn forward(
        &mut self,
        now: Time,
        packet: &mut Packet,
        arrival: Option<PortId>,
        ports: &Ports<'_>,
    ) -> Verdict {
        let Self { next_hops, selector, host_ports, .. } = self;
        let mut world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        let (node, to) = (next_hops.node(), packet.dst());
        let mut selected = None;
        if !self.below.contains(&to.0) {
            let flow = five_tuple(packet).id();
            selected = match world.tables[node.index()].find(now, flow) {
                Path::Done(port) => Some(port).filter(|&port| leads(next_hops, port, to, ports)),
                Path::Pending | Path::Unknown => None,
            };
            let is_from_host = arrival.is_none_or(|port| port.0 < *host_ports);
            if let (None, Some(selector), true) = (selected, selector, is_from_host)
                && let Some(path) = selector.select(now, packet, next_hops, &world, ports)
                && world.install(now, node, flow, path)
            {
                selected = Some(path.edge);
            }
        }
        let port = selected.or_else(|| ecmp::choose(next_hops.routing(), packet, self.salt));
        let Some(port) = port else { return Verdict::Drop(DropReason::NoRoute) };
        if port.0 >= *host_ports {
            world.sent(now, LinkId(self.first_link.0 + u32::from(port.0)), packet);
        }
        Verdict::Forward(port)
    }

    fn foresee(&self, packet: &Packet) -> Option<PortId> {
        let is_below = self.below.contains(&packet.dst().0);
        let routing = self.next_hops.present().filter(|_| is_below)?;
        ecmp::choose(routing, packet, self.salt)
    }

    fn link(&mut self, link: LinkId, up: bool) {
        self.next_hops.link(link, up);
    }
}
