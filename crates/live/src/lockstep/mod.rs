//! The lockstep runtime: nodes exchange encoded packets over in-memory links under a shared virtual clock. The clock
//! advances only when every node has handled all events that are due (specification of R2C2 and Maze, §9.2).
//!
//! Bytes really move, there is no operating-system jitter, and results say nothing about real time. The runtime proves
//! that a scheme is sans-IO: the node objects are those of the packet engine, only bytes pass between them, and the
//! packet engine must see the same packets at the same times. So lockstep and the packet engine follow the same rules:
//!
//! - A port is a FIFO, unbounded or within limits, unless it has a queue of its own. Nodes store and forward. A
//!   packet handed to a FIFO at `now` starts at `max(now, free_at)`, frees the port one serialization delay later,
//!   and arrives one propagation delay after that.
//! - A port may have an agent, which sees packets arrive, join the queue and leave, and may write into them. If a port
//!   has an agent or a queue of its own, the host is told when a packet that the host sent has left the port.
//! - A credit crosses a link in the link's propagation delay, and uses no bandwidth.
//! - Events at the same time are handled in this order: arrivals, by link; ends of transmissions at ports with agents
//!   or queues, by link; credits, by link; flow control, by link; ticks of agents, by link; ticks of forwarders and of
//!   topology discovery, by node; wake-ups, by node; starts of flows, in the order of the workload.
//! - A noisy link loses and damages packets and credits as they arrive. A damaged packet that can still be decoded
//!   continues with its new content. If a packet cannot be decoded, the receiving node's host is told.
//! - A packet that arrives at a node goes to the node's forwarder, which decides whether it is for the node's host. A
//!   node without a forwarder delivers every packet that arrives, and sends by port 0.
//!
//! The payload of a packet is zeros, with two exceptions. The payload of [streams](Lockstep::open) comes from an
//! application, which also reads the received bytes. The [frames](Lockstep::send_frame) of kernels cross unchanged,
//! except for congestion marks.
//!
//! Cost: two heap operations per event, and one encoding, one decoding and one copy of the payload per hop. Buffers are
//! reused.

mod fabric;
mod frames;
mod streams;

pub use streams::StreamError;

use crate::fifo::{Fifo, Limits};
use crate::flow_control::{Control, ControlLinks};
use crate::served::{Serve, Served};
use fabric::{Carried, Event, Fabric, Place};
use raddle_core::discovery::{Discovery, Rest};
use raddle_core::{
    Application, Credit, Decoders, Fate, FlowControlAccount, Flows, Host, LinkErrors, LinkFlowControl,
    LinkId, LinkStats, Node, NodeId, Observer, Parts, PortAgent, PortId, PortState, Queue, Queued, Rate,
    Time, Totals,
};
use raddle_topology::{Link, Topology};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;
use streams::Streams;

/// A fabric of nodes, its packets and its clock.
pub struct Lockstep<O: Observer> {
    nodes: Vec<Node<Fabric<O>>>,
    flows: Queued,
    /// Detects that the fabric is at rest. Present if the nodes send hello messages, which never end.
    rest: Option<Rest>,
    fabric: Fabric<O>,
}

impl<O: Observer> Lockstep<O> {
    /// Bytes of memory for a directed link and its port. A port with a queue, an agent or flow control of its own needs
    /// more memory.
    pub const BYTES_A_LINK: usize = size_of::<PortState>()
        + size_of::<LinkStats>()
        + size_of::<Option<Served<fabric::Carried>>>()
        + size_of::<Fifo>()
        + 2 * size_of::<VecDeque<(Time, Vec<u8>)>>();
    /// Bytes of memory for a node, without the node's parts.
    pub const BYTES_A_NODE: usize = size_of::<Node<Fabric<O>>>();

