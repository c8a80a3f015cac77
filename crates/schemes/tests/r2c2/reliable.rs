//! Reliable flows in the packet engine: every byte arrives despite losses, at the computed rates. The R2C2 paper leaves
//! reliability to future work.

use crate::rack::{Rack, assert_converged, rack_under, random_flows, rate, torus};
use proptest::prelude::{Just, ProptestConfig, any, prop_oneof, proptest};
use raddle_core::{
    Bytes, Duration, Flow, FlowId, FlowKey, Header, Host as _, Input, LinkErrors, LinkId, NodeId, Output,
    Packet, PortId, PortState, Ports, Rate, Report, Time,
};
use raddle_packet_sim::{Change, Config, Threads};
use raddle_schemes::transport::r2c2::{Fabric, Params, R2c2Node};
use raddle_testkit::{flow, us};
use raddle_topology::Topology;
use raddle_topology::routing::Protocol;
use raddle_wire::r2c2::{Data, FLAG_LAST, Route, flow_handle};
use std::collections::{BTreeMap, BTreeSet};

const LONG: u64 = 1 << 40;

const RELIABLE: fn() -> Params = || Params { reliable: true, ..Params::default() };

/// Asserts that every byte of every flow has arrived and that both ends of each flow have reported its end. Returns the
/// number of retransmissions.
fn assert_all_arrived(topology: &Topology, rack: &Rack, flows: &[Flow]) -> u64 {
    let heard = rack.simulation.observer();
    let mut opened = BTreeMap::new();
    let (mut delivered, mut closed) = (BTreeSet::new(), BTreeMap::new());
    for &(_, report) in &heard.reports {
        match report {
            Report::Opened { flow, key } => assert_eq!(opened.insert(key, flow), None),
            Report::Delivered { key, .. } => assert!(delivered.insert(key), "{key} was delivered twice"),
            Report::Closed { key, retransmissions } => {
                assert!(delivered.contains(&key), "{key} ended too early");
                assert_eq!(closed.insert(key, retransmissions), None);
            }
            Report::Paced { .. }
            | Report::Acked { .. }
            | Report::InOrder { .. }
            | Report::Progress { .. }
            | Report::Began { .. }
            | Report::Finished => {}
        }
    }
    assert_eq!((opened.len(), delivered.len(), closed.len()), (flows.len(), flows.len(), flows.len()));
    // A packet carries the same number of bytes in each transmission, and the sizes of a flow's packets add up to the
    // flow's size.
    let mut packets: BTreeMap<FlowKey, BTreeMap<u32, (u64, u32)>> = BTreeMap::new();
    for (_, link, packet) in &heard.sent {
        let Header::R2c2Data(data) = &packet.header else { continue };
        if topology.link(*link).map(|link| link.from) != Some(packet.src()) {
            continue; // the packet's hop index was corrupted on the way
        }
        let (bytes, times) = packets.entry(data.flow.into()).or_default().entry(data.seq).or_default();
        assert!(*times == 0 || *bytes == u64::from(data.plen), "packet {} has changed", data.seq);
        *bytes = data.plen.into();
        *times += 1;
    }
    for (key, flow) in &opened {
        let sent = &packets[key];
        assert_eq!(sent.values().map(|&(bytes, _)| bytes).sum::<u64>(), flows[flow.index()].size.0);
        // The log does not contain packets that their own source dropped.
        assert!(sent.values().map(|&(_, times)| times - 1).sum::<u32>() <= closed[key]);
    }
    assert_eq!(rack.simulation.packets_inside(), 0);
    closed.values().copied().map(u64::from).sum()
}

fn duplex(topology: &Topology, node: u32, port: u16) -> Vec<LinkId> {
    let link = topology.link_id(NodeId(node), PortId(port));
    vec![link, topology.reverse(link)]
}

/// The changes of an outage of these links from `from` to `to`.
fn outage(links: Vec<LinkId>, from: Time, to: Time) -> [Change; 2] {
    let discovery = Duration::from_us(30);
    let down = Change { at: from, links: links.clone(), up: false, discovery };
    [down, Change { at: to, links, up: true, discovery }]
}

