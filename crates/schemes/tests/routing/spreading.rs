//! Routings that spread a flow's packets or flowcells, and weighted ECMP, with TCP in the packet engine.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use raddle_core::{Duration, Flow, LinkId, NodeId, Rate, Report, Stream, Time};
use raddle_packet_sim::{Change, Config, LinkStats, Observer, PortSetup, Simulation};
use raddle_schemes::parameter::{Settings, Value};
use raddle_schemes::scheme::Plan;
use raddle_testkit::{flow, registry, us};
use raddle_topology::Topology;
use raddle_topology::builders::{self, ClosRates};
use std::ops::ControlFlow;
use std::sync::Arc;

const RATE: Rate = Rate::from_gbps(10);

#[derive(Default)]
struct Heard {
    retransmissions: u32,
    reorder_peak: u32,
}

impl Observer for Heard {
    fn report(&mut self, _: Time, _: NodeId, report: Report) {
        match report {
            Report::Closed { retransmissions, .. } => self.retransmissions += retransmissions,
            Report::Delivered { reorder_peak, .. } => self.reorder_peak = self.reorder_peak.max(reorder_peak),
            _ => {}
        }
    }
}

/// A fat-tree: hosts 0 to 15, edge switches 16 to 23, aggregation switches 24 to 31, cores 32 to 35.
fn fat_tree() -> Arc<Topology> {
    Arc::new(builders::fat_tree(4, ClosRates::all(RATE), Duration::from_us(1)).expect("an even k"))
}

fn run(
    topology: &Arc<Topology>,
    routing: &str,
    set: &[(&str, Value)],
    flows: Vec<Flow>,
    changes: Vec<Change>,
) -> Simulation<Heard> {
    let transport = registry().transport("tcp-newreno").expect("TCP is in the registry");
    let mut of_routing = registry().routing_defaults(routing);
    set.iter().for_each(|&(name, value)| of_routing.set(name, value));
    let settings = Settings::defaults(transport.info.parameters);
    let plan = Plan::new(topology, routing, &settings, 1);
    let mut parts = registry().build(transport, &plan, &of_routing).expect("a fat-tree suits all");
    let config = Config { changes, ..Config::default() };
    let port = |_| PortSetup::default();
    let mut simulation =
        Simulation::new(topology, |id| (parts.node)(id), port, flows, config, Heard::default());
    assert!(simulation.run(|_| ControlFlow::Continue(())), "{routing} comes to rest");
    simulation
}

/// Each of the 16 hosts sends `size` bytes to the host whose number differs by 8.
fn stride(size: u64) -> Vec<Flow> {
    (0..16).map(|host| flow(host, host, (host + 8) % 16, size, Time::ZERO)).collect()
}

fn random(count: u32) -> Vec<Flow> {
    let mut stream = Stream::new(7, 0, "test/flows");
    let flow = |id| {
        let src = stream.below(16) as u32;
        let dst = (src + 1 + stream.below(15) as u32) % 16;
        flow(id, src, dst, 1 + stream.below(400_000), us(u64::from(id) * 15))
    };
    (0..count).map(flow).collect()
}

/// Data bytes on each of the two uplinks of these switches.
fn up(topology: &Topology, stats: &[LinkStats], switches: std::ops::Range<u32>) -> Vec<[u64; 2]> {
    let link = |node, port| topology.link_id(NodeId(node), raddle_core::PortId(port));
    switches.map(|node| [2, 3].map(|port| stats[link(node, port).index()].data_bytes)).collect()
}

fn both(topology: &Topology, from: u32, to: u32) -> Vec<LinkId> {
    let (link, _) =
        topology.links_from(NodeId(from)).find(|(_, link)| link.to == NodeId(to)).expect("neighbours");
    vec![link, topology.reverse(link)]
}

const IN_TURN: (&str, Value) = ("choice", Value::Choice("round_robin"));

