//! The lockstep runtime: nodes that exchange encoded packets over in-memory links under a shared virtual clock, which
//! moves on only when every node has dealt with what is due (specification of R2C2 and Maze, §9.2).
//!
//! Bytes really move, operating-system jitter does not exist, and nothing is claimed about real time. It is the proof
//! that a scheme is sans-IO: the node objects are those of the packet engine, nothing but bytes passes between them,
//! and the packet engine must see the same packets at the same times. To that end the rules are the same as there:
//!
//! - A port is an unbounded FIFO, and nodes store and forward. A packet handed to a port at `now` starts at
//!   `max(now, free_at)`, frees the port a serialisation time later, and arrives a propagation delay after that.
//! - A port may have an agent, which sees packets arrive, join and leave, and writes into them. The host hears of its own
//!   packets that have left such a port.
//! - At equal times come first arrivals, in order of the link they came by; then ends of transmissions at ports with agents, in
//!   order of the link; then wake-ups, in order of the node; then flows, in their own order.
//! - A noisy link loses and damages packets as they arrive. One that is still a packet, though another than was sent,
//!   goes on as that; of one that is none the node's host hears.
//! - A packet that arrives at a node is given to its forwarder, which says whether it is for this node's host. A node
//!   without a forwarder delivers whatever arrives and sends by port 0.
//!
//! An event costs a heap operation, a hop one encoding and one decoding; buffers are used again.

use raddle_core::{
    Bytes, Decoders, DropReason, Duration, Fate, Flow, Host, LinkErrors, LinkId, LinkNoise, LinkStats, Node,
    NodeId, Observer, Packet, Parts, PortAgent, PortId, PortState, Ports, Rate, Report, Runtime, Signal,
    Time, Totals,
};
use raddle_topology::{Link, Topology};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// What happens at a time. The order of the variants, then of what they name, breaks ties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The first packet under way on a link arrives.
    Arrival(LinkId),
    /// A port with an agent ends a transmission.
    Sent(LinkId),
    /// A host wakes up.
    Wake(NodeId),
    /// The next flows of the workload start.
    Flows,
}

/// Where a node is.
#[derive(Clone, Copy)]
struct Place {
    id: NodeId,
    /// Its ports' states and links begin here.
    first_link: usize,
    ports: usize,
}

/// A port with an agent, which is to see what leaves when it leaves.
struct Metered {
    agent: Box<dyn PortAgent>,
    waiting: VecDeque<Queued>,
    /// What is leaving.
    sending: Option<Queued>,
}

struct Queued {
    packet: Packet,
    /// The port by which it came; `None` if the node sent it.
    arrival: Option<PortId>,
}

/// A fabric of nodes, the bytes between them, and their clock.
pub struct Lockstep<O: Observer> {
    nodes: Vec<Node<Fabric<O>>>,
    flows: VecDeque<Flow>,
    fabric: Fabric<O>,
}

/// What the nodes run on.
struct Fabric<O> {
    now: Time,
    topology: Arc<Topology>,
    /// By [`LinkId`], as the next four.
    ports: Vec<PortState>,
    stats: Vec<LinkStats>,
    metered: Vec<Option<Metered>>,
    under_way: Vec<VecDeque<(Time, Vec<u8>)>>,
    /// By [`LinkId`]; empty if no link errs.
    noise: Vec<Option<LinkNoise>>,
    /// The headers that nodes can read.
    decoders: Decoders,
    spare_buffers: Vec<Vec<u8>>,
    events: BinaryHeap<Reverse<(Time, Event)>>,
    totals: Totals,
    observer: O,
}

