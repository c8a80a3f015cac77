//! The fabric that connects the nodes: ports, packets in flight on links, and scheduled events.

use super::frames;
use super::streams::Streams;
use crate::fifo::Fifo;
use crate::flow_control::ControlLinks;
use crate::served::{Carry, Queued, Serve, Served};
use raddle_core::{
    Credit, Decoders, DropReason, Duration, Header, HeaderInfo, LinkId, LinkNoise, LinkStats, Node, NodeId,
    Observer, Packet, PortId, PortState, Ports, Report, Runtime, Time, Totals,
};
use raddle_topology::{Link, Topology};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// A scheduled event. Events of the same time are handled in the order of the variants, and events of the same variant
/// in the order of their links or nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// The first packet in flight on a link arrives.
    Arrival(LinkId),
    /// A port that has an agent or a queue of its own ends a transmission.
    Sent(LinkId),
    /// The first credit in flight on a link arrives.
    Credit(LinkId),
    /// Flow control of a link wakes up.
    FlowControl(LinkId),
    /// The agent of a port ticks.
    PortTick(LinkId),
    /// The forwarder or the topology discovery of a node ticks.
    Tick(NodeId),
    /// A host wakes up.
    Wake(NodeId),
    /// The next flows of the workload start.
    Flows,
}

/// The shortest delay of a credit. With this delay, a credit arrives later than the instant at which it was sent.
const LEAST_CREDIT_DELAY: Duration = Duration::from_ps(1);

/// A node, and the links that leave it: `ports` links from the index `first_link` on.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) id: NodeId,
    /// Index of the node's first port in the per-link vectors.
    pub(super) first_link: usize,
    pub(super) ports: usize,
}

/// A packet that a node is handling, with its body: the bytes of its payload.
pub(super) struct Carried {
    pub(super) packet: Packet,
    /// A buffer that contains the body, for example the whole packet as it arrived. An empty buffer stands for a body
    /// of zeros.
    pub(super) bytes: Vec<u8>,
    /// Offset of the body in `bytes`.
    pub(super) body: usize,
}

impl Carried {
    pub(super) fn body(&self) -> &[u8] {
        let bytes = self.bytes.get(self.body..).unwrap_or_default();
        &bytes[..bytes.len().min(self.packet.header.payload_len())]
    }

    /// Appends the packet's bytes to `out`.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        match self.body() {
            [] => self.packet.encode(out),
            body => {
                self.packet
                    .encode_with(body, out)
                    .expect("the body must have the length that its header announces");
            }
        }
    }
}

/// State that all nodes share.
pub(super) struct Fabric<O> {
    pub(super) now: Time,
    pub(super) topology: Arc<Topology>,
    /// Indexed by [`LinkId`], like `stats`, `served`, `fifos`, `under_way` and `credits`.
    pub(super) ports: Vec<PortState>,
    pub(super) stats: Vec<LinkStats>,
    pub(super) served: Vec<Option<Served<Carried>>>,
    pub(super) fifos: Vec<Fifo>,
    pub(super) under_way: Vec<VecDeque<(Time, Vec<u8>)>>,
    pub(super) credits: Vec<VecDeque<(Time, Vec<u8>)>>,
    /// The errors of each link, indexed by [`LinkId`]. Empty if no errors were set.
    pub(super) noise: Vec<Option<LinkNoise>>,
    /// Decoders of the headers that nodes can read.
    pub(super) decoders: Decoders,
    pub(super) spare_buffers: Vec<Vec<u8>>,
    pub(super) streams: Streams,
    pub(super) frames: frames::Received,
    pub(super) events: BinaryHeap<Reverse<(Time, Event)>>,
    pub(super) totals: Totals,
    pub(super) observer: O,
}

impl<O: Observer> Fabric<O> {
    /// The link with this id, which must exist.
    pub(super) fn end(&self, link: LinkId) -> Link {
        *self.topology.link(link).expect("the topology must have the link")
    }

