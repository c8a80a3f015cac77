//! Partitions are put together: of a fabric at rest, or of one whose nodes and links are divided anew.

use super::whole::Whole;
use super::{NodeState, Partition};
use crate::divide::Division;
use crate::events::{Event, EventQueue, Kind};
use crate::failure::Change;
use crate::observer::Log;
use crate::port::{Class, LinkStats, Port, PortSetup, QueueDepths};
use crate::slab::{Origin, Slab};
use crate::totals::Totals;
use crate::wire::Wire;
use raddle_core::{Flow, LinkErrors, LinkId, Node, NodeId, Packet, Paused, PortId, PortState, Time};
use raddle_topology::Topology;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A fabric and what happens to it, however it is divided.
pub(crate) struct Plan {
    pub(crate) topology: Arc<Topology>,
    /// Bytes that a node must have seen to pass a packet on, if it need not have seen them all.
    pub(crate) header: Option<u32>,
    pub(crate) queue_depths: bool,
    pub(crate) changes: Arc<[Change]>,
    pub(crate) flows: Arc<[Flow]>,
    /// Whether the observer hears of packets that ports accept.
    pub(crate) forwarded: bool,
}

/// The partitions of a fabric at rest, before its first flow.
pub(crate) fn at_rest(
    plan: &Plan,
    division: &Arc<Division>,
    errors: &LinkErrors,
    mut node: impl FnMut(NodeId) -> Node,
    mut setup: impl FnMut(LinkId) -> PortSetup,
) -> Vec<Partition> {
    let mut assembly = Assembly::new(plan, division, Time::ZERO);
    for id in plan.topology.nodes() {
        let state = NodeState::new(plan, id, node(id));
        if state.wake < Time::NEVER {
            assembly.event(Event::new(state.wake, Kind::Wake, id.0));
        }
        assembly.node(state, Vec::new());
    }
    for from in plan.topology.nodes() {
        for port in (0..plan.topology.port_count(from)).map(PortId::of) {
            let id = plan.topology.link_id(from, port);
            assembly.link(id, from, Whole::at_rest(plan, errors, id, setup(id)));
        }
    }
    for (i, change) in (0..).zip(plan.changes.iter()) {
        assembly.event(Event::new(change.at, Kind::Change, i));
        assembly.event(Event::new(change.at + change.discovery, Kind::Discovery, i));
    }
    assembly.finish(Time::ZERO, Totals::default())
}

/// Partitions in the making.
pub(super) struct Assembly<'a> {
    plan: &'a Plan,
    division: &'a Division,
    now: Time,
    partitions: Vec<Partition>,
    /// By partition: the place of each class.
    classes: Vec<FxHashMap<Class, u32>>,
}

impl<'a> Assembly<'a> {
    /// Partitions without nodes and links, at `now`: all that comes before has happened.
    pub(super) fn new(plan: &'a Plan, division: &'a Arc<Division>, now: Time) -> Self {
        let partitions = (0..division.parts()).map(|number| Partition::empty(plan, division, number, now));
        let classes = (0..division.parts()).map(|_| FxHashMap::default()).collect();
        Self { plan, division, now, partitions: partitions.collect(), classes }
    }

    /// Adds a node, in the order of ids, with the packets that it holds.
    pub(super) fn node(&mut self, mut state: NodeState, held: Vec<(Packet, Origin)>) {
        let topology = &self.plan.topology;
        let number = self.division.home(state.id);
        let partition = &mut self.partitions[number];
        if state.ports > 0 {
            state.first_link = self.division.place_of_link(number, topology.link_id(state.id, PortId(0)));
        }
        for ((_, slot), (packet, origin)) in state.held.iter_mut().zip(held) {
            *slot = partition.slab.put(packet, origin);
        }
        partition.nodes.push(state);
    }

    /// Adds a link that leaves a node, in the order of ids.
    pub(super) fn link(&mut self, id: LinkId, from: NodeId, mut whole: Whole) {
        let division = self.division;
        let here = division.home(from);
        let there = self.plan.topology.link(id).map_or(here, |link| division.home(link.to));
        let near = self.place(here, id, from, &whole);
        let far = if there == here { near } else { self.place(there, id, from, &whole) };
        whole.put_near_end(&mut self.partitions[here], near, division.place(from), self.now);
        whole.put_far_end(&mut self.partitions[there], far, self.now);
    }

