//! A part of the fabric with a clock and an event queue of its own: takes events in order and passes packets along the
//! pipeline of each node. A run on one thread has one partition.
//!
//! A partition holds its nodes, the links that leave them, and of links that come in from elsewhere the far end, where
//! packets arrive. Nodes and links have indices of their own here, in the order of their ids, so that events tie in the
//! same order whatever the partition.

mod errors;
mod failures;
mod flow_control;
mod foresight;
mod served;
mod setup;
mod transmit;

pub(crate) use setup::Plan;

use crate::divide::Division;
use crate::events::{Event, EventQueue, Kind};
use crate::failure::Change;
use crate::mail::{Content, Mail};
use crate::observer::{Heard, Log};
use crate::port::{Class, Coming, LinkStats, Port, QueueDepths, Special};
use crate::slab::{NOWHERE, Origin, Slab};
use crate::totals::Totals;
use crate::wire::Travelling;
use raddle_core::{
    DropReason, Flow, Input, LinkId, Node, NodeId, Output, Packet, PortId, PortState, Ports, Report, Time,
    Verdict,
};
use raddle_topology::Topology;
use std::sync::Arc;

pub(crate) struct Partition {
    /// Its number.
    pub(crate) number: usize,
    now: Time,
    /// Bytes that a node must have seen to pass a packet on, if it need not have seen them all.
    header: Option<u32>,
    events: EventQueue,
    pub(crate) nodes: Vec<NodeState>,
    ports: Vec<Port>,
    /// What hosts and forwarders see of the ports.
    states: Vec<PortState>,
    specials: Vec<Option<Box<Special>>>,
    /// The ids of links.
    links: Vec<LinkId>,
    /// By link: the partition at the far end and the link's index there. Empty if there is no other.
    far: Vec<(u32, u32)>,
    /// Whether packets for other partitions are kept here until they have left: links may fail under them.
    keeps_copies: bool,
    classes: Vec<Class>,
    /// By link, or empty if nobody asked.
    depths: Vec<QueueDepths>,
    slab: Slab,
    flows: Arc<[Flow]>,
    /// The places, in `flows`, of those that start here.
    starting: Vec<u32>,
    next_flow: usize,
    changes: Arc<[Change]>,
    topology: Arc<Topology>,
    division: Arc<Division>,
    /// Whether some link has flow control.
    controls: bool,
    /// Whether some port has an agent, or some link noise.
    inspects: bool,
    /// Keys that the signals of one instant free; here only to keep its room.
    freed: Vec<u64>,
    /// What goes to each partition.
    pub(crate) outgoing: Vec<Vec<Mail>>,
    /// When the first of that arrives.
    first_outgoing: Time,
    pub(crate) log: Log,
    pub(crate) totals: Totals,
    /// The port by which the event after the next will probably send a packet on.
    guess: Option<u32>,
}

/// Bytes of memory that a link takes.
pub(crate) const BYTES_A_LINK: usize =
    size_of::<Port>() + size_of::<PortState>() + size_of::<Option<Box<Special>>>() + size_of::<LinkId>();

pub(crate) struct NodeState {
    pub(crate) parts: Node,
    pub(crate) id: NodeId,
    first_link: u32,
    ports: u32,
    /// The wake-up that counts; events for other times are stale.
    wake: Time,
    /// Packets that wait, with the keys they wait under, in the order in which they came.
    held: Vec<(u64, u32)>,
    /// Whether the forwarder hears of packets that leave the node.
    hears_of_departures: bool,
}

impl Partition {
    /// Takes events before `end`, at most so many. Returns whether none is left.
    pub(crate) fn run(&mut self, end: Time, most: u64) -> bool {
        for _ in 0..most {
            if self.events.turn(end) {
                self.foresee_bucket();
            }
            let Some(event) = self.events.pop_before(end) else { return true };
            self.foresee_next();
            debug_assert!(event.time() >= self.now, "time never runs backward");
            self.now = event.time();
            self.log.event = event;
            self.totals.events += 1;
            self.take(event);
        }
        false
    }

    /// The time of the last event.
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// When the next event is due, here or, of what has been sent there since the last call, elsewhere.
    pub(crate) fn next_event(&mut self) -> Time {
        let elsewhere = std::mem::replace(&mut self.first_outgoing, Time::NEVER);
        self.events.next_time().unwrap_or(Time::NEVER).min(elsewhere)
    }