impl<O: Observer> Lockstep<O> {
    /// A fabric at rest, before its first flow.
    ///
    /// # Panics
    /// If the flows are not in order of start, and of id among those that start together.
    pub fn new(
        topology: &Arc<Topology>,
        mut parts: impl FnMut(NodeId) -> Parts,
        flows: Vec<Flow>,
        observer: O,
    ) -> Self {
        assert!(flows.is_sorted_by_key(|flow| (flow.start, flow.id)), "flows come in order of start");
        let node = |id| {
            let first_link = topology.link_id(id, PortId(0)).index();
            Node::new(parts(id), Place { id, first_link, ports: topology.port_count(id) })
        };
        let nodes: Vec<Node<Fabric<O>>> = topology.nodes().map(node).collect();
        let begins = nodes.iter().filter(|node| node.wake() < Time::NEVER);
        let begins = begins.map(|node| (node.wake(), Event::Wake(node.place().id)));
        let flows_begin = flows.first().map(|flow| (flow.start, Event::Flows));
        let links = (0..topology.link_slots()).map(|id| topology.link(LinkId::of(id)));
        let ports = links.map(|link| PortState::idle(link.map_or(Rate::ZERO, |link| link.rate)));
        let fabric = Fabric {
            now: Time::ZERO,
            ports: ports.collect(),
            stats: vec![LinkStats::default(); topology.link_slots()],
            metered: (0..topology.link_slots()).map(|_| None).collect(),
            under_way: vec![VecDeque::new(); topology.link_slots()],
            noise: Vec::new(),
            decoders: Decoders::BUILTIN,
            topology: Arc::clone(topology),
            spare_buffers: Vec::new(),
            events: begins.chain(flows_begin).map(Reverse).collect(),
            totals: Totals::default(),
            observer,
        };
        Self { nodes, flows: flows.into(), fabric }
    }

    /// Gives ports, by the link that leaves them, the agents that `agent` makes.
    #[must_use]
    pub fn with_agents(mut self, mut agent: impl FnMut(LinkId) -> Option<Box<dyn PortAgent>>) -> Self {
        let metered = |agent| Metered { agent, waiting: VecDeque::new(), sending: None };
        let links = 0..self.fabric.topology.link_slots();
        self.fabric.metered = links.map(|link| agent(LinkId::of(link)).map(metered)).collect();
        self
    }

    /// Lets nodes read the headers that `decoders` knows, rather than the built-in ones alone.
    #[must_use]
    pub fn with_decoders(mut self, decoders: Decoders) -> Self {
        self.fabric.decoders = decoders;
        self
    }

    /// Makes links lose and damage packets from now on.
    #[must_use]
    pub fn with_errors(mut self, errors: &LinkErrors) -> Self {
        let links = 0..self.fabric.topology.link_slots();
        self.fabric.noise = links.map(|link| errors.on(LinkId::of(link))).collect();
        self
    }

    /// Runs until nothing is left to do, or to the end of `limit`. Returns whether nothing is left.
    ///
    /// # Panics
    /// If a packet's `size` is not that of its bytes, or if a forwarder answers a neighbour with a signal, which has no
    /// bytes.
    pub fn run(&mut self, limit: Time) -> bool {
        while let Some(&Reverse((at, event))) = self.fabric.events.peek() {
            if at > limit {
                self.fabric.now = limit;
                return false;
            }
            self.fabric.events.pop();
            debug_assert!(at >= self.fabric.now, "time never runs backward");
            self.fabric.now = at;
            self.fabric.totals.events += 1;
            match event {
                Event::Arrival(link) => self.arrive(link),
                Event::Sent(link) => self.transmission_ends(link),
                Event::Wake(node) => self.nodes[node.index()].woken(&mut self.fabric),
                Event::Flows => self.start_flows(),
            }
        }
        true
    }

    /// The time of the last event, or the limit at which the run stopped.
    pub fn now(&self) -> Time {
        self.fabric.now
    }

    /// What has happened so far.
    pub fn totals(&self) -> &Totals {
        &self.fabric.totals
    }

    /// What passed over each link, by [`LinkId`]; how much waited is not looked at.
    pub fn link_stats(&self) -> &[LinkStats] {
        &self.fabric.stats
    }

