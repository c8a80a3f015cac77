//! A part of the fabric with its own clock and event queue. It processes events in order and passes packets along the
//! pipeline of each node. A run on one thread has one partition.
//!
//! A partition holds its nodes, the links that start at these nodes, and the far ends of links from other partitions.
//! Nodes and links have an index in their partition, in the order of their ids. Ties between events are therefore
//! resolved in the same order for every division of the fabric.

mod errors;
mod fabric;
mod failures;
mod flow_control;
mod foresight;
mod links;
mod served;
mod setup;
mod transmit;
mod whole;

pub(crate) use links::BYTES_A_LINK;
pub(crate) use setup::{Plan, at_rest};
pub(crate) use whole::regroup;

use crate::divide::Division;
use crate::events::{Event, Kind};
use crate::mail::{Content, Mail};
use crate::observer::Heard;
use crate::port::{Coming, Leaving, QueueDepths};
use crate::slab::NOWHERE;
use crate::wire::Travelling;
use fabric::Fabric;
use raddle_core::{Change, Class, HoldKey, LinkId, LinkStats, Node, NodeId, Queued, Time, Totals};
use std::sync::Arc;

/// Bytes of memory for a node, without the node's parts.
pub(crate) const BYTES_A_NODE: usize = size_of::<Node<Fabric>>();

pub(crate) struct Partition {
    /// The partition's number.
    pub(crate) number: usize,
    pub(crate) nodes: Vec<Node<Fabric>>,
    fabric: Fabric,
    /// The next flow that starts in this partition, and all flows after it in any partition.
    flows: Queued,
    changes: Arc<[Change]>,
    division: Arc<Division>,
    /// True if a port of this partition has an agent, or if a link loses or damages packets at random.
    inspects: bool,
    /// Buffer for the keys of held packets that simultaneous credits free. It is kept between calls to save
    /// allocations.
    freed: Vec<HoldKey>,
    /// The link by which the packet of a later event will probably leave. The link's list of packets is prefetched when
    /// the next event is processed.
    guess: Option<u32>,
}

impl Partition {
    /// Processes at most `most` events before `end`. Returns true if it found no further event before `end`, and false
    /// after `most` events.
    pub(crate) fn run(&mut self, end: Time, most: u64) -> bool {
        for _ in 0..most {
            if self.fabric.events.turn(end) {
                self.foresee_bucket();
            }
            let Some(event) = self.fabric.events.pop_before(end) else { return true };
            self.foresee_next();
            debug_assert!(
                event.time() >= self.fabric.now,
                "an event must not be earlier than the present time"
            );
            self.fabric.now = event.time();
            self.fabric.log.event = event;
            self.fabric.totals.events += 1;
            self.take(event);
        }
        false
    }

    /// The time of the latest processed event.
    pub(crate) fn now(&self) -> Time {
        self.fabric.now
    }

    /// This partition's totals up to now.
    pub(crate) fn totals(&self) -> &Totals {
        &self.fabric.totals
    }

    /// Returns the earlier of two times: the time of the next event in this partition, and the earliest arrival of mail
    /// for other partitions. The mail consists of packets and credits that were sent since the previous call.
    pub(crate) fn next_event(&mut self) -> Time {
        let elsewhere = std::mem::replace(&mut self.fabric.outbox.first, Time::NEVER);
        self.fabric.events.next_time().unwrap_or(Time::NEVER).min(elsewhere)
    }

    /// True if all nodes are at rest and no packet moves in this partition. The only pending events are then ticks (of
    /// topology discovery and port agents) and outdated wake-ups.
    pub(crate) fn is_still(&self) -> bool {
        let is_idle = |event: Event| matches!(event.kind(), Kind::Tick | Kind::Wake | Kind::PortTick);
        self.fabric.events.all().all(is_idle) && self.nodes.iter().all(Node::is_at_rest)
    }

    /// True if the topology discovery of a node in this partition has learned of a change of a link. False if nodes
    /// have no topology discovery.
    pub(crate) fn has_discovered(&self) -> bool {
        let discoveries = self.nodes.iter().filter_map(Node::discovery);
        discoveries.into_iter().any(|discovery| discovery.changed_at() > Time::ZERO)
    }