#[test]
fn spraying_loads_all_uplinks_equally_and_beats_hashing() {
    let topology = fat_tree();
    // For choices in turn, the tolerance allows for a few packets or flowcells of 64 KB in ten million bytes. For
    // random choices, the tolerance allows for statistical deviations.
    let cases: [(&str, &[_], f64); 4] =
        [("spray", &[], 0.05), ("spray", &[IN_TURN], 0.01), ("drill", &[], 0.05), ("presto", &[], 0.03)];
    let hashed = run(&topology, "ecmp", &[], stride(5_000_000), Vec::new());
    for (routing, set, tolerance) in cases {
        let simulation = run(&topology, routing, set, stride(5_000_000), Vec::new());
        assert_eq!(simulation.totals().flows_delivered, 16, "{routing}");
        let stats = simulation.link_stats();
        for [one, other] in up(&topology, &stats, 16..32) {
            let uneven = one.abs_diff(other) as f64 / (one + other) as f64;
            assert!(uneven < tolerance, "{routing} {set:?}: {one} and {other} bytes");
        }
        assert!(simulation.now() < hashed.now(), "{routing}: {} and {}", simulation.now(), hashed.now());
    }
}

#[test]
fn receivers_hide_reordering_from_tcp() {
    let topology = fat_tree();
    // The hold time is longer than any queueing delay in this test.
    let [on, off] = [1_000, 0].map(|us| ("hold", Value::Duration(Duration::from_us(us))));
    for routing in ["spray", "drill", "presto"] {
        let ordered = run(&topology, routing, &[on], random(300), Vec::new());
        assert_eq!(ordered.totals().flows_delivered, 300, "{routing}");
        let heard = ordered.observer();
        assert_eq!((heard.retransmissions, heard.reorder_peak), (0, 0), "{routing}: nothing is lost");
        let exposed = run(&topology, routing, &[off], random(300), Vec::new());
        assert_eq!(exposed.totals().flows_delivered, 300, "{routing}");
        let heard = exposed.observer();
        assert!(heard.retransmissions > 100 && heard.reorder_peak > 3, "{routing}: it does overtake");
    }
}

/// Two links fail during traffic and are repaired: one between an aggregation switch and a core, one between an edge
/// and an aggregation switch. The nodes learn of each change 200 us later.
#[test]
fn flows_survive_failures() {
    let topology = fat_tree();
    let change = |at_us, links, up| Change { at: us(at_us), links, up, discovery: Duration::from_us(200) };
    let (core, edge) = (both(&topology, 24, 32), both(&topology, 23, 30));
    let changes = vec![
        change(300, core.clone(), false),
        change(600, edge.clone(), false),
        change(1_500, core, true),
        change(1_700, edge, true),
    ];
    for routing in ["spray", "drill", "presto", "wcmp"] {
        let simulation = run(&topology, routing, &[], random(400), changes.clone());
        assert_eq!(simulation.totals().flows_delivered, 400, "{routing}");
        assert!(simulation.totals().dropped > 0, "{routing}: packets meet the dead links");
        assert_eq!(simulation.packets_inside(), 0, "{routing}");
    }
}

/// One of a pod's four core links is down, so its two aggregation switches have one and two cores. Weighted ECMP and
/// DRILL send one third of the flows to the first switch, and Presto one third of the cells. ECMP and spraying have no
/// weights and send half.
#[test]
fn weights_follow_the_remaining_capacity() {
    let topology = fat_tree();
    let dead =
        Change { at: Time::ZERO, links: both(&topology, 24, 32), up: false, discovery: Duration::ZERO };
    // 800 flows of 64 KB go from the first pod to the last pod.
    let flows: Vec<Flow> =
        (0..800).map(|id| flow(id, id % 4, 12 + id / 4 % 4, 64_000, us(1 + u64::from(id) * 40))).collect();
    for (routing, share) in
        [("ecmp", 0.5), ("spray", 0.5), ("wcmp", 1.0 / 3.0), ("drill", 1.0 / 3.0), ("presto", 1.0 / 3.0)]
    {
        let simulation = run(&topology, routing, &[], flows.clone(), vec![dead.clone()]);
        let up = up(&topology, &simulation.link_stats(), 16..18);
        let lame: u64 = up.iter().map(|[first, _]| first).sum();
        let all: u64 = up.iter().flatten().sum();
        // For 800 flows, four standard deviations of a share are 0.07.
        let got = lame as f64 / all as f64;
        assert!((got - share).abs() < 0.07, "{routing}: {got}");
    }
}
