//! The schemes of the registry run in a rack, including schemes with port agents, queues of their own, credits or
//! pauses. Of the schemes whose hosts wait until their packets have left the port, only DCQCN runs, in the tests of
//! RoCE payloads.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use raddle_core::{
    Bytes, Change, Duration, Flow, FlowControlAccount, FlowId, LinkErrors, LinkFlowControl, LinkId, NodeId,
    Observer, Rate, Report, Stream, Time, Totals,
};
use raddle_live::Limits;
use raddle_live::rack::{Config, Rack};
use raddle_packet_sim::{PortSetup, Simulation};
use raddle_schemes::link::pfc;
use raddle_schemes::parameter::{Settings, Value};
use raddle_schemes::queue::strict::Strict;
use raddle_schemes::scheme::{Built, Plan, Transport};
use raddle_testkit::registry;
use raddle_topology::{Topology, builders};
use std::ops::ControlFlow;
use std::sync::Arc;

#[derive(Default)]
struct Delivered(u32);

impl Observer for Delivered {
    fn report(&mut self, _: Time, _: NodeId, report: Report) {
        self.0 += u32::from(matches!(report, Report::Delivered { .. }));
    }
}

fn flows(nodes: u64) -> Vec<Flow> {
    let mut random = Stream::new(3, 0, "flows");
    let flow = |id: u32| {
        let src = random.below(nodes);
        let dst = (src + 1 + random.below(nodes - 1)) % nodes;
        let start = Time::ZERO + Duration::from_us(3) * u64::from(id);
        let bytes = Bytes(1 + random.below(60_000));
        Flow::new(FlowId(id), NodeId(src as u32), NodeId(dst as u32), bytes, start)
    };
    (0..60).map(flow).collect()
}

fn parts(scheme: &Transport, routing: &str, topology: &Arc<Topology>) -> Option<Built> {
    let points = registry().congestion_point("qcn").expect("in the registry");
    let of_points = Settings::defaults(points.info.parameters);
    let settings = Settings::defaults(scheme.info.parameters);
    let plan =
        Plan { congestion_points: Some(("qcn", &of_points)), ..Plan::new(topology, routing, &settings, 1) };
    let parts = registry().build(scheme, &plan, &registry().routing_defaults(routing)).ok()?;
    // If hosts wait until their packets have left the port, their ports need queues that the registry does not build.
    (!parts.hear_of_departures).then_some(parts)
}

/// The limits of a queue that is unbounded and marks no packet.
const NONE: Limits = Limits { bytes: None, packets: None, mark_bytes: None, mark_packets: None };

const LIMIT: Time = Time::from_ps(100_000_000_000);

fn simulated(built: Built, topology: &Arc<Topology>, changes: Vec<Change>, limits: Limits) -> (Totals, u32) {
    let Built { node, mut agent, mut queue, .. } = built;
    let Limits { bytes, packets, mark_bytes, mark_packets } = limits;
    let port = |link| PortSetup {
        agent: agent(link),
        queue: queue(link),
        limit_bytes: bytes,
        limit_packets: packets,
        mark_bytes,
        mark_packets,
        ..PortSetup::default()
    };
    let config = raddle_packet_sim::Config {
        changes,
        time_limit: Some(LIMIT),
        ..raddle_packet_sim::Config::default()
    };
    let mut simulation = Simulation::new(topology, node, port, flows(16), config, Delivered::default());
    assert!(simulation.run(|_| ControlFlow::Continue(())));
    let totals = Totals { events: 0, dropped_bytes: 0, ..simulation.totals() };
    (totals, simulation.into_observer().0)
}

fn rack(
    built: Built,
    topology: &Arc<Topology>,
    changes: Vec<Change>,
    limits: Limits,
    threads: usize,
) -> Rack {
    let Built { node, agent, queue, .. } = built;
    let config =
        Config { ring: 1 << 13, time_limit: Some(LIMIT), threads, dilation: 10, ..Config::default() };
    let rack = Rack::new(topology, node, &flows(16), &config).expect("memory to share");
    rack.with_limits(limits).with_queues(queue).with_agents(agent).with_changes(changes)
}

