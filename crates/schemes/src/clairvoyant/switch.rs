//! A switch of any level, which knows the world.

use super::world::World;
use crate::ecmp;
use crate::expeditus::flow_id::FiveTuple;
use crate::expeditus::path_table::Path;
use crate::expeditus::tagging::{Opening, opening};
use crate::next_hops::NextHops;
use raddle_core::{DropReason, Forwarder, LinkId, NodeId, Packet, PortId, Ports, Stream, Time, Verdict};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// One switch.
pub(super) struct Seer {
    pub(super) next_hops: NextHops,
    /// Of the seed and the node, for choices by hash.
    pub(super) salt: u64,
    /// Hosts below it.
    pub(super) below: Range<u32>,
    /// The link of its first port.
    pub(super) first_link: LinkId,
    /// Ports that lead to hosts, whose links are not metered.
    pub(super) host_ports: u16,
    /// What an edge switch needs besides.
    pub(super) selector: Option<Selector>,
    pub(super) world: Arc<Mutex<World>>,
}

/// What selects paths for an edge switch's flows.
pub(super) struct Selector {
    /// For ties.
    pub(super) stream: Stream,
    /// Whether only the first packet of a connection selects, so that what goes back is left to ECMP.
    pub(super) forward_only: bool,
}

impl Seer {
    /// The port that a packet's flow has, or is given now, if any.
    fn selected(
        &mut self,
        now: Time,
        packet: &Packet,
        arrival: Option<PortId>,
        world: &mut World,
        ports: &Ports<'_>,
    ) -> Option<PortId> {
        let node = self.next_hops.node();
        let flow = FiveTuple::of(packet).id();
        if let Path::Done(port) = world.tables[node.index()].find(now, flow)
            && self.leads(port, packet.dst(), ports)
        {
            return Some(port);
        }
        let Selector { stream, forward_only } = self.selector.as_mut()?;
        let is_from_host = arrival.is_none_or(|port| port.0 < self.host_ports);
        if !is_from_host || (*forward_only && opening(packet) != Some(Opening::Syn)) {
            return None;
        }
        let up = |port| ports.get(port).up;
        let paths = world.least_loaded(now, node, packet.dst(), self.next_hops.down(), up);
        if paths.is_empty() {
            return None;
        }
        let path = paths[stream.below(paths.len() as u64) as usize];
        world.install(now, node, flow, path);
        Some(path.edge)
    }

    /// Whether a port that was selected is up and leads to the host.
    fn leads(&mut self, port: PortId, to: NodeId, ports: &Ports<'_>) -> bool {
        ports.get(port).up && (self.next_hops.down().is_empty() || self.next_hops.ports(to).contains(&port))
    }
}

impl Forwarder for Seer {
    fn forward(
        &mut self,
        now: Time,
        packet: &mut Packet,
        arrival: Option<PortId>,
        ports: &Ports<'_>,
    ) -> Verdict {
        let world = Arc::clone(&self.world);
        let mut world = world.lock().unwrap_or_else(PoisonError::into_inner);
        let selected = match self.below.contains(&packet.dst().0) {
            true => None,
            false => self.selected(now, packet, arrival, &mut world, ports),
        };
        let port = selected.or_else(|| ecmp::choose(self.next_hops.routing(), packet, self.salt));
        let Some(port) = port else { return Verdict::Drop(DropReason::NoRoute) };
        if port.0 >= self.host_ports {
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
