//! Maze's rack: virtual nodes that move real bytes in real time (Costa et al., SIGCOMM 2015, §4.1; specs/live.md).
//!
//! Nodes are those of the simulators. A link is a ring of slot numbers in shared memory, and bytes stay in their slot from the
//! node that sends them to the node that they are for. Each packet carries when it is due at the next node: the begin of its
//! transmission, the time that its bytes take, and the link's delay. A node computes from due times, not from the clock, so
//! that lateness does not add up over hops; where a packet comes later than four packet times, the clock counts, and the
//! packet has slipped. [`Fidelity`] says how often, and whether the run's results are those of the fabric.

mod clock;
mod fabric;
mod fidelity;
mod payload;
mod pool;
mod ring;
mod shared;
mod sync;

pub use fidelity::{Fidelity, Verdict};
pub use shared::NoMemory;

use clock::Clock;
use fabric::{Fabric, Inside, Outgoing, Place};
use fidelity::Meter;
use pool::{FreeList, Slots};
use raddle_core::{
    Application, Decoders, Duration, Flow, Host, LinkId, LinkStats, Node, NodeId, Observer, Parts, PortId,
    PortState, Rate, Time, Totals,
};
use raddle_topology::Topology;
use ring::{Consumer, Entry, Producer};
use shared::{Region, Words};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;

/// How a rack runs.
#[derive(Debug, Clone)]
pub struct Config {
    /// Real time over virtual time, at least 1.
    pub dilation: u32,
    /// Most bytes of a packet.
    pub packet_bytes: usize,
    /// Slots for packets; more of them at once are lost.
    pub slots: u32,
    /// Packets that a link holds, waiting and under way; a power of two.
    pub ring: usize,
    /// The headers that nodes can read.
    pub decoders: Decoders,
    /// When to stop, if flows are left.
    pub time_limit: Option<Time>,
}

impl Default for Config {
    /// Real time, packets of up to 9 KB, 16,384 slots, 1,024 packets a link.
    fn default() -> Self {
        Self {
            dilation: 1,
            packet_bytes: 9_216,
            slots: 1 << 14,
            ring: 1 << 10,
            decoders: Decoders::BUILTIN,
            time_limit: None,
        }
    }
}

/// From this dilation on all bytes of payloads are written and checked; below, the first cache line.
const FILLS_FROM: u32 = 4;

/// The receiving end of a link.
struct Incoming {
    ring: Consumer<Words>,
    link: LinkId,
    to: NodeId,
    port: PortId,
    /// Lateness beyond which a packet slips: four times what a full packet takes on the link.
    patience: Duration,
}

/// A rack, all of whose nodes are run by one thread.
pub struct Rack<O: Observer> {
    nodes: Vec<Node<Fabric<O>>>,
    incoming: Vec<Incoming>,
    flows: VecDeque<Flow>,
    all_flows: u64,
    fabric: Fabric<O>,
    time_limit: Time,
    /// What a full packet takes on the slowest link.
    packet_time: Duration,
}

