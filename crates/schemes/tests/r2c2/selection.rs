//! Routing selection in a running rack (R2C2 §3.4).

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use crate::rack::{Rack, assert_alike, assert_converged, rack, rack_under, torus};
use raddle_allocate::selection::Utility;
use raddle_core::{
    Duration, Flow, FlowId, Header, LinkErrors, LinkId, NodeId, Packet, Rate, Report, Stream, Time,
};
use raddle_packet_sim::{Change, Config};
use raddle_schemes::transport::r2c2::{Doubt, Params, Selecting, Selection};
use raddle_testkit::{flow, us};
use raddle_topology::routing::{Protocol, Routing};
use raddle_topology::{Topology, builders};
use std::collections::BTreeMap;
use std::sync::Arc;

fn params(by: Selecting) -> Params {
    let selection = Selection {
        by,
        period: Duration::from_us(400),
        among: &[Protocol::Rps, Protocol::Vlb],
        utility: Utility::Aggregate,
        evaluations: 1_000,
    };
    let rho = Duration::from_us(20);
    Params { rho, only_lasting: false, selection: Some(selection), ..Params::default() }
}

/// Three flows, each between two neighbours. With minimal routes, each flow uses one link. With Valiant routing, each
/// flow also uses idle links.
fn neighbours() -> Vec<Flow> {
    [(0, 0, 1), (1, 21, 22), (2, 42, 43)].map(|(id, src, dst)| flow(id, src, dst, 1 << 30, us(0))).to_vec()
}

/// The sum of all rates as computed by node `at`, in bit/s.
fn aggregate(rack: &crate::rack::Rack, at: usize) -> f64 {
    rack.nodes[at].lock().expect("no panic").compute_all().iter().map(|(_, rate)| rate).sum()
}

#[test]
fn flows_that_gain_are_rerouted_and_all_nodes_know_it() {
    let fixed = rack(&torus(&[4, 4, 4]), Params::default(), neighbours(), Some(us(3_000)), Vec::new(), None);
    for by in [Selecting::One, Selecting::Random, Selecting::Token] {
        let limit = if by == Selecting::Random { 60_000 } else { 3_000 };
        let selected = rack(&torus(&[4, 4, 4]), params(by), neighbours(), Some(us(limit)), Vec::new(), None);
        assert_converged(&selected, &[]);
        let (before, after) = (aggregate(&fixed, 63), aggregate(&selected, 63));
        assert!(after > 2.5 * before, "{by:?} {before} {after}");
        for (at, flow) in [(0, 0), (21, 1), (42, 2)] {
            let node = selected.nodes[at].lock().expect("no panic");
            let (key, limit) = node.limits().next().expect("it sends a flow");
            let computed = node.compute_all().into_iter().find(|&(other, _)| other == key).expect("known").1;
            assert_eq!(limit.to_bits(), computed.to_bits(), "{by:?}: flow {flow} is paced at its new rate");
        }
    }
}

#[test]
fn measured_throughput_follows_the_selection() {
    let bytes = |by: Option<Selecting>| {
        let params = by.map_or(Params { selection: None, ..params(Selecting::One) }, params);
        let rack = rack(&torus(&[4, 4, 4]), params, neighbours(), Some(us(3_000)), Vec::new(), None);
        crate::rack::rate(rack.simulation.observer(), us(1_500), us(3_000), |_| true)
    };
    let (fixed, selected) = (bytes(None), bytes(Some(Selecting::One)));
    assert!(selected > 2.5 * fixed, "{selected} {fixed}");
}

#[test]
fn young_flows_are_left_alone() {
    // At the time of the first selection, after 400 us, one flow is younger than ten ticks.
    let mut flows = neighbours();
    flows[2].start = us(390);
    let rack = rack(&torus(&[4, 4, 4]), params(Selecting::One), flows, Some(us(600)), Vec::new(), None);
    let rate_of = |src: u32| {
        let rates = rack.nodes[0].lock().expect("no panic").compute_all();
        rates.into_iter().find(|(key, _)| key >> 16 == src).expect("known").1
    };
    assert!(rate_of(0) > 2e10, "{}", rate_of(0));
    assert!(rate_of(42) < 1e10, "{}", rate_of(42));
}

#[test]
fn a_rack_without_flows_comes_to_rest() {
    for by in [Selecting::One, Selecting::Random, Selecting::Token] {
        let flows = crate::rack::random_flows(64, 200, 200_000, 10_000, 9);
        let rack = rack(&torus(&[4, 4, 4]), params(by), flows, None, Vec::new(), None);
        assert!(rack.simulation.now() < us(60_000), "{by:?} {}", rack.simulation.now());
    }
}