    /// Packets now held by forwarders, and queued at or under way on links.
    pub fn packets_inside(&self) -> usize {
        let held = self.nodes.iter().map(|node| node.held().count());
        let waiting = self.fabric.metered.iter().flatten().map(|port| port.waiting.len());
        self.fabric.under_way.iter().map(VecDeque::len).chain(waiting).chain(held).sum()
    }

    /// The host at `node`, to look into after a run.
    pub fn host(&self, node: NodeId) -> Option<&dyn Host> {
        self.nodes[node.index()].host()
    }

    /// Whoever listened.
    pub fn observer(&self) -> &O {
        &self.fabric.observer
    }

    /// Whoever listened, for good.
    pub fn into_observer(self) -> O {
        self.fabric.observer
    }

    fn arrive(&mut self, link: LinkId) {
        let Self { nodes, fabric, .. } = self;
        let queue = &mut fabric.under_way[link.index()];
        let (_, mut bytes) = queue.pop_front().expect("an arrival is pushed for a packet under way");
        if let Some(&(arrives, _)) = queue.front() {
            fabric.events.push(Reverse((arrives, Event::Arrival(link))));
        }
        let noise = fabric.noise.get_mut(link.index()).and_then(Option::as_mut);
        match noise.map_or(Fate::Whole, |noise| noise.pass(fabric.now, &mut bytes)) {
            Fate::Lost => fabric.vanish(link, &bytes),
            Fate::Whole | Fate::Damaged => {
                let to = fabric.end(link).to;
                fabric.receive(&mut nodes[to.index()], link, &bytes);
            }
        }
        fabric.spare_buffers.push(bytes);
    }

    fn start_flows(&mut self) {
        while let Some(flow) = self.flows.front().copied() {
            if flow.start > self.fabric.now {
                self.fabric.events.push(Reverse((flow.start, Event::Flows)));
                return;
            }
            self.flows.pop_front();
            self.nodes[flow.src.index()].start(&mut self.fabric, &flow);
        }
    }

    fn transmission_ends(&mut self, link: LinkId) {
        let fabric = &mut self.fabric;
        let Some(metered) = &mut fabric.metered[link.index()] else { return };
        let Queued { packet, arrival } = metered.sending.take().expect("a transmission that ends was begun");
        metered.agent.left(fabric.now, packet.class(), packet.size);
        fabric.serve(link);
        let node = &mut self.nodes[fabric.end(link).from.index()];
        if node.left(fabric, &packet, arrival) {
            node.poll(fabric);
        }
    }
}

impl<O: Observer> Fabric<O> {
    /// The link that packets travel on.
    fn end(&self, link: LinkId) -> Link {
        *self.topology.link(link).expect("packets travel on links")
    }

    /// A node reads what has come in by a link.
    fn receive(&mut self, node: &mut Node<Self>, link: LinkId, bytes: &[u8]) {
        let port = self.end(link).to_port;
        self.totals.packet_hops += 1;
        match Packet::decode(bytes, &self.decoders) {
            Ok(mut packet) => {
                let out = node.place().link(port);
                if let Some(Metered { agent, .. }) = &mut self.metered[out] {
                    agent.arrive(self.now, &mut packet, &self.ports[out]);
                }
                node.arrived(self, packet, port);
            }
            Err(error) => {
                self.totals.count_malformed();
                self.stats[link.index()].drops += 1;
                self.observer.malformed(self.now, link, bytes, error);
                node.corrupted(self, port);
            }
        }
    }

