//! R2C2 in the packet engine: the oracles that need a fabric.

use crate::rack::{assert_converged, rack, random_flows, rate, torus};
use raddle_core::{Duration, Header, LinkId, NodeId, PortId, Rate, Report, Time};
use raddle_packet_sim::Change;
use raddle_schemes::transport::r2c2::{Params, StartPolicy};
use raddle_testkit::{flow, us};
use raddle_topology::builders;
use raddle_topology::routing::Protocol;
use std::sync::Arc;

const LONG: u64 = 1 << 40;

fn key_of(packet: &raddle_core::Packet) -> u32 {
    match &packet.header {
        Header::R2c2Data(data) => data.flow,
        _ => 0,
    }
}

#[test]
fn oracle_o8_a_lone_flow_gets_its_share_of_the_ports_its_protocol_uses() {
    let topology = torus(&[8, 8, 8]);
    // A flow to (4,4,4), the farthest node, uses six ports. A flow to (3,0,0), three hops away in one dimension, uses
    // one port.
    for (dst, ports) in [(4 + 8 * 4 + 64 * 4, 6.0), (3, 1.0)] {
        let flows = vec![flow(0, 0, dst, LONG, Time::ZERO)];
        let rack = rack(&topology, Params::default(), flows, Some(us(4_000)), vec![], None);
        let measured = rate(rack.simulation.observer(), us(1_500), us(4_000), |_| true);
        let expected = 0.95 * 10e9 * ports;
        assert!((measured / expected - 1.0).abs() < 0.01, "to {dst}: {measured} for {expected}");
    }
}

#[test]
fn oracle_o8_a_lone_flow_with_less_demand_gets_its_demand() {
    let topology = torus(&[8, 8, 8]);
    let mut flows = vec![flow(0, 0, 3, LONG, Time::ZERO)];
    flows[0].app_rate = Some(Rate::from_gbps(2));
    let rack = rack(&topology, Params::default(), flows, Some(us(4_000)), vec![], None);
    let measured = rate(rack.simulation.observer(), us(1_500), us(4_000), |_| true);
    let expected = 2e9 * 1_536.0 / 1_500.0;
    assert!((measured / expected - 1.0).abs() < 0.01, "{measured} for {expected}");
}

/// Every node sends an endless flow to the node that `dst` gives. Asserts that each flow gets `expected` bit/s. The
/// measurement starts after the first rate computations.
fn permutation(protocol: Protocol, dst: impl Fn(u32) -> u32, expected: f64) {
    let topology = torus(&[8, 8]);
    let flows = (0..64).map(|src| flow(src, src, dst(src), LONG, Time::ZERO)).collect();
    // Rho is short, so that the burst before the first computation drains before the measurement.
    let params = Params { protocol, rho: Duration::from_us(20), ..Params::default() };
    let rack = rack(&topology, params, flows, Some(us(9_000)), vec![], None);
    let heard = rack.simulation.observer();
    for src in 0..64 {
        let measured = rate(heard, us(6_000), us(9_000), |packet| packet.src() == NodeId(src));
        assert!((measured / expected - 1.0).abs() < 0.01, "node {src}: {measured} for {expected}");
    }
    for node in &rack.nodes {
        let node = node.lock().expect("no panic");
        for (_, limit) in node.limits() {
            assert!((limit / expected - 1.0).abs() < 1e-4, "{limit} for {expected}");
        }
    }
}

#[test]
fn oracle_o9_a_vlb_permutation_gives_every_flow_the_same_half() {
    // Each node sends to the node that is shifted by 3 in x and by 5 in y.
    permutation(Protocol::Vlb, |src| (src % 8 + 3) % 8 + 8 * ((src / 8 + 5) % 8), 0.475 * 10e9);
}

#[test]
fn oracle_o9_rps_tornado_gives_every_flow_a_third() {
    permutation(Protocol::Rps, |src| (src % 8 + 3) % 8 + 8 * (src / 8), 0.95 / 3.0 * 10e9);
}

#[test]
fn oracle_o9_queues_stay_bounded_under_a_vlb_permutation() {
    let topology = torus(&[8, 8]);
    let dst = |src: u32| (src % 8 + 3) % 8 + 8 * ((src / 8 + 5) % 8);
    let flows: Vec<_> = (0..64).map(|src| flow(src, src, dst(src), LONG, Time::ZERO)).collect();
    let params = Params { protocol: Protocol::Vlb, start: StartPolicy::Local, ..Params::default() };
    let peak = |limit| {
        let rack = rack(&topology, params, flows.clone(), Some(limit), vec![], None);
        rack.simulation.link_stats().iter().map(|link| link.peak_queue).max().unwrap_or(0)
    };
    let (early, late) = (peak(us(4_000)), peak(us(12_000)));
    assert!(late < 2 * early, "the worst queue grew from {early} to {late} bytes");
}

