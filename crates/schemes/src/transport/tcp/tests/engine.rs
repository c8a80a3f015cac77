//! Tests of TCP in the packet engine: a bottleneck link, and a torus under load.

use super::*;
use crate::routing::ecmp::Ecmp;
use crate::routing::next_hops::ShortestPaths;
use raddle_core::{Flow, FlowId, NodeId, Parts, Rate, Time};
use raddle_packet_sim::{Config, PortSetup, Simulation};
use raddle_topology::Topology;
use raddle_topology::builders::{dumbbell, torus};
use std::ops::ControlFlow;
use std::sync::Arc;

fn simulation(topology: Topology, queue: usize, flows: Vec<Flow>) -> Simulation<()> {
    let topology = Arc::new(topology);
    let paths = ShortestPaths::new(&topology);
    let node = |id| Parts {
        host: Some(Box::new(TcpHost::<NewReno>::new(id, Params::default()))),
        forwarder: Some(Box::new(Ecmp::new(id, &paths, 1))),
        ..Parts::default()
    };
    let port = |_| PortSetup { limit_packets: Some(queue), ..PortSetup::default() };
    let mut simulation = Simulation::new(&topology, node, port, flows, Config::default(), ());
    assert!(simulation.run(|_| ControlFlow::Continue(())));
    simulation
}

fn flow(id: u32, src: u32, dst: u32, size: u64, start_us: u64) -> Flow {
    Flow::new(FlowId(id), NodeId(src), NodeId(dst), Bytes(size), Time::ZERO + Duration::from_us(start_us))
}

#[test]
fn a_drop_tail_bottleneck_is_nearly_full() {
    let rate = Rate::from_gbps(10);
    let topology = dumbbell(4, 4, rate, rate, Duration::from_us(1)).expect("a dumbbell");
    let hosts: Vec<_> = topology.hosts().collect();
    let flows =
        (0..4).map(|i| flow(i, hosts[i as usize].0, hosts[i as usize + 4].0, 10_000_000, 0)).collect();
    let simulation = simulation(topology, 100, flows);
    assert_eq!(simulation.totals().flows_delivered, 4);
    assert!(simulation.totals().dropped > 0, "the queue overflows");
    let busiest = simulation.link_stats().iter().map(|link| link.data_bytes).max().expect("links");
    let ideal = rate.time_for(Bytes(busiest));
    assert!(simulation.now().since(Time::ZERO) < ideal * 110 / 100, "{} of {ideal}", simulation.now());
    assert!(busiest < 40_000_000 * 1_500 / 1_460 * 102 / 100, "few segments are sent twice: {busiest}");
}

#[test]
fn all_flows_of_a_loaded_torus_finish() {
    let topology = torus(&[4, 4], Rate::from_gbps(10), Duration::from_ns(100)).expect("a torus");
    // Flows of many sizes. The flows begin within 1.2 ms, and their load is about 1.1 times the capacity of all links
    // in this time.
    let flows = (0..600_u32).map(|i| {
        let (src, step) = (i * 7 % 16, 1 + i * 5 % 15);
        flow(i, src, (src + step) % 16, 200 << (i % 12), u64::from(i) * 2)
    });
    let simulation = simulation(topology, 32, flows.collect());
    assert_eq!(simulation.totals().flows_delivered, 600);
    assert!(simulation.totals().dropped > 0, "queues overflow");
    assert_eq!(simulation.packets_inside(), 0);
}