fn rushed(built: Built, topology: &Arc<Topology>, changes: Vec<Change>, limits: Limits) -> (Totals, u32) {
    let mut rack = rack(built, topology, changes, limits, 1);
    let mut delivered = Delivered::default();
    rack.rush(&mut delivered);
    assert_eq!(rack.fidelity().wrong_payloads, 0);
    (Totals { events: 0, dropped_bytes: 0, ..rack.totals() }, delivered.0)
}

fn fabrics() -> [Arc<Topology>; 2] {
    let (rate, delay) = (Rate::from_gbps(10), Duration::from_ns(100));
    let torus = builders::torus(&[4, 4], rate, delay).expect("a 4x4 torus");
    let leaf_spine = builders::folded_clos(4, 4, 3, rate, rate, delay).expect("a leaf-spine of 16 hosts");
    [torus, leaf_spine].map(Arc::new)
}

/// In a rushed run no packet is late, so every scheme except PFQ gives the same totals as in the packet engine. The
/// number of events and the dropped bytes are not compared. Only PFQ gives credits. In a rack, a credit arrives only
/// after the packet in front of it.
#[test]
fn every_scheme_runs_in_a_rack_as_in_the_packet_engine() {
    let mut ran = Vec::new();
    for scheme in registry().transports() {
        for (routing, topology) in
            registry().routings_of(scheme).into_iter().flat_map(|name| fabrics().map(|fabric| (name, fabric)))
        {
            let parts = || parts(scheme, routing, &topology);
            let (Some(of_simulation), Some(of_rack)) = (parts(), parts()) else { continue };
            let name = scheme.info.name;
            let (simulated, moved) =
                (simulated(of_simulation, &topology, vec![], NONE), rushed(of_rack, &topology, vec![], NONE));
            assert_eq!((simulated.1, moved.1), (60, 60), "{name} over {routing}");
            if name != "pfq" {
                assert_eq!(simulated, moved, "{name} over {routing}");
            }
            ran.push(name);
        }
    }
    assert!(["r2c2", "dctcp", "pdq", "d3", "rcp", "pfq"].iter().all(|name| ran.contains(name)), "{ran:?}");
}

/// The cable at the first port of node `a` fails and recovers twice.
fn changes(topology: &Topology, a: NodeId) -> Vec<Change> {
    let (link, _) = topology.links_from(a).next().expect("a node with links");
    let links = vec![link, topology.reverse(link)];
    let change = |at, up| Change {
        at: Time::ZERO + Duration::from_us(at),
        links: links.clone(),
        up,
        discovery: Duration::from_us(10),
    };
    vec![change(60, false), change(150, true), change(200, false), change(280, true)]
}

/// Queues with limits give the same totals in both engines, also while links fail.
#[test]
fn queues_with_limits_lose_and_mark_in_a_rack_as_in_the_packet_engine() {
    let [torus, leaf_spine] = fabrics();
    let leaf = leaf_spine.nodes().find(|&node| !leaf_spine.is_host(node)).expect("a switch");
    let few = Limits { packets: Some(6), ..NONE };
    let short = Limits { bytes: Some(8_000), mark_bytes: Some(4_000), ..NONE };
    let marking = Limits { packets: Some(8), mark_packets: Some(3), ..NONE };
    for (name, topology, at, limits) in [
        ("tcp-newreno", &torus, NodeId(0), few),
        ("tcp-newreno", &leaf_spine, leaf, short),
        ("dctcp", &leaf_spine, leaf, short),
        ("dctcp", &leaf_spine, leaf, marking),
        ("rcp", &leaf_spine, leaf, short), // a port with an agent
    ] {
        let scheme = registry().transport(name).expect("in the registry");
        let parts = || parts(scheme, "ecmp", topology).expect("it fits");
        for changes in [vec![], changes(topology, at)] {
            let simulated = simulated(parts(), topology, changes.clone(), limits);
            let unlimited = self::simulated(parts(), topology, changes.clone(), NONE);
            assert_ne!(simulated, unlimited, "{name} under {limits:?} feels the limits");
            assert_eq!(simulated, rushed(parts(), topology, changes, limits), "{name} under {limits:?}");
        }
    }
}

