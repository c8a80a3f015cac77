//! Tests that all observable results of a run are the same for any number of threads, whether or not the run is split
//! into several calls. The fabrics are random, forwarders choose ports by the state of these ports, many events have
//! equal times, and links fail and recover.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use proptest::prelude::*;
use raddle_core::{
    Admit, Application, Bytes, Credit, DropReason, Duration, Flow, FlowKey, Forwarder, Header, HoldKey, Host,
    Input, LinkErrors, LinkId, NodeId, Output, Packet, Parts, Paused, PortAgent, PortId, PortState, Ports,
    Queue, Rate, Report, Request, Stream, Time, Verdict,
};
use raddle_packet_sim::{
    Change, Config, LinkStats, Observer, PortSetup, QueueDepths, Simulation, Switching, Threads, Totals,
};
use raddle_testkit::flow;
use raddle_testkit::toy::packet;
use raddle_topology::{Builder, Shape, Topology};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A host that answers some packets at once, some packets at the next multiple of 1 us, and other packets never. Many
/// events therefore have equal times. The host reports every packet.
struct Echo {
    node: NodeId,
    stream: Stream,
    now: Vec<Output>,
    later: Vec<(Time, Packet)>,
}

impl Host for Echo {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        match input {
            Input::Flow(flow) => {
                let size = u32::try_from(flow.size.0).expect("a small flow");
                let packet = packet(flow.src, flow.dst, flow.id.0, size);
                self.now.push(Output::Send { packet, port: None });
            }
            Input::Packet { packet: got, .. } => {
                self.now.push(Output::Report(Report::Delivered {
                    key: FlowKey(u64::from(got.size)),
                    reorder_peak: 0,
                }));
                let back = packet(self.node, got.src(), 0, got.size);
                match self.stream.below(3) {
                    0 => self.now.push(Output::Send { packet: back, port: None }),
                    1 => {
                        let round = now.as_ps() / 1_000_000 + 1;
                        self.later.push((Time::ZERO + Duration::from_us(round), back));
                    }
                    _ => {}
                }
            }
            Input::Dropped { packet, .. } => {
                self.now.push(Output::Report(Report::Closed {
                    key: FlowKey(u64::from(packet.size)),
                    retransmissions: 0,
                }));
            }
            Input::Corrupted { port } => {
                let key = u64::from(port.0);
                self.now
                    .push(Output::Report(Report::Opened { flow: raddle_core::FlowId(0), key: FlowKey(key) }));
            }
            _ => {}
        }
    }

    fn poll(&mut self, now: Time, _: &Ports<'_>) -> Output {
        if let Some(output) = self.now.pop() {
            return output;
        }
        if let Some(due) = self.later.iter().position(|&(at, _)| at <= now) {
            return Output::Send { packet: self.later.swap_remove(due).1, port: None };
        }
        self.later.iter().map(|&(at, _)| at).min().map_or(Output::Idle, Output::WakeAt)
    }
}

/// A forwarder that sends each packet by the port that becomes free first, until the packet reaches its destination. It
/// drops some packets at random.
struct Wander {
    node: NodeId,
    stream: Stream,
    /// True if the forwarder holds some packets until a credit from a neighbour frees them.
    holds: bool,
    /// Time at which the forwarder originates its next packet; [`Time::NEVER`] if it originates no further packet.
    tick: Time,
    sends: bool,
}

/// Number of different keys under which packets are held.
const KEYS: u64 = 3;

impl Forwarder for Wander {
    fn forward(&mut self, now: Time, packet: &mut Packet, _: Option<PortId>, ports: &Ports<'_>) -> Verdict {
        if packet.dst() == self.node {
            return Verdict::Deliver;
        }
        if self.stream.below(40) == 0 {
            return Verdict::Drop(DropReason::NoRoute);
        }
        if self.holds && self.stream.below(2) == 0 {
            return Verdict::Hold(HoldKey(self.stream.below(KEYS)));
        }
        let linked = (0..ports.0.len()).filter(|&port| ports.0[port].rate > Rate::ZERO);
        let first = linked.min_by_key(|&port| ports.0[port].free_at(now)).expect("no node is alone");
        Verdict::Forward(PortId::of(first))
    }

    fn originate(&mut self) -> Option<(Packet, PortId)> {
        std::mem::take(&mut self.sends).then(|| (packet(self.node, NodeId(0), 0, 500), PortId(0)))
    }

    fn next_tick(&self) -> Time {
        self.tick
    }

    fn tick(&mut self, now: Time, _: &Ports<'_>) {
        self.sends = true;
        self.tick = if self.stream.below(8) == 0 { Time::NEVER } else { now + Duration::from_us(2) };
    }

    fn hears_of_departures(&self) -> bool {
        self.holds
    }