#[test]
fn the_token_skips_the_dead_and_survives_its_holders() {
    let topology = torus(&[4, 4, 4]);
    // Node 1 would be the first to hold the token, but fails before its turn. Node 2 fails later.
    let links = |node: u32| {
        let node = raddle_core::NodeId(node);
        topology.links_from(node).flat_map(|(id, _)| [id, topology.reverse(id)]).collect::<Vec<_>>()
    };
    let down = |at: u64, node: u32| Change {
        at: us(at),
        links: links(node),
        up: false,
        discovery: Duration::from_us(20),
    };
    let flows: Vec<Flow> = [(0, 16, 17), (1, 37, 38), (2, 58, 59)]
        .map(|(id, src, dst)| flow(id, src, dst, 1 << 30, us(0)))
        .to_vec();
    let changes = vec![down(100, 1), down(380, 2)];
    let rack = rack(&topology, params(Selecting::Token), flows, Some(us(4_000)), changes, None);
    assert_converged(&rack, &[1, 2]);
    assert!(aggregate(&rack, 63) > 6e10, "{}", aggregate(&rack, 63));
}

#[test]
fn announcements_that_find_no_room_are_sent_again() {
    let mut flows = neighbours();
    // The noise consists of short flows. Their broadcasts fill the queues, which hold 3 packets.
    let noise = crate::rack::random_flows(64, 200, 20_000, 10_000, 7);
    flows.extend(noise.into_iter().map(|noise| Flow { id: FlowId(noise.id.0 + 3), ..noise }));
    let rack =
        rack(&torus(&[4, 4, 4]), params(Selecting::Token), flows, Some(us(20_000)), Vec::new(), Some(3));
    assert!(rack.simulation.observer().lost_events > 0, "some broadcast is dropped");
    assert_converged(&rack, &[]);
    assert!(aggregate(&rack, 63) > 6e10);
}

#[test]
fn protocols_that_need_a_torus_give_way_to_per_hop_random_after_a_failure() {
    let topology = torus(&[4, 4]);
    for protocol in Protocol::all() {
        let link = topology.link_id(raddle_core::NodeId(5), raddle_core::PortId(0));
        let links = vec![link, topology.reverse(link)];
        let change = Change { at: us(100), links, up: false, discovery: Duration::from_us(10) };
        let flows = crate::rack::random_flows(16, 40, 50_000, 4_000, 3);
        let rack = rack(&topology, Params { protocol, ..Params::default() }, flows, None, vec![change], None);
        let delivered = |(_, report): &&(_, Report)| matches!(report, Report::Delivered { .. });
        let delivered = rack.simulation.observer().reports.iter().filter(delivered).count();
        assert!(delivered >= 30, "{protocol}: {delivered} of 40");
    }
}

/// A seeded run of selection on a small fabric, while links and nodes fail and recover and queues overflow.
struct Trouble {
    topology: Arc<Topology>,
    params: Params,
    flows: Vec<Flow>,
    changes: Vec<Change>,
    limit_packets: Option<usize>,
    errors: LinkErrors,
}

/// Faults begin and flows start before this time.
const FAULTS_US: u64 = 2_500;
/// By this time all nodes have had time to recover.
const END_US: u64 = 9_000;

impl Trouble {
    fn new(seed: u64, is_lossy: bool) -> Self {
        let stream = &mut Stream::new(seed, 0, "test/selection");
        let (rate, delay) = (Rate::from_gbps(1), Duration::from_ns(100));
        let topology = match stream.below(4) {
            0 => builders::torus(&[3, 3], rate, delay),
            1 => builders::torus(&[4, 4], rate, delay),
            2 => builders::mesh(&[3, 4], rate, delay),
            _ => builders::folded_clos(3, 2, 3, rate, rate, delay),
        };
        let topology = Arc::new(topology.expect("a small fabric"));
        let by = [Selecting::One, Selecting::Random, Selecting::Token][stream.index(3)];
        let mut params = params(by);
        params.digest_period = Duration::from_us(300);
        params.doubt = if is_lossy { Doubt::Always } else { Doubt::AfterFaults };
        let hosts: Vec<NodeId> = topology.hosts().collect();
        // With random selection a host waits for up to 1.5 periods times the number of hosts, so the period is shorter.
        let turns = if by == Selecting::Random { hosts.len() as u64 } else { 1 };
        let selection = params.selection.as_mut().expect("given");
        selection.period = Duration::from_us(210 / turns);
        selection.evaluations = 60;
        let flows = (0..4 + stream.below(20) as u32).map(|id| {
            let src = stream.index(hosts.len());
            let dst = (src + 1 + stream.index(hosts.len() - 1)) % hosts.len();
            let size = if stream.coin() { 1 << 40 } else { 1 + stream.below(40_000) };
            flow(id, hosts[src].0, hosts[dst].0, size, us(stream.below(FAULTS_US)))
        });
        let mut flows: Vec<Flow> = flows.collect();
        flows.sort_by_key(|flow| flow.start);
        (0..).zip(&mut flows).for_each(|(id, flow)| flow.id = FlowId(id));
        let links: Vec<LinkId> = topology.links().map(|(id, _)| id).collect();
        let mut changes = Vec::new();
        for _ in 0..stream.below(5) {
            let links = if stream.below(3) == 0 {
                let node = NodeId(stream.below(topology.node_count() as u64) as u32);
                topology.links_from(node).flat_map(|(id, _)| [id, topology.reverse(id)]).collect()
            } else {
                let link = links[stream.index(links.len())];
                vec![link, topology.reverse(link)]
            };
            let (from, discovery) = (stream.below(FAULTS_US), Duration::from_us(stream.below(300)));
            changes.push(Change { at: us(from), links: links.clone(), up: false, discovery });
            let until = us(from + 1 + stream.below(1_500));
            changes.push(Change { at: until, links, up: true, discovery });
        }
        let limit_packets = stream.coin().then(|| 3 + stream.index(8));
        let odds = if is_lossy { 0.05 } else { 0.0 };
        let errors = LinkErrors {
            seed,
            loss: odds,
            corruption: odds,
            links: None,
            until: Some(us(FAULTS_US)),
            ..LinkErrors::default()
        };
        Self { topology, params, flows, changes, limit_packets, errors }
    }