    /// Adds a port for one end of a link, with nothing in it. Returns its place.
    fn place(&mut self, number: usize, id: LinkId, from: NodeId, whole: &Whole) -> usize {
        let (plan, division) = (self.plan, self.division);
        let link = plan.topology.link(id);
        let partition = &mut self.partitions[number];
        let is_here = division.home(from) == number;
        let there = link.map_or(number, |link| division.home(link.to));
        let is_remote = there != number;
        let cut_through = plan.header.is_some();
        let is_served = is_here && whole.is_served();
        if division.parts() > 1 {
            let part = u32::try_from(there).expect("few partitions");
            partition.far.push((part, division.place_of_link(there, id)));
        }
        let class = *self.classes[number].entry(whole.class).or_insert_with(|| {
            partition.classes.push(whole.class);
            u32::try_from(partition.classes.len() - 1).expect("fewer classes than links")
        });
        partition.ports.push(Port {
            wire: Wire::to(link.map_or(0, |link| division.place(link.to))),
            free_at: Time::ZERO,
            queued: 0,
            stats: LinkStats::default(),
            class,
            reverse: link.map_or(0, |_| division.place_of_link(number, plan.topology.reverse(id))),
            to_port: link.map_or(PortId(0), |link| link.to_port),
            up: whole.state.up,
            is_served,
            is_remote,
            has_ledger: is_here && cut_through && (is_remote || !is_served),
            ends_here: link
                .is_some_and(|link| plan.topology.is_host(link.to) && plan.topology.port_count(link.to) == 1),
            settles_late: is_here && !is_remote && !is_served && !cut_through,
        });
        let state = PortState { free_at: Time::ZERO, paused: Paused::NONE, ..whole.state };
        partition.states.push(state);
        partition.specials.push(None);
        partition.links.push(id);
        if plan.queue_depths {
            partition.depths.push(QueueDepths::default());
        }
        partition.ports.len() - 1
    }

    /// Adds an event, named by the ids of the whole fabric: the start of flows aside, which [`finish`](Self::finish) adds.
    pub(super) fn event(&mut self, event: Event) {
        let (time, kind, id) = (event.time(), event.kind(), event.index());
        let link = || self.plan.topology.link(LinkId(id)).expect("events are about links, not ports");
        let number = match kind {
            Kind::Change | Kind::Discovery => {
                self.partitions.iter_mut().for_each(|partition| partition.events.push(event));
                return;
            }
            Kind::Flow => return,
            Kind::Wake => {
                let node = NodeId(id);
                let event = Event::new(time, kind, self.division.place(node));
                self.partitions[self.division.home(node)].events.push(event);
                return;
            }
            Kind::Arrival | Kind::Tail | Kind::Signal => self.division.home(link().to),
            Kind::Sent | Kind::FlowControl => self.division.home(link().from),
        };
        let place = self.division.place_of_link(number, LinkId(id));
        self.partitions[number].events.push(Event::new(time, kind, place));
    }

    /// The partitions, of which flows that start before `flows_from` have started. The first has all totals so far.
    pub(super) fn finish(mut self, flows_from: Time, totals: Totals) -> Vec<Partition> {
        for (place, flow) in (0..).zip(self.plan.flows.iter()) {
            self.partitions[self.division.home(flow.src)].starting.push(place);
        }
        for partition in &mut self.partitions {
            let start = |&place: &u32| self.plan.flows[place as usize].start;
            partition.next_flow = partition.starting.partition_point(|place| start(place) < flows_from);
            if let Some(next) = partition.starting.get(partition.next_flow) {
                partition.events.push(Event::new(start(next), Kind::Flow, 0));
            }
            let specials = || partition.specials.iter().flatten();
            partition.controls = specials().any(|special| special.has_flow_control());
            partition.inspects = specials().any(|special| special.inspects_arrivals());
        }
        self.partitions[0].totals = totals;
        self.partitions
    }
}

impl NodeState {
    /// A node before the first event.
    fn new(plan: &Plan, id: NodeId, parts: Node) -> Self {
        Self {
            hears_of_departures: parts
                .forwarder
                .as_ref()
                .is_some_and(|forwarder| forwarder.hears_of_departures()),
            wake: parts.host.as_ref().and_then(|host| host.begins()).unwrap_or(Time::NEVER),
            parts,
            id,
            first_link: 0,
            ports: u32::try_from(plan.topology.port_count(id)).expect("ports fit 32 bits"),
            held: Vec::new(),
        }
    }
}

impl Partition {
    /// A partition without nodes and links.
    fn empty(plan: &Plan, division: &Arc<Division>, number: usize, now: Time) -> Self {
        let links = division.links(number).len();
        Self {
            number,
            now,
            header: plan.header,
            events: EventQueue::new(links, now),
            nodes: Vec::new(),
            controls: false,
            inspects: false,
            links: Vec::with_capacity(links),
            specials: Vec::with_capacity(links),
            depths: Vec::new(),
            ports: Vec::with_capacity(links),
            states: Vec::with_capacity(links),
            classes: Vec::new(),
            slab: Slab::default(),
            flows: Arc::clone(&plan.flows),
            starting: Vec::new(),
            next_flow: 0,
            changes: Arc::clone(&plan.changes),
            topology: Arc::clone(&plan.topology),
            division: Arc::clone(division),
            outgoing: (0..division.parts()).map(|_| Vec::new()).collect(),
            first_outgoing: Time::NEVER,
            log: Log::new(plan.forwarded),
            totals: Totals::default(),
            guess: None,
            far: Vec::new(),
            keeps_copies: !plan.changes.is_empty() || plan.header.is_some(),
            freed: Vec::new(),
        }
    }
}