    /// A packet is lost on a link.
    fn vanish(&mut self, link: LinkId, bytes: &[u8]) {
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

    /// Begins the next transmission of a port with an agent, if none is under way and anything waits.
    fn serve(&mut self, link: LinkId) {
        let Some(metered) = &mut self.metered[link.index()] else { return };
        if metered.sending.is_some() {
            return;
        }
        let Some(Queued { mut packet, arrival }) = metered.waiting.pop_front() else { return };
        metered.agent.dequeue(self.now, &mut packet, &self.ports[link.index()]);
        let sent = self.now + self.serialisation(link, &packet);
        self.launch(link, sent, &packet);
        self.events.push(Reverse((sent, Event::Sent(link))));
        if let Some(metered) = &mut self.metered[link.index()] {
            metered.sending = Some(Queued { packet, arrival });
        }
    }

    fn serialisation(&self, link: LinkId, packet: &Packet) -> Duration {
        let bytes = self.topology.link_layer().on_wire(packet.size);
        self.ports[link.index()].rate.time_for(Bytes(bytes.into()))
    }

    /// Puts a packet, whose last bit leaves at `sent`, on a link.
    fn launch(&mut self, link: LinkId, sent: Time, packet: &Packet) {
        let state = &mut self.ports[link.index()];
        state.set_drains_at(state.free_at(self.now).max(sent));
        let mut bytes = self.spare_buffers.pop().unwrap_or_default();
        bytes.clear();
        packet.encode(&mut bytes);
        assert_eq!(packet.size as usize, bytes.len(), "the size of {:?}", packet.header);
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
    }
}

impl Place {
    /// The link behind a port.
    fn link(self, port: PortId) -> usize {
        self.first_link + port.index()
    }
}

impl<O: Observer> Runtime for Fabric<O> {
    type Place = Place;
    type Slot = Packet;

    fn now(&self) -> Time {
        self.now
    }

    fn totals(&mut self) -> &mut Totals {
        &mut self.totals
    }

    fn ports(&self, place: &Place) -> Ports<'_> {
        Ports(&self.ports[place.first_link..place.first_link + place.ports])
    }

    fn packet<'a>(&'a mut self, place: &Place, slot: &'a mut Packet) -> (&'a mut Packet, Ports<'a>) {
        (slot, self.ports(place))
    }

    fn insert(&mut self, packet: Packet) -> Packet {
        packet
    }

    fn remove(&mut self, slot: Packet) -> Packet {
        slot
    }

    fn enqueue(
        &mut self,
        node: &mut Node<Self>,
        mut packet: Packet,
        arrival: Option<PortId>,
        out: PortId,
    ) -> bool {
        let place = *node.place();
        let link = LinkId::of(place.link(out));
        if out.index() >= place.ports || self.topology.link(link).is_none() {
            return node.lose(self, packet, arrival, Some(out), DropReason::LinkDown);
        }
        let time = self.serialisation(link, &packet);
        let state = &mut self.ports[link.index()];
        let start = state.free_at(self.now).max(self.now);
        let Some(metered) = &mut self.metered[link.index()] else {
            self.launch(link, start + time, &packet);
            return false;
        };
        let notice = metered.agent.enqueue(self.now, &mut packet, state);
        state.set_drains_at(start + time);
        metered.waiting.push_back(Queued { packet, arrival });
        self.serve(link);
        notice.is_some_and(|notice| node.send(self, notice, None))
    }

    fn lost(&mut self, place: &Place, out: Option<PortId>, packet: &Packet, why: DropReason) {
        if let Some(out) = out.filter(|out| out.index() < place.ports) {
            self.stats[place.link(out)].drops += 1;
        }
        self.observer.dropped(self.now, place.id, out, packet, why);
    }

    fn reported(&mut self, place: &Place, report: Report) {
        self.observer.report(self.now, place.id, report);
    }

    fn wake_at(&mut self, place: &Place, at: Time) {
        self.events.push(Reverse((at, Event::Wake(place.id))));
    }

    fn signal(&mut self, place: &Place, port: PortId, _: Signal) {
        panic!("the forwarder of node {} answers at port {}: signals have no bytes", place.id, port.0);
    }
}

#[cfg(test)]
mod tests;
