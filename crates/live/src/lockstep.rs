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
    Bytes, Decoders, DropReason, Duration, Fate, Flow, Host, Input, LinkErrors, LinkId, LinkNoise, Node,
    NodeId, Output, Packet, PortAgent, PortId, PortState, Ports, Rate, Report, Time, Verdict,
};
use raddle_topology::{Link, Topology};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// Whoever listens to a run.
pub trait Observer {
    /// A host reports.
    fn report(&mut self, _now: Time, _node: NodeId, _report: Report) {}

    /// A port took a packet at `now`, whose last bit leaves at `sent`. The bytes may be damaged here, as by a bad link, but not
    /// their number.
    fn transmitted(&mut self, _now: Time, _sent: Time, _link: LinkId, _bytes: &mut [u8]) {}

    /// A packet was lost at a node, on its way to a port if it had one; or on the link behind that port.
    fn dropped(
        &mut self,
        _now: Time,
        _node: NodeId,
        _port: Option<PortId>,
        _packet: &Packet,
        _why: DropReason,
    ) {
    }

    /// Bytes came in by a link that are no packet.
    fn malformed(&mut self, _now: Time, _link: LinkId, _bytes: &[u8], _error: raddle_wire::Error) {}
}

impl Observer for () {}

/// What a run amounts to. `sent` is the sum of `delivered`, `dropped`, `malformed` and the packets still inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Packets that hosts and forwarders sent.
    pub sent: u64,
    /// Packets that arrived by links.
    pub packet_hops: u64,
    /// Packets delivered to hosts, or absorbed by the forwarders that they were for.
    pub delivered: u64,
    /// Packets lost at nodes and on links.
    pub dropped: u64,
    /// Packets lost because their bytes did not decode.
    pub malformed: u64,
}

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

struct NodeState {
    parts: Node,
    /// Its ports' states and links begin here.
    first_link: usize,
    ports: usize,
    /// The wake-up that counts; events for other times are stale.
    wake: Time,
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
    /// Whether it came from this node and not by a link.
    is_own: bool,
}

