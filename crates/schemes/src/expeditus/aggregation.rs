//! The aggregation switch: it measures its cores for selections between pods, and picks one for those of its own pod
//! (Expeditus §4.2; specs/expeditus.md §5.3).
//!
//! Cost a packet: upwards, a hash of the five-tuple and a look-up; downwards, nothing but the meter of the uplink.

use super::flow_id::FiveTuple;
use super::meters::{Scale, Uplinks};
use super::path_table::Path;
use super::switch::Switch;
use super::tagging::{tag_of, write_loads};
use raddle_core::{Forwarder, LinkId, NodeId, Packet, PortId, Ports, Time, Verdict};
use raddle_wire::exp::Tag;

/// An aggregation switch.
#[derive(Debug)]
pub(crate) struct Aggregation(pub(crate) Switch);

impl Aggregation {
    /// A packet for another pod: by the core that its flow's selection picked, else by hash.
    #[inline]
    pub(super) fn upwards(&mut self, now: Time, packet: &Packet, ports: &Ports<'_>) -> Verdict {
        let flow = FiveTuple::of(packet).id();
        let port = match self.0.table.find(now, flow) {
            Path::Done(port) if self.0.leads(port, packet.dst(), ports) => Some(port),
            _ => self.0.upwards_by_hash(packet, ports),
        };
        self.0.send(now, packet, port, ports)
    }

    /// Writes this switch's loads into an Exp-response on its way to another pod: it is at the destination's side.
    #[cold]
    pub(super) fn measure(&mut self, now: Time, response: &mut Packet, ports: &Ports<'_>) {
        let uplinks = &self.0.uplinks;
        let loads = (0..uplinks.len()).map(|uplink| uplinks.ingress(now, uplink, ports, Scale::NONE));
        write_loads(response, loads);
    }

    /// Picks a core for the flow that an Exp-response from another pod is about: it is at the source's side.
    #[cold]
    pub(super) fn merge(&mut self, now: Time, tag: Tag, flow: FiveTuple, to: NodeId, ports: &Ports<'_>) {
        if tag.len() != self.0.uplinks.len() {
            self.0.counters.malformed.count();
            return;
        }
        self.0.counters.merged.count();
        let measure = |uplinks: &mut Uplinks, uplink| uplinks.egress(now, uplink, ports, Scale::NONE);
        let Some(core) = self.0.select(tag.loads(), measure, flow, to, ports) else { return };
        if self.0.table.install(now, flow.id(), self.0.uplinks.port(core)) {
            self.0.counters.installed.count();
        }
    }
}

impl Forwarder for Aggregation {
    fn forward(
        &mut self,
        now: Time,
        packet: &mut Packet,
        arrival: Option<PortId>,
        ports: &Ports<'_>,
    ) -> Verdict {
        let came_down = self.0.received(now, packet, arrival);
        let response = tag_of(packet).filter(|tag| tag.is_response).copied();
        if !self.0.is_above(packet.dst()) {
            if response.is_some() && !came_down {
                self.measure(now, packet, ports);
            }
            return self.upwards(now, packet, ports);
        }
        // Without loads it stays in its pod, where there is no core to pick.
        if let Some(tag) = response.filter(|tag| !tag.is_empty()) {
            self.merge(now, tag, FiveTuple::of(packet).answered(), packet.src(), ports);
        }
        self.0.downwards(packet)
    }

    fn foresee(&self, packet: &Packet) -> Option<PortId> {
        self.0.foresee(packet)
    }

    fn link(&mut self, link: LinkId, up: bool) {
        self.0.link(link, up);
    }
}