impl<O: Observer> Rack<O> {
    /// A rack at rest, before its first flow.
    ///
    /// # Errors
    /// If the system has no such memory to share.
    ///
    /// # Panics
    /// If the flows are not in order of start, and of id among those that start together, or the configuration cannot be.
    pub fn new(
        topology: &Arc<Topology>,
        mut parts: impl FnMut(NodeId) -> Parts,
        flows: Vec<Flow>,
        config: Config,
        observer: O,
    ) -> Result<Self, NoMemory> {
        assert!(flows.is_sorted_by_key(|flow| (flow.start, flow.id)), "flows come in order of start");
        let links: Vec<_> = topology.links().collect();
        let (words_of_ring, words_of_slots) =
            (ring::words(config.ring).next_multiple_of(8), pool::words(config.slots, config.packet_bytes));
        let region = Region::new(words_of_slots + links.len() * words_of_ring)?;
        let slots = Slots::new(region.words(0..words_of_slots), config.packet_bytes);
        let ring = |i: usize| {
            let begin = words_of_slots + i * words_of_ring;
            region.words(begin..begin + ring::words(config.ring))
        };
        let mut out: Vec<Option<Outgoing>> = (0..topology.link_slots()).map(|_| None).collect();
        let mut incoming = Vec::with_capacity(links.len());
        let mut packet_time = Duration::ZERO;
        for (i, &(link, end)) in links.iter().enumerate() {
            out[link.index()] = Some(Outgoing { ring: Producer::new(ring(i)), delay: end.delay });
            let time = end.rate.time_for(raddle_core::Bytes(config.packet_bytes as u64));
            packet_time = packet_time.max(time);
            let (ring, patience) = (Consumer::new(ring(i)), time * 4);
            incoming.push(Incoming { ring, link, to: end.to, port: end.to_port, patience });
        }
        let rates = (0..topology.link_slots()).map(|id| topology.link(LinkId::of(id)));
        let ports = rates.map(|link| PortState::idle(link.map_or(Rate::ZERO, |link| link.rate)));
        let node = |id| {
            let first_link = topology.link_id(id, PortId(0)).index();
            Node::new(parts(id), Place { id, first_link, ports: topology.port_count(id) })
        };
        let nodes: Vec<Node<Fabric<O>>> = topology.nodes().map(node).collect();
        let wakes = nodes.iter().filter(|node| node.wake() < Time::NEVER);
        let wakes: BinaryHeap<_> = wakes.map(|node| Reverse((node.wake(), node.place().id))).collect();
        let ticks = nodes.iter().filter(|node| node.tick() < Time::NEVER);
        let ticks = ticks.map(|node| Reverse((node.tick(), node.place().id))).collect();
        let fabric = Fabric {
            clock: Clock::new(config.dilation),
            now: Time::ZERO,
            ports: ports.collect(),
            stats: vec![LinkStats::default(); topology.link_slots()],
            topology: Arc::clone(topology),
            out,
            free: FreeList::new(0..slots.count()),
            slots,
            decoders: config.decoders,
            buffer: Vec::new(),
            wakes,
            ticks,
            totals: Totals::default(),
            observer,
            meter: Meter::new(),
            fills: config.dilation >= FILLS_FROM,
            copies: 0,
            under_way: 0,
        };
        let (all_flows, flows) = (flows.len() as u64, flows.into());
        let time_limit = config.time_limit.unwrap_or(Time::NEVER);
        Ok(Self { nodes, incoming, flows, all_flows, fabric, time_limit, packet_time })
    }

    /// Runs until all flows are delivered and nothing is under way, or to the time limit, or until `look`, asked about every
    /// 10 ms, says to stop. Returns whether it came to its end.
    pub fn run(&mut self, mut look: impl FnMut(&Self) -> ControlFlow<()>) -> bool {
        const LOOK: u64 = 10_000_000;
        // Virtual time begins when everything is in place.
        self.fabric.clock = Clock::new(self.fabric.clock.dilation() as u32);
        self.fabric.meter = Meter::new();
        let (mut last, mut next_look) = (0, LOOK);
        loop {
            let real = self.fabric.clock.real_ns();
            self.fabric.meter.round(real - last);
            last = real;
            let now = self.fabric.clock.now();
            if now > self.time_limit {
                self.fabric.now = self.time_limit;
                return false;
            }
            let mut is_idle = true;
            for i in 0..self.incoming.len() {
                is_idle &= !self.receive(i, now);
            }
            is_idle &= !self.tick(now);
            is_idle &= !self.wake(now);
            is_idle &= !self.start_flows(now);
            if is_idle && self.is_done() {
                return true;
            }
            if real >= next_look {
                next_look = real + LOOK;
                if look(self).is_break() {
                    return false;
                }
            }
        }
    }

    /// Whether all flows are delivered, nothing is under way, and no node wants to be woken.
    fn is_done(&self) -> bool {
        let fabric = &self.fabric;
        let is_delivered = self.flows.is_empty() && fabric.totals.flows_delivered >= self.all_flows;
        is_delivered && fabric.under_way == 0
            || self.flows.is_empty() && fabric.under_way == 0 && fabric.wakes.is_empty()
    }

    /// Takes in the next packet of a link, if it is due. Returns whether there was one.
    #[inline]
    fn receive(&mut self, i: usize, now: Time) -> bool {
        let Self { incoming, fabric, nodes, .. } = self;
        let incoming = &mut incoming[i];
        // A ring that somebody has broken brings nothing more.
        let Ok(Some(entry)) = incoming.ring.peek() else { return false };
        if entry.due > now.as_ps() {
            return false;
        }
        incoming.ring.take();
        fabric.under_way -= 1;
        let due = Time::from_ps(entry.due);
        let late = now.since(due);
        fabric.meter.late(late.as_ps() * fabric.clock.dilation() / 1_000);
        fabric.now = if late > incoming.patience {
            fabric.meter.slipped();
            now
        } else {
            due
        };
        let (to, port, link) = (incoming.to, incoming.port, incoming.link);
        arrive(fabric, &mut nodes[to.index()], entry, link, port);
        true
    }