    /// The recorded calls to the event queue since the previous call of this function. The first call returns the calls
    /// since the start of the run.
    #[cfg(feature = "event-trace")]
    pub(crate) fn take_event_trace(&mut self) -> Vec<crate::event_trace::Step> {
        self.fabric.events.trace.replace(Vec::new()).unwrap_or_default()
    }

    /// Number of packets that are now inside this part of the fabric.
    pub(crate) fn packets_inside(&self) -> usize {
        let Fabric { links, slab, outbox, .. } = &self.fabric;
        let remote = links.ports.iter().zip(&links.specials);
        let remote = remote.filter(|(port, _)| port.is_remote && outbox.keeps_copies);
        let is_copy = |leaving: &&Leaving| leaving.slot != NOWHERE;
        let copies = remote.map(|(port, special)| {
            let ledger = special.iter().flat_map(|special| &special.ledger);
            port.wire.len() + ledger.filter(is_copy).count()
        });
        slab.live() - copies.sum::<usize>()
    }

    /// Peak number of packets in this partition's memory, including copies of packets for other partitions.
    pub(crate) fn peak_packets_inside(&self) -> usize {
        self.fabric.slab.peak()
    }

    /// The outgoing mail, one list for each partition.
    pub(crate) fn outgoing(&mut self) -> impl Iterator<Item = &mut Vec<Mail>> {
        self.fabric.outbox.mail.iter_mut()
    }

    /// Receives a packet or a credit from another partition.
    pub(crate) fn receive(&mut self, Mail { link, arrives, content }: Mail) {
        let fabric = &mut self.fabric;
        match content {
            Content::Packet { tail, packet } => {
                let size = packet.size;
                let slot = fabric.slab.insert(packet);
                if fabric.header.is_some() {
                    fabric.slab.set_tail(slot, tail);
                }
                fabric.travel(link, Travelling { arrives, slot, size });
            }
            Content::Credit(credit) => fabric.credit_travels(link as usize, arrives, credit),
        }
    }

    /// True if there are log entries for the observer.
    pub(crate) fn has_heard(&self) -> bool {
        !self.fabric.log.is_empty()
    }

    /// Moves the log entries to the end of `all`. The events of these entries then have ids of the whole fabric.
    pub(crate) fn drain_log(&mut self, all: &mut Vec<(Event, u64, Heard)>) {
        let mut log = std::mem::take(&mut self.fabric.log);
        log.drain_into(all, |event| self.name(event));
        self.fabric.log = log;
    }

    /// Returns the event with an id of the whole fabric instead of an index in this partition.
    fn name(&self, event: Event) -> Event {
        let index = event.index();
        let id = match event.kind() {
            Kind::Arrival | Kind::Tail | Kind::Sent | Kind::Credit | Kind::FlowControl | Kind::PortTick => {
                self.fabric.links.ids[index as usize].0
            }
            Kind::Wake | Kind::Tick => self.nodes[index as usize].place().id.0,
            Kind::Flow | Kind::Change | Kind::Discovery => index,
        };
        Event::new(event.time(), event.kind(), id)
    }

    fn is_here(&self, node: NodeId) -> bool {
        self.division.home(node) == self.number
    }

    /// Statistics of each link of this partition.
    pub(crate) fn link_stats(&self) -> impl Iterator<Item = (LinkId, &LinkStats)> {
        let links = &self.fabric.links;
        links.ids.iter().copied().zip(links.ports.iter().map(|port| &port.stats))
    }

    /// Histograms of the ports' queue lengths, if the configuration asks for them.
    pub(crate) fn queue_depths(&self) -> impl Iterator<Item = (LinkId, &QueueDepths)> {
        let Fabric { links, topology, .. } = &self.fabric;
        let is_here =
            |&(link, _): &(LinkId, _)| topology.link(link).is_some_and(|link| self.is_here(link.from));
        links.ids.iter().copied().zip(&links.depths).filter(is_here)
    }