fn isolation(topology: &Topology, node: u32, from: Time, to: Time) -> [Change; 2] {
    outage((0..4).flat_map(|port| duplex(topology, node, port)).collect(), from, to)
}

/// The number of bytes that were delivered more than once, divided by the number of bytes of the flows.
fn needless(rack: &Rack, flows: &[Flow]) -> f64 {
    let needed: u64 = flows.iter().map(|flow| flow.size.0).sum();
    let delivered = rack.simulation.totals().delivered_bytes;
    (delivered - needed) as f64 / needed as f64
}

#[test]
fn hardly_anything_is_repeated_where_nothing_is_lost() {
    let topology = torus(&[4, 4, 4]);
    // With the short gap between flows, queues hold tens of packets; with the long gap, hardly any.
    for gap_ns in [200, 1_000] {
        let flows = random_flows(64, 1_000, 60_000, gap_ns, 9);
        for protocol in [Protocol::Rps, Protocol::Vlb, Protocol::Ecmp] {
            let params = Params { protocol, ..RELIABLE() };
            let rack = rack_under(&topology, params, flows.clone(), Config::default(), None);
            let repeats = assert_all_arrived(&topology, &rack, &flows);
            let packets = rack.simulation.observer().sent.len() as u64;
            assert!(repeats * 1_000 <= packets, "{protocol:?}: {repeats} of {packets}");
            assert_converged(&rack, &[]);
        }
    }
}

#[test]
fn every_byte_arrives_through_queues_of_few_packets() {
    let topology = torus(&[4, 4]);
    let flows = random_flows(16, 400, 30_000, 2_000, 3);
    let rack = rack_under(&topology, RELIABLE(), flows.clone(), Config::default(), Some(8));
    assert!(assert_all_arrived(&topology, &rack, &flows) > 20, "queues of 8 packets lose some");
    assert!(needless(&rack, &flows) < 0.01);
    assert_converged(&rack, &[]);
    assert!(rack.nodes[0].lock().expect("no panic").table().is_empty());
}

#[test]
fn every_byte_arrives_over_noisy_links() {
    let topology = torus(&[4, 4]);
    let flows = random_flows(16, 300, 200_000, 20_000, 5);
    let errors = LinkErrors { seed: 7, loss: 0.01, corruption: 0.01, ..LinkErrors::default() };
    let rack = rack_under(&topology, RELIABLE(), flows.clone(), Config { errors, ..Config::default() }, None);
    assert!(assert_all_arrived(&topology, &rack, &flows) > 500, "a packet in 25 is lost");
    assert!(needless(&rack, &flows) < 0.005);
}

#[test]
fn any_window_lets_everything_through() {
    let topology = torus(&[4, 4]);
    let flows = random_flows(16, 100, 60_000, 2_000, 13);
    let errors = LinkErrors { seed: 3, loss: 0.005, ..LinkErrors::default() };
    for window in [1, 2, 7] {
        let params = Params { window, ..RELIABLE() };
        let config = Config { errors: errors.clone(), ..Config::default() };
        let rack = rack_under(&topology, params, flows.clone(), config, None);
        assert_all_arrived(&topology, &rack, &flows);
        let most_early = rack.simulation.observer().reports.iter().filter_map(|&(_, report)| match report {
            Report::Delivered { reorder_peak, .. } => Some(reorder_peak),
            _ => None,
        });
        assert_eq!(most_early.max(), Some(u32::from(window) - 1), "the first missing one has room too");
    }
}

#[test]
fn flows_go_on_when_their_links_are_back() {
    let topology = torus(&[4, 4]);
    let flows = random_flows(16, 200, 600_000, 10_000, 11);
    for protocol in [Protocol::Rps, Protocol::Vlb, Protocol::Ecmp] {
        let mut changes: Vec<Change> = outage(duplex(&topology, 5, 0), us(300), us(1_500)).into();
        changes.extend(outage(duplex(&topology, 9, 2), us(700), us(900)));
        // Node 6 becomes unreachable while flows to and from it are half complete. The outage of 20 ms is longer than
        // the 12.5 ms for which a receiver remembers an ended flow.
        changes.extend(isolation(&topology, 6, us(1_000), us(21_000)));
        let params = Params { protocol, ..RELIABLE() };
        let rack =
            rack_under(&topology, params, flows.clone(), Config { changes, ..Config::default() }, None);
        assert!(assert_all_arrived(&topology, &rack, &flows) > 0);
        let heard = rack.simulation.observer();
        let away = (us(3_000), us(21_000));
        let sent = rate(heard, away.0, away.1, |packet| [packet.src(), packet.dst()].contains(&NodeId(6)));
        assert!(sent < 1.0, "{protocol:?}: nothing is sent to where no way leads");
        // The remaining data is sent soon after the repair.
        let last = heard.sent.last().expect("packets").0;
        assert!(last < us(30_000), "{protocol:?} {last}");
        assert_converged(&rack, &[]);
    }
}