    fn departed(&mut self, _: Time, _: &Packet, _: PortId) -> Option<Credit> {
        self.holds.then(|| Credit::new(1, 0, [self.stream.below(KEYS) as u32]))
    }

    fn credited(&mut self, _: Time, _: PortId, credit: &Credit, freed: &mut Vec<HoldKey>) {
        freed.extend(credit.flows().iter().map(|&key| HoldKey(key.into())));
    }

    fn next_credit(&mut self) -> Option<(PortId, Credit)> {
        let sends = self.holds && self.stream.below(2) == 0;
        sends.then(|| (PortId(0), Credit::new(1, 0, [self.stream.below(KEYS) as u32])))
    }
}

/// A port agent that writes its number of ticks into packets. If no tick is scheduled when a packet joins the queue,
/// the agent schedules two ticks.
struct Ticker {
    ticks: u32,
    due: Time,
}

impl PortAgent for Ticker {
    fn enqueue(&mut self, now: Time, _: &mut Packet, _: &PortState) -> Option<Packet> {
        if self.due == Time::NEVER {
            self.due = now + Duration::from_ns(300);
        }
        None
    }

    fn dequeue(&mut self, _: Time, packet: &mut Packet, _: &PortState) {
        if let Header::Tcp(segment) = &mut packet.header {
            segment.ack = self.ticks;
        }
    }

    fn has_timer(&self) -> bool {
        true
    }

    fn next_tick(&self) -> Time {
        self.due
    }

    fn tick(&mut self, now: Time, _: &PortState) {
        self.ticks += 1;
        self.due = if self.ticks % 2 == 1 { now + Duration::from_ns(300) } else { Time::NEVER };
    }
}

/// A queue that serves the newest packet first.
#[derive(Default)]
struct LastFirst(Vec<(u32, u32)>);

impl Queue for LastFirst {
    fn push(&mut self, _: Time, slot: u32, packet: &Packet) -> Admit {
        self.0.push((slot, packet.size));
        Admit::Take
    }

    fn pop(&mut self, _: Time, _: Paused) -> Option<u32> {
        self.0.pop().map(|(slot, _)| slot)
    }

    fn bytes(&self) -> Bytes {
        Bytes(self.0.iter().map(|&(_, size)| u64::from(size)).sum())
    }

    fn for_each_slot(&mut self, visit: &mut dyn FnMut(&mut u32)) {
        self.0.iter_mut().for_each(|(slot, _)| visit(slot));
    }
}

/// An observer that records all calls of its methods as text.
#[derive(Debug, Default, PartialEq)]
struct Scribe(Vec<String>);

impl Observer for Scribe {
    const FORWARDED: bool = true;

    fn report(&mut self, now: Time, node: NodeId, report: Report) {
        self.0.push(format!("{now} {node} {report:?}"));
    }

    fn forwarded(&mut self, _: Time, sent: Time, link: LinkId, packet: &Packet) {
        self.0.push(format!("{sent} {link:?} {packet:?}"));
    }

    fn dropped(&mut self, now: Time, node: NodeId, port: Option<PortId>, packet: &Packet, why: DropReason) {
        self.0.push(format!("{now} {node} {port:?} {packet:?} {why:?}"));
    }
}

/// A fabric, its traffic and its failures.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each bool switches one feature on or off")]
struct Case {
    /// For each node except the first: an earlier node to which it has a link, and the link's delay in units of 100 ns.
    tree: Vec<(usize, u64)>,
    /// Additional links: the two nodes, and the delay in units of 100 ns.
    more: Vec<(usize, usize, u64)>,
    /// For each flow: the start in units of 100 ns, the source, the destination, and the size in units of 500 bytes.
    flows: Vec<(u64, usize, usize, u64)>,
    /// Failures: a node whose links fail, the start of the failure, its duration, and the delay until nodes know of the
    /// failure or of the recovery. Times are in units of 100 ns.
    failures: Vec<(usize, u64, u64, u64)>,
    cut_through: bool,
    /// True if ports have queues that are not plain FIFOs.
    served: bool,
    /// True if forwarders hold packets.
    holds: bool,
    /// True if forwarders and the agents of ports tick.
    ticks: bool,
    limit: Option<usize>,
    /// Probabilities of loss and of corruption, in percent.
    errors: (u8, u8),
}

fn case() -> impl Strategy<Value = Case> {
    // The index of a node. Values beyond the last node wrap around.
    let index = || 0..1_000_usize;
    (
        prop::collection::vec((index(), 0..4_u64), 1..24),
        prop::collection::vec((index(), index(), 0..4_u64), 0..24),
        prop::collection::vec((0..100_u64, index(), index(), 1..3_u64), 1..60),
        prop::collection::vec((index(), 0..200_u64, 1..100_u64, 0..20_u64), 0..4),
        any::<[bool; 4]>(),
        prop::option::of(1..6_usize),
        prop_oneof![Just((0, 0)), (0..20_u8, 0..20_u8)],
    )
        .prop_map(|(tree, more, flows, failures, [cut_through, served, holds, ticks], limit, errors)| {
            Case { tree, more, flows, failures, cut_through, served, holds, ticks, limit, errors }
        })
}