    fn take(&mut self, event: Event) {
        let index = event.index();
        match event.kind() {
            Kind::Arrival => self.arrival(index, event.time()),
            Kind::Tail => self.enough_has_come(index),
            Kind::Sent => self.transmission_ends(index),
            Kind::Credit => self.credits_arrive(index),
            Kind::FlowControl => self.flow_control_wakes(index),
            Kind::PortTick => self.port_ticks(index),
            Kind::Tick => self.nodes[index as usize].ticked(&mut self.fabric),
            Kind::Wake => self.nodes[index as usize].woken(&mut self.fabric),
            Kind::Flow => self.start_flows(),
            Kind::Change | Kind::Discovery => {
                // Every partition processes such an event, but only the first partition counts it.
                self.fabric.totals.events -= u64::from(self.number > 0);
                if event.kind() == Kind::Change {
                    self.change(index as usize);
                } else {
                    self.discover(index as usize);
                }
            }
        }
    }

    /// A link's next packet arrives at the far end.
    fn arrival(&mut self, link: u32, at: Time) {
        let fabric = &mut self.fabric;
        let port = &mut fabric.links.ports[link as usize];
        if port.wire.front().is_none_or(|head| head.arrives != at) {
            return; // the link has failed since the event was scheduled
        }
        let Some((travelled, unknown)) = port.wire.pop_front() else { return };
        if let Some(head) = port.wire.front() {
            fabric.events.push(Event::new(head.arrives, Kind::Arrival, link));
        }
        if unknown && port.settles_late {
            port.queued -= u64::from(travelled.size);
        }
        let (node, in_port, reverse) = (port.wire.to_node as usize, port.to_port, port.reverse);
        if self.inspects && !self.inspect(link, reverse, travelled.slot) {
            return;
        }
        let Self { nodes, fabric, .. } = self;
        let node = &mut nodes[node];
        fabric.totals.packet_hops += 1;
        if fabric.controls
            && fabric.slab.get(travelled.slot).class() == Class::CONTROL
            && fabric.heed(node, reverse, travelled.slot)
        {
            return;
        }
        node.arrived(fabric, travelled.slot, in_port);
    }

    /// Processes an arriving packet when enough of its bits have arrived to forward or deliver the packet.
    fn enough_has_come(&mut self, link: u32) {
        let Self { nodes, fabric, .. } = self;
        let now = fabric.now;
        // If the time differs, the link has failed since the event was scheduled.
        let special = fabric.links.specials[link as usize].as_mut();
        let Some(Coming { slot, out, .. }) =
            special.and_then(|special| special.coming.take_if(|coming| coming.until == now))
        else {
            return;
        };
        let port = &fabric.links.ports[link as usize];
        let (node, arrival) = (&mut nodes[port.wire.to_node as usize], Some(port.to_port));
        let due = match out {
            Some(out) => fabric.accept(node, slot, arrival, out),
            None => {
                node.deliver(fabric, slot, arrival);
                true
            }
        };
        if due {
            node.poll(fabric);
        }
    }

    fn start_flows(&mut self) {
        // Each flow counts as one event, even if several flows start at once in one partition.
        self.fabric.totals.events -= 1;
        while let Some(flow) = self.flows.take_started(self.fabric.now) {
            self.pass_over_flows();
            let Self { nodes, fabric, division, .. } = self;
            fabric.totals.events += 1;
            fabric.log.step = flow.id.0.into();
            nodes[division.place(flow.src) as usize].start(fabric, &flow);
        }
        let fabric = &mut self.fabric;
        fabric.log.step = 0;
        if let Some(next) = self.flows.peek() {
            fabric.events.push(Event::new(next.start, Kind::Flow, 0));
        }
    }

    /// Skips the next flows, up to the first that starts in this partition.
    fn pass_over_flows(&mut self) {
        let Self { flows, division, number, .. } = self;
        if division.parts() > 1 {
            while flows.take_if(|flow| division.home(flow.src) != *number).is_some() {}
        }
    }
}
