//! R2C2 with a central controller in the packet engine.

#![allow(clippy::cast_possible_truncation, reason = "small numbers")]
use crate::rack::{Rack, rack, rack_of, random_flows, torus};
use raddle_core::{
    Duration, Flow, Header, HeaderInfo, Host, Input, NodeId, Output, Packet, PortId, Ports, Rate, Report,
    Time,
};
use raddle_packet_sim::{Change, Config};
use raddle_schemes::transport::r2c2::{self, Fabric};
use raddle_schemes::transport::r2c2_central::{CentralNode, Params, Push};
use raddle_testkit::{flow, us};
use raddle_topology::{Topology, routing::Routing};
use raddle_wire::r2c2::{ControllerRates, Data, Event, EventKind, FlowRate, Route};
use std::sync::Arc;

const LONG: u64 = 1 << 40;

fn params(push: Push) -> Params {
    Params { r2c2: r2c2::Params::default(), controller: NodeId(0), push }
}

fn central(
    topology: &Arc<Topology>,
    params: Params,
    flows: Vec<Flow>,
    limit: Option<Time>,
    changes: Vec<Change>,
) -> Rack<CentralNode> {
    let fabric = Fabric::new(topology, params.r2c2);
    let config = Config { time_limit: limit, changes, ..Config::default() };
    let node = |id| CentralNode::new(&fabric, &params, id, 1);
    rack_of(topology, node, params.r2c2.hop_bits, flows, None, config)
}

/// Handle and rate limit in bit/s of each flow of a rack, sorted by handle. Flows without a rate limit are left out.
fn limits(rack: &Rack<CentralNode>) -> Vec<(u32, f64)> {
    let of = |node: &Arc<std::sync::Mutex<CentralNode>>| -> Vec<_> {
        node.lock().expect("no panic").limits().collect()
    };
    let mut all: Vec<_> = rack.nodes.iter().flat_map(of).collect();
    all.sort_unstable_by_key(|&(key, _)| key);
    all
}

/// Long flows with various weights and priorities.
fn mixed_flows(nodes: u64, count: u32) -> Vec<Flow> {
    let mut flows = random_flows(nodes, count, 1, 2_000, 11);
    for (i, flow) in (0_u8..).zip(&mut flows) {
        flow.size.0 = LONG;
        flow.weight = 1 + i % 3;
        flow.priority = u8::from(i % 7 == 0);
    }
    flows
}

#[test]
fn rates_at_quiescence_are_those_of_r2c2() {
    let topology = torus(&[4, 4]);
    let flows = mixed_flows(16, 40);
    let end = us(2_000);
    let plain = r2c2::Params { synchronous: true, ..r2c2::Params::default() };
    let broadcast = rack(&topology, plain, flows.clone(), Some(end), vec![], None);
    let expected = broadcast.nodes[0].lock().expect("no panic").compute_all();
    let digest = broadcast.nodes[0].lock().expect("no panic").table().digest();
    let central = central(&topology, Params { r2c2: plain, ..params(Push::Tick) }, flows, Some(end), vec![]);
    let controller = central.nodes[0].lock().expect("no panic");
    let bits =
        |rates: &[(u32, f64)]| -> Vec<_> { rates.iter().map(|&(key, r)| (key, r.to_bits())).collect() };
    let computed = controller.compute_all().expect("the controller's node");
    assert_eq!(controller.table().expect("the controller's node").digest(), digest);
    assert_eq!(bits(&computed), bits(&expected));
    drop(controller);
    let told: Vec<_> = expected.iter().map(|&(key, rate)| (key, (rate / 1e3).floor() * 1e3)).collect();
    assert_eq!(limits(&central), told);
}