/// Draws a thread setting: a fixed number of threads, or a run that alternates between one thread and several threads.
fn threads() -> impl Strategy<Value = Threads> {
    (2..9_usize, prop::option::of(any::<u64>())).prop_map(|(threads, seed)| match seed {
        Some(seed) => Threads::Drawn { threads, seed },
        None => Threads::Always(threads),
    })
}

impl Case {
    fn topology(&self) -> Arc<Topology> {
        let mut builder = Builder::default();
        let nodes: Vec<_> = (0..=self.tree.len()).map(|_| builder.host(0)).collect();
        let mut join = |a, b, delay| builder.join(a, b, Rate::from_gbps(10), Duration::from_ns(100 * delay));
        for (i, (earlier, delay)) in self.tree.iter().enumerate() {
            join(nodes[i + 1], nodes[earlier % (i + 1)], *delay);
        }
        for (a, b, delay) in &self.more {
            let (a, b) = (nodes[a % nodes.len()], nodes[b % nodes.len()]);
            if a != b {
                join(a, b, *delay);
            }
        }
        Arc::new(builder.build(Shape::General))
    }

    fn flows(&self) -> Vec<Flow> {
        let nodes = self.tree.len() + 1;
        let mut flows = self.flows.clone();
        flows.sort_by_key(|flow| flow.0);
        (0..)
            .zip(flows)
            .map(|(id, (start, src, dst, size))| {
                let node = |index: usize| u32::try_from(index % nodes).expect("few nodes");
                flow(id, node(src), node(dst), 500 * size, Time::ZERO + Duration::from_ns(100 * start))
            })
            .collect()
    }

    fn changes(&self, topology: &Topology) -> Vec<Change> {
        let mut changes = Vec::new();
        for (node, at, down, discovery) in &self.failures {
            let node = NodeId::of(node % topology.node_count());
            let touches = |link: &raddle_topology::Link| link.from == node || link.to == node;
            let links: Vec<_> =
                topology.links().filter(|(_, link)| touches(link)).map(|(id, _)| id).collect();
            for (at, up) in [(*at, false), (at + down, true)] {
                let at = Time::ZERO + Duration::from_ns(100 * at);
                let discovery = Duration::from_ns(100 * discovery);
                changes.push(Change { at, links: links.clone(), up, discovery });
            }
        }
        changes.sort_by_key(|change| change.at);
        changes
    }
}

#[derive(Debug, PartialEq)]
struct Seen {
    heard: Vec<String>,
    totals: Totals,
    now: Time,
    links: Vec<LinkStats>,
    depths: Vec<(LinkId, QueueDepths)>,
    inside: usize,
}

