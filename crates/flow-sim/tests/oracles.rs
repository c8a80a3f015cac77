//! Scenarios whose results can be calculated by hand (specifications/pdq.md §11 and §13), under max-min fair sharing.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

use raddle_allocate::{MaxMin, usable};
use raddle_core::{Bytes, Duration, Flow, FlowId, NodeId, Rate, Report, Time};
use raddle_flow_sim::{Config, Crossing, LinkLoad, Listener, Sent, Simulation};
use raddle_records::{Framing, ideal_store_and_forward};
use raddle_topology::routing::{Protocol, Routing};
use raddle_topology::{Topology, builders};
use std::ops::ControlFlow;
use std::sync::Arc;

const GBPS: Rate = Rate::from_gbps(1);
/// Propagation delay plus processing delay of a hop (specifications/pdq.md §10).
const HOP: Duration = Duration::from_ns(25_100);
const FRAMING: Framing = Framing { payload: 1_460, header: 40, overhead: 0, least: 0 };
/// Framing without header bytes, so that the expected times follow from simple arithmetic.
const BARE: Framing = Framing { payload: 1_000, header: 0, overhead: 0, least: 0 };

const CONFIG: Config = Config {
    framing: FRAMING,
    lookahead: None,
    handshake: false,
    acknowledged: false,
    grid: None,
    time_limit: None,
};

/// The configuration for RCP, and for D3 without deadlines, as in specifications/pdq.md.
const RATED: Config = Config { handshake: true, acknowledged: true, ..CONFIG };

fn ms(ms: f64) -> Time {
    Time::from_ps((ms * 1e9).round() as u64)
}

fn flow(id: u32, src: u32, dst: u32, size: u64, start_ms: f64) -> Flow {
    Flow::new(FlowId(id), NodeId(src), NodeId(dst), Bytes(size), ms(start_ms))
}

fn simulation(topology: Topology, flows: &[Flow], config: Config) -> Simulation {
    let topology = Arc::new(topology);
    let rates: Vec<Rate> = topology.links().map(|(_, link)| link.rate).collect();
    assert_eq!(rates.len(), topology.link_slots(), "every port has a link");
    let routing = Routing::new(Arc::clone(&topology));
    let split = move |flow: &Flow, _: &[f64], row: &mut Vec<_>| {
        routing.weights(Protocol::Rps, flow.src, flow.dst, 0, row);
    };
    Simulation::new(
        &topology,
        &flows.into(),
        Box::new(MaxMin::new(&usable(&rates, 0.0))),
        Box::new(split),
        config,
    )
}

/// Runs the simulation. Returns, for each flow, the time of its delivery and the time at which its sender was done, in
/// ms. NaN stands for an event that did not occur.
fn run(simulation: &mut Simulation, flows: usize) -> Vec<(f64, f64)> {
    let mut ends = vec![(f64::NAN, f64::NAN); flows];
    let mut hear = |at: Time, _: NodeId, report: Report| match report {
        Report::Delivered { key, .. } => ends[key.0 as usize].0 = at.as_ps() as f64 / 1e9,
        Report::Closed { key, .. } => ends[key.0 as usize].1 = at.as_ps() as f64 / 1e9,
        _ => {}
    };
    assert!(simulation.run(&mut hear, |_| ControlFlow::Continue(())));
    ends
}

fn ends(topology: Topology, flows: &[Flow], config: Config) -> Vec<(f64, f64)> {
    run(&mut simulation(topology, flows, config), flows.len())
}

/// `hosts` hosts that are connected to one switch.
fn star(hosts: u32) -> Topology {
    builders::single_switch(hosts, GBPS, HOP).unwrap()
}

/// Twelve hosts in four racks below one root.
fn tree() -> Topology {
    builders::folded_clos(4, 3, 1, GBPS, GBPS, HOP).unwrap()
}

/// A star whose links have no propagation delay.
fn bare_star(hosts: u32) -> Topology {
    builders::single_switch(hosts, GBPS, Duration::ZERO).unwrap()
}

