//! The edge switch of the authors' simulation code, whose protocol differs from the paper's
//! (specifications/expeditus.md §0.2).
//!
//! A connection's SYN and SYN-ACK carry the loads, so the protocol adds no packets. Between pods the SYN carries the
//! source's loads. The destination's edge switch selects an uplink and pins the SYN-ACK to this uplink. The aggregation
//! switch in the destination's pod writes the downward loads of its uplinks into the SYN-ACK. The aggregation switch in
//! the source's pod merges them with its own loads and selects the core. The source's edge switch pins the connection
//! to the uplink at which the SYN-ACK arrives. Packets of the reverse direction take the uplink that the destination's
//! edge switch pinned, and follow ECMP after it. Within a pod the SYN-ACK carries the destination's loads, and the
//! source's edge switch selects.
//!
//! All tags are request tags, because the tags travel on the transport's own packets and not on Exp-responses.

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
    /// Forwards a packet for a host of another edge switch.
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

    /// Adds a tag to a SYN or SYN-ACK. Between pods, a SYN carries this switch's loads, and a pinned SYN-ACK collects
    /// loads on its way. Within a pod, only the SYN-ACK carries loads.
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

    /// Handles a tagged packet that came down: pins the flow in the opposite direction to an uplink. For a SYN-ACK from
    /// another pod, this is the uplink at which the packet arrived. Otherwise, it is the uplink with the least
    /// effective load, and a tag with a wrong number of loads pins nothing.
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

/// The flow whose selection a packet answers; `None` if the packet answers no selection. Only a SYN-ACK answers a
/// selection: the selection of the flow in the opposite direction.
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
            // The packet is on a detour around failures.
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