#[test]
fn a_flow_to_a_node_that_never_returns_waits_without_end_and_costs_nothing() {
    let topology = torus(&[4, 4]);
    let flows = vec![flow(0, 0, 6, 10_000_000, us(0)), flow(1, 0, 6, 10_000, us(5_000))];
    let [down, _] = isolation(&topology, 6, us(1_000), us(0));
    let config = Config { changes: vec![down], ..Config::default() };
    let rack = rack_under(&topology, RELIABLE(), flows, config, None);
    // The run ended because no events were left.
    let reports = &rack.simulation.observer().reports;
    assert!(!reports.iter().any(|(_, report)| matches!(report, Report::Closed { .. })));
    assert!(rack.nodes[0].lock().expect("no panic").table().is_empty(), "a flow without a way has no rate");
}

#[test]
fn rates_are_those_of_unreliable_flows() {
    let topology = torus(&[8, 8]);
    let dst = |src: u32| (src % 8 + 3) % 8 + 8 * ((src / 8 + 5) % 8);
    let flows: Vec<_> = (0..64).map(|src| flow(src, src, dst(src), LONG, Time::ZERO)).collect();
    let run = |reliable, loss| {
        let params = Params { rho: Duration::from_us(20), reliable, ..Params::default() };
        let errors = LinkErrors { seed: 1, loss, ..LinkErrors::default() };
        let config = Config { time_limit: Some(us(4_000)), errors, ..Config::default() };
        let rack = rack_under(&topology, params, flows.clone(), config, None);
        let limits: Vec<(u32, u64)> = rack
            .nodes
            .iter()
            .flat_map(|node| {
                let node = node.lock().expect("no panic");
                node.limits().map(|(key, rate)| (key, rate.to_bits())).collect::<Vec<_>>()
            })
            .collect();
        let sent = rate(rack.simulation.observer(), us(2_000), us(4_000), |_| true);
        let paced: Vec<_> = rack.simulation.observer().reports.iter().map(|&(_, report)| report).collect();
        (limits, paced, sent)
    };
    let (limits, paced, sent) = run(false, 0.0);
    let (reliable_limits, reliable_paced, reliable_sent) = run(true, 0.0);
    assert_eq!(limits.len(), 64);
    assert_eq!(limits, reliable_limits);
    assert_eq!(paced, reliable_paced, "every rate that was ever installed");
    assert!((reliable_sent / sent - 1.0).abs() < 0.01, "{sent} {reliable_sent}");
    // Retransmissions use the flow's own rate.
    let (lossy_limits, _, lossy_sent) = run(true, 0.001);
    assert_eq!(lossy_limits.len(), 64);
    assert!((lossy_sent / sent - 1.0).abs() < 0.01, "{sent} {lossy_sent}");
}

#[test]
fn threads_change_nothing() {
    let topology = torus(&[4, 4, 4]);
    let flows = random_flows(64, 300, 100_000, 500, 21);
    let run = |threads| {
        let errors = LinkErrors { seed: 5, loss: 0.01, ..LinkErrors::default() };
        let changes = outage(duplex(&topology, 5, 0), us(50), us(400)).into();
        let config = Config { errors, changes, threads: Threads::Always(threads), ..Config::default() };
        let rack = rack_under(&topology, RELIABLE(), flows.clone(), config, Some(40));
        (
            assert_all_arrived(&topology, &rack, &flows),
            rack.simulation.totals(),
            rack.simulation.into_observer().reports,
        )
    };
    let alone = run(1);
    assert!(alone.0 > 100);
    assert!(alone == run(3), "another number of threads, another result");
}