fn assert_near(measured: f64, expected: f64, within: f64) {
    assert!((measured - expected).abs() <= within, "{measured} and not {expected}");
}

#[test]
fn oracle_13_1_lone_flow_on_a_dumbbell() {
    let [(_, done)] = ends(star(2), &[flow(0, 0, 1, 1_000_000, 0.0)], RATED)[..] else { panic!() };
    assert_near(done, 8.434, 5e-4);
}

#[test]
fn oracle_13_2_lone_flow_across_the_tree() {
    let [(_, done)] = ends(tree(), &[flow(0, 0, 11, 100_000, 0.0)], RATED)[..] else { panic!() };
    assert_near(done, 1.2635, 5e-4);
}

/// Three flows of one, two and three units share a link fairly (specifications/pdq.md §13, oracle 6).
#[test]
fn oracle_13_6_fair_sharing_ends_at_3_5_6() {
    // A unit takes 100 ms, so the time of one packet on the second link hardly matters.
    let unit = 12_500_000;
    let flows: Vec<Flow> = (0..3).map(|i| flow(i, i, 3, unit * u64::from(i + 1), 0.0)).collect();
    let ends = ends(bare_star(4), &flows, Config { framing: BARE, ..CONFIG });
    for ((delivered, _), units) in ends.into_iter().zip([3.0, 5.0, 6.0]) {
        assert_near(delivered, units * 100.0, 0.01);
    }
}

#[test]
fn the_fct_of_a_lone_flow_is_the_time_of_its_packets() {
    for size in [1, 700, 1_460, 1_461, 20_000, 1_000_000] {
        let [(delivered, _)] = ends(tree(), &[flow(0, 0, 11, size, 0.0)], CONFIG)[..] else { panic!() };
        let ideal = ideal_store_and_forward(Bytes(size), FRAMING, [(GBPS, HOP); 4]);
        assert_near(delivered, ideal.as_ps() as f64 / 1e9, 2e-9);
    }
}

#[test]
fn a_later_flow_gets_half_of_the_link_until_it_ends() {
    // The flow of 1 MB is alone for 4 ms. Then it has half of the rate until the other flow's 125 KB are sent. After
    // that it is alone again.
    let flows = [flow(0, 0, 2, 1_000_000, 0.0), flow(1, 1, 2, 125_000, 4.0)];
    let ends = ends(bare_star(3), &flows, Config { framing: BARE, ..CONFIG });
    assert_near(ends[1].0, 6.0, 0.01);
    assert_near(ends[0].0, 9.0, 0.01);
}

#[test]
fn on_a_grid_flows_wait_for_its_points() {
    let flows = [flow(0, 0, 2, 125_000, 0.5), flow(1, 1, 2, 125_000, 1.0)];
    let grid = Some(Duration::from_ms(1));
    let ends = ends(bare_star(3), &flows, Config { framing: BARE, grid, ..CONFIG });
    // Both flows begin at 1 ms and share the link.
    assert_near(ends[0].0, 3.0, 0.01);
    assert_near(ends[1].0, 3.0, 0.01);
}

#[test]
fn links_count_the_packets_of_the_flows_that_crossed_them() {
    let flows = [flow(0, 0, 2, 3_000, 0.0), flow(1, 1, 2, 100, 0.0)];
    let mut simulation = simulation(star(3), &flows, CONFIG);
    run(&mut simulation, 2);
    let crossed = |packets, bytes| LinkLoad { packets, bytes };
    // Links 0 to 2 start at the hosts; the other links start at the switch.
    let expected = [
        crossed(3.0, 3_120.0),
        crossed(1.0, 140.0),
        crossed(0.0, 0.0),
        crossed(0.0, 0.0),
        crossed(0.0, 0.0),
        crossed(4.0, 3_260.0),
    ];
    assert_eq!(simulation.loads(), expected);
}

