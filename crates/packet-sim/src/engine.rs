//! The engine: takes events in order and passes packets along the pipeline of each node.

mod failures;

use crate::events::{Event, EventQueue, Kind};
use crate::failure::Change;
use crate::port::{InService, LinkStats, Port, PortSetup, QueueDepths, Travelling};
use crate::slab::{BYTES_A_PACKET, Origin, Slab};
use raddle_core::{
    Admit, DropReason, Flow, Host, Input, LinkId, Node, NodeId, Output, Packet, PortId, PortState, Ports,
    Rate, Report, Signal, Time, Verdict,
};
use raddle_topology::Topology;
use std::ops::ControlFlow;
use std::sync::Arc;

/// When a node may begin to pass a packet on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switching {
    /// Once its last bit has come in.
    #[default]
    StoreAndForward,
    /// Once its first so many bytes have come in.
    CutThrough {
        /// Bytes that a node must have seen to decide.
        header: u32,
    },
}

/// How a simulation runs.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Store-and-forward or cut-through.
    pub switching: Switching,
    /// Failures and repairs.
    pub changes: Vec<Change>,
    /// Stop here, if the fabric has not come to rest before.
    pub time_limit: Option<Time>,
    /// Count how deep each port's queue was at every packet that joined it.
    pub queue_depths: bool,
}

/// Whoever listens to a run. Unheard, it costs nothing.
pub trait Observer {
    /// A host reports.
    fn report(&mut self, _now: Time, _node: NodeId, _report: Report) {}
    /// A packet was accepted by a port; its last bit leaves at `sent`.
    fn forwarded(&mut self, _sent: Time, _link: LinkId, _packet: &Packet) {}
    /// A packet was lost at a node, on its way to a port if it had one.
    fn dropped(
        &mut self,
        _now: Time,
        _node: NodeId,
        _port: Option<PortId>,
        _packet: &Packet,
        _why: DropReason,
    ) {
    }
}

impl Observer for () {}

/// What a run amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Events taken from the queue.
    pub events: u64,
    /// Packets of any kind that crossed a link.
    pub packet_hops: u64,
    /// Packets that hosts sent.
    pub sent: u64,
    /// Packets delivered to hosts.
    pub delivered: u64,
    /// Packets lost.
    pub dropped: u64,
    /// Application bytes that hosts sent, repeats included.
    pub sent_bytes: u64,
    /// Application bytes delivered to hosts.
    pub delivered_bytes: u64,
    /// Application bytes lost.
    pub dropped_bytes: u64,
    /// Flows handed to hosts.
    pub flows_started: u64,
    /// Flows whose last byte was delivered in order.
    pub flows_delivered: u64,
}

/// A fabric, its parts and its flows, at a point in time.
pub struct Simulation<O> {
    now: Time,
    config: Config,
    events: EventQueue,
    nodes: Vec<NodeState>,
    states: Vec<PortState>,
    ports: Vec<Port>,
    stats: Vec<LinkStats>,
    /// By link, or empty if nobody asked.
    depths: Vec<QueueDepths>,
    slab: Slab,
    flows: Vec<Flow>,
    next_flow: usize,
    /// Whether parts hear of packets that leave a node: only where some port is served.
    departures: bool,
    totals: Totals,
    observer: O,
}

struct NodeState {
    parts: Node,
    first_link: u32,
    ports: u32,
    /// The wake-up that counts; events for other times are stale.
    wake: Time,
    held: Vec<u32>,
}

/// Between two events, how often [`Simulation::run`] asks whether to go on.
const EVENTS_A_CHECK: u64 = 1 << 16;

impl<O: Observer> Simulation<O> {
    /// Bytes of memory that a packet in flight takes, its place on a link included.
    pub const BYTES_A_PACKET: usize = BYTES_A_PACKET + size_of::<Travelling>();

