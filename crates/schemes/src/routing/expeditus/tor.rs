//! The edge switch. It starts selections and answers the requests of other edge switches (Expeditus §4.2;
//! specifications/expeditus.md §5.2).
//!
//! Cost per packet: the meter of an uplink. A packet on the way up also needs a hash of the five-tuple and a look-up.

use super::flow_id::{FlowHash, five_tuple};
use super::meters::Scale;
use super::multiplier::Multipliers;
use super::path_table::Path;
use super::switch::Switch;
use super::tagging::{opening, put_tag, response_to, tag_of, take_tag};
use raddle_core::{DropReason, Forwarder, LinkId, Packet, PortId, Ports, Time, Verdict};
use raddle_wire::exp::Tag;

/// An edge switch.
#[derive(Debug)]
pub(crate) struct Tor {
    pub(crate) switch: Switch,
    pub(crate) multipliers: Multipliers,
    /// If true, a SYN or SYN-ACK begins a new selection even while an answer is pending.
    pub(crate) reselect_on_syn: bool,
    /// The Exp-response that the switch sends next, and the uplink by which the response leaves.
    pub(crate) answer: Option<(Packet, PortId)>,
}

impl Tor {
    /// Forwards a packet for a host of another edge switch.
    #[inline]
    fn upwards(&mut self, now: Time, packet: &mut Packet, ports: &Ports<'_>) -> Verdict {
        let flow = five_tuple(packet).id();
        let port = match self.switch.table.find(now, flow) {
            Path::Done(port) if self.switch.leads(port, packet.dst(), ports) => Some(port),
            Path::Pending if !(self.reselect_on_syn && opening(packet).is_some()) => {
                self.switch.counters.fallbacks.count();
                self.switch.upwards_by_hash(packet, ports)
            }
            Path::Done(_) | Path::Pending | Path::Unknown => {
                if self.switch.table.begin(now, flow) {
                    self.request(now, packet, ports);
                } else {
                    self.switch.counters.fallbacks.count();
                }
                self.switch.upwards_by_hash(packet, ports)
            }
        };
        self.switch.send(now, packet, port, ports)
    }

    /// The scaling of an uplink's load: multipliers apply only to flows between pods.
    fn scale(multipliers: &Multipliers, is_between_pods: bool, uplink: usize) -> Scale {
        if is_between_pods { multipliers.scale(uplink) } else { Scale::NONE }
    }

    /// Turns a packet into an Exp-request.
    fn request(&mut self, now: Time, packet: &mut Packet, ports: &Ports<'_>) {
        let Self { switch, multipliers, .. } = self;
        let is_between_pods = !switch.pod.contains(&packet.dst().0);
        let uplinks = &mut switch.uplinks;
        let all = 0..uplinks.len();
        let load = |uplink| {
            let scale = Self::scale(multipliers, is_between_pods, uplink);
            uplinks.egress(now, uplink, ports, scale)
        };
        let tag = Tag::request(all.map(load));
        put_tag(packet, tag);
        switch.counters.requests.count();
    }

    /// Handles a tagged packet that came down for a host below this switch.
    #[cold]
    fn tagged(&mut self, now: Time, packet: &mut Packet, arrival: PortId, ports: &Ports<'_>) -> Verdict {
        let tag = take_tag(packet).expect("the packet must have a tag");
        let counters = &self.switch.counters;
        if tag.is_response {
            let flow = five_tuple(packet).answered().id();
            let was_awaited = self.switch.table.answer(now, flow, arrival);
            let counter = if was_awaited { &counters.answered } else { &counters.void };
            counter.count();
            return Verdict::Absorb;
        }
        if tag.len() != self.switch.uplinks.len() {
            counters.malformed.count();
            return self.switch.downwards(packet);
        }
        let verdict = self.switch.downwards(packet);
        let Verdict::Forward(host) = verdict else { return verdict };
        self.answer = self.respond(now, &tag, packet, ports);
        if self.answer.is_some() { Verdict::Answer(host) } else { verdict }
    }

    /// The Exp-response to a request, and the selected uplink. `None` if no uplink leads to the request's source, or if
    /// the request is not a TCP, UDP or RoCEv2 packet.
    fn respond(
        &mut self,
        now: Time,
        tag: &Tag,
        request: &Packet,
        ports: &Ports<'_>,
    ) -> Option<(Packet, PortId)> {
        let Self { switch, multipliers, .. } = self;
        let src = request.src();
        let is_between_pods = !switch.pod.contains(&src.0);
        let flow = five_tuple(request);
        let uplink = switch.select(
            tag.loads(),
            |uplinks, uplink| {
                let scale = Self::scale(multipliers, is_between_pods, uplink);
                uplinks.ingress(now, uplink, ports, scale)
            },
            flow,
            src,
            ports,
        )?;
        let response = response_to(request)?;
        switch.uplinks.sent(now, uplink, &response, ports);
        switch.counters.responses.count();
        Some((response, switch.uplinks.port(uplink)))
    }
}

impl Forwarder for Tor {
    fn forward(
        &mut self,
        now: Time,
        packet: &mut Packet,
        arrival: Option<PortId>,
        ports: &Ports<'_>,
    ) -> Verdict {
        let came_down = self.switch.received(now, packet, arrival);
        let is_for_below = self.switch.is_above(packet.dst());
        match (tag_of(packet), arrival) {
            (None, _) if is_for_below => self.switch.downwards(packet),
            (None, _) if !came_down => self.upwards(now, packet, ports),
            (Some(_), Some(arrival)) if came_down && is_for_below => self.tagged(now, packet, arrival, ports),
            // The packet is on a detour around failures.
            _ if came_down => {
                let port = self.switch.upwards_by_hash(packet, ports);
                self.switch.send(now, packet, port, ports)
            }
            _ => {
                self.switch.counters.from_hosts.count();
                Verdict::Drop(DropReason::Malformed)
            }
        }
    }

    fn originate(&mut self) -> Option<(Packet, PortId)> {
        self.answer.take()
    }

    fn foresee(&self, packet: &Packet) -> Option<PortId> {
        self.switch.foresee(packet)
    }

    fn link(&mut self, link: LinkId, up: bool) {
        self.switch.link(link, up);
        self.multipliers.link(link, self.switch.next_hops.down());
    }
}