#[test]
fn a_packet_that_took_a_wrong_turn_is_not_acknowledged() {
    let fabric = Fabric::new(&torus(&[4, 4]), RELIABLE());
    let answer = |dst| {
        let mut node = R2c2Node::new(&fabric, NodeId(1), 1);
        let (src, seq, flags) = (5, 1, FLAG_LAST);
        let (flow, route) = (flow_handle(src, 7), Route::default());
        let data = Data { flow, src, dst, seq, plen: 1, rlen: 0, ridx: 0, flags, route };
        let packet = Packet::new(37, Header::R2c2Data(data));
        node.handle(us(1), Input::Packet { packet: &packet, port: PortId(0) });
        node.poll(us(100), &Ports(&[]))
    };
    assert_eq!(answer(2), Output::WakeAt(Time::NEVER));
    let Output::Send { packet, port: None } = answer(1) else { panic!("an answer") };
    let Header::R2c2Acknowledgement(ack) = packet.header else { panic!("an acknowledgement") };
    assert_eq!((packet.dst(), ack.next, ack.packets().collect::<Vec<_>>()), (NodeId(5), 0, vec![1]));
}

/// The data packets that a node sends until a time: sequence number, bytes, and true for the flow's last packet.
fn data_sent(node: &mut R2c2Node, from: Time, until: Time) -> Vec<(u32, u16, bool)> {
    let ports = [PortState::idle(Rate::from_gbps(10)); 4];
    let (mut now, mut data) = (from, Vec::new());
    while now <= until {
        match node.poll(now, &Ports(&ports)) {
            Output::Send { packet: Packet { header: Header::R2c2Data(packet), .. }, .. } => {
                data.push((packet.seq, packet.plen, packet.flags & FLAG_LAST != 0));
            }
            Output::WakeAt(at) => now = at,
            Output::Idle => break,
            Output::Send { .. } | Output::Report(_) => {}
        }
    }
    data
}

#[test]
fn a_stream_grows_and_ends_while_its_destination_is_cut_off() {
    let topology = torus(&[4, 4]);
    let fabric = Fabric::new(&topology, Params { streams: true, ..RELIABLE() });
    let mut node = R2c2Node::new(&fabric, NodeId(1), 1);
    assert!(node.carries_streams());
    let [cut_off, whole] = [false, true].map(|up| {
        (0..4).flat_map(|port| duplex(&topology, 6, port)).map(move |link| (link, up)).collect::<Vec<_>>()
    });
    let id = FlowId(3);
    let append = |bytes| Input::Append { flow: id, bytes: Bytes(bytes) };
    cut_off.into_iter().for_each(|(link, up)| node.handle(us(1), Input::Link { link, up }));
    assert_eq!(data_sent(&mut node, us(1), us(2)), []);
    node.handle(us(3), Input::Flow(&Flow::stream(id, NodeId(1), NodeId(6), us(3))));
    for input in [append(1_900), append(0), append(100), Input::Close { flow: id }, append(7)] {
        node.handle(us(4), input);
    }
    assert_eq!(data_sent(&mut node, us(4), us(50)), [], "there is no way");
    whole.into_iter().for_each(|(link, up)| node.handle(us(60), Input::Link { link, up }));
    assert_eq!(data_sent(&mut node, us(60), us(80)), [(0, 1_500, false), (1, 500, true)]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn every_byte_arrives_under_random_faults(
        seed in any::<u64>(),
        loss in 0.0..0.05,
        queue in proptest::option::of(6_usize..40),
        window in prop_oneof![1_u16..20, Just(u16::MAX)],
        node in 0_u32..9,
        outages in (100_u64..500, 100_u64..2_000),
    ) {
        let topology = torus(&[3, 3]);
        let flows = random_flows(9, 60, 60_000, 5_000, seed);
        let errors = LinkErrors { seed, loss, corruption: loss, ..LinkErrors::default() };
        let changes = isolation(&topology, node, us(outages.0), us(outages.0 + outages.1)).into();
        let config = Config { errors, changes, ..Config::default() };
        let rack = rack_under(&topology, Params { window, ..RELIABLE() }, flows.clone(), config, queue);
        assert_all_arrived(&topology, &rack, &flows);
    }
}