    /// A fabric at rest, before its first flow.
    ///
    /// `node` gives each node's parts, `port` each link's queue; `flows` are in order of start.
    ///
    /// # Panics
    /// If the flows are not in order of start.
    pub fn new(
        topology: &Arc<Topology>,
        mut node: impl FnMut(NodeId) -> Node,
        mut port: impl FnMut(LinkId) -> PortSetup,
        flows: Vec<Flow>,
        config: Config,
        observer: O,
    ) -> Self {
        assert!(flows.is_sorted_by_key(|flow| flow.start), "flows come in order of start");
        let ids = || (0..topology.link_slots()).map(LinkId::of);
        let ports: Vec<Port> = ids().map(|id| Port::new(topology.link(id), port(id))).collect();
        let states = ids()
            .map(|id| {
                let link = topology.link(id);
                let rate = link.map_or(Rate::ZERO, |link| link.rate);
                PortState { free_at: Time::ZERO, rate, up: link.is_some() }
            })
            .collect();
        let nodes = topology
            .nodes()
            .map(|id| NodeState {
                parts: node(id),
                first_link: topology.link_id(id, PortId(0)).0,
                ports: u32::try_from(topology.port_count(id)).expect("ports fit 32 bits"),
                wake: Time::NEVER,
                held: Vec::new(),
            })
            .collect();
        let mut events = EventQueue::new(ports.len());
        if let Some(flow) = flows.first() {
            events.push(Event::new(flow.start, Kind::Flow, 0));
        }
        for (i, change) in config.changes.iter().enumerate() {
            let i = u32::try_from(i).expect("fewer than 2^28 changes");
            events.push(Event::new(change.at, Kind::Change, i));
            events.push(Event::new(change.at + change.discovery, Kind::Discovery, i));
        }
        Self {
            now: Time::ZERO,
            events,
            nodes,
            states,
            departures: ports.iter().any(|port| port.served.is_some()),
            stats: vec![LinkStats::default(); ports.len()],
            depths: vec![QueueDepths::default(); if config.queue_depths { ports.len() } else { 0 }],
            ports,
            config,
            slab: Slab::default(),
            flows,
            next_flow: 0,
            totals: Totals::default(),
            observer,
        }
    }

    /// Runs until the fabric is at rest, the time limit is reached, or `check`, asked now and then, says stop.
    /// Returns whether the run came to its own end.
    pub fn run(&mut self, mut check: impl FnMut(Time, &Totals) -> ControlFlow<()>) -> bool {
        let limit = self.config.time_limit.unwrap_or(Time::NEVER);
        let mut until_check = EVENTS_A_CHECK;
        while let Some(event) = self.events.pop() {
            if event.time() > limit {
                self.events.push(event);
                self.now = limit;
                return true;
            }
            debug_assert!(event.time() >= self.now, "time never runs backward");
            self.now = event.time();
            self.totals.events += 1;
            self.take(event);
            until_check -= 1;
            if until_check == 0 {
                until_check = EVENTS_A_CHECK;
                if check(self.now, &self.totals).is_break() {
                    return false;
                }
            }
        }
        true
    }

    /// The time of the last event.
    pub fn now(&self) -> Time {
        self.now
    }

    /// What has happened so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// What passed over each link, by [`LinkId`].
    pub fn link_stats(&self) -> &[LinkStats] {
        &self.stats
    }

    /// How deep each port's queue was, by [`LinkId`]; empty unless [`Config::queue_depths`] asked for it.
    pub fn queue_depths(&self) -> &[QueueDepths] {
        &self.depths
    }

    /// Packets now inside the fabric.
    pub fn packets_inside(&self) -> usize {
        self.slab.live()
    }