#[test]
fn a_time_limit_leaves_flows_on_their_way() {
    let flows = [flow(0, 0, 1, 125_000, 0.0)];
    let limit = Some(ms(0.25));
    let mut simulation =
        simulation(bare_star(2), &flows, Config { framing: BARE, time_limit: limit, ..CONFIG });
    let ends = run(&mut simulation, 1);
    assert!(ends[0].0.is_nan() && ends[0].1.is_nan());
    assert_eq!(simulation.now(), ms(0.25));
    assert_near(simulation.loads()[0].bytes, 31_250.0, 1e-3);
}

/// The sender has sent the whole flow before the limit, but the delivery would be after the limit. So the
/// run continues to the limit.
#[test]
fn a_run_whose_last_delivery_comes_after_its_limit_ends_at_the_limit() {
    let flows = [flow(0, 0, 1, 1_460, 0.0)];
    let mut simulation = simulation(star(2), &flows, Config { time_limit: Some(ms(0.04)), ..CONFIG });
    let ends = run(&mut simulation, 1);
    assert!(ends[0].0.is_nan(), "{ends:?}");
    assert_eq!(simulation.now(), ms(0.04));
}

/// One packet in a hundred crosses a link that is a thousand times slower than the first link.
#[test]
fn a_slow_link_that_few_packets_cross_makes_no_flow_faster_than_propagation() {
    let topology = builders::dumbbell(1, 1, GBPS, Rate::from_bps(1_000_000), HOP).unwrap();
    let link =
        |from, to| topology.links_from(NodeId(from)).find(|(_, link)| link.to == NodeId(to)).unwrap().0;
    let row = [(link(0, 2), 1.0), (link(2, 3), 0.01)];
    let crossing = Crossing::new(&topology, FRAMING, None, Bytes(1_460), &row);
    assert!(crossing.last >= HOP, "{}", crossing.last);
}

/// A listener that adds up the parts of flows that were sent: packets and bytes for each link, and payload bytes for
/// each flow. For each flow, it also keeps the time at which the flow's latest part ended.
struct Parts {
    links: Vec<LinkLoad>,
    flows: Vec<(f64, Time)>,
}

impl Listener for Parts {
    const SENT: bool = true;

    fn report(&mut self, _: Time, _: NodeId, _: Report) {}

    fn sent(&mut self, sent: &Sent<'_>) {
        let (payload, until) = &mut self.flows[sent.flow.id.0 as usize];
        assert!(*until <= sent.from && sent.from < sent.to, "parts overlap: {until:?}, {:?}", sent.from);
        (*payload, *until) = (*payload + sent.payload, sent.to);
        for &(link, share) in sent.row {
            self.links[link.index()].packets += sent.load.packets * f64::from(share);
            self.links[link.index()].bytes += sent.load.bytes * f64::from(share);
        }
    }
}

#[test]
fn the_parts_of_flows_are_the_loads_of_their_links() {
    // The second run stops at 5 ms. Some flows are then not completely sent.
    for time_limit in [None, Some(ms(5.0))] {
        let flows: Vec<Flow> =
            (0..9).map(|i| flow(i, i, 11 - i % 3, 90_000 * u64::from(i + 1), 0.3 * f64::from(i))).collect();
        let mut simulation = simulation(tree(), &flows, Config { time_limit, ..RATED });
        let links = vec![LinkLoad::default(); tree().link_slots()];
        let mut parts = Parts { links, flows: vec![(0.0, Time::ZERO); flows.len()] };
        assert!(simulation.run(&mut parts, |_| ControlFlow::Continue(())));
        for (counted, told) in simulation.loads().iter().zip(&parts.links) {
            assert_near(told.packets, counted.packets, 1e-6);
            assert_near(told.bytes, counted.bytes, 1e-3);
        }
        let sent = flows
            .iter()
            .zip(&parts.flows)
            .filter(|(flow, (payload, _))| (payload - flow.size.0 as f64).abs() < 1e-3);
        assert_eq!(sent.count() == flows.len(), time_limit.is_none());
    }
}