#[test]
fn oracle_o10_a_broadcast_costs_sixteen_bytes_a_tree_edge() {
    let topology = torus(&[8, 8, 8]);
    let rack = rack(&topology, Params::default(), vec![flow(0, 7, 90, 1, Time::ZERO)], None, vec![], None);
    let control: u64 = rack.simulation.link_stats().iter().map(|link| link.control_bytes).sum();
    assert_eq!(control, 2 * 8_176, "one START and one FINISH");
}

#[test]
fn oracle_o10_a_broadcast_of_a_folded_clos_crosses_544_links() {
    let rate = Rate::from_gbps(10);
    let clos = builders::folded_clos(32, 16, 16, rate, rate, Duration::from_ns(100)).expect("valid sizes");
    let params = Params { hop_bits: 5, ..Params::default() };
    for flow in [flow(0, 7, 490, 1, Time::ZERO), flow(0, 300, 301, 1, Time::ZERO)] {
        let rack = rack(&Arc::new(clos.clone()), params, vec![flow], None, vec![], None);
        let control: u64 = rack.simulation.link_stats().iter().map(|link| link.control_bytes).sum();
        // Number of packet copies in one broadcast: 1 to the leaf, 15 to the leaf's other hosts, 1 to one spine, 31 to
        // the other leaves, and 31 · 16 to the hosts of these leaves.
        assert_eq!(control, 2 * 16 * (1 + 15 + 1 + 31 + 31 * 16), "one START and one FINISH");
    }
}

#[test]
fn oracle_o6_a_broadcast_reaches_everyone_in_the_time_of_twelve_hops() {
    let topology = torus(&[8, 8, 8]);
    let rack = rack(
        &topology,
        Params::default(),
        vec![flow(0, 0, 1, LONG, Time::ZERO)],
        Some(Time::from_ps(1_353_600)),
        vec![],
        None,
    );
    let known = rack.nodes.iter().filter(|node| node.lock().expect("no panic").table().len() == 1).count();
    assert_eq!(known, 512, "12 * (12.8 ns + 100 ns) = 1,353.6 ns");
}

fn duplex(topology: &raddle_topology::Topology, node: u32, port: u16) -> Vec<LinkId> {
    let link = topology.link_id(NodeId(node), PortId(port));
    vec![link, topology.reverse(link)]
}

#[test]
fn oracle_o11_after_a_link_dies_tables_agree_and_nobody_uses_it() {
    let topology = torus(&[4, 4]);
    let mut flows: Vec<_> =
        (0..16).map(|src| flow(src, src, (src + 5) % 16, LONG, us(u64::from(src)))).collect();
    flows.sort_by_key(|flow| flow.start);
    let links = duplex(&topology, 5, 0);
    let change = Change { at: us(700), links: links.clone(), up: false, discovery: Duration::from_us(50) };
    for protocol in [Protocol::Rps, Protocol::Vlb, Protocol::Ecmp] {
        let params = Params { protocol, ..Params::default() };
        let rack = rack(&topology, params, flows.clone(), Some(us(3_000)), vec![change.clone()], None);
        assert_converged(&rack, &[]);
        assert_eq!(rack.nodes[0].lock().expect("no panic").table().len(), 16);
        let heard = rack.simulation.observer();
        assert!(heard.lost > 0, "what travelled over the link is lost");
        let late = heard.sent.iter().filter(|(at, link, _)| links.contains(link) && *at > us(760)).count();
        assert_eq!(late, 0, "{protocol:?}");
        let measured = rate(heard, us(2_000), us(3_000), |_| true);
        assert!(measured > 16.0 * 1e9, "flows go on: {measured}");
    }
}

#[test]
fn oracle_o11_flows_of_a_dead_node_are_forgotten() {
    let topology = torus(&[4, 4]);
    let flows: Vec<_> = (0..16).map(|src| flow(src, src, (src + 5) % 16, LONG, us(0))).collect();
    let links: Vec<LinkId> = (0..4).flat_map(|port| duplex(&topology, 6, port)).collect();
    let change = Change { at: us(700), links, up: false, discovery: Duration::from_us(50) };
    let rack = rack(&topology, Params::default(), flows, Some(us(3_000)), vec![change], None);
    assert_converged(&rack, &[6]);
    assert_eq!(
        rack.nodes[0].lock().expect("no panic").table().len(),
        14,
        "6 sends one flow and receives one"
    );
}

#[test]
fn dropped_broadcasts_are_noticed_and_sent_again() {
    let topology = torus(&[4, 4]);
    let flows = random_flows(16, 400, 30_000, 2_000, 3);
    let rack = rack(&topology, Params::default(), flows, None, vec![], Some(8));
    assert!(rack.simulation.observer().lost_events > 20, "queues of 8 packets lose some");
    assert_converged(&rack, &[]);
    assert!(
        rack.nodes[0].lock().expect("no panic").table().is_empty(),
        "every FINISH got through in the end"
    );
}