/// When a link fails, each packet in the port's queue is lost exactly once, at ports with an agent and at plain FIFO
/// ports. The port continues when the link is up again.
#[test]
fn queues_and_agents_of_ports_outlive_failures() {
    let [torus, leaf_spine] = fabrics();
    let leaf = leaf_spine.nodes().find(|&node| !leaf_spine.is_host(node)).expect("a switch");
    for (name, routing, topology, at) in [
        ("pdq", "ecmp", &leaf_spine, leaf),
        ("rcp", "ecmp", &leaf_spine, leaf),
        ("tcp-newreno", "ecmp", &torus, NodeId(0)),
    ] {
        let scheme = registry().transport(name).expect("in the registry");
        let parts = || parts(scheme, routing, topology).expect("it fits");
        let simulated = simulated(parts(), topology, changes(topology, at), NONE);
        let moved = rushed(parts(), topology, changes(topology, at), NONE);
        assert_eq!(simulated, moved, "{name}");
        assert!(moved.0.drops.link_down > 0, "{name}");
    }
}

/// PFQ does not retransmit lost packets. No packet counts as both delivered and dropped, most packets are delivered,
/// and nothing panics.
#[test]
fn credits_outlive_failures() {
    let [topology, _] = fabrics();
    let scheme = registry().transport("pfq").expect("in the registry");
    let parts = || parts(scheme, "rps", &topology).expect("PFQ runs on any fabric");
    let changes = (0..16).flat_map(|node| changes(&topology, NodeId(node))).collect();
    let mut rack = rack(parts(), &topology, changes, NONE, 1);
    rack.rush(&mut ());
    let Totals { sent, delivered, dropped, drops, .. } = rack.totals();
    assert!(drops.link_down > 0 && dropped == drops.link_down, "{drops:?}");
    assert!(delivered + dropped <= sent && delivered > sent / 2, "{:?}", rack.totals());
}

/// Credits, and packets of ports with queues or agents, cross from one polling thread to another.
#[test]
fn queues_agents_and_credits_work_across_threads() {
    let [torus, leaf_spine] = fabrics();
    for (name, routing, topology) in [("pfq", "rps", &torus), ("pdq", "ecmp", &leaf_spine)] {
        let scheme = registry().transport(name).expect("in the registry");
        let parts = parts(scheme, routing, topology).expect("it fits");
        let mut rack = rack(parts, topology, vec![], NONE, 2);
        let mut delivered = Delivered::default();
        assert!(rack.run(&mut delivered, |_| ControlFlow::Continue(())));
        assert_eq!(delivered.0, 60, "{name}: {:?}", rack.totals());
    }
}