    /// Creates a fabric in which no flow has started and no packet is in flight.
    pub fn new(
        topology: &Arc<Topology>,
        mut parts: impl FnMut(NodeId) -> Parts,
        flows: impl Into<Flows>,
        observer: O,
    ) -> Self {
        let flows = flows.into().queue();
        let node = |id| {
            let first_link = topology.link_id(id, PortId(0)).index();
            Node::new(parts(id), Place { id, first_link, ports: topology.port_count(id) })
        };
        let nodes: Vec<Node<Fabric<O>>> = topology.nodes().map(node).collect();
        let begins = nodes.iter().filter(|node| node.wake() < Time::NEVER);
        let begins = begins.map(|node| (node.wake(), Event::Wake(node.place().id)));
        let ticking = nodes.iter().filter(|node| node.tick() < Time::NEVER);
        let ticks = ticking.map(|node| (node.tick(), Event::Tick(node.place().id)));
        let flows_begin = flows.peek().map(|flow| (flow.start, Event::Flows));
        let links = (0..topology.link_slots()).map(|id| topology.link(LinkId::of(id)));
        let ports = links.map(|link| PortState::idle(link.map_or(Rate::ZERO, |link| link.rate)));
        let fabric = Fabric {
            now: Time::ZERO,
            ports: ports.collect(),
            stats: vec![LinkStats::default(); topology.link_slots()],
            served: (0..topology.link_slots()).map(|_| None).collect(),
            fifos: vec![Fifo::default(); topology.link_slots()],
            under_way: vec![VecDeque::new(); topology.link_slots()],
            credits: vec![VecDeque::new(); topology.link_slots()],
            noise: Vec::new(),
            decoders: Decoders::BUILTIN,
            topology: Arc::clone(topology),
            spare_buffers: Vec::new(),
            streams: Streams::default(),
            frames: frames::Received::new(),
            events: begins.chain(ticks).chain(flows_begin).map(Reverse).collect(),
            totals: Totals::default(),
            observer,
        };
        let period = nodes.iter().find_map(Node::discovery).map(Discovery::period);
        Self { nodes, flows, rest: period.map(Rest::new), fabric }
    }

    /// Gives each port the agent, if any, that `agent` makes for the link that leaves the port. A port that has an
    /// agent but no queue [of its own](Self::with_queues) gets a FIFO with the limits that were set
    /// [before](Self::with_limits), but without their marking thresholds. The limits of this FIFO do not count the
    /// packet in service.
    #[must_use]
    pub fn with_agents(mut self, mut agent: impl FnMut(LinkId) -> Option<Box<dyn PortAgent>>) -> Self {
        let Fabric { served, fifos, .. } = &mut self.fabric;
        for (link, (served, fifo)) in served.iter_mut().zip(fifos).enumerate() {
            if let Some(agent) = agent(LinkId::of(link)) {
                served.get_or_insert_with(|| Served::within(fifo.limits)).set_agent(agent);
            }
        }
        self
    }

