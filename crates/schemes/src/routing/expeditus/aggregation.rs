//! The aggregation switch. It measures its uplinks to cores for selections between pods, and selects a core for flows
//! from its own pod (Expeditus §4.2; specifications/expeditus.md §5.3).
//!
//! Cost per packet: the meter of an uplink. A packet on the way up also needs a hash of the five-tuple and a look-up.

use super::flow_id::{FlowHash, five_tuple};
use super::meters::{Scale, Uplinks};
use super::path_table::Path;
use super::switch::Switch;
use super::tagging::{tag_of, write_loads};
use raddle_core::{Forwarder, LinkId, NodeId, Packet, PortId, Ports, Time, Verdict};
use raddle_wire::FiveTuple;
use raddle_wire::exp::Tag;

/// An aggregation switch.
#[derive(Debug)]
pub(crate) struct Aggregation {
    pub(crate) switch: Switch,
    /// Returns the flow whose selection a tagged packet answers; `None` if the packet is not an answer.
    pub(crate) answered: fn(&Packet) -> Option<FiveTuple>,
}

impl Aggregation {
    /// Forwards a packet for another pod: through the selected core if the flow has a selected core that still leads to
    /// the destination, otherwise by hash.
    #[inline]
    pub(super) fn upwards(&mut self, now: Time, packet: &Packet, ports: &Ports<'_>) -> Verdict {
        let flow = five_tuple(packet).id();
        let port = match self.switch.table.find(now, flow) {
            Path::Done(port) if self.switch.leads(port, packet.dst(), ports) => Some(port),
            _ => self.switch.upwards_by_hash(packet, ports),
        };
        self.switch.send(now, packet, port, ports)
    }

    /// Writes this switch's loads into an answer on its way to another pod. The answer is an Exp-response, or a SYN-ACK
    /// in mode `authsim`. This switch is in the pod of the flow's destination.
    #[cold]
    pub(super) fn measure(&mut self, now: Time, response: &mut Packet, ports: &Ports<'_>) {
        let uplinks = &self.switch.uplinks;
        let loads = (0..uplinks.len()).map(|uplink| uplinks.ingress(now, uplink, ports, Scale::NONE));
        write_loads(response, loads);
        self.switch.counters.measured.count();
    }

    /// Handles an answer from another pod: selects a core for the flow whose selection it answers. This switch is in
    /// the pod of the flow's source.
    #[cold]
    pub(super) fn merge(&mut self, now: Time, tag: &Tag, flow: FiveTuple, to: NodeId, ports: &Ports<'_>) {
        if tag.len() != self.switch.uplinks.len() {
            self.switch.counters.malformed.count();
            return;
        }
        self.switch.counters.merged.count();
        let measure = |uplinks: &mut Uplinks, uplink| uplinks.egress(now, uplink, ports, Scale::NONE);
        let Some(core) = self.switch.select(tag.loads(), measure, flow, to, ports) else { return };
        if self.switch.table.install(now, flow.id(), self.switch.uplinks.port(core)) {
            self.switch.counters.installed.count();
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
        let came_down = self.switch.received(now, packet, arrival);
        let answer = tag_of(packet).and_then(|tag| Some((tag, (self.answered)(packet)?)));
        if !self.switch.is_above(packet.dst()) {
            if answer.is_some() && !came_down {
                self.measure(now, packet, ports);
            }
            return self.upwards(now, packet, ports);
        }
        // A response from the same pod does not come down from a core, so there is no core to select.
        if let Some((tag, flow)) = answer.filter(|_| came_down) {
            self.merge(now, tag, flow, packet.src(), ports);
        }
        self.switch.downwards(packet)
    }

    fn foresee(&self, packet: &Packet) -> Option<PortId> {
        self.switch.foresee(packet)
    }

    fn link(&mut self, link: LinkId, up: bool) {
        self.switch.link(link, up);
    }
}