    /// Most packets that were inside the fabric at once.
    pub fn peak_packets_inside(&self) -> usize {
        self.slab.peak()
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

    fn take(&mut self, event: Event) {
        let index = event.index();
        match event.kind() {
            Kind::Arrival => self.arrival(index, event.time()),
            Kind::Tail => {
                // Otherwise the link went down in between.
                let due = |slot: &mut u32| self.slab.origin(*slot).tail == event.time();
                if let Some(slot) = self.ports[index as usize].tail.take_if(due) {
                    let node = self.ports[index as usize].to_node;
                    self.hand_over(node, slot, self.slab.origin(slot));
                    self.poll(node);
                }
            }
            Kind::Sent => self.transmission_ends(index),
            Kind::Signal => self.signal_arrives(index),
            Kind::Wake => {
                if self.nodes[index as usize].wake == self.now {
                    self.nodes[index as usize].wake = Time::NEVER;
                    self.poll(index);
                }
            }
            Kind::Flow => self.start_flows(),
            Kind::Change => self.change(index as usize),
            Kind::Discovery => self.discover(index as usize),
        }
    }

    /// The head of a link's ring comes in at the far end.
    fn arrival(&mut self, link: u32, at: Time) {
        let port = &mut self.ports[link as usize];
        if port.ring.front().is_none_or(|head| head.arrives != at) {
            return; // the link went down in between
        }
        let Some(travelled) = port.arrive() else { return };
        if let Some(head) = port.ring.front() {
            self.events.push(Event::new(head.arrives, Kind::Arrival, link));
        }
        let (node, in_port) = (port.to_node, PortId(port.to_port));
        let origin = Origin { port: Some(in_port), tail: travelled.sent + port.delay };
        self.totals.packet_hops += 1;
        if self.departures {
            let local = self.local_link(node, in_port);
            if let Some(served) = &mut self.ports[local].served
                && let Some(agent) = &mut served.agent
            {
                agent.arrive(self.now, self.slab.get_mut(travelled.slot), &self.states[local]);
            }
        }
        if self.route(node, travelled.slot, origin) {
            self.poll(node);
        }
    }

    fn local_link(&self, node: u32, port: PortId) -> usize {
        (self.nodes[node as usize].first_link + u32::from(port.0)) as usize
    }

    /// Asks the node's forwarder about a packet and does what it says. Returns whether the node's host is due a poll,
    /// because the packet was for it or was dropped.
    fn route(&mut self, node: u32, slot: u32, origin: Origin) -> bool {
        let state = &mut self.nodes[node as usize];
        let verdict = match &mut state.parts.forwarder {
            Some(forwarder) => {
                let ports =
                    &self.states[state.first_link as usize..(state.first_link + state.ports) as usize];
                forwarder.forward(self.now, self.slab.get_mut(slot), origin.port, &Ports(ports))
            }
            None if origin.port.is_some() => Verdict::Deliver,
            None => Verdict::Forward(PortId(0)),
        };
        match verdict {
            Verdict::Forward(port) => self.enqueue(node, port, slot, origin),
            Verdict::Deliver if origin.tail > self.now => {
                let port = origin.port.expect("a packet still coming in has come by a port");
                let link = self.incoming(node, port);
                self.slab.set_origin(slot, origin);
                self.ports[link as usize].tail = Some(slot);
                self.events.push(Event::new(origin.tail, Kind::Tail, link));
                false
            }
            Verdict::Deliver => {
                self.hand_over(node, slot, origin);
                true
            }
            Verdict::Hold => {
                self.slab.set_origin(slot, origin);
                self.nodes[node as usize].held.push(slot);
                false
            }
            Verdict::Drop(reason) => self.lose(node, None, slot, origin, reason),
        }
    }

    /// The link by which packets come in at a port: the reverse of the one that leaves there.
    fn incoming(&self, node: u32, port: PortId) -> u32 {
        let out = &self.ports[self.local_link(node, port)];
        self.nodes[out.to_node as usize].first_link + u32::from(out.to_port)
    }

    /// Gives a packet to the node's host.
    fn hand_over(&mut self, node: u32, slot: u32, origin: Origin) {
        let packet = self.slab.remove(slot);
        self.totals.delivered += 1;
        self.totals.delivered_bytes += u64::from(packet.payload());
        let port = origin.port.unwrap_or(PortId(0));
        if let Some(host) = &mut self.nodes[node as usize].parts.host {
            host.handle(self.now, Input::Packet { packet: &packet, port });
        }
        self.departed(node, &packet, origin);
    }

    /// Queues a packet at a port. Returns whether the host is now due a poll, because the packet was dropped.
    fn enqueue(&mut self, node: u32, out: PortId, slot: u32, origin: Origin) -> bool {
        let link = self.local_link(node, out);
        if !self.states[link].up {
            return self.lose(node, Some(out), slot, origin, DropReason::LinkDown);
        }
        let port = &mut self.ports[link];
        if port.is_served {
            return self.enqueue_served(node, out, slot, origin);
        }
        let size = self.slab.get(slot).size;
        port.settle(self.now);
        if !port.has_room(size) {
            return self.lose(node, Some(out), slot, origin, DropReason::QueueFull);
        }
        port.queued += u64::from(size);
        let stats = &mut self.stats[link];
        stats.peak_queue = stats.peak_queue.max(port.queued);
        if let Some(depths) = self.depths.get_mut(link) {
            depths.count(port.queued);
        }
        let start = self.states[link].free_at.max(self.now);
        self.launch(link, slot, start, origin.tail);
        false
    }

    /// Puts a packet, whose last bit is in at `tail`, on the wire behind a port from `start` on. Returns when its last
    /// bit leaves.
    fn launch(&mut self, link: usize, slot: u32, start: Time, tail: Time) -> Time {
        let port = &mut self.ports[link];
        let packet = self.slab.get(slot);
        let sent = (start + port.serialisation(packet.size)).max(tail);
        let arrives = match self.config.switching {
            Switching::StoreAndForward => sent + port.delay,
            Switching::CutThrough { header } => {
                start + port.serialisation(packet.size.min(header)) + port.delay
            }
        };
        self.states[link].free_at = self.states[link].free_at.max(sent);
        let stats = &mut self.stats[link];
        if packet.is_data() {
            stats.data_packets += 1;
            stats.data_bytes += u64::from(packet.size);
        } else {
            stats.control_packets += 1;
            stats.control_bytes += u64::from(packet.size);
        }
        self.observer.forwarded(sent, LinkId::of(link), packet);
        port.ring.push_back(Travelling { sent, arrives, slot, size: packet.size });
        if port.ring.len() == 1 {
            let index = u32::try_from(link).expect("link ids fit 28 bits");
            self.events.push(Event::new(arrives, Kind::Arrival, index));
        }
        sent
    }

    fn enqueue_served(&mut self, node: u32, out: PortId, slot: u32, origin: Origin) -> bool {
        let link = self.local_link(node, out);
        self.slab.set_origin(slot, origin);
        let packet = self.slab.get_mut(slot);
        let port = &mut self.ports[link];
        let Some(served) = &mut port.served else { unreachable!("the caller has looked") };
        let notice =
            served.agent.as_mut().and_then(|agent| agent.enqueue(self.now, packet, &self.states[link]));
        let mut due = false;
        if served.queue.push(self.now, slot, packet) == Admit::Drop {
            due = self.lose(node, Some(out), slot, origin, DropReason::QueueFull);
        } else {
            let in_service = served.serving.as_ref().map_or(0, |serving| serving.packet.size);
            let waiting = served.queue.bytes().0 + u64::from(in_service);
            let stats = &mut self.stats[link];
            stats.peak_queue = stats.peak_queue.max(waiting);
            if let Some(depths) = self.depths.get_mut(link) {
                depths.count(waiting);
            }
            let idle = served.serving.is_none();
            let busy = self.states[link].free_at.max(self.now);
            self.states[link].free_at = busy + port.serialisation(packet.size);
            if idle {
                self.serve_next(link);
            }
        }
        if let Some(packet) = notice {
            due |= self.send(node, packet, None);
        }
        due
    }

    /// Begins the next transmission of a served port, if anything waits.
    fn serve_next(&mut self, link: usize) {
        let Some(served) = &mut self.ports[link].served else { return };
        let Some(slot) = served.queue.pop(self.now) else { return };
        if let Some(agent) = &mut served.agent {
            agent.dequeue(self.now, self.slab.get_mut(slot), &self.states[link]);
        }
        let (packet, origin) = (*self.slab.get(slot), self.slab.origin(slot));
        let sent = self.launch(link, slot, self.now, origin.tail);
        if let Some(served) = &mut self.ports[link].served {
            served.serving = Some(InService { packet, origin, sent });
        }
        self.events.push(Event::new(sent, Kind::Sent, u32::try_from(link).expect("link ids fit 28 bits")));
    }

    fn transmission_ends(&mut self, link: u32) {
        let now = self.now;
        let Some(served) = &mut self.ports[link as usize].served else { return };
        // Otherwise the link went down in between.
        let Some(InService { packet, origin, .. }) = served.serving.take_if(|serving| serving.sent == now)
        else {
            return;
        };
        self.serve_next(link as usize);
        let node = self.owner(link);
        self.departed(node, &packet, origin);
        if origin.port.is_none() {
            if let Some(host) = &mut self.nodes[node as usize].parts.host {
                host.handle(self.now, Input::Sent(&packet));
            }
            self.poll(node);
        }
    }

    /// The node that a link leaves.
    fn owner(&self, link: u32) -> u32 {
        let port = &self.ports[link as usize];
        self.ports[self.local_link(port.to_node, PortId(port.to_port))].to_node
    }

    /// Tells the forwarder that a packet has left its node, and sends its answer upstream.
    fn departed(&mut self, node: u32, packet: &Packet, origin: Origin) {
        if !self.departures {
            return;
        }
        let (Some(arrival), Some(forwarder)) = (origin.port, &mut self.nodes[node as usize].parts.forwarder)
        else {
            return;
        };
        if let Some(signal) = forwarder.departed(packet, arrival) {
            self.send_signal(self.local_link(node, arrival), signal);
        }
    }

    fn send_signal(&mut self, link: usize, signal: Signal) {
        if !self.states[link].up {
            return;
        }
        let port = &mut self.ports[link];
        let arrives = self.now + port.delay;
        port.signals.push_back((arrives, signal));
        if port.signals.len() == 1 {
            let index = u32::try_from(link).expect("link ids fit 28 bits");
            self.events.push(Event::new(arrives, Kind::Signal, index));
        }
    }

    fn signal_arrives(&mut self, link: u32) {
        let port = &mut self.ports[link as usize];
        let (node, in_port) = (port.to_node, PortId(port.to_port));
        let now = self.now;
        let mut heard = false;
        while let Some(&(arrives, signal)) = port.signals.front() {
            if arrives > now {
                self.events.push(Event::new(arrives, Kind::Signal, link));
                break;
            }
            port.signals.pop_front();
            heard = true;
            if let Some(forwarder) = &mut self.nodes[node as usize].parts.forwarder {
                forwarder.signal(in_port, signal);
            }
        }
        if heard {
            self.retry_held(node);
        }
    }

    /// Asks again about every packet that waits in a node.
    fn retry_held(&mut self, node: u32) {
        let mut due = false;
        let held = std::mem::take(&mut self.nodes[node as usize].held);
        for &slot in &held {
            due |= self.route(node, slot, self.slab.origin(slot));
        }
        if self.nodes[node as usize].held.is_empty() {
            let mut held = held;
            held.clear();
            self.nodes[node as usize].held = held;
        }
        if due {
            self.poll(node);
        }
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
        self.record_loss(node, port, &packet, reason);
        self.departed(node, &packet, origin);
        let Some(host) = &mut self.nodes[node as usize].parts.host else { return false };
        host.handle(self.now, Input::Dropped { packet: &packet, port: port.unwrap_or(PortId(0)), reason });
        true
    }

    fn record_loss(&mut self, node: u32, port: Option<PortId>, packet: &Packet, reason: DropReason) {
        self.totals.dropped += 1;
        self.totals.dropped_bytes += u64::from(packet.payload());
        if let Some(port) = port {
            let link = self.local_link(node, port);
            self.stats[link].drops += 1;
        }
        self.observer.dropped(self.now, NodeId(node), port, packet, reason);
    }

    /// Puts a packet of the node's host on its way. Returns whether it was dropped, or delivered to the host itself.
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
                    self.observer.report(self.now, NodeId(node), report);
                }
                Output::WakeAt(at) if at < Time::NEVER => {
                    let at = at.max(self.now);
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
        while let Some(flow) = self.flows.get(self.next_flow) {
            if flow.start > self.now {
                self.events.push(Event::new(flow.start, Kind::Flow, 0));
                return;
            }
            self.next_flow += 1;
            self.totals.flows_started += 1;
            let node = flow.src.0;
            if let Some(host) = &mut self.nodes[node as usize].parts.host {
                host.handle(self.now, Input::Flow(flow));
            }
            self.poll(node);
        }
    }
}
