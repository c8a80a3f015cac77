//! A partition before the first event.

use super::fabric::{Fabric, Outbox, Place};
use super::links::Links;
use super::{Flows, Partition};
use crate::divide::Division;
use crate::events::{Event, EventQueue, Kind};
use crate::failure::Change;
use crate::observer::Log;
use crate::port::PortSetup;
use crate::simulation::{Config, Switching};
use crate::slab::Slab;
use raddle_core::{Flow, LinkId, Node, NodeId, Parts, PortId, Time, Totals};
use raddle_topology::Topology;
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

fn nodes(plan: &Plan<'_>, number: usize, nodes: Vec<(NodeId, Parts)>) -> Vec<Node<Fabric>> {
    let Plan { topology, division, .. } = plan;
    let node = |(index, (id, parts)): (u32, (NodeId, Parts))| {
        let ports = topology.port_count(id);
        let first = || division.place_of_link(number, topology.link_id(id, PortId(0)));
        let first_link = if ports > 0 { first() } else { 0 };
        let ports = u32::try_from(ports).expect("ports fit 32 bits");
        Node::new(parts, Place { id, index, first_link, ports })
    };
    (0..).zip(nodes).map(node).collect()
}

impl Partition {
    /// Partition `number` of a fabric at rest, with the parts of its nodes and the ports of links that leave them.
    pub(crate) fn new(
        plan: &Plan<'_>,
        number: usize,
        parts: Vec<(NodeId, Parts)>,
        setup: impl FnMut(LinkId) -> PortSetup,
    ) -> Self {
        let Plan { topology, division, config, .. } = plan;
        let links = Links::new(plan, number, setup);
        let header = match config.switching {
            Switching::StoreAndForward => None,
            Switching::CutThrough { header } => Some(header),
        };
        let starts_here = |(place, flow): (u32, &Flow)| (division.home(flow.src) == number).then_some(place);
        let starting: Vec<u32> = (0..).zip(plan.flows.iter()).filter_map(starts_here).collect();
        let mut events = EventQueue::new(links.ids.len());
        if let Some(&first) = starting.first() {
            events.push(Event::new(plan.flows[first as usize].start, Kind::Flow, 0));
        }
        for (i, change) in plan.changes.iter().enumerate() {
            let i = u32::try_from(i).expect("fewer than 2^28 changes");
            events.push(Event::new(change.at, Kind::Change, i));
            events.push(Event::new(change.at + change.discovery, Kind::Discovery, i));
        }
        let nodes = nodes(plan, number, parts);
        for node in nodes.iter().filter(|node| node.wake() < Time::NEVER) {
            events.push(Event::new(node.wake(), Kind::Wake, node.place().index));
        }
        let outbox = Outbox {
            mail: (0..division.parts()).map(|_| Vec::new()).collect(),
            first: Time::NEVER,
            keeps_copies: !plan.changes.is_empty() || header.is_some(),
        };
        Self {
            number,
            nodes,
            inspects: links.specials.iter().flatten().any(|special| special.inspects_arrivals()),
            fabric: Fabric {
                now: Time::ZERO,
                header,
                events,
                controls: links.specials.iter().flatten().any(|special| special.has_flow_control()),
                links,
                slab: Slab::default(),
                topology: Arc::clone(topology),
                outbox,
                log: Log::new(plan.forwarded),
                totals: Totals::default(),
            },
            flows: Flows { all: Arc::clone(plan.flows), starting, next: 0 },
            changes: Arc::clone(plan.changes),
            division: Arc::clone(division),
            freed: Vec::new(),
            guess: None,
        }
    }
}
