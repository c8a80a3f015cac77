//! Builds partitions: for a fabric at rest, or for a running fabric that is divided in another way.

use super::Partition;
use super::fabric::{Fabric, Outbox, Place};
use super::links::Links;
use super::whole::Whole;
use crate::divide::Division;
use crate::events::{Event, EventQueue, Kind};
use crate::observer::Log;
use crate::port::{Class, Port, PortSetup, QueueDepths};
use crate::slab::Slab;
use crate::wire::Wire;
use raddle_core::{
    Change, Flows, LinkErrors, LinkId, LinkStats, Node, NodeId, Parts, PortId, Queued, Time, Totals,
};
use raddle_topology::Topology;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A fabric, its failures and its flows, independent of the division.
pub(crate) struct Plan {
    pub(crate) topology: Arc<Topology>,
    /// Under cut-through, the number of bytes that a node needs before it forwards a packet. `None` for
    /// store-and-forward.
    pub(crate) header: Option<u32>,
    pub(crate) queue_depths: bool,
    pub(crate) changes: Arc<[Change]>,
    pub(crate) flows: Flows,
    /// True if the observer is told of forwarded packets.
    pub(crate) forwarded: bool,
}

/// Builds the partitions of a fabric at rest, before its first flow. Returns `None` if `go_on` returns false.
pub(crate) fn at_rest(
    plan: &Plan,
    division: &Arc<Division>,
    errors: &LinkErrors,
    mut parts: impl FnMut(NodeId) -> Parts,
    mut setup: impl FnMut(LinkId) -> PortSetup,
    mut go_on: impl FnMut() -> bool,
) -> Option<Vec<Partition>> {
    let mut assembly = Assembly::new(plan, division, Time::ZERO);
    let mut nodes_discover = false;
    for id in plan.topology.nodes() {
        if !go_on() {
            return None;
        }
        let node = Node::new(parts(id), assembly.place_of(id));
        if node.wake() < Time::NEVER {
            assembly.event(Event::new(node.wake(), Kind::Wake, id.0));
        }
        if node.tick() < Time::NEVER {
            assembly.event(Event::new(node.tick(), Kind::Tick, id.0));
        }
        nodes_discover |= node.discovery().is_some();
        assembly.node(node);
    }
    for from in plan.topology.nodes() {
        if !go_on() {
            return None;
        }
        for port in (0..plan.topology.port_count(from)).map(PortId::of) {
            let id = plan.topology.link_id(from, port);
            assembly.link(id, from, Whole::at_rest(plan, errors, id, setup(id)));
        }
    }
    for (i, change) in (0..).zip(plan.changes.iter()) {
        assembly.event(Event::new(change.at, Kind::Change, i));
        if !nodes_discover {
            assembly.event(Event::new(change.at + change.discovery, Kind::Discovery, i));
        }
    }
    Some(assembly.finish(&plan.flows.queue(), Totals::default()))
}

/// Partitions under construction.
pub(super) struct Assembly<'a> {
    plan: &'a Plan,
    division: &'a Division,
    now: Time,
    partitions: Vec<Partition>,
    /// For each partition, the index of each class of links.
    classes: Vec<FxHashMap<Class, u32>>,
}

impl<'a> Assembly<'a> {
    /// Creates partitions without nodes and links at time `now`. All events before `now` have happened.
    pub(super) fn new(plan: &'a Plan, division: &'a Arc<Division>, now: Time) -> Self {
        let partitions = (0..division.parts()).map(|number| Partition::empty(plan, division, number, now));
        let classes = (0..division.parts()).map(|_| FxHashMap::default()).collect();
        Self { plan, division, now, partitions: partitions.collect(), classes }
    }

    /// Returns a node's id, its index in its partition, and its ports.
    pub(super) fn place_of(&self, id: NodeId) -> Place {
        let Plan { topology, .. } = self.plan;
        let ports = u32::try_from(topology.port_count(id)).expect("the number of ports must fit 32 bits");
        let first = || self.division.place_of_link(self.division.home(id), topology.link_id(id, PortId(0)));
        let first_link = if ports > 0 { first() } else { 0 };
        Place { id, index: self.division.place(id), first_link, ports }
    }

    /// The memory for packets in the partition of a node.
    pub(super) fn slab(&mut self, node: NodeId) -> &mut Slab {
        &mut self.partitions[self.division.home(node)].fabric.slab
    }

    /// Adds a node. Nodes must be added in the order of their ids.
    pub(super) fn node(&mut self, node: Node<Fabric>) {
        self.partitions[self.division.home(node.place().id)].nodes.push(node);
    }