    /// Lets forwarders tick whose time has come.
    fn tick(&mut self, now: Time) -> bool {
        let mut has_ticked = false;
        while let Some((at, node)) = due(&mut self.fabric.ticks, now) {
            self.fabric.now = self.event_time(at, now);
            self.nodes[node.index()].ticked(&mut self.fabric);
            has_ticked = true;
        }
        has_ticked
    }

    /// Wakes nodes up whose time has come.
    fn wake(&mut self, now: Time) -> bool {
        let mut has_woken = false;
        while let Some((at, node)) = due(&mut self.fabric.wakes, now) {
            self.fabric.now = self.event_time(at, now);
            self.nodes[node.index()].woken(&mut self.fabric);
            has_woken = true;
        }
        has_woken
    }

    /// When something happens that was due at `at`: then, or now if that is long ago.
    fn event_time(&self, at: Time, now: Time) -> Time {
        if now.since(at) > self.packet_time * 4 { now } else { at }
    }

    fn start_flows(&mut self, now: Time) -> bool {
        let mut has_started = false;
        while let Some(flow) = self.flows.front().copied() {
            if flow.start > now {
                break;
            }
            self.flows.pop_front();
            self.fabric.now = flow.start;
            self.nodes[flow.src.index()].start(&mut self.fabric, &flow);
            has_started = true;
        }
        has_started
    }

    /// The virtual time of the last event, or the limit at which the run stopped.
    pub fn now(&self) -> Time {
        self.fabric.now
    }

    /// What has happened so far.
    pub fn totals(&self) -> &Totals {
        &self.fabric.totals
    }

    /// What passed over each link, by [`LinkId`].
    pub fn link_stats(&self) -> &[LinkStats] {
        &self.fabric.stats
    }

    /// How faithful the run is so far.
    pub fn fidelity(&self) -> Fidelity {
        let fabric = &self.fabric;
        fabric.meter.report(self.packet_time, fabric.clock.dilation(), fabric.copies)
    }

    /// The host at `node`, to look into after a run.
    pub fn host(&self, node: NodeId) -> Option<&dyn Host> {
        self.nodes[node.index()].host()
    }

    /// The program at `node`, to look into after a run.
    pub fn application(&self, node: NodeId) -> Option<&dyn Application> {
        self.nodes[node.index()].application()
    }

    /// Whoever listened.
    pub fn observer(&self) -> &O {
        &self.fabric.observer
    }

    /// Whoever listened, for good.
    pub fn into_observer(self) -> O {
        self.fabric.observer
    }
}

/// Takes out the first of these times, if it has come.
fn due(times: &mut BinaryHeap<Reverse<(Time, NodeId)>>, now: Time) -> Option<(Time, NodeId)> {
    let &Reverse(first) = times.peek()?;
    if first.0 > now {
        return None;
    }
    times.pop();
    Some(first)
}

/// A packet has come in at a node.
fn arrive<O: Observer>(
    fabric: &mut Fabric<O>,
    node: &mut Node<Fabric<O>>,
    entry: Entry,
    link: LinkId,
    port: PortId,
) {
    fabric.totals.packet_hops += 1;
    // What another process writes may be anything.
    let is_slot = entry.slot < fabric.slots.count() && entry.len as usize <= fabric.slots.bytes();
    let packet =
        if is_slot { fabric.read(entry) } else { Err(raddle_wire::Error::Truncated { have: 0, need: 1 }) };
    match packet {
        Ok(packet) => node.arrived(fabric, Inside::arrived(packet, entry), port),
        Err(error) => {
            fabric.totals.count_malformed();
            fabric.stats[link.index()].drops += 1;
            fabric.observer.malformed(fabric.now, link, &[], error);
            if is_slot {
                fabric.free(entry.slot);
            }
            node.corrupted(fabric, port);
        }
    }
}

#[cfg(test)]
mod tests;