    fn run(&self) -> Rack {
        let (changes, errors) = (self.changes.clone(), self.errors.clone());
        let config = Config { time_limit: Some(us(END_US)), changes, errors, ..Config::default() };
        rack_under(&self.topology, self.params, self.flows.clone(), config, self.limit_packets)
    }
}

#[test]
fn halves_that_have_chosen_on_their_own_agree_when_they_meet_again() {
    let topology =
        Arc::new(builders::mesh(&[4, 2], Rate::from_gbps(1), Duration::from_ns(100)).expect("a mesh"));
    // Nodes 2, 3, 6 and 7 are cut off and run a selection of their own.
    let cut = [(1, 2), (5, 6)].map(|(a, b)| {
        topology.links_from(NodeId(a)).find(|(_, link)| link.to == NodeId(b)).expect("neighbours").0
    });
    let links: Vec<LinkId> = cut.iter().flat_map(|&link| [link, topology.reverse(link)]).collect();
    let change = |at, up| Change { at: us(at), links: links.clone(), up, discovery: Duration::from_us(10) };
    // Without competition, the flow from node 2 to node 3 gains by using all links of its half. Later each link carries
    // another flow, and the flow gains nothing by using more links.
    let mut flows = vec![flow(0, 2, 3, 1 << 40, us(0))];
    let others = (1..).zip(topology.links());
    flows.extend(others.map(|(id, (_, link))| flow(id, link.from.0, link.to.0, 1 << 40, us(2_100))));
    let changes = vec![change(100, false), change(2_000, true)];
    let rack = |until| {
        rack(&topology, params(Selecting::One), flows.clone(), Some(us(until)), changes.clone(), None)
    };
    let rate = |rack: &Rack| {
        let rates = rack.nodes[2].lock().expect("no panic").compute_all();
        rates.into_iter().find(|&(key, _)| key == 2 << 16 | 1).expect("known").1
    };
    assert!(rate(&rack(1_900)) > 1.1e9, "spread over its half");
    let after = rack(4_000);
    assert_converged(&after, &[]);
    assert!(rate(&after) < 1e9, "on a single link again");
}

/// Runs one simulation per seed and asserts that nodes agree at the end of each run. Returns the number of lost packets
/// for each reason.
fn recover(seeds: std::ops::Range<u64>, is_lossy: bool) -> BTreeMap<String, u64> {
    let mut lost = BTreeMap::new();
    let mut detours = 0;
    for seed in seeds {
        let trouble = Trouble::new(seed, is_lossy);
        let rack = trouble.run();
        assert_alike(rack.hosts.iter().map(|host| &rack.nodes[host.index()]), &format!("seed {seed}"));
        let heard = rack.simulation.observer();
        for (why, count) in &heard.reasons {
            *lost.entry(why.clone()).or_default() += count;
        }
        let routing = Routing::new(Arc::clone(&trouble.topology));
        let is_detour = |(_, _, packet): &&(Time, LinkId, Packet)| {
            let Header::R2c2Data(data) = &packet.header else { return false };
            let shortest = routing.distance(NodeId(data.src.into()), NodeId(data.dst.into()));
            Some(u32::from(data.rlen)) > shortest
        };
        detours += heard.sent.iter().filter(is_detour).count();
    }
    assert!(detours > 1_000, "{detours} packets that went Valiant's way");
    lost
}

#[test]
fn nodes_agree_on_protocols_under_failures_and_overflows() {
    let lost = recover(0..60, false);
    assert!(lost["LinkDown"] > 100 && lost["QueueFull"] > 100, "{lost:?}");
}

#[test]
fn nodes_agree_on_protocols_over_links_that_lose_and_damage_packets() {
    let lost = recover(0..60, true);
    assert!(["LinkDown", "QueueFull", "Lost", "Malformed"].iter().all(|&why| lost[why] > 100), "{lost:?}");
}