    /// Sets the limits and the marking thresholds of the plain FIFOs of all ports.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.fabric.ports.iter_mut().for_each(|port| *port = limits.of_port(*port));
        self.fabric.fifos.iter_mut().for_each(|fifo| fifo.limits = limits);
        self
    }

    /// Gives each port the queue, if any, that `queue` makes for the link that leaves the port.
    #[must_use]
    pub fn with_queues(mut self, mut queue: impl FnMut(LinkId) -> Option<Box<dyn Queue>>) -> Self {
        for (link, served) in self.fabric.served.iter_mut().enumerate() {
            if let Some(queue) = queue(LinkId::of(link)) {
                let limit = queue.limit().unwrap_or(PortState::UNLIMITED);
                self.fabric.ports[link] = self.fabric.ports[link].limited(limit);
                served.get_or_insert_with(|| Served::within(Limits::default())).queue = queue;
            }
        }
        self
    }

    /// Gives each port the flow control, if any, that `control` makes for the link that leaves the port. Flow control
    /// holds back the neighbour at the other end of that link. A port with flow control must have a queue
    /// [of its own](Self::with_queues) that obeys pauses. The runtime's own FIFOs ignore pauses.
    ///
    /// # Panics
    /// If a port with flow control has neither a queue of its own nor an agent.
    #[must_use]
    pub fn with_flow_control(
        mut self,
        mut control: impl FnMut(LinkId) -> Option<Box<dyn LinkFlowControl>>,
    ) -> Self {
        for (link, served) in self.fabric.served.iter_mut().enumerate() {
            if let Some(control) = control(LinkId::of(link)) {
                let served = served.as_mut();
                let served = served.expect("a port with flow control must have its own queue or an agent");
                served.control = Some(Control::new(control));
            }
        }
        self
    }

    /// The current flow-control account of each link that has flow control.
    pub fn flow_control(&self) -> Vec<(LinkId, FlowControlAccount)> {
        let served = (0..).map(LinkId::of).zip(&self.fabric.served);
        let account = |(link, served): (_, &Option<Served<_>>)| {
            Some((link, served.as_ref()?.flow_control(self.fabric.now)?))
        };
        served.filter_map(account).collect()
    }

    /// Lets nodes read the headers that `decoders` decode. By default, nodes read the built-in headers.
    #[must_use]
    pub fn with_decoders(mut self, decoders: Decoders) -> Self {
        self.fabric.decoders = decoders;
        self
    }

    /// Makes links lose and damage packets from now on, as `errors` specifies.
    #[must_use]
    pub fn with_errors(mut self, errors: &LinkErrors) -> Self {
        let links = 0..self.fabric.topology.link_slots();
        self.fabric.noise = links.map(|link| errors.on(LinkId::of(link))).collect();
        self
    }

    /// Runs until the fabric is at rest, or until all events up to and including the time `limit` are handled. Returns
    /// true if the fabric is at rest: no event is left, except ticks and wake-ups if nodes send hello messages.
    ///
    /// # Panics
    /// If a packet's `size` is not the number of its bytes.
    pub fn run(&mut self, limit: Time) -> bool {
        while let Some(&Reverse((at, event))) = self.fabric.events.peek() {
            if self.rest.is_some_and(|rest| rest.next_look() <= at.min(limit)) {
                if self.look() {
                    return true;
                }
                continue;
            }
            if at > limit {
                self.fabric.now = limit;
                return false;
            }
            self.fabric.events.pop();
            debug_assert!(at >= self.fabric.now, "`at` must not be in the past");
            self.fabric.now = at;
            self.fabric.totals.events += 1;
            match event {
                Event::Arrival(link) => self.arrive(link),
                Event::Sent(link) => {
                    let from = self.fabric.end(link).from;
                    self.fabric.transmission_ends(&mut self.nodes[from.index()], link);
                }
                Event::Credit(link) => self.credits_arrive(link),
                Event::FlowControl(link) => {
                    let from = self.fabric.end(link).from;
                    self.fabric.control_wakes(&mut self.nodes[from.index()], link, at);
                }
                Event::PortTick(link) => self.fabric.port_ticks(link),
                Event::Tick(node) => self.nodes[node.index()].ticked(&mut self.fabric),
                Event::Wake(node) => self.nodes[node.index()].woken(&mut self.fabric),
                Event::Flows => self.start_flows(),
            }
        }
        true
    }

    /// Checks whether the fabric is at rest: only ticks and wake-ups are scheduled, and every node [is at
    /// rest](Node::is_at_rest). Returns true once enough checks in a row have found this ([`Rest::look`]).
    fn look(&mut self) -> bool {
        let is_idle =
            |&Reverse((_, event)): &_| matches!(event, Event::PortTick(_) | Event::Tick(_) | Event::Wake(_));
        let is_still = self.fabric.events.iter().all(is_idle) && self.nodes.iter().all(Node::is_at_rest);
        let mut discoveries = self.nodes.iter().filter_map(Node::discovery);
        let have_changed = discoveries.any(|discovery| discovery.changed_at() > Time::ZERO);
        self.rest.as_mut().is_none_or(|rest| rest.look(is_still, have_changed))
    }

    /// [Runs](Self::run) up to and including the time `at`, and then sets the clock to `at`, even if the fabric came to
    /// rest earlier. An application can then open streams or append bytes to them. Returns true if the fabric is at
    /// rest, as [`run`](Self::run) does.
    ///
    /// # Panics
    /// In the same cases as [`run`](Self::run), and if `at` is in the past.
    pub fn advance(&mut self, at: Time) -> bool {
        assert!(at >= self.fabric.now, "`at` must not be in the past");
        let at_rest = self.run(at);
        self.fabric.now = at;
        at_rest
    }

    /// The current virtual time: the time of the latest handled event, or the time to which [`run`](Self::run) or
    /// [`advance`](Self::advance) has moved the clock.
    pub fn now(&self) -> Time {
        self.fabric.now
    }

    /// The total counts of the run so far.
    pub fn totals(&self) -> &Totals {
        &self.fabric.totals
    }

    /// Statistics of each link, indexed by [`LinkId`].
    pub fn link_stats(&self) -> &[LinkStats] {
        &self.fabric.stats
    }

    /// Number of packets that forwarders hold, that are queued at ports, or that are in flight on links.
    pub fn packets_inside(&self) -> usize {
        let held = self.nodes.iter().map(|node| node.held().count());
        let waiting = self.fabric.served.iter().flatten().map(Served::waiting);
        self.fabric.under_way.iter().map(VecDeque::len).chain(waiting).chain(held).sum()
    }

    /// The host at `node`, for inspection after a run.
    pub fn host(&self, node: NodeId) -> Option<&dyn Host> {
        self.nodes[node.index()].host()
    }

    /// The topology discovery of `node`, if it has one, for inspection after a run.
    pub fn discovery(&self, node: NodeId) -> Option<&Discovery> {
        self.nodes[node.index()].discovery()
    }

    /// The program on the host at `node`, for inspection after a run.
    pub fn application(&self, node: NodeId) -> Option<&dyn Application> {
        self.nodes[node.index()].application()
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        &self.fabric.observer
    }

    /// Discards the fabric, and returns its observer.
    pub fn into_observer(self) -> O {
        self.fabric.observer
    }

    fn arrive(&mut self, link: LinkId) {
        let Self { nodes, fabric, .. } = self;
        let queue = &mut fabric.under_way[link.index()];
        let (_, mut bytes) = queue.pop_front().expect("an arrival event must have a packet in flight");
        if let Some(&(arrives, _)) = queue.front() {
            fabric.events.push(Reverse((arrives, Event::Arrival(link))));
        }
        let noise = fabric.noise.get_mut(link.index()).and_then(Option::as_mut);
        match noise.map_or(Fate::Whole, |noise| noise.pass(fabric.now, &mut bytes)) {
            Fate::Lost => {
                fabric.vanish(link, &bytes);
                fabric.spare_buffers.push(bytes);
            }
            Fate::Whole | Fate::Damaged => {
                let to = fabric.end(link).to;
                fabric.receive(&mut nodes[to.index()], link, bytes);
            }
        }
    }

    fn start_flows(&mut self) {
        while let Some(flow) = self.flows.take_started(self.fabric.now) {
            self.nodes[flow.src.index()].start(&mut self.fabric, &flow);
        }
        if let Some(next) = self.flows.peek() {
            self.fabric.events.push(Reverse((next.start, Event::Flows)));
        }
    }

    /// Handles the neighbour's credits that arrive over a link.
    fn credits_arrive(&mut self, link: LinkId) {
        let Self { nodes, fabric, .. } = self;
        let Link { to, to_port, .. } = fabric.end(link);
        let node = &mut nodes[to.index()];
        let mut freed = Vec::new();
        while let Some((arrives, mut bytes)) = fabric.credits[link.index()].pop_front() {
            if arrives > fabric.now {
                fabric.events.push(Reverse((arrives, Event::Credit(link))));
                fabric.credits[link.index()].push_front((arrives, bytes));
                break;
            }
            let noise = fabric.noise.get_mut(link.index()).and_then(Option::as_mut);
            let fate = noise.map_or(Fate::Whole, |noise| noise.pass(fabric.now, &mut bytes));
            if fate != Fate::Lost
                && let Ok(credit) = Credit::decode(&bytes)
            {
                node.credited(fabric, to_port, &credit, &mut freed);
            }
            fabric.spare_buffers.push(bytes);
        }
        if !freed.is_empty() {
            node.retry(fabric, |key| freed.contains(&key));
        }
    }
}

#[cfg(test)]
mod tests;