    /// What the event queue has been asked since the last call, or the start.
    #[cfg(feature = "event-trace")]
    pub(crate) fn take_event_trace(&mut self) -> Vec<crate::event_trace::Step> {
        self.events.trace.replace(Vec::new()).unwrap_or_default()
    }

    /// Packets now inside this part of the fabric.
    pub(crate) fn packets_inside(&self) -> usize {
        let remote =
            self.ports.iter().zip(&self.specials).filter(|(port, _)| port.is_remote && self.keeps_copies);
        let ledger =
            |special: &Option<Box<Special>>| special.as_ref().map_or(0, |special| special.ledger.len());
        self.slab.live() - remote.map(|(port, special)| port.wire.len() + ledger(special)).sum::<usize>()
    }

    /// Most packets that were inside at once.
    pub(crate) fn peak_packets_inside(&self) -> usize {
        self.slab.peak()
    }

    /// Takes in what another partition has sent.
    pub(crate) fn receive(&mut self, Mail { link, arrives, content }: Mail) {
        match content {
            Content::Packet { tail, packet } => {
                let size = packet.size;
                let slot = self.slab.insert(packet);
                if self.header.is_some() {
                    self.slab.set_tail(slot, tail);
                }
                self.travel(link, Travelling { arrives, slot, size });
            }
            Content::Signal(signal) => self.signal_travels(link as usize, arrives, signal),
        }
    }

    /// Sends something over a link to another partition.
    fn post(&mut self, link: usize, arrives: Time, content: Content) {
        let (there, link) = self.far[link];
        self.first_outgoing = self.first_outgoing.min(arrives);
        self.outgoing[there as usize].push(Mail { link, arrives, content });
    }

    /// Moves what was heard to the end of `all`, with the ids of the whole fabric.
    pub(crate) fn drain_log(&mut self, all: &mut Vec<(Event, u64, Heard)>) {
        let (links, nodes) = (&self.links, &self.nodes);
        self.log.drain_into(all, |event| {
            let index = event.index();
            let id = match event.kind() {
                Kind::Arrival | Kind::Tail | Kind::Sent | Kind::Signal | Kind::FlowControl => {
                    links[index as usize].0
                }
                Kind::Wake => nodes[index as usize].id.0,
                Kind::Flow | Kind::Change | Kind::Discovery => index,
            };
            Event::new(event.time(), event.kind(), id)
        });
    }

    fn is_here(&self, node: NodeId) -> bool {
        self.division.home(node) == self.number
    }

    /// What passed over each link.
    pub(crate) fn link_stats(&self) -> impl Iterator<Item = (LinkId, &LinkStats)> {
        self.links.iter().copied().zip(self.ports.iter().map(|port| &port.stats))
    }

    /// How deep the queues of ports were, if anybody asked.
    pub(crate) fn queue_depths(&self) -> impl Iterator<Item = (LinkId, &QueueDepths)> {
        let is_here =
            |&(link, _): &(LinkId, _)| self.topology.link(link).is_some_and(|link| self.is_here(link.from));
        self.links.iter().copied().zip(&self.depths).filter(is_here)
    }

    fn take(&mut self, event: Event) {
        let index = event.index();
        match event.kind() {
            Kind::Arrival => self.arrival(index, event.time()),
            Kind::Tail => self.enough_has_come(index),
            Kind::Sent => self.transmission_ends(index),
            Kind::Signal => self.signal_arrives(index),
            Kind::FlowControl => self.flow_control_wakes(index),
            Kind::Wake => {
                if self.nodes[index as usize].wake == self.now {
                    self.nodes[index as usize].wake = Time::NEVER;
                    self.poll(index);
                }
            }
            Kind::Flow => self.start_flows(),
            Kind::Change | Kind::Discovery => {
                // Every partition takes it; it counts once.
                self.totals.events -= u64::from(self.number > 0);
                if event.kind() == Kind::Change {
                    self.change(index as usize);
                } else {
                    self.discover(index as usize);
                }
            }
        }
    }