/// Ports of converged Ethernet pause their neighbours, so no queue overflows. A rushed rack gives the same counts of
/// data packets and drops as the packet engine, also while a link fails and recovers. With two threads no queue
/// overflows either.
#[test]
fn ports_pause_their_neighbours_in_a_rack() {
    let [_, topology] = fabrics();
    let leaf = topology.nodes().find(|&node| !topology.is_host(node)).expect("a switch");
    let transport = registry().transport("udp").expect("in the registry");
    let pauses = |accounts: &[(LinkId, FlowControlAccount)]| -> u64 {
        accounts.iter().map(|(_, account)| account.pauses).sum()
    };
    for changes in [vec![], changes(&topology, leaf)] {
        let parts = || parts(transport, "ecmp", &topology).expect("it fits");
        let Built { node, .. } = parts();
        let mut control = pfc(&topology);
        let port = |link| PortSetup {
            queue: Some(Box::<Strict>::default()),
            flow_control: control(link),
            ..PortSetup::default()
        };
        let config = raddle_packet_sim::Config {
            changes: changes.clone(),
            time_limit: Some(LIMIT),
            ..raddle_packet_sim::Config::default()
        };
        let mut simulation = Simulation::new(&topology, node, port, flows(16), config, Delivered::default());
        assert!(simulation.run(|_| ControlFlow::Continue(())));
        let (simulated, of_simulation) = (simulation.totals(), simulation.flow_control());
        assert!(pauses(&of_simulation) > 0, "somebody is paused");
        let paused = |threads| {
            let rack = rack(parts(), &topology, changes.clone(), NONE, threads);
            rack.with_queues(|_| Some(Box::<Strict>::default())).with_flow_control(pfc(&topology))
        };
        let mut rushed = paused(1);
        rushed.rush(&mut ());
        let data = |totals: Totals| (totals.kinds[0], totals.delivered_bytes, totals.drops);
        assert_eq!(data(rushed.totals()), data(simulated));
        // If a packet arrives at the instant at which another packet leaves, the engines may handle the two events in
        // different orders. So the number of pauses may differ slightly.
        let (is, was) = (pauses(&rushed.flow_control()), pauses(&of_simulation));
        assert!(is.abs_diff(was) * 50 <= was, "{is} pauses, {was} in the packet engine");
        let mut threads = paused(2);
        assert!(threads.run(&mut (), |_| ControlFlow::Continue(())));
        let Totals { sent, delivered, dropped, drops, .. } = threads.totals();
        assert_eq!((delivered + dropped, drops.queue_full), (sent, 0), "{drops:?}");
        assert!(pauses(&threads.flow_control()) > 0);
    }
}

/// A RoCE packet ends with a checksum behind its payload.
#[test]
fn payloads_between_a_header_and_a_trailer_arrive_as_they_were_sent() {
    roce_arrives_whole(&LinkErrors::default());
}

/// A retransmitted packet carries the payload of the right position in the flow.
#[test]
fn payloads_of_roce_arrive_over_links_that_lose_packets() {
    roce_arrives_whole(&LinkErrors { seed: 1, loss: 0.01, ..LinkErrors::default() });
}

fn roce_arrives_whole(errors: &LinkErrors) {
    let [_, topology] = fabrics();
    let transport = registry().transport("dcqcn").expect("in the registry");
    let red = registry().congestion_point("red").expect("in the registry");
    let (of_red, settings) =
        (Settings::defaults(red.info.parameters), Settings::defaults(transport.info.parameters));
    let plan =
        Plan { congestion_points: Some(("red", &of_red)), ..Plan::new(&topology, "ecmp", &settings, 1) };
    let Built { node, .. } =
        registry().build(transport, &plan, &registry().routing_defaults("ecmp")).expect("it fits");
    // At this dilation, the nodes write and check all bytes of payloads.
    let config = Config { time_limit: Some(LIMIT), dilation: 10, ..Config::default() };
    let rack = Rack::new(&topology, node, &flows(16), &config).expect("memory to share");
    let mut rack = rack.with_queues(|_| Some(Box::<Strict>::default())).with_errors(errors);
    let mut delivered = Delivered::default();
    rack.rush(&mut delivered);
    assert_eq!((delivered.0, rack.fidelity().wrong_payloads), (60, 0));
    assert_eq!(rack.totals().drops.lost > 0, errors.loss > 0.0);
}

/// Priority flow control with thresholds of a few packets.
fn pfc(topology: &Arc<Topology>) -> impl FnMut(LinkId) -> Option<Box<dyn LinkFlowControl>> {
    let mut settings = Settings::defaults(pfc::FLOW_CONTROL.info.parameters);
    for (name, bytes) in [("buffer", 200_000), ("xoff", 3_000), ("xon", 1_500)] {
        settings.set(name, Value::Bytes(bytes));
    }
    (pfc::FLOW_CONTROL.build)(&Plan::new(topology, "ecmp", &settings, 1), 1_600).expect("enough headroom")
}