#[test]
fn the_controller_gives_unused_rate_to_other_flows() {
    let topology = torus(&[4, 4]);
    for push in [Push::Event, Push::Tick] {
        let mut flows = vec![flow(0, 5, 6, LONG, Time::ZERO), flow(1, 5, 6, LONG, Time::ZERO)];
        flows[1].app_rate = Some(Rate::from_gbps(2));
        let rack = central(&topology, params(push), flows, Some(us(20_000)), vec![]);
        let [(_, open), (_, limited)] = limits(&rack)[..] else { panic!("two flows") };
        // 2 Gb/s of payload are 2.048 Gb/s with headers (1,536 bytes per 1,500 bytes of payload).
        assert!((limited / 2.048e9 - 1.0).abs() < 0.1, "{push:?}: {limited}");
        assert!((open + limited - 9.5e9).abs() < 2e3, "{push:?}: {open} {limited}");
    }
}

#[test]
fn with_push_at_every_event_rates_change_at_once() {
    let topology = torus(&[4, 4]);
    let flows = vec![flow(0, 5, 6, LONG, Time::ZERO), flow(1, 5, 6, LONG, us(20))];
    for (end, expected) in [(us(15), vec![9.5e9]), (us(40), vec![4.75e9, 4.75e9])] {
        let rack = central(&topology, params(Push::Event), flows.clone(), Some(end), vec![]);
        let rates: Vec<f64> = limits(&rack).into_iter().map(|(_, rate)| rate).collect();
        assert_eq!(rates, expected, "before {end:?}");
    }
}

#[test]
fn with_push_at_ticks_only_long_flows_have_rates() {
    let topology = torus(&[4, 4]);
    let flows = vec![flow(0, 5, 6, LONG, us(10)), flow(1, 5, 6, LONG, us(700))];
    let synchronous = r2c2::Params { synchronous: true, only_lasting: true, ..r2c2::Params::default() };
    let limited = |end| {
        let params = Params { r2c2: synchronous, ..params(Push::Tick) };
        limits(&central(&topology, params, flows.clone(), Some(us(end)), vec![])).len()
    };
    assert_eq!([990, 1_010, 1_490, 1_510].map(limited), [0, 1, 1, 2]);
}

#[test]
fn every_byte_arrives_and_the_controller_forgets_finished_flows() {
    let topology = torus(&[4, 4]);
    for push in [Push::Event, Push::Tick] {
        let flows = random_flows(16, 300, 60_000, 1_000, 5);
        let sent: u64 = flows.iter().map(|flow| flow.size.0).sum();
        let rack = central(&topology, params(push), flows, None, vec![]);
        let heard = rack.simulation.observer();
        let delivered =
            heard.reports.iter().filter(|(_, report)| matches!(report, Report::Delivered { .. })).count();
        assert_eq!((delivered, heard.lost), (300, 0), "{push:?}");
        assert_eq!(rack.simulation.totals().delivered_bytes, sent);
        let controller = rack.nodes[0].lock().expect("no panic");
        assert!(controller.table().is_some_and(r2c2::FlowTable::is_empty), "{push:?}");
    }
}

/// The bytes of control packets that the start of one more flow puts on all links, when every node already sends
/// `flows` flows. Returns the number counted in the simulation and the number given by the formula.
fn bytes_of_an_event(topology: &Arc<Topology>, flows: u32) -> (u64, u64) {
    let nodes = topology.node_count() as u32;
    let (newcomer, controller) = (9, NodeId(0));
    let mut base = Vec::new();
    for id in 0..nodes * flows {
        let src = id % nodes;
        let mut flow = flow(id, src, (src + 1) % nodes, LONG, Time::ZERO);
        flow.app_rate = Some(Rate::from_bps(1_000_000)); // keeps data traffic low
        base.push(flow);
    }
    let mut more = base.clone();
    more.push(flow(nodes * flows, newcomer, 40, LONG, us(3_000)));
    let control = |flows| {
        let long_interval = r2c2::Params { rho: Duration::from_ms(1_000), ..r2c2::Params::default() };
        let params = Params { r2c2: long_interval, ..params(Push::Event) };
        let rack = central(topology, params, flows, Some(us(3_100)), vec![]);
        rack.simulation.link_stats().iter().map(|link| link.control_bytes).sum::<u64>()
    };
    let counted = control(more) - control(base);
    let routing = Routing::new(Arc::clone(topology));
    let hops = |node| u64::from(routing.distance(controller, node).expect("a connected fabric"));
    let (header, rate, event) = (36, 6, 16);
    let rates: u64 = topology.nodes().map(|node| hops(node) * (header + rate * u64::from(flows))).sum();
    (counted, hops(NodeId(newcomer)) * (header + event + rate) + rates)
}