#[test]
fn oracle_o12_other_flows_use_the_rate_that_a_host_limited_flow_leaves() {
    // Both flows leave node 0 through the port in the positive x direction.
    let topology = torus(&[8, 8, 8]);
    let mut flows = vec![flow(0, 0, 2, LONG, Time::ZERO), flow(1, 0, 2, 2_000_000_000, Time::ZERO)];
    flows[1].app_rate = Some(Rate::from_gbps(2));
    // With this start policy, flows have no rate limit at first. The first rates come from the first computation, which
    // includes both flows.
    let params = Params { start: StartPolicy::Line, ..Params::default() };
    let rack = rack(&topology, params, flows, Some(us(20_000)), vec![], None);
    let heard = rack.simulation.observer();
    let of = |lid: u32| move |packet: &raddle_core::Packet| key_of(packet) & 0xffff == lid;
    let paced = |lid: u64| {
        heard.reports.iter().filter_map(move |&(at, report)| match report {
            Report::Paced { key, rate } if key.0 & 0xffff == lid => Some((at, rate.as_bps_f64())),
            _ => None,
        })
    };
    let (first, rate_at_first) = paced(1).next().expect("a computed rate");
    assert!((rate_at_first / 4.75e9 - 1.0).abs() < 1e-6, "an equal share at first: {rate_at_first}");
    let (risen, _) = paced(1).find(|&(_, rate)| rate > 7e9).expect("a higher rate");
    assert!(risen.since(first) <= Duration::from_us(1_000), "within 2 rho");
    let (open, limited) =
        (rate(heard, us(10_000), us(20_000), of(1)), rate(heard, us(10_000), us(20_000), of(2)));
    // The estimated demand counts headers: 2 Gb/s of payload are 2.048 Gb/s with headers (1,536 bytes per 1,500 bytes
    // of payload).
    assert!((limited / 2.048e9 - 1.0).abs() < 0.02, "{limited}");
    assert!((open / 7.5e9 - 1.0).abs() < 0.03, "{open}");
}

#[test]
fn start_policies_differ_in_the_flows_that_share_a_link_with_a_new_one() {
    // All flows leave node 0 through the port in the positive x direction. Ticks are at 500 us and 1,000 us, so a tick
    // has counted only the first flow when the third starts.
    let topology = torus(&[8, 8, 8]);
    let flows = [0, 600, 700].into_iter().zip(0..).map(|(at, id)| flow(id, 0, 2, LONG, us(at)));
    let flows: Vec<_> = flows.collect();
    for (start, gbps) in [
        (StartPolicy::Local, 9.5 / 3.0),
        (StartPolicy::Batch, 9.5 / 2.0),
        (StartPolicy::Residual, 0.095),
        (StartPolicy::Link, 10.0),
        (StartPolicy::Line, 9.5 / 3.0),
    ] {
        let params = Params { start, synchronous: true, ..Params::default() };
        let rack = rack(&topology, params, flows.clone(), Some(us(1_100)), vec![], None);
        let first = rack.simulation.observer().reports.iter().find_map(|&(at, report)| match report {
            Report::Paced { key, rate } if key.0 & 0xffff == 3 => Some((at, rate.as_bps_f64() / 1e9)),
            _ => None,
        });
        let (at, rate) = first.expect("a rate");
        assert_eq!(at, us(if start == StartPolicy::Line { 1_000 } else { 700 }), "{start:?}");
        assert!((rate / gbps - 1.0).abs() < 1e-6, "{start:?}: {rate}");
    }
}

#[test]
fn every_byte_arrives_and_every_flow_is_reported() {
    let topology = torus(&[4, 4, 4]);
    let flows = random_flows(64, 2_000, 40_000, 500, 9);
    let bytes: u64 = flows.iter().map(|flow| flow.size.0).sum();
    for protocol in [Protocol::Rps, Protocol::RpsPath, Protocol::Vlb, Protocol::Wlb, Protocol::Ecmp] {
        let params = Params { protocol, ..Params::default() };
        let rack = rack(&topology, params, flows.clone(), None, vec![], None);
        let totals = rack.simulation.totals();
        assert_eq!((totals.delivered_bytes, totals.dropped, totals.flows_delivered), (bytes, 0, 2_000));
        assert_eq!(rack.simulation.packets_inside(), 0);
        assert_converged(&rack, &[]);
        let closed = rack.simulation.observer().reports.iter();
        assert_eq!(closed.filter(|(_, report)| matches!(report, Report::Closed { .. })).count(), 2_000);
    }
}
