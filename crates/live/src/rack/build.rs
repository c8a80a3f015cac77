//! Construction of a polling thread: its nodes, the link ends at its nodes, and its slots.

use super::clock::Clock;
use super::events::{Event, Events};
use super::fabric::{Fabric, Outgoing, Place};
use super::failures::Trouble;
use super::fidelity::Meter;
use super::layout::Layout;
use super::orders::Ordered;
use super::pool::FreeList;
use super::ring::{Consumer, Producer};
use super::shared::Region;
use super::told::{Teller, Word};
use super::worker::{Incoming, Worker};
use super::{Config, FILLS_FROM};
use raddle_core::{
    Bytes, Duration, Flow, LinkId, LinkStats, Node, NodeId, Parts, PortId, PortState, Rate, Time, Totals,
};
use raddle_topology::{Link, Topology};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// The data from which the polling threads of a process are built.
pub(super) struct Build<'a> {
    pub(super) topology: &'a Arc<Topology>,
    pub(super) config: &'a Config,
    pub(super) flows: &'a [Flow],
    pub(super) layout: &'a Layout,
    pub(super) region: &'a Arc<Region>,
    pub(super) clock: Clock,
    pub(super) words: Sender<Word>,
    /// True if other processes also run threads of the rack.
    pub(super) is_shared: bool,
}

impl Build<'_> {
    /// Serialization delay of a full packet on a link.
    fn packet_time(&self, link: &Link) -> Duration {
        link.rate.time_for(Bytes(self.config.packet_bytes as u64))
    }

    /// Serialization delay of a full packet on the slowest link.
    pub(super) fn longest_packet_time(&self) -> Duration {
        self.topology.links().map(|(_, link)| self.packet_time(link)).max().unwrap_or(Duration::ZERO)
    }

    /// Creates the polling thread with this index. `parts` returns the parts of a node.
    pub(super) fn worker(&self, thread: usize, parts: &mut impl FnMut(NodeId) -> Parts) -> Worker {
        let node = |id: NodeId| {
            let first_link = self.topology.link_id(id, PortId(0)).index();
            Node::new(parts(id), Place { id, first_link, ports: self.topology.port_count(id) })
        };
        let nodes: Vec<Node<Fabric>> = self.layout.nodes_of(thread).map(node).collect();
        let flows = self.flows.iter().filter(|flow| self.layout.thread_of(flow.src) == thread);
        let flows: VecDeque<Flow> = flows.copied().collect();
        let incoming = self.incoming(thread);
        Worker {
            first: self.layout.nodes_of(thread).next().unwrap_or(NodeId(0)),
            fabric: self.fabric(thread, &nodes, &flows, &incoming),
            times: vec![Time::ZERO; nodes.len()],
            nodes,
            incoming,
            flows,
            ordered: Ordered::default(),
            time_limit: self.config.time_limit.unwrap_or(Time::NEVER),
            packet_time: self.longest_packet_time(),
            crossing: None,
        }
    }

    /// The links that end at a thread's nodes. Links from other threads that share this memory come first. Links from
    /// other machines are not among these first links, because the thread itself fills the rings of such links.
    fn incoming(&self, thread: usize) -> Vec<Incoming> {
        let mut incoming = Vec::new();
        for (i, (link, end)) in self.topology.links().enumerate() {
            if self.layout.thread_of(end.to) == thread {
                incoming.push(Incoming {
                    ring: Consumer::new(self.layout.link(self.region, i)),
                    link,
                    to: end.to,
                    port: end.to_port,
                    patience: self.packet_time(end) * 4,
                    is_remote: self.layout.thread_of(end.from) != thread
                        && !self.layout.is_elsewhere(end.from),
                    tag: 0,
                    plain: Some(0),
                    failures: Vec::new(),
                    is_from_queue: false,
                });
            }
        }
        incoming.sort_by_key(|incoming| !incoming.is_remote);
        incoming
    }

    /// Indexed by [`LinkId`]: the sending end of each link that begins at one of the thread's nodes. `None` for other
    /// links.
    fn outgoing(&self, thread: usize, incoming: &[Incoming]) -> Vec<Option<Outgoing>> {
        let mut out: Vec<Option<Outgoing>> = (0..self.topology.link_slots()).map(|_| None).collect();
        for (i, (link, end)) in self.topology.links().enumerate() {
            if self.layout.thread_of(end.from) == thread {
                let incoming = incoming.iter().position(|incoming| incoming.link == link);
                let ring = Producer::new(self.layout.link(self.region, i));
                out[link.index()] =
                    Some(Outgoing { ring, delay: end.delay, incoming, tag: 0, holds_back: false });
            }
        }
        out
    }

    /// Indexed by [`LinkId`]: the state of each port. The limit of a port, in bytes, is half the capacity of its ring
    /// times the maximum packet size.
    fn ports(&self) -> Vec<PortState> {
        let most = Bytes((self.config.ring / 2 * self.config.packet_bytes) as u64);
        let idle = |id| {
            let rate = self.topology.link(LinkId::of(id)).map_or(Rate::ZERO, |link| link.rate);
            PortState::idle(rate).limited(most)
        };
        (0..self.topology.link_slots()).map(idle).collect()
    }

    fn fabric(
        &self,
        thread: usize,
        nodes: &[Node<Fabric>],
        flows: &VecDeque<Flow>,
        incoming: &[Incoming],
    ) -> Fabric {
        let Self { topology, config, layout, region, .. } = *self;
        let wakes = nodes.iter().map(|node| (node.wake(), Event::Wake(node.place().id)));
        let ticks = nodes.iter().map(|node| (node.tick(), Event::Tick(node.place().id)));
        let flows_begin = flows.front().map(|flow| (flow.start, Event::Flows));
        let mut events = Events::default();
        events.extend(wakes.chain(ticks).chain(flows_begin).filter(|&(at, _)| at < Time::NEVER));
        let others = |to: &usize| *to != thread;
        Fabric {
            clock: self.clock.clone(),
            now: Time::ZERO,
            ports: self.ports(),
            stats: vec![LinkStats::default(); topology.link_slots()],
            topology: Arc::clone(topology),
            out: self.outgoing(thread, incoming),
            free: FreeList::new(layout.slots_of(thread)),
            returns: layout
                .sharers()
                .map(|to| (to != thread).then(|| Producer::new(layout.returning(region, thread, to))))
                .collect(),
            returned: layout
                .sharers()
                .filter(others)
                .map(|from| Consumer::new(layout.returning(region, from, thread)))
                .collect(),
            slots: layout.slots(region),
            decoders: config.decoders.clone(),
            buffer: Vec::new(),
            body: Vec::new(),
            streams: None,
            interfaces: None,
            wakes: nodes.iter().filter(|node| node.wake() < Time::NEVER).count(),
            events,
            totals: Totals::default(),
            teller: Teller { words: self.words.clone(), of_packets: false, is_shared: self.is_shared },
            meter: Meter::new(),
            fills: config.dilation >= FILLS_FROM,
            copies_at_hops: config.copies,
            copies: 0,
            put: 0,
            taken: 0,
            is_expected: vec![false; incoming.len()],
            held_back: 0,
            trouble: Trouble::default(),
            hellos: [0; 2],
            served: Vec::new(),
            fifos: Vec::new(),
        }
    }
}