#[test]
fn oracle_o10_the_bytes_of_an_event_follow_the_formula_of_figure_19() {
    let topology = torus(&[8, 8, 8]);
    let (counted, formula) = bytes_of_an_event(&topology, 1);
    // An event takes 2 hops to the controller. The controller's packets to all nodes take 3,072 hops in total.
    assert_eq!(formula, 2 * (36 + 16 + 6) + 3_072 * (36 + 6));
    assert_eq!(counted, formula);
    let small = torus(&[4, 4, 4]);
    for flows in [2, 5] {
        let (counted, formula) = bytes_of_an_event(&small, flows);
        assert_eq!(counted, formula, "{flows} flows a node");
    }
}

#[test]
fn many_rates_take_several_messages() {
    let topology = torus(&[4]);
    // At most 16 rates of 6 bytes fit into a payload of 100 bytes.
    let small = r2c2::Params { mtu: 100, synchronous: true, only_lasting: true, ..r2c2::Params::default() };
    let flows = (0..40).map(|id| flow(id, 1, 2, LONG, Time::ZERO)).collect();
    let rack =
        central(&topology, Params { r2c2: small, ..params(Push::Tick) }, flows, Some(us(1_100)), vec![]);
    let rates = limits(&rack);
    assert_eq!(rates.len(), 40);
    assert!(rates.iter().all(|&(_, rate)| rate as u64 == 237_500_000), "{rates:?}");
    let events = 40 * (36 + 16);
    let messages = 3 * 36 + 40 * 6;
    let control: u64 = rack.simulation.link_stats().iter().map(|link| link.control_bytes).sum();
    assert_eq!(control, events + messages, "node 1 is one hop from the controller");
}

fn without_node(topology: &Topology, node: u32, at: Time, up: bool) -> Change {
    let both = |port| {
        let link = topology.link_id(NodeId(node), PortId(port));
        [link, topology.reverse(link)]
    };
    Change { at, links: (0..4).flat_map(both).collect(), up, discovery: Duration::from_us(50) }
}

#[test]
fn without_the_controller_flows_keep_their_rates_and_later_hear_again() {
    let topology = torus(&[4, 4]);
    let flows = vec![
        flow(0, 5, 6, LONG, Time::ZERO),
        flow(1, 9, 10, 4_000_000, us(100)),
        flow(2, 5, 6, LONG, us(1_200)), // starts while the controller is unreachable
    ];
    let gone = without_node(&topology, 0, us(1_000), false);
    let back = without_node(&topology, 0, us(5_000), true);
    let at = |end| {
        let changes = vec![gone.clone(), back.clone()];
        let rack = central(&topology, params(Push::Event), flows.clone(), Some(end), changes);
        let known = rack.nodes[0].lock().expect("no panic").table().map(r2c2::FlowTable::len);
        (limits(&rack), known)
    };
    let (first, second) = (5 << 16 | 1, 5 << 16 | 2);
    assert_eq!(at(us(900)), (vec![(first, 9.5e9), (9 << 16 | 1, 9.5e9)], Some(2)));
    assert_eq!(at(us(4_900)), (vec![(first, 9.5e9)], Some(0)), "cut off, the controller forgets");
    assert_eq!(at(us(5_100)), (vec![(first, 4.75e9), (second, 4.75e9)], Some(2)));
}

