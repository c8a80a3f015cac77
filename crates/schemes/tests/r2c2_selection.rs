//! Routing selection in a running rack (R2C2 §3.4).

mod rack;

use rack::{assert_converged, flow, rack, torus, us};
use raddle_allocate::selection::Utility;
use raddle_core::{Duration, Flow, Report};
use raddle_packet_sim::Change;
use raddle_schemes::r2c2::{Params, Selecting, Selection};
use raddle_topology::routing::Protocol;

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

/// A few neighbours that send to each other: minimal routes use one link each, Valiant's all that idle.
fn neighbours() -> Vec<Flow> {
    [(0, 0, 1), (1, 21, 22), (2, 42, 43)].map(|(id, src, dst)| flow(id, src, dst, 1 << 30, us(0))).to_vec()
}

/// The sum of all rates as node `at` computes them, bit/s.
fn aggregate(rack: &rack::Rack, at: usize) -> f64 {
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
        rack::rate(rack.simulation.observer(), us(1_500), us(3_000), |_| true)
    };
    let (fixed, selected) = (bytes(None), bytes(Some(Selecting::One)));
    assert!(selected > 2.5 * fixed, "{selected} {fixed}");
}

#[test]
fn young_flows_are_left_alone() {
    // At the first selection, after 400 us, one flow is younger than ten ticks.
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
        let flows = rack::random_flows(64, 200, 200_000, 10_000, 9);
        let rack = rack(&torus(&[4, 4, 4]), params(by), flows, None, Vec::new(), None);
        assert!(rack.simulation.now() < us(60_000), "{by:?} {}", rack.simulation.now());
    }
}

#[test]
fn the_token_skips_the_dead_and_survives_its_holders() {
    let topology = torus(&[4, 4, 4]);
    // Node 1 would hold the token first; it dies before its turn, node 2 after it.
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
    // Short flows whose broadcasts fill the queues of two packets.
    let noise = rack::random_flows(64, 200, 20_000, 10_000, 7);
    flows.extend(noise.into_iter().map(|noise| Flow { id: raddle_core::FlowId(noise.id.0 + 3), ..noise }));
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
        let flows = rack::random_flows(16, 40, 50_000, 4_000, 3);
        let rack = rack(&topology, Params { protocol, ..Params::default() }, flows, None, vec![change], None);
        let delivered = |(_, report): &&(_, Report)| matches!(report, Report::Delivered { .. });
        let delivered = rack.simulation.observer().reports.iter().filter(delivered).count();
        assert!(delivered >= 30, "{protocol}: {delivered} of 40");
    }
}