    /// A link's next packet comes in at the far end.
    fn arrival(&mut self, link: u32, at: Time) {
        let port = &mut self.ports[link as usize];
        if port.wire.front().is_none_or(|head| head.arrives != at) {
            return; // the link went down in between
        }
        let Some((travelled, unknown)) = port.wire.pop_front() else { return };
        if let Some(head) = port.wire.front() {
            self.events.push(Event::new(head.arrives, Kind::Arrival, link));
        }
        if unknown && port.settles_late {
            port.queued -= u64::from(travelled.size);
        }
        let (node, in_port, reverse) = (port.wire.to_node, port.to_port, port.reverse);
        let tail = if self.header.is_some() { self.slab.tail(travelled.slot) } else { at };
        if self.inspects && !self.inspect(link, reverse, travelled.slot) {
            return;
        }
        self.totals.packet_hops += 1;
        if self.controls
            && self.slab.get(travelled.slot).class() == raddle_core::Class::CONTROL
            && self.heed(node, reverse, travelled.slot)
        {
            return;
        }
        if self.route(node, travelled.slot, Origin { port: Some(in_port), bound: NOWHERE, tail }) {
            self.poll(node);
        }
    }

    fn local_link(&self, node: u32, port: PortId) -> usize {
        (self.nodes[node as usize].first_link + u32::from(port.0)) as usize
    }

    /// Asks the node's forwarder about a packet and does what it says. Returns whether the node's host is due a poll,
    /// because the packet was for it or was dropped.
    fn route(&mut self, node: u32, slot: u32, origin: Origin) -> bool {
        let verdict = self.ask(node, slot, origin);
        self.follow(verdict, node, slot, origin)
    }

    /// Asks the node's forwarder about a packet.
    #[inline]
    fn ask(&mut self, node: u32, slot: u32, origin: Origin) -> Verdict {
        let state = &mut self.nodes[node as usize];
        match &mut state.parts.forwarder {
            Some(forwarder) => {
                let ports =
                    &self.states[state.first_link as usize..(state.first_link + state.ports) as usize];
                forwarder.forward(self.now, self.slab.get_mut(slot), origin.port, &Ports(ports))
            }
            None if origin.port.is_some() => Verdict::Deliver,
            None => Verdict::Forward(PortId(0)),
        }
    }

    /// Does what the forwarder said.
    #[inline]
    fn follow(&mut self, verdict: Verdict, node: u32, slot: u32, origin: Origin) -> bool {
        match verdict {
            Verdict::Forward(port) => self.enqueue(node, port, slot, origin),
            Verdict::Deliver if origin.tail > self.now => {
                self.let_come(node, slot, origin, origin.tail, None);
                false
            }
            Verdict::Deliver => {
                self.hand_over(node, slot, origin);
                true
            }
            Verdict::Hold(key) => {
                self.slab.set_origin(slot, origin);
                self.nodes[node as usize].held.push((key, slot));
                false
            }
            Verdict::Drop(reason) => self.lose(node, None, slot, origin, reason),
            Verdict::Answer(port) => self.enqueue(node, port, slot, origin) | self.originate(node),
            Verdict::Absorb => {
                self.totals.delivered += 1;
                let packet = self.slab.remove(slot);
                self.totals.delivered_bytes += u64::from(packet.payload());
                self.departed(node, &packet, origin);
                self.originate(node)
            }
        }
    }

    /// Sets a packet aside that is still coming in, until enough of it is there to deliver it, or to send it by `out`.
    fn let_come(&mut self, node: u32, slot: u32, origin: Origin, until: Time, out: Option<PortId>) {
        let port = origin.port.expect("a packet still coming in has come by a port");
        let link = self.ports[self.local_link(node, port)].reverse;
        self.slab.set_origin(slot, origin);
        let coming = &mut self.specials[link as usize].get_or_insert_default().coming;
        debug_assert!(coming.is_none(), "one packet after the other comes by a link");
        *coming = Some(Coming { until, slot, out });
        self.events.push(Event::new(until, Kind::Tail, link));
    }

    /// Enough of the packet that is coming in by a link is there.
    fn enough_has_come(&mut self, link: u32) {
        let now = self.now;
        // Otherwise the link went down in between.
        let special = self.specials[link as usize].as_mut();
        let Some(Coming { slot, out, .. }) =
            special.and_then(|special| special.coming.take_if(|coming| coming.until == now))
        else {
            return;
        };
        let (node, origin) = (self.ports[link as usize].wire.to_node, self.slab.origin(slot));
        let due = match out {
            Some(out) => self.enqueue(node, out, slot, origin),
            None => {
                self.hand_over(node, slot, origin);
                true
            }
        };
        if due {
            self.poll(node);
        }
    }

    /// Sends what the node's forwarder has to send of its own. Returns whether the node's host is due a poll.
    #[cold]
    fn originate(&mut self, node: u32) -> bool {
        let mut due = false;
        while let Some(forwarder) = &mut self.nodes[node as usize].parts.forwarder
            && let Some((packet, port)) = forwarder.originate()
        {
            due |= self.send(node, packet, Some(port));
        }
        due
    }