    /// Decodes a packet that has arrived over a link, and passes the packet to the node unless flow control handles the
    /// packet. If the bytes cannot be decoded, counts the packet as malformed and tells the node.
    pub(super) fn receive(&mut self, node: &mut Node<Self>, link: LinkId, bytes: Vec<u8>) {
        let port = self.end(link).to_port;
        self.totals.packet_hops += 1;
        match Packet::decode_with(&bytes, &self.decoders) {
            Ok((mut packet, body)) => {
                let out = node.place().link(port);
                if let Some(agent) = self.served[out].as_mut().and_then(|served| served.agent.as_mut()) {
                    agent.arrive(self.now, &mut packet, &self.ports[out]);
                }
                if self.heed(node, port, &packet) {
                    self.totals.count_delivered(&packet);
                    self.spare_buffers.push(bytes);
                    return;
                }
                node.arrived(self, Carried { packet, bytes, body: body.start }, port);
            }
            Err(error) => {
                self.totals.count_malformed();
                self.stats[link.index()].drops += 1;
                self.observer.malformed(self.now, link, &bytes, error);
                self.spare_buffers.push(bytes);
                node.corrupted(self, port);
            }
        }
    }

    /// An empty buffer, reused if possible.
    pub(super) fn buffer(&mut self) -> Vec<u8> {
        let mut bytes = self.spare_buffers.pop().unwrap_or_default();
        bytes.clear();
        bytes
    }

    /// Counts a packet that is lost on a link.
    pub(super) fn vanish(&mut self, link: LinkId, bytes: &[u8]) {
        let Link { from, from_port, .. } = self.end(link);
        self.stats[link.index()].drops += 1;
        match Packet::decode(bytes, &self.decoders) {
            Ok(packet) => {
                self.totals.count_dropped(&packet, DropReason::Lost);
                self.observer.dropped(self.now, from, Some(from_port), &packet, DropReason::Lost);
            }
            Err(_) => self.totals.count_malformed(),
        }
    }
}

impl Place {
    /// Index of the link that leaves a port.
    pub(super) fn link(self, port: PortId) -> usize {
        self.first_link + port.index()
    }
}

impl<O: Observer> Runtime for Fabric<O> {
    type Place = Place;
    type Slot = Carried;

    fn now(&self) -> Time {
        self.now
    }

    fn totals(&mut self) -> &mut Totals {
        &mut self.totals
    }

    fn ports(&self, place: &Place) -> Ports<'_> {
        Ports(&self.ports[place.first_link..place.first_link + place.ports])
    }

    fn packet<'a>(&'a mut self, place: &Place, slot: &'a mut Carried) -> (&'a mut Packet, Ports<'a>) {
        (&mut slot.packet, self.ports(place))
    }

    fn insert(&mut self, packet: Packet) -> Carried {
        let mut bytes = Vec::new();
        if let Some(range) = self.streams.range(&packet) {
            bytes = self.buffer();
            self.streams.fill(&range, &mut bytes);
        }
        Carried { packet, bytes, body: 0 }
    }

    fn remove(&mut self, Carried { packet, bytes, .. }: Carried) -> Packet {
        if bytes.capacity() > 0 {
            self.spare_buffers.push(bytes);
        }
        packet
    }

    fn deliver(&mut self, place: &Place, slot: Carried) -> Packet {
        if matches!(slot.packet.header, Header::Frame(_)) {
            self.keep_frame(place.id, &slot);
        } else if let Some(range) = self.streams.range(&slot.packet) {
            self.streams.arrived(&range, slot.body());
        }
        self.remove(slot)
    }

    fn enqueue(
        &mut self,
        node: &mut Node<Self>,
        mut carried: Carried,
        arrival: Option<PortId>,
        out: PortId,
    ) -> bool {
        let place = *node.place();
        let link = LinkId::of(place.link(out));
        if out.index() >= place.ports || self.topology.link(link).is_none() {
            return node.lose(self, carried, arrival, Some(out), DropReason::LinkDown);
        }
        let state = &self.ports[link.index()];
        if self.served[link.index()].is_some() {
            return self.come(node, link, Queued { slot: carried, arrival });
        }
        let start = state.free_at(self.now).max(self.now);
        let sent = start + self.time_on(link, &carried.packet);
        let (fifo, size) = (&mut self.fifos[link.index()], carried.packet.size);
        if !fifo.has_room(self.now, size) {
            return node.lose(self, carried, arrival, Some(out), DropReason::QueueFull);
        }
        if fifo.marks(size) {
            carried.packet.mark_congestion();
        }
        let waits = fifo.join(sent, size);
        self.waits(link, waits);
        self.launch(link, sent, &mut carried);
        self.remove(carried);
        false
    }

    fn lost(&mut self, place: &Place, out: Option<PortId>, packet: &Packet, why: DropReason) {
        if let Some(out) = out.filter(|out| out.index() < place.ports) {
            self.stats[place.link(out)].drops += 1;
        }
        self.observer.dropped(self.now, place.id, out, packet, why);
    }

    fn reported(&mut self, place: &Place, report: Report) {
        self.streams.reported(&report);
        self.observer.report(self.now, place.id, report);
    }

    fn wake_at(&mut self, place: &Place, at: Time) {
        self.events.push(Reverse((at, Event::Wake(place.id))));
    }

    fn tick_at(&mut self, place: &Place, at: Time) {
        self.events.push(Reverse((at, Event::Tick(place.id))));
    }

    fn taken(&mut self, node: &mut Node<Self>, arrival: PortId, packet: &Packet) {
        self.drain(node, arrival, packet);
    }

    fn credit(&mut self, place: &Place, port: PortId, credit: Credit) {
        let link = LinkId::of(place.link(port));
        let arrives = self.now + self.end(link).delay.max(LEAST_CREDIT_DELAY);
        let mut bytes = self.buffer();
        bytes.extend(credit.encode());
        let queue = &mut self.credits[link.index()];
        queue.push_back((arrives, bytes));
        if queue.len() == 1 {
            self.events.push(Reverse((arrives, Event::Credit(link))));
        }
    }
}