/// Runs a case. If `pieces` is true, the run takes several calls of [`Simulation::run`].
fn run(case: &Case, threads: Threads, pieces: bool) -> (Seen, usize) {
    let topology = case.topology();
    let config = Config {
        switching: if case.cut_through {
            Switching::CutThrough { header: 100 }
        } else {
            Switching::StoreAndForward
        },
        changes: case.changes(&topology),
        errors: LinkErrors {
            seed: 1,
            loss: f64::from(case.errors.0) / 100.0,
            corruption: f64::from(case.errors.1) / 100.0,
            ..LinkErrors::default()
        },
        time_limit: Some(Time::ZERO + Duration::from_us(60)),
        queue_depths: true,
        threads,
    };
    let node = |node| Parts {
        host: Some(Box::new(Echo {
            node,
            stream: Stream::new(1, node.0.into(), "echo"),
            now: vec![],
            later: vec![],
        })),
        forwarder: Some(Box::new(Wander {
            node,
            stream: Stream::new(1, node.0.into(), "wander"),
            holds: case.holds,
            tick: if case.ticks { Time::ZERO + Duration::from_us(3) } else { Time::NEVER },
            sends: false,
        })),
        ..Parts::default()
    };
    let queue = || case.served.then(|| Box::<LastFirst>::default() as Box<dyn Queue>);
    let agent = || case.ticks.then(|| Box::new(Ticker { ticks: 0, due: Time::NEVER }) as Box<dyn PortAgent>);
    let port =
        |_| PortSetup { limit_packets: case.limit, queue: queue(), agent: agent(), ..PortSetup::default() };
    let mut simulation = Simulation::new(&topology, node, port, case.flows(), config, Scribe::default());
    let check = |pieces| if pieces { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    while !simulation.run(|_| check(pieces)) {}
    let (totals, now, inside) = (simulation.totals(), simulation.now(), simulation.packets_inside());
    let (links, depths, threads) = (simulation.link_stats(), simulation.queue_depths(), simulation.threads());
    (Seen { heard: simulation.into_observer().0, totals, now, links, depths, inside }, threads)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn all_that_can_be_seen_is_the_same(case in case(), threads in threads(), pieces in any::<bool>()) {
        let (one, _) = run(&case, Threads::Always(1), false);
        let totals = one.totals;
        prop_assert_eq!(totals.sent, totals.delivered + totals.dropped + one.inside as u64);
        let (many, _) = run(&case, threads, pieces);
        let differs = many.heard.iter().zip(&one.heard).position(|(many, one)| many != one);
        prop_assert_eq!(differs.map(|i| (&many.heard[i], &one.heard[i])), None);
        prop_assert_eq!(many.totals, one.totals);
        prop_assert!(many == one);
    }
}

/// A chain of nodes in which each node sends to both ends.
fn chain() -> Case {
    Case {
        tree: (0..12).map(|earlier| (earlier, 1)).collect(),
        more: vec![],
        flows: (0..60).map(|i| (i / 2, i as usize, if i % 2 == 0 { 0 } else { 12 }, 2)).collect(),
        failures: vec![],
        cut_through: false,
        served: false,
        holds: false,
        ticks: false,
        limit: None,
        errors: (0, 0),
    }
}

#[test]
fn a_fabric_of_nodes_apart_in_time_takes_the_threads_it_is_given() {
    for threads in [1, 2, 3, 8] {
        assert_eq!(run(&chain(), Threads::Always(threads), false).1, threads);
    }
}

#[test]
fn a_run_by_turns_changes_the_number_of_threads() {
    let mut seen: Vec<usize> =
        (0..20).map(|seed| run(&chain(), Threads::Drawn { threads: 3, seed }, true).1).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [1, 3], "threads at the end of a run");
}

/// Two nodes of the chain fail at many different moments during transmissions, while the number of threads changes.
#[test]
fn failures_amid_changes_of_threads_lose_the_same() {
    for cut_through in [false, true] {
        for served in [false, true] {
            for at in (0..120).step_by(3) {
                let failures = vec![(6, at, 10, 1), (3, at + 15, 20, 0)];
                let case = Case { failures, cut_through, served, ..chain() };
                let one = run(&case, Threads::Always(1), false).0;
                for seed in 0..4 {
                    let by_turns = run(&case, Threads::Drawn { threads: 5, seed }, false).0;
                    assert!(by_turns == one, "{case:?}, seed {seed}");
                }
            }
        }
    }
}

#[test]
fn packets_that_forwarders_hold_keep_their_place_amid_changes_of_threads() {
    for cut_through in [false, true] {
        for served in [false, true] {
            let case = Case { cut_through, served, holds: true, ticks: served, ..chain() };
            let one = run(&case, Threads::Always(1), false).0;
            assert!(one.totals.delivered > 0 && one.inside > 0, "some are held to the end: {:?}", one.totals);
            for seed in 0..20 {
                let by_turns = run(&case, Threads::Drawn { threads: 5, seed }, false).0;
                assert!(by_turns == one, "{case:?}, seed {seed}");
            }
        }
    }
}

/// Serves as a program that panics 5 us after the start of the run, and as a host that does nothing.
struct Bomb;

impl Application for Bomb {
    fn hear(&mut self, _: Time, _: &Report) {}

    fn poll(&mut self, now: Time) -> Request {
        let due = Time::ZERO + Duration::from_us(5);
        assert!(now < due, "as it should");
        Request::WakeAt(due)
    }
}

impl Host for Bomb {
    fn handle(&mut self, _: Time, _: Input<'_>) {}

    fn poll(&mut self, _: Time, _: &Ports<'_>) -> Output {
        Output::Idle
    }
}

/// A panic on any thread must end the run, although the other threads wait for this thread. They spin for a short time
/// and then sleep. If there are more threads than cores, they sleep at once.
#[test]
fn a_panic_ends_the_run() {
    let topology = chain().topology();
    for failing in [0, 5, 12] {
        for threads in [Threads::Always(2), Threads::Always(8), Threads::Drawn { threads: 8, seed: 1 }] {
            let node = |node| Parts {
                host: Some(Box::new(Bomb)),
                forwarder: None,
                application: (node == NodeId(failing)).then(|| Box::new(Bomb) as Box<dyn Application>),
                ..Parts::default()
            };
            let config = Config { threads, ..Config::default() };
            let mut simulation =
                Simulation::new(&topology, node, |_| PortSetup::default(), vec![], config, ());
            let run = || simulation.run(|_| ControlFlow::Continue(()));
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err(), "{threads:?}");
        }
    }
}