    /// Adds a link that starts at the node `from`. Links must be added in the order of their ids.
    pub(super) fn link(&mut self, id: LinkId, from: NodeId, mut whole: Whole) {
        let division = self.division;
        let here = division.home(from);
        let there = self.plan.topology.link(id).map_or(here, |link| division.home(link.to));
        let near = self.place(here, id, from, &whole);
        let far = if there == here { near } else { self.place(there, id, from, &whole) };
        whole.put_near_end(&mut self.partitions[here].fabric, near, division.place(from), self.now);
        whole.put_far_end(&mut self.partitions[there].fabric, far, self.now);
    }

    /// Adds an empty port for one end of a link. Returns the port's index in the partition.
    fn place(&mut self, number: usize, id: LinkId, from: NodeId, whole: &Whole) -> usize {
        let (plan, division) = (self.plan, self.division);
        let link = plan.topology.link(id);
        let links = &mut self.partitions[number].fabric.links;
        let is_here = division.home(from) == number;
        let there = link.map_or(number, |link| division.home(link.to));
        let is_remote = there != number;
        let cut_through = plan.header.is_some();
        let is_served = is_here && whole.is_served();
        if division.parts() > 1 {
            let part = u32::try_from(there).expect("the number of partitions must fit a `u32`");
            links.far.push((part, division.place_of_link(there, id)));
        }
        let class = *self.classes[number].entry(whole.class).or_insert_with(|| {
            links.classes.push(whole.class);
            u32::try_from(links.classes.len() - 1).expect("the number of link classes must fit a `u32`")
        });
        links.ports.push(Port {
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
        links.states.push(whole.state);
        links.specials.push(None);
        links.ids.push(id);
        if plan.queue_depths {
            links.depths.push(QueueDepths::default());
        }
        links.ports.len() - 1
    }

    /// Adds an event, whose index is an id of the whole fabric. Starts of flows are ignored, because
    /// [`finish`](Self::finish) adds them.
    pub(super) fn event(&mut self, event: Event) {
        let (time, kind, id) = (event.time(), event.kind(), event.index());
        let link = || self.plan.topology.link(LinkId(id)).expect("the port of an event must have a link");
        let number = match kind {
            Kind::Change | Kind::Discovery => {
                self.partitions.iter_mut().for_each(|partition| partition.fabric.events.push(event));
                return;
            }
            Kind::Flow => return,
            Kind::Wake | Kind::Tick => {
                let node = NodeId(id);
                let event = Event::new(time, kind, self.division.place(node));
                self.partitions[self.division.home(node)].fabric.events.push(event);
                return;
            }
            Kind::Arrival | Kind::Tail | Kind::Credit => self.division.home(link().to),
            Kind::Sent | Kind::FlowControl | Kind::PortTick => self.division.home(link().from),
        };
        let place = self.division.place_of_link(number, LinkId(id));
        self.partitions[number].fabric.events.push(Event::new(time, kind, place));
    }

    /// Returns the partitions. `flows` are the flows that have not started. The first partition gets `totals`.
    pub(super) fn finish(mut self, flows: &Queued, totals: Totals) -> Vec<Partition> {
        for partition in &mut self.partitions {
            partition.flows = flows.clone();
            partition.pass_over_flows();
            let Partition { flows, fabric, inspects, .. } = partition;
            if let Some(next) = flows.peek() {
                fabric.events.push(Event::new(next.start, Kind::Flow, 0));
            }
            let specials = || fabric.links.specials.iter().flatten();
            *inspects = specials().any(|special| special.inspects_arrivals());
            fabric.controls = specials().any(|special| special.has_flow_control());
        }
        self.partitions[0].fabric.totals = totals;
        self.partitions
    }
}

impl Partition {
    /// A partition without nodes and links.
    fn empty(plan: &Plan, division: &Arc<Division>, number: usize, now: Time) -> Self {
        let links = division.links(number).len();
        let outbox = Outbox {
            mail: (0..division.parts()).map(|_| Vec::new()).collect(),
            first: Time::NEVER,
            keeps_copies: !plan.changes.is_empty() || plan.header.is_some(),
        };
        Self {
            number,
            nodes: Vec::new(),
            fabric: Fabric {
                now,
                header: plan.header,
                events: EventQueue::new(links, now),
                links: Links::with_capacity(links),
                slab: Slab::default(),
                topology: Arc::clone(&plan.topology),
                outbox,
                controls: false,
                log: Log::new(plan.forwarded),
                totals: Totals::default(),
            },
            flows: plan.flows.queue(),
            changes: Arc::clone(&plan.changes),
            division: Arc::clone(division),
            inspects: false,
            freed: Vec::new(),
            guess: None,
        }
    }
}