    /// Gives a packet to the node's host.
    fn hand_over(&mut self, node: u32, slot: u32, origin: Origin) {
        let packet = self.slab.get(slot);
        self.totals.delivered += 1;
        self.totals.delivered_bytes += u64::from(packet.payload());
        let port = origin.port.unwrap_or(PortId(0));
        if let Some(host) = &mut self.nodes[node as usize].parts.host {
            host.handle(self.now, Input::Packet { packet, port });
        }
        let packet = self.slab.remove(slot);
        if let Some(arrival) = origin.port.filter(|_| self.controls) {
            self.drain(node, arrival, packet.class(), packet.size);
        }
        self.departed(node, &packet, origin);
    }

    /// Loses a packet. Returns whether the node has a host, which was told and is due a poll.
    fn lose(
        &mut self,
        node: u32,
        port: Option<PortId>,
        slot: u32,
        origin: Origin,
        reason: DropReason,
    ) -> bool {
        let packet = self.slab.remove(slot);
        let link = port.map(|port| self.local_link(node, port));
        self.record_loss(self.nodes[node as usize].id, port, link, &packet, reason);
        self.departed(node, &packet, origin);
        let Some(host) = &mut self.nodes[node as usize].parts.host else { return false };
        host.handle(self.now, Input::Dropped { packet: &packet, port: port.unwrap_or(PortId(0)), reason });
        true
    }

    fn record_loss(
        &mut self,
        node: NodeId,
        port: Option<PortId>,
        link: Option<usize>,
        packet: &Packet,
        why: DropReason,
    ) {
        self.totals.dropped += 1;
        self.totals.dropped_bytes += u64::from(packet.payload());
        self.totals.drops[why as usize] += 1;
        if let Some(link) = link {
            self.ports[link].stats.drops += 1;
        }
        self.log.push(Heard::Dropped { node, port, packet: packet.clone(), why });
    }

    /// Puts a packet of the node's host on its way. Returns whether it was dropped, or delivered to the host itself.
    #[inline(always)]
    fn send(&mut self, node: u32, packet: Packet, port: Option<PortId>) -> bool {
        self.totals.sent += 1;
        self.totals.sent_bytes += u64::from(packet.payload());
        let slot = self.slab.insert(packet);
        match port {
            Some(port) => self.enqueue(node, port, slot, Origin::HERE),
            None => self.route(node, slot, Origin::HERE),
        }
    }

    /// Lets a node's host do all it wants to do now.
    fn poll(&mut self, node: u32) {
        loop {
            let state = &mut self.nodes[node as usize];
            let Some(host) = &mut state.parts.host else { return };
            let ports = &self.states[state.first_link as usize..(state.first_link + state.ports) as usize];
            match host.poll(self.now, &Ports(ports)) {
                Output::Send { packet, port } => {
                    self.send(node, packet, port);
                }
                Output::Report(report) => {
                    if matches!(report, Report::Delivered { .. }) {
                        self.totals.flows_delivered += 1;
                    }
                    let node = state.id;
                    self.log.push(Heard::Report { node, report });
                }
                // What a host wants now it wants within this event: events of an instant follow their order.
                Output::WakeAt(at) if at <= self.now => {}
                Output::WakeAt(at) if at < Time::NEVER => {
                    if state.wake != at {
                        state.wake = at;
                        self.events.push(Event::new(at, Kind::Wake, node));
                    }
                    return;
                }
                Output::WakeAt(_) | Output::Idle => {
                    state.wake = Time::NEVER;
                    return;
                }
            }
        }
    }

    fn start_flows(&mut self) {
        // One event each, however many start together in one partition.
        self.totals.events -= 1;
        while let Some(&place) = self.starting.get(self.next_flow) {
            let flow = self.flows[place as usize];
            if flow.start > self.now {
                self.events.push(Event::new(flow.start, Kind::Flow, 0));
                break;
            }
            self.next_flow += 1;
            self.totals.flows_started += 1;
            self.totals.events += 1;
            self.log.step = place.into();
            let node = self.division.place(flow.src);
            if let Some(host) = &mut self.nodes[node as usize].parts.host {
                host.handle(self.now, Input::Flow(&flow));
            }
            self.poll(node);
        }
        self.log.step = 0;
    }
}
