//! Up/down routing in trees, with TCP and UDP in the packet engine.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use raddle_core::{Bytes, Duration, Flow, FlowId, NodeId, Rate, Report, Stream, Time};
use raddle_packet_sim::{Config, Observer, PortSetup, Simulation};
use raddle_schemes::parameter::{Settings, Value};
use raddle_schemes::scheme::Plan;
use raddle_testkit::registry;
use raddle_topology::{Topology, Xgft, XgftSize, builders};
use std::ops::ControlFlow;
use std::sync::Arc;

const RATE: Rate = Rate::from_gbps(10);

/// Parameters with values other than their defaults.
type Set = &'static [(&'static str, Value)];

/// For each case: a routing in trees, the routing's parameters, and true if the routing keeps a flow on one path.
const ROUTINGS: [(&str, Set, bool); 8] = [
    ("d-mod-k", &[], true),
    ("s-mod-k", &[], true),
    ("hashed", &[], true),
    ("hashed", &[("key", Value::Choice("flow"))], true),
    ("random-up", &[], false),
    ("random-up", &[("at", Value::Choice("source"))], false),
    ("ecmp", &[], true),
    ("spray", &[], false),
];

#[derive(Default)]
struct Heard {
    reorder_peak: u32,
}

impl Observer for Heard {
    fn report(&mut self, _: Time, _: NodeId, report: Report) {
        if let Report::Delivered { reorder_peak, .. } = report {
            self.reorder_peak = self.reorder_peak.max(reorder_peak);
        }
    }
}

fn tree(size: XgftSize) -> Arc<Topology> {
    Arc::new(builders::xgft(size, RATE, Duration::from_ns(50)).expect("a tree"))
}

/// Runs the flows to their end. Receivers do not hold back segments that arrive out of order.
fn run(
    topology: &Arc<Topology>,
    transport: &str,
    (routing, set): (&str, &[(&str, Value)]),
    flows: Vec<Flow>,
) -> Simulation<Heard> {
    let transport = registry().transport(transport).expect("in the registry");
    let mut of_routing = registry().routing_defaults(routing);
    set.iter().for_each(|&(name, value)| of_routing.set(name, value));
    if of_routing.iter().any(|(parameter, _)| parameter.name == "hold") {
        of_routing.set("hold", Value::Duration(Duration::ZERO));
    }
    let settings = Settings::defaults(transport.info.parameters);
    let plan = Plan::new(topology, routing, &settings, 1);
    let mut parts = registry().build(transport, &plan, &of_routing).expect("a tree suits it");
    let (node, port) = (|id| (parts.node)(id), |_| PortSetup::default());
    let mut simulation = Simulation::new(topology, node, port, flows, Config::default(), Heard::default());
    assert!(simulation.run(|_| ControlFlow::Continue(())), "{routing} comes to rest");
    simulation
}

fn flows(hosts: u32, count: u32) -> Vec<Flow> {
    let mut stream = Stream::new(7, 0, "test/flows");
    let flow = |id| {
        let src = stream.below(hosts.into()) as u32;
        let dst = (src + 1 + stream.below(u64::from(hosts) - 1) as u32) % hosts;
        let (size, start) = (Bytes(1 + stream.below(200_000)), Time::ZERO + Duration::from_us(id) * 5);
        Flow::new(FlowId(id as u32), NodeId(src), NodeId(dst), size, start)
    };
    (0..u64::from(count)).map(flow).collect()
}

/// specifications/cee.md §5.5: packets of flows on one path are never reordered; packets of flows on several paths are
/// reordered.
#[test]
fn oracle_5_5_flows_on_one_path_stay_in_order() {
    let sizes = [
        XgftSize::k_ary_n_tree(2, 4),
        // A slimmed tree, and a tree with two links per host.
        XgftSize { children: vec![4, 4], parents: vec![1, 3] },
        XgftSize { children: vec![2, 3], parents: vec![2, 2] },
    ];
    for size in sizes {
        let topology = tree(size);
        let hosts = topology.hosts().count() as u32;
        for (routing, set, in_order) in ROUTINGS {
            for transport in ["tcp-newreno", "udp"] {
                let simulation = run(&topology, transport, (routing, set), flows(hosts, 100));
                let what = format!("{transport} by {routing} {set:?} on {:?}", topology.shape());
                assert_eq!(simulation.totals().flows_delivered, 100, "{what}");
                assert_eq!(simulation.totals().dropped, 0, "{what}");
                assert_eq!(simulation.observer().reorder_peak == 0, in_order, "{what}");
            }
        }
    }
}

/// All hosts of one half of a tree send to one host of the other half. With D-mod-k all traffic comes down from one
/// root; with random routing it comes down from all roots.
#[test]
fn each_routing_loads_the_roots_as_calculated() {
    let size = XgftSize::k_ary_n_tree(2, 4);
    let (topology, tree) = (tree(size.clone()), Xgft::new(size));
    let incast =
        || (0..8).map(|src| Flow::new(FlowId(src), NodeId(src), NodeId(13), Bytes(150_000), Time::ZERO));
    let used = |routing| {
        let simulation = run(&topology, "udp", (routing, &[]), incast().collect());
        let stats = simulation.link_stats();
        let bytes = |root: NodeId| -> u64 {
            topology.links_from(root).map(|(id, _)| stats[id.index()].data_bytes).sum()
        };
        let roots: Vec<u64> = tree.nodes_of(4).map(|root| bytes(NodeId(root))).collect();
        roots
    };
    let deterministic = used("d-mod-k");
    let all: u64 = deterministic.iter().sum();
    // The destination, 13, is 1101 in binary. Its three lowest bits, 1, 0 and 1, are the digits u_4, u_3 and u_2 of
    // its root.
    assert_eq!(deterministic.iter().position(|&bytes| bytes == all), Some(0b101), "{deterministic:?}");
    let random = used("random-up");
    assert_eq!(random.iter().sum::<u64>(), all);
    let mean = all / 8;
    assert!(random.iter().all(|&bytes| bytes.abs_diff(mean) < mean / 2), "{random:?}");
}