/// A fabric of nodes, the bytes between them, and their clock.
pub struct Lockstep<O> {
    now: Time,
    topology: Arc<Topology>,
    nodes: Vec<NodeState>,
    /// By [`LinkId`], as the next three.
    ports: Vec<PortState>,
    metered: Vec<Option<Metered>>,
    under_way: Vec<VecDeque<(Time, Vec<u8>)>>,
    /// By [`LinkId`]; empty if no link errs.
    noise: Vec<Option<LinkNoise>>,
    /// The headers that nodes can read.
    decoders: Decoders,
    spare_buffers: Vec<Vec<u8>>,
    events: BinaryHeap<Reverse<(Time, Event)>>,
    flows: VecDeque<Flow>,
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
        mut node: impl FnMut(NodeId) -> Node,
        flows: Vec<Flow>,
        observer: O,
    ) -> Self {
        assert!(flows.is_sorted_by_key(|flow| (flow.start, flow.id)), "flows come in order of start");
        let state = |id| {
            let parts = node(id);
            NodeState {
                wake: parts.host.as_ref().and_then(|host| host.begins()).unwrap_or(Time::NEVER),
                parts,
                first_link: topology.link_id(id, PortId(0)).index(),
                ports: topology.port_count(id),
            }
        };
        let nodes: Vec<_> = topology.nodes().map(state).collect();
        let begins = topology.nodes().zip(&nodes).filter(|(_, node)| node.wake < Time::NEVER);
        let begins = begins.map(|(id, node)| (node.wake, Event::Wake(id)));
        let flows_begin = flows.first().map(|flow| (flow.start, Event::Flows));
        let links = (0..topology.link_slots()).map(|id| topology.link(LinkId::of(id)));
        let ports = links.map(|link| PortState {
            free_at: Time::ZERO,
            rate: link.map_or(Rate::ZERO, |link| link.rate),
            up: link.is_some(),
            paused: raddle_core::Paused::NONE,
        });
        Self {
            now: Time::ZERO,
            ports: ports.collect(),
            metered: (0..topology.link_slots()).map(|_| None).collect(),
            under_way: vec![VecDeque::new(); topology.link_slots()],
            noise: Vec::new(),
            decoders: Decoders::BUILTIN,
            topology: Arc::clone(topology),
            spare_buffers: Vec::new(),
            events: begins.chain(flows_begin).map(Reverse).collect(),
            nodes,
            flows: flows.into(),
            totals: Totals::default(),
            observer,
        }
    }

    /// Gives ports, by the link that leaves them, the agents that `agent` makes.
    #[must_use]
    pub fn with_agents(mut self, mut agent: impl FnMut(LinkId) -> Option<Box<dyn PortAgent>>) -> Self {
        let metered = |agent| Metered { agent, waiting: VecDeque::new(), sending: None };
        let links = 0..self.topology.link_slots();
        self.metered = links.map(|link| agent(LinkId::of(link)).map(metered)).collect();
        self
    }

    /// Lets nodes read the headers that `decoders` knows, rather than the built-in ones alone.
    #[must_use]
    pub fn with_decoders(mut self, decoders: Decoders) -> Self {
        self.decoders = decoders;
        self
    }

    /// Makes links lose and damage packets from now on.
    #[must_use]
    pub fn with_errors(mut self, errors: &LinkErrors) -> Self {
        let links = 0..self.topology.link_slots();
        self.noise = links.map(|link| errors.on(LinkId::of(link))).collect();
        self
    }

    /// Runs until nothing is left to do, or to the end of `limit`. Returns whether nothing is left.
    ///
    /// # Panics
    /// If a packet's `size` is not that of its bytes, or if a forwarder holds a packet, which only signals between
    /// neighbours, unknown here, could release.
    pub fn run(&mut self, limit: Time) -> bool {
        while let Some(&Reverse((at, event))) = self.events.peek() {
            if at > limit {
                self.now = limit;
                return false;
            }
            self.events.pop();
            debug_assert!(at >= self.now, "time never runs backward");
            self.now = at;
            match event {
                Event::Arrival(link) => self.arrive(link),
                Event::Sent(link) => self.transmission_ends(link),
                Event::Wake(node) => self.wake(node),
                Event::Flows => self.start_flows(),
            }
        }
        true
    }

    /// The time of the last event, or the limit at which the run stopped.
    pub fn now(&self) -> Time {
        self.now
    }

    /// What has happened so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Packets now queued at or under way on links.
    pub fn packets_inside(&self) -> usize {
        let waiting = self.metered.iter().flatten().map(|port| port.waiting.len());
        self.under_way.iter().map(VecDeque::len).chain(waiting).sum()
    }

    /// The host at `node`, to look into after a run.
    pub fn host(&self, node: NodeId) -> Option<&dyn Host> {
        self.nodes[node.index()].parts.host.as_deref()
    }

    /// Whoever listened.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// Whoever listened, for good.
    pub fn into_observer(self) -> O {
        self.observer
    }

    fn arrive(&mut self, link: LinkId) {
        let queue = &mut self.under_way[link.index()];
        let (_, mut bytes) = queue.pop_front().expect("an arrival is pushed for a packet under way");
        if let Some(&(arrives, _)) = queue.front() {
            self.events.push(Reverse((arrives, Event::Arrival(link))));
        }
        let noise = self.noise.get_mut(link.index()).and_then(Option::as_mut);
        match noise.map_or(Fate::Whole, |noise| noise.pass(self.now, &mut bytes)) {
            Fate::Lost => self.vanish(link, &bytes),
            Fate::Whole | Fate::Damaged => self.receive(link, &bytes),
        }
        self.spare_buffers.push(bytes);
    }

    /// A node reads what has come in by a link.
    fn receive(&mut self, link: LinkId, bytes: &[u8]) {
        let end = self.topology.link(link).expect("packets travel on links");
        let (node, port) = (end.to, end.to_port);
        self.totals.packet_hops += 1;
        let due = match Packet::decode(bytes, &self.decoders) {
            Ok(mut packet) => {
                let out = self.topology.link_id(node, port).index();
                if let Some(Metered { agent, .. }) = &mut self.metered[out] {
                    agent.arrive(self.now, &mut packet, &self.ports[out]);
                }
                self.pass(node, packet, Some(port))
            }
            Err(error) => {
                self.totals.malformed += 1;
                self.observer.malformed(self.now, link, bytes, error);
                self.tell(node, Input::Corrupted { port })
            }
        };
        if due {
            self.poll(node);
        }
    }

    /// A packet is lost on a link.
    fn vanish(&mut self, link: LinkId, bytes: &[u8]) {
        let &Link { from, from_port, .. } = self.topology.link(link).expect("packets travel on links");
        self.totals.dropped += 1;
        if let Ok(packet) = Packet::decode(bytes, &self.decoders) {
            self.observer.dropped(self.now, from, Some(from_port), &packet, DropReason::Lost);
        }
    }

    fn wake(&mut self, node: NodeId) {
        if self.nodes[node.index()].wake == self.now {
            self.nodes[node.index()].wake = Time::NEVER;
            self.poll(node);
        }
    }

    fn start_flows(&mut self) {
        while let Some(flow) = self.flows.front().copied() {
            if flow.start > self.now {
                self.events.push(Reverse((flow.start, Event::Flows)));
                return;
            }
            self.flows.pop_front();
            self.tell(flow.src, Input::Flow(&flow));
            self.poll(flow.src);
        }
    }

    /// Tells a node's host something. Returns whether there is a host, which is then due a poll.
    fn tell(&mut self, node: NodeId, input: Input<'_>) -> bool {
        let host = &mut self.nodes[node.index()].parts.host;
        host.as_mut().map(|host| host.handle(self.now, input)).is_some()
    }

    /// Lets a node's host do all it wants to do now.
    fn poll(&mut self, node: NodeId) {
        loop {
            let state = &mut self.nodes[node.index()];
            let Some(host) = &mut state.parts.host else { return };
            let ports = &self.ports[state.first_link..state.first_link + state.ports];
            match host.poll(self.now, &Ports(ports)) {
                Output::Send { packet, port } => {
                    self.totals.sent += 1;
                    match port {
                        Some(port) => self.enqueue(node, port, packet, true),
                        None => self.pass(node, packet, None),
                    };
                }
                Output::Report(report) => self.observer.report(self.now, node, report),
                Output::WakeAt(at) if at < Time::NEVER => {
                    let at = at.max(self.now);
                    if state.wake != at {
                        state.wake = at;
                        self.events.push(Reverse((at, Event::Wake(node))));
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

    /// Does with a packet in a node what its forwarder says. Returns whether the host is due a poll.
    fn pass(&mut self, node: NodeId, mut packet: Packet, arrival: Option<PortId>) -> bool {
        let state = &mut self.nodes[node.index()];
        let verdict = match &mut state.parts.forwarder {
            Some(forwarder) => {
                let ports = &self.ports[state.first_link..state.first_link + state.ports];
                forwarder.forward(self.now, &mut packet, arrival, &Ports(ports))
            }
            None if arrival.is_some() => Verdict::Deliver,
            None => Verdict::Forward(PortId(0)),
        };
        let is_own = arrival.is_none();
        match verdict {
            Verdict::Forward(port) => self.enqueue(node, port, packet, is_own),
            Verdict::Deliver => {
                self.totals.delivered += 1;
                self.tell(node, Input::Packet { packet: &packet, port: arrival.unwrap_or(PortId(0)) })
            }
            Verdict::Drop(reason) => self.lose(node, None, &packet, reason),
            Verdict::Answer(port) => self.enqueue(node, port, packet, is_own) | self.originate(node),
            Verdict::Absorb => {
                self.totals.delivered += 1;
                self.originate(node)
            }
            Verdict::Hold(_) => panic!("node {node} holds a packet, which no signal could release"),
        }
    }

    /// Sends what a node's forwarder has to send of its own. Returns whether the node's host is due a poll.
    fn originate(&mut self, node: NodeId) -> bool {
        let mut due = false;
        while let Some(forwarder) = &mut self.nodes[node.index()].parts.forwarder
            && let Some((packet, port)) = forwarder.originate()
        {
            self.totals.sent += 1;
            due |= self.enqueue(node, port, packet, true);
        }
        due
    }

    /// Hands a packet, of this node's own or not, to a port. Returns whether the node's host is due a poll.
    fn enqueue(&mut self, node: NodeId, port: PortId, mut packet: Packet, is_own: bool) -> bool {
        let link = self.topology.link_id(node, port);
        let exists = port.index() < self.nodes[node.index()].ports;
        if !exists || self.topology.link(link).is_none() {
            return self.lose(node, Some(port), &packet, DropReason::LinkDown);
        }
        let time = self.serialisation(link, &packet);
        let state = &mut self.ports[link.index()];
        let start = state.free_at.max(self.now);
        let Some(metered) = &mut self.metered[link.index()] else {
            self.launch(link, start + time, &packet);
            return false;
        };
        let notice = metered.agent.enqueue(self.now, &mut packet, state);
        state.free_at = start + time;
        metered.waiting.push_back(Queued { packet, is_own });
        self.serve(link);
        notice.is_some_and(|notice| {
            self.totals.sent += 1;
            self.pass(node, notice, None)
        })
    }

    /// Begins the next transmission of a port with an agent, if none is under way and anything waits.
    fn serve(&mut self, link: LinkId) {
        let Some(metered) = &mut self.metered[link.index()] else { return };
        if metered.sending.is_some() {
            return;
        }
        let Some(Queued { mut packet, is_own }) = metered.waiting.pop_front() else { return };
        metered.agent.dequeue(self.now, &mut packet, &self.ports[link.index()]);
        let sent = self.now + self.serialisation(link, &packet);
        self.launch(link, sent, &packet);
        self.events.push(Reverse((sent, Event::Sent(link))));
        if let Some(metered) = &mut self.metered[link.index()] {
            metered.sending = Some(Queued { packet, is_own });
        }
    }

    fn transmission_ends(&mut self, link: LinkId) {
        let Some(metered) = &mut self.metered[link.index()] else { return };
        let Queued { packet, is_own } = metered.sending.take().expect("a transmission that ends was begun");
        metered.agent.left(self.now, packet.class(), packet.size);
        self.serve(link);
        let node = self.topology.link(link).expect("packets leave by links").from;
        if is_own && self.tell(node, Input::Sent(&packet)) {
            self.poll(node);
        }
    }

    fn serialisation(&self, link: LinkId, packet: &Packet) -> Duration {
        let bytes = self.topology.link_layer().on_wire(packet.size);
        self.ports[link.index()].rate.time_for(Bytes(bytes.into()))
    }

    /// Puts a packet, whose last bit leaves at `sent`, on a link.
    fn launch(&mut self, link: LinkId, sent: Time, packet: &Packet) {
        let state = &mut self.ports[link.index()];
        state.free_at = state.free_at.max(sent);
        let mut bytes = self.spare_buffers.pop().unwrap_or_default();
        bytes.clear();
        packet.encode(&mut bytes);
        assert_eq!(packet.size as usize, bytes.len(), "the size of {:?}", packet.header);
        self.observer.transmitted(self.now, sent, link, &mut bytes);

        let arrives = sent + self.topology.link(link).expect("packets leave by links").delay;
        let queue = &mut self.under_way[link.index()];
        queue.push_back((arrives, bytes));
        if queue.len() == 1 {
            self.events.push(Reverse((arrives, Event::Arrival(link))));
        }
    }

    /// Loses a packet. Returns whether the node has a host, which was told and is due a poll.
    fn lose(&mut self, node: NodeId, port: Option<PortId>, packet: &Packet, reason: DropReason) -> bool {
        self.totals.dropped += 1;
        self.observer.dropped(self.now, node, port, packet, reason);
        self.tell(node, Input::Dropped { packet, port: port.unwrap_or(PortId(0)), reason })
    }
}

#[cfg(test)]
mod tests;