impl Carry for Carried {
    fn packet(&self) -> &Packet {
        &self.packet
    }

    fn packet_mut(&mut self) -> &mut Packet {
        &mut self.packet
    }
}

impl<O: Observer> Serve for Fabric<O> {
    fn served(&mut self, link: LinkId) -> Option<(&mut Served<Carried>, &mut PortState)> {
        Some((self.served[link.index()].as_mut()?, &mut self.ports[link.index()]))
    }

    fn port_of(&self, link: LinkId) -> PortId {
        self.end(link).from_port
    }

    fn link_behind(&self, place: &Place, port: PortId) -> LinkId {
        LinkId::of(place.link(port))
    }

    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn launch(&mut self, link: LinkId, sent: Time, carried: &mut Carried) -> bool {
        let packet = &carried.packet;
        let state = &mut self.ports[link.index()];
        state.set_drains_at(state.free_at(self.now).max(sent));
        let mut bytes = self.buffer();
        carried.encode(&mut bytes);
        assert_eq!(
            packet.size as usize,
            bytes.len(),
            "a packet's `size` must be its number of encoded bytes (header: {:?})",
            packet.header
        );
        let kind = packet.kind();
        self.stats[link.index()].count(kind, packet.size);
        self.totals.count_forwarded(kind, packet.size);
        if O::FORWARDED {
            self.observer.forwarded(self.now, sent, link, packet);
        }
        self.observer.transmitted(self.now, sent, link, &mut bytes);

        let arrives = sent + self.end(link).delay;
        let queue = &mut self.under_way[link.index()];
        queue.push_back((arrives, bytes));
        if queue.len() == 1 {
            self.events.push(Reverse((arrives, Event::Arrival(link))));
        }
        true
    }

    fn launched(&mut self, carried: Carried) -> Packet {
        self.remove(carried)
    }

    fn ends_at(&mut self, at: Time, link: LinkId) {
        self.events.push(Reverse((at, Event::Sent(link))));
    }

    fn port_ticks_at(&mut self, at: Time, link: LinkId) {
        self.events.push(Reverse((at, Event::PortTick(link))));
    }

    fn control_wakes_at(&mut self, at: Time, link: LinkId) {
        self.events.push(Reverse((at, Event::FlowControl(link))));
    }

    fn waits(&mut self, link: LinkId, bytes: u64) {
        let peak = &mut self.stats[link.index()].peak_queue;
        *peak = (*peak).max(bytes);
    }
}
