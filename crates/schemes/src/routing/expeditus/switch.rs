//! The parts that edge and aggregation switches share: uplinks, the path table, and next hops for packets without a
//! selected path.

use super::counters::Counters;
use super::meters::Uplinks;
use super::path_table::PathTable;
use super::selection::{Ties, select};
use crate::routing::ecmp;
use crate::routing::flow_hash::{flow_hash, pick};
use crate::routing::next_hops::NextHops;
use raddle_core::{DropReason, LinkId, NodeId, Packet, PortId, Ports, Time, Verdict};
use raddle_wire::FiveTuple;
use std::ops::Range;
use std::sync::Arc;

/// A switch that takes part in selections.
#[derive(Debug)]
pub(crate) struct Switch {
    pub(crate) next_hops: NextHops,
    /// Salt for choices by hash, derived from the seed and the node.
    pub(crate) salt: u64,
    /// Hosts below this switch.
    pub(crate) below: Range<u32>,
    /// Hosts of this switch's pod.
    pub(crate) pod: Range<u32>,
    pub(crate) uplinks: Uplinks,
    pub(crate) table: PathTable,
    pub(crate) ties: Ties,
    pub(crate) counters: Arc<Counters>,
}

/// A set of uplinks, one bit per uplink.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Set(u128);

impl Set {
    fn has(self, uplink: usize) -> bool {
        self.0 >> uplink & 1 == 1
    }
}

impl Switch {
    /// True if the host is below this switch.
    #[inline]
    pub(crate) fn is_above(&self, host: NodeId) -> bool {
        self.below.contains(&host.0)
    }

    /// Counts a packet that arrived at an uplink. Returns true if `arrival` is an uplink.
    #[inline]
    pub(crate) fn received(&mut self, now: Time, packet: &Packet, arrival: Option<PortId>) -> bool {
        let uplink = arrival.and_then(|port| self.uplinks.at(port));
        if let Some(uplink) = uplink {
            self.uplinks.received(now, uplink, packet);
        }
        uplink.is_some()
    }

    /// The port that ECMP would choose.
    #[inline]
    fn by_hash(&mut self, packet: &Packet) -> Option<PortId> {
        ecmp::choose(self.next_hops.routing(), packet, self.salt)
    }

    /// Forwards a packet to a host below this switch.
    #[inline]
    pub(crate) fn downwards(&mut self, packet: &Packet) -> Verdict {
        self.by_hash(packet).map_or(Verdict::Drop(DropReason::NoRoute), Verdict::Forward)
    }

    /// The port for a packet without a selected path: the port that ECMP would choose, if it is up. Otherwise, an
    /// uplink chosen by hash among the uplinks that are up and lead to the packet's destination; `None` if there are
    /// none.
    pub(crate) fn upwards_by_hash(&mut self, packet: &Packet, ports: &Ports<'_>) -> Option<PortId> {
        let port = self.by_hash(packet)?;
        if ports.get(port).up {
            return Some(port);
        }
        // A switch sees at once that its own port is down. The next hops contain the port until the failure has been
        // discovered.
        let ways = self.ways(packet.dst(), ports);
        let count = ways.0.count_ones() as usize;
        let choice = (count > 0).then(|| pick(flow_hash(packet, self.salt), count))?;
        let uplink = (0..self.uplinks.len()).filter(|&uplink| ways.has(uplink)).nth(choice);
        uplink.map(|uplink| self.uplinks.port(uplink))
    }

    /// Sends a packet by `port`, or drops it if `port` is `None`.
    #[inline]
    pub(crate) fn send(
        &mut self,
        now: Time,
        packet: &Packet,
        port: Option<PortId>,
        ports: &Ports<'_>,
    ) -> Verdict {
        let Some(port) = port else { return Verdict::Drop(DropReason::NoRoute) };
        if let Some(uplink) = self.uplinks.at(port) {
            self.uplinks.sent(now, uplink, packet, ports);
        }
        Verdict::Forward(port)
    }

    /// True if a selected port is up and, after the known link failures, still leads to the host `to`.
    #[inline]
    pub(crate) fn leads(&mut self, port: PortId, to: NodeId, ports: &Ports<'_>) -> bool {
        ports.get(port).up
            && (self.next_hops.down().is_empty()
                || self.uplinks.at(port).is_some_and(|uplink| self.ways(to, ports).has(uplink)))
    }

    /// The uplinks that are up and lead to the host `to`.
    fn ways(&mut self, to: NodeId, ports: &Ports<'_>) -> Set {
        let mut set = 0;
        let uplinks = &self.uplinks;
        for &port in self.next_hops.ports(to) {
            if let Some(uplink) = uplinks.at(port).filter(|_| ports.get(port).up) {
                set |= 1 << uplink;
            }
        }
        Set(set)
    }

    /// Selects an uplink that leads to a host, from the loads that the switch at the other end of the path reported and
    /// the loads that this switch measures.
    pub(crate) fn select(
        &mut self,
        told: impl Iterator<Item = u8>,
        mut measure: impl FnMut(&mut Uplinks, usize) -> u8,
        flow: FiveTuple,
        to: NodeId,
        ports: &Ports<'_>,
    ) -> Option<usize> {
        let ways = self.ways(to, ports);
        let uplinks = &mut self.uplinks;
        let measured = (0..uplinks.len()).map(|uplink| measure(uplinks, uplink));
        let choice = select(told, measured, |uplink| ways.has(uplink), flow, &mut self.ties)?;
        self.counters.choices.count();
        if choice.was_even {
            self.counters.even_choices.count();
        }
        Some(choice.uplink)
    }

    /// The port for a packet that is about to arrive; `None` if the path table decides, or the next hops are not
    /// computed yet.
    #[inline]
    pub(crate) fn foresee(&self, packet: &Packet) -> Option<PortId> {
        let routing = self.next_hops.present().filter(|_| self.is_above(packet.dst()))?;
        ecmp::choose(routing, packet, self.salt)
    }

    /// Records that a link anywhere in the fabric went down or came up. If the link belongs to one of this switch's
    /// uplinks, also resets the uplink's loads (up) or removes the path table entries that use it (down).
    pub(crate) fn link(&mut self, link: LinkId, up: bool) {
        self.next_hops.link(link, up);
        match self.uplinks.with_link(link) {
            Some(uplink) if up => self.uplinks.forget(uplink),
            Some(uplink) => self.table.forget(self.uplinks.port(uplink)),
            None => {}
        }
    }
}
