//! Observes Expeditus's path selections at edge switches (SoCC 2016 §§2.3, 3.2): the times at which a path was
//! requested and recorded, and the arrival times of the connection's next packets. The path should be recorded before
//! these packets arrive.

use raddle_core::{
    Credit, Forwarder, Header, HeaderInfo, HoldKey, LinkId, Packet, PortId, Ports, Time, Verdict,
};
use raddle_wire::exp::Tag;
use raddle_wire::{FiveTuple, Opening};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The selection of a path for one direction of a connection, at the edge switch of that direction's source. The
/// opposite direction has a selection of its own, under the opposite five-tuple.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Selection {
    /// The kind of packet that carried the request: a SYN or a SYN-ACK.
    pub(crate) opening: Opening,
    /// When the switch forwarded the packet with the request to a port.
    pub(crate) requested: Time,
    /// When the answer reached the switch, which then recorded the path.
    pub(crate) recorded: Option<Time>,
    /// When the first packet of the opposite direction reached the switch after the request: the SYN-ACK after a SYN,
    /// the handshake's ACK after a SYN-ACK.
    pub(crate) replied: Option<Time>,
    /// When the direction's second packet reached the switch.
    pub(crate) second: Option<Time>,
}

impl Selection {
    /// True if the path was recorded at the time `event` or earlier. False if it was never recorded, or if `event` is
    /// `None`.
    pub(crate) fn is_recorded_by(&self, event: Option<Time>) -> bool {
        self.recorded.zip(event).is_some_and(|(recorded, event)| recorded <= event)
    }
}

/// The selections of a run. The key of a selection is the five-tuple of its direction.
pub(crate) type Selections = BTreeMap<FiveTuple, Selection>;

/// The forwarder of an edge switch, and the selections that all observed edge switches have begun.
struct Watched {
    forwarder: Box<dyn Forwarder>,
    /// Number of ports that lead to hosts. These ports are the first ports of the switch.
    host_ports: u16,
    selections: Arc<Mutex<Selections>>,
}

/// Adds an observer to the forwarder of an edge switch. The returned forwarder replaces `forwarder`.
pub(crate) fn watch(
    forwarder: Box<dyn Forwarder>,
    host_ports: u16,
    selections: &Arc<Mutex<Selections>>,
) -> Box<dyn Forwarder> {
    Box::new(Watched { forwarder, host_ports, selections: Arc::clone(selections) })
}

fn tag_of(packet: &Packet) -> Option<&Tag> {
    match &packet.header {
        Header::Exp(tagged) => Some(&tagged.tag),
        _ => None,
    }
}

impl Watched {
    /// Observes a packet of `flow` from a host, after the switch has handled the packet.
    fn sent(&self, now: Time, flow: FiveTuple, packet: &Packet) {
        let mut selections = self.selections.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(selection) = selections.get_mut(&flow) {
            selection.second.get_or_insert(now);
        } else if let (Some(opening), Some(_)) = (packet.header.opening(), tag_of(packet)) {
            let begun = Selection { opening, requested: now, recorded: None, replied: None, second: None };
            selections.insert(flow, begun);
        }
    }

    /// Observes a packet of `flow` that arrived from another switch, before this switch handles the packet.
    fn received(&self, now: Time, flow: FiveTuple, packet: &Packet) {
        let mut selections = self.selections.lock().unwrap_or_else(PoisonError::into_inner);
        if tag_of(packet).is_some_and(|tag| tag.is_response) {
            if let Some(selection) = selections.get_mut(&flow.answered()) {
                selection.recorded.get_or_insert(now);
            }
        } else if let Some(selection) = selections.get_mut(&flow.opposite()) {
            selection.replied.get_or_insert(now);
        }
    }
}

impl Forwarder for Watched {
    fn forward(
        &mut self,
        now: Time,
        packet: &mut Packet,
        arrival: Option<PortId>,
        ports: &Ports<'_>,
    ) -> Verdict {
        let Some(flow) = packet.header.five_tuple() else {
            return self.forwarder.forward(now, packet, arrival, ports);
        };
        if arrival.is_none_or(|port| port.0 < self.host_ports) {
            let verdict = self.forwarder.forward(now, packet, arrival, ports);
            self.sent(now, flow, packet);
            return verdict;
        }
        self.received(now, flow, packet);
        self.forwarder.forward(now, packet, arrival, ports)
    }

    fn originate(&mut self) -> Option<(Packet, PortId)> {
        self.forwarder.originate()
    }

    fn next_tick(&self) -> Time {
        self.forwarder.next_tick()
    }

    fn tick(&mut self, now: Time, ports: &Ports<'_>) {
        self.forwarder.tick(now, ports);
    }

    fn hears_of_departures(&self) -> bool {
        self.forwarder.hears_of_departures()
    }

    fn departed(&mut self, now: Time, packet: &Packet, arrival: PortId) -> Option<Credit> {
        self.forwarder.departed(now, packet, arrival)
    }

    fn credited(&mut self, now: Time, port: PortId, credit: &Credit, freed: &mut Vec<HoldKey>) {
        self.forwarder.credited(now, port, credit, freed);
    }

    fn next_credit(&mut self) -> Option<(PortId, Credit)> {
        self.forwarder.next_credit()
    }

    fn foresee(&self, packet: &Packet) -> Option<PortId> {
        self.forwarder.foresee(packet)
    }

    fn link(&mut self, link: LinkId, up: bool) {
        self.forwarder.link(link, up);
    }
}
