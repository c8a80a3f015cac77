//! The edge switch of the authors' simulation code, whose protocol is not the paper's (specs/expeditus.md §0.2).
//!
//! Loads ride on a connection's SYN and SYN-ACK; there is no packet of the protocol's own. Between pods the SYN carries the
//! source's loads, and the destination pins the SYN-ACK to the uplink it selects; the SYN-ACK collects the loads of the cores
//! there, and the source pins the connection to the uplink by which it comes. Within a pod the SYN-ACK carries the loads of
//! the destination, and the source selects. What goes the other way takes, beyond that first uplink, ECMP's path.
//!
//! Tags are those of requests throughout: what bears them is the transport's own packet, and no Exp-response.

use super::flow_id::{FlowHash, five_tuple};
use super::meters::{Scale, Uplinks};
use super::path_table::Path;
use super::switch::Switch;
use super::tagging::{opening, put_tag, tag_of, take_tag};
use raddle_core::{DropReason, Forwarder, LinkId, Packet, PortId, Ports, Time, Verdict};
use raddle_wire::exp::Tag;
use raddle_wire::{FiveTuple, Opening};

/// An edge switch.
#[derive(Debug)]
pub(crate) struct AuthsimTor(pub(crate) Switch);

impl AuthsimTor {
    /// A packet for a host of another edge switch.
    #[inline]
    fn upwards(&mut self, now: Time, packet: &mut Packet, ports: &Ports<'_>) -> Verdict {
        let selected = match self.0.table.find(now, five_tuple(packet).id()) {
            Path::Done(port) if self.0.leads(port, packet.dst(), ports) => Some(port),
            _ => None,
        };
        if let Some(opening) = opening(packet) {
            self.write_loads(now, opening, selected.is_some(), packet, ports);
        }
        let port = selected.or_else(|| self.0.upwards_by_hash(packet, ports));
        self.0.send(now, packet, port, ports)
    }

    /// Puts a tag on a packet that opens a connection, if its protocol has one for it.
    fn write_loads(
        &mut self,
        now: Time,
        opening: Opening,
        is_pinned: bool,
        packet: &mut Packet,
        ports: &Ports<'_>,
    ) {
        let is_between_pods = !self.0.pod.contains(&packet.dst().0);
        let uplinks = &mut self.0.uplinks;
        let all = 0..uplinks.len();
        match opening {
            Opening::Syn if is_between_pods => {
                put_tag(
                    packet,
                    Tag::request(all.map(|uplink| uplinks.egress(now, uplink, ports, Scale::NONE))),
                );
                self.0.counters.requests.count();
            }
            Opening::SynAck if is_between_pods && is_pinned => {
                put_tag(packet, Tag::request([]));
                self.0.counters.responses.count();
            }
            Opening::SynAck if !is_between_pods => {
                let loads = all.map(|uplink| uplinks.ingress(now, uplink, ports, Scale::NONE));
                put_tag(packet, Tag::request(loads));
                self.0.counters.responses.count();
            }
            Opening::Syn | Opening::SynAck => {}
        }
    }

    /// Pins the flow that goes the other way than a packet that has come down with a tag.
    #[cold]
    fn pin(&mut self, now: Time, tag: &Tag, packet: &Packet, arrival: PortId, ports: &Ports<'_>) {
        let switch = &mut self.0;
        let (there, flow) = (packet.src(), five_tuple(packet).opposite());
        let is_answer = opening(packet) == Some(Opening::SynAck);
        if is_answer && !switch.pod.contains(&there.0) {
            switch.table.install(now, flow.id(), arrival);
            switch.counters.answered.count();
            return;
        }
        if tag.len() != switch.uplinks.len() {
            switch.counters.malformed.count();
            return;
        }
        let measure = |uplinks: &mut Uplinks, uplink| match is_answer {
            true => uplinks.egress(now, uplink, ports, Scale::NONE),
            false => uplinks.ingress(now, uplink, ports, Scale::NONE),
        };
        let Some(uplink) = switch.select(tag.loads(), measure, flow, there, ports) else { return };
        switch.table.install(now, flow.id(), switch.uplinks.port(uplink));
        if is_answer {
            switch.counters.answered.count();
        }
    }
}

/// The flow whose selection a tagged packet answers: that which goes the other way than a SYN-ACK.
pub(crate) fn answered(packet: &Packet) -> Option<FiveTuple> {
    (opening(packet) == Some(Opening::SynAck)).then(|| five_tuple(packet).opposite())
}

impl Forwarder for AuthsimTor {
    fn forward(
        &mut self,
        now: Time,
        packet: &mut Packet,
        arrival: Option<PortId>,
        ports: &Ports<'_>,
    ) -> Verdict {
        let came_down = self.0.received(now, packet, arrival);
        let is_for_below = self.0.is_above(packet.dst());
        match (tag_of(packet).is_some(), arrival) {
            (true, Some(arrival)) if came_down && is_for_below => {
                if let Some(tag) = take_tag(packet) {
                    self.pin(now, &tag, packet, arrival, ports);
                }
                self.0.downwards(packet)
            }
            (true, _) if !came_down => {
                self.0.counters.from_hosts.count();
                Verdict::Drop(DropReason::Malformed)
            }
            (false, _) if is_for_below => self.0.downwards(packet),
            (false, _) if !came_down => self.upwards(now, packet, ports),
            // On a detour around failures.
            _ => {
                let port = self.0.upwards_by_hash(packet, ports);
                self.0.send(now, packet, port, ports)
            }
        }
    }

    fn foresee(&self, packet: &Packet) -> Option<PortId> {
        self.0.foresee(packet)
    }

    fn link(&mut self, link: LinkId, up: bool) {
        self.0.link(link, up);
    }
}