#[test]
fn after_a_link_dies_rates_are_those_of_the_fabric_that_is_left() {
    let topology = torus(&[4, 4]);
    let link = topology.link_id(NodeId(5), PortId(0));
    let links = vec![link, topology.reverse(link)];
    let change = Change { at: us(700), links, up: false, discovery: Duration::from_us(50) };
    let flows: Vec<_> = (0..16).map(|src| flow(src, src, (src + 5) % 16, LONG, us(0))).collect();
    let central =
        central(&topology, params(Push::Event), flows.clone(), Some(us(2_000)), vec![change.clone()]);
    let broadcast = rack(&topology, r2c2::Params::default(), flows, Some(us(2_000)), vec![change], None);
    let expected = broadcast.nodes[3].lock().expect("no panic").compute_all();
    let told: Vec<_> = expected.iter().map(|&(key, rate)| (key, (rate / 1e3).floor() * 1e3)).collect();
    assert_eq!(limits(&central), told);
}

/// All outputs of a node at `now`, except requests to be woken later.
fn said(node: &mut CentralNode, now: Time) -> Vec<Output> {
    let up = raddle_core::PortState::idle(Rate::from_gbps(10)).busy_until(now);
    let ports = [up; 4];
    std::iter::from_fn(|| match node.poll(now, &Ports(&ports)) {
        Output::Idle | Output::WakeAt(_) => None,
        output => Some(output),
    })
    .collect()
}

fn rates_for(node: u16, computation: u32, rates: &[FlowRate]) -> Packet {
    let data = Data {
        flow: u32::from(node) << 16,
        src: 0,
        dst: node,
        seq: computation,
        plen: (rates.len() * FlowRate::LEN) as u16,
        rlen: 1,
        ridx: 1,
        flags: 0,
        route: Route::default(),
    };
    let packet = ControllerRates { data, rates: rates.into() };
    Packet::new(packet.wire_len() as u32, Header::R2c2ControllerRates(Box::new(packet)))
}

#[test]
fn a_node_that_is_told_the_rate_of_a_flow_it_does_not_have_says_that_it_is_finished() {
    let topology = torus(&[4, 4]);
    let params = params(Push::Event);
    let fabric = Fabric::new(&topology, params.r2c2);
    let mut node = CentralNode::new(&fabric, &params, NodeId(5), 1);
    let packet = rates_for(5, 1, &[FlowRate { lid: 7, kbps: 1_000 }]);
    node.handle(us(1), Input::Packet { packet: &packet, port: PortId(0) });
    let said = said(&mut node, us(1));
    let [
        Output::Send {
            packet: Packet { size: 52, header: Header::R2c2ControllerEvent(answer), .. },
            port: None,
        },
    ] = &said[..]
    else {
        panic!("{said:?}")
    };
    let Event { kind, src, lid, .. } = answer.event;
    assert_eq!((kind, src, lid, answer.data.dst), (EventKind::Finish, 5, 7, 0));
}

#[test]
fn rates_that_later_ones_have_overtaken_are_not_installed() {
    let topology = torus(&[4, 4]);
    let params = params(Push::Event);
    let fabric = Fabric::new(&topology, params.r2c2);
    let mut node = CentralNode::new(&fabric, &params, NodeId(5), 1);
    node.handle(us(1), Input::Flow(&flow(0, 5, 6, LONG, us(1))));
    for (computation, kbps) in [(u32::MAX, 1_000), (3, 3_000), (2, 2_000), (3, 4_000)] {
        let packet = rates_for(5, computation, &[FlowRate { lid: 1, kbps }]);
        node.handle(us(2), Input::Packet { packet: &packet, port: PortId(0) });
    }
    assert_eq!(node.limits().collect::<Vec<_>>(), [(5 << 16 | 1, 4e6)]);
}
