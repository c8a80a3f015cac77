//! A partition before the first event.

use super::{NodeState, Partition};
use crate::divide::Division;
use crate::events::{Event, EventQueue, Kind};
use crate::failure::Change;
use crate::observer::Log;
use crate::port::{Class, LinkStats, Port, PortSetup, QueueDepths, Special};
use crate::simulation::{Config, Switching};
use crate::slab::Slab;
use crate::totals::Totals;
use crate::wire::Wire;
use raddle_core::{Flow, LinkId, Node, NodeId, Paused, PortId, PortState, Rate, Time};
use raddle_topology::Topology;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The parts of a fabric, and what happens to it.
pub(crate) struct Plan<'a> {
    pub(crate) topology: &'a Arc<Topology>,
    pub(crate) division: &'a Arc<Division>,
    pub(crate) config: &'a Config,
    pub(crate) changes: &'a Arc<[Change]>,
    pub(crate) flows: &'a Arc<[Flow]>,
    pub(crate) forwarded: bool,
}

/// The links of a partition, in the order of their ids.
#[derive(Default)]
struct Links {
    ports: Vec<Port>,
    states: Vec<PortState>,
    specials: Vec<Option<Box<Special>>>,
    classes: Vec<Class>,
    far: Vec<(u32, u32)>,
}

impl Links {
    fn new(plan: &Plan<'_>, number: usize, mut setup: impl FnMut(LinkId) -> PortSetup) -> Self {
        let Plan { topology, division, config, .. } = plan;
        let cut_through = matches!(config.switching, Switching::CutThrough { .. });
        let mut all = Self::default();
        let mut known = FxHashMap::default();
        for &(id, from) in division.links(number) {
            let link = topology.link(id);
            let is_here = division.home(from) == number;
            let setup = if is_here { setup(id) } else { PortSetup::default() };
            let class = Class::new(link, topology.link_layer(), &setup);
            let mut special = Special::new(link.map_or(0, |link| division.place(link.from)), setup, &class);
            let is_served = special.is_some();
            let there = link.map_or(number, |link| division.home(link.to));
            if there == number
                && let noise @ Some(_) = link.and_then(|_| config.errors.on(id))
            {
                special.get_or_insert_default().noise = noise;
            }
            let is_remote = there != number;
            if division.parts() > 1 {
                let part = u32::try_from(there).expect("few partitions");
                all.far.push((part, division.place_of_link(there, id)));
            }
            let index = *known.entry(class).or_insert_with(|| {
                all.classes.push(class);
                u32::try_from(all.classes.len() - 1).expect("fewer classes than links")
            });
            all.ports.push(Port {
                wire: Wire::to(link.map_or(0, |link| division.place(link.to))),
                free_at: Time::ZERO,
                queued: 0,
                stats: LinkStats::default(),
                class: index,
                reverse: link.map_or(0, |_| division.place_of_link(number, topology.reverse(id))),
                to_port: link.map_or(PortId(0), |link| link.to_port),
                up: link.is_some(),
                is_served,
                is_remote,
                has_ledger: is_here && cut_through && (is_remote || !is_served),
                ends_here: link
                    .is_some_and(|link| topology.is_host(link.to) && topology.port_count(link.to) == 1),
                settles_late: is_here && !is_remote && !is_served && !cut_through,
            });
            all.specials.push(special);
            all.states.push(PortState {
                free_at: Time::ZERO,
                rate: link.map_or(Rate::ZERO, |link| link.rate),
                up: link.is_some(),
                paused: Paused::NONE,
            });
        }
        all
    }
}

fn hears_of_departures(parts: &Node) -> bool {
    parts.forwarder.as_ref().is_some_and(|forwarder| forwarder.hears_of_departures())
}

fn node_states(plan: &Plan<'_>, number: usize, nodes: Vec<(NodeId, Node)>) -> Vec<NodeState> {
    let Plan { topology, division, .. } = plan;
    let state = |(id, parts): (NodeId, Node)| {
        let ports = topology.port_count(id);
        let first = || division.place_of_link(number, topology.link_id(id, PortId(0)));
        let begins = parts.host.as_ref().and_then(|host| host.begins()).unwrap_or(Time::NEVER);
        NodeState {
            hears_of_departures: hears_of_departures(&parts),
            parts,
            id,
            first_link: if ports > 0 { first() } else { 0 },
            ports: u32::try_from(ports).expect("ports fit 32 bits"),
            wake: begins,
            held: Vec::new(),
        }
    };
    nodes.into_iter().map(state).collect()
}

impl Partition {
    /// Partition `number` of a fabric at rest, with the parts of its nodes and the ports of links that leave them.
    pub(crate) fn new(
        plan: &Plan<'_>,
        number: usize,
        nodes: Vec<(NodeId, Node)>,
        setup: impl FnMut(LinkId) -> PortSetup,
    ) -> Self {
        let Plan { topology, division, config, .. } = plan;
        let Links { ports, states, specials, classes, far } = Links::new(plan, number, setup);
        let header = match config.switching {
            Switching::StoreAndForward => None,
            Switching::CutThrough { header } => Some(header),
        };
        let starts_here = |(place, flow): (u32, &Flow)| (division.home(flow.src) == number).then_some(place);
        let starting: Vec<u32> = (0..).zip(plan.flows.iter()).filter_map(starts_here).collect();
        let mut events = EventQueue::new(ports.len());
        if let Some(&first) = starting.first() {
            events.push(Event::new(plan.flows[first as usize].start, Kind::Flow, 0));
        }
        for (i, change) in plan.changes.iter().enumerate() {
            let i = u32::try_from(i).expect("fewer than 2^28 changes");
            events.push(Event::new(change.at, Kind::Change, i));
            events.push(Event::new(change.at + change.discovery, Kind::Discovery, i));
        }
        let nodes = node_states(plan, number, nodes);
        for (place, node) in (0..).zip(&nodes) {
            if node.wake < Time::NEVER {
                events.push(Event::new(node.wake, Kind::Wake, place));
            }
        }
        Self {
            number,
            now: Time::ZERO,
            header,
            events,
            nodes,
            controls: specials.iter().flatten().any(|special| special.has_flow_control()),
            inspects: specials.iter().flatten().any(|special| special.inspects_arrivals()),
            links: division.links(number).iter().map(|&(id, _)| id).collect(),
            specials,
            depths: vec![QueueDepths::default(); if config.queue_depths { ports.len() } else { 0 }],
            ports,
            states,
            classes,
            slab: Slab::default(),
            flows: Arc::clone(plan.flows),
            starting,
            next_flow: 0,
            changes: Arc::clone(plan.changes),
            topology: Arc::clone(topology),
            division: Arc::clone(division),
            outgoing: (0..division.parts()).map(|_| Vec::new()).collect(),
            first_outgoing: Time::NEVER,
            log: Log::new(plan.forwarded),
            totals: Totals::default(),
            guess: None,
            far,
            keeps_copies: !plan.changes.is_empty() || header.is_some(),
            freed: Vec::new(),
        }
    }
}
