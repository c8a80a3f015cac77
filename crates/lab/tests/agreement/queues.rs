//! Mean waiting times at FIFO ports with Poisson arrivals.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use crate::witness::{Case, Witness, at_most};
use raddle_core::{Bytes, Duration, Flow, LinkId, NodeId, Parts, PortId, Rate, Stream, Time};
use raddle_packet_sim::{Config, PortSetup, Simulation};
use raddle_testkit::flow;
use raddle_testkit::toy::{Log, Rightward, Toy, chain};
use raddle_topology::Topology;
use std::ops::ControlFlow;
use std::sync::Arc;

const FULL: u64 = 1_500;
const SMALL: u64 = 300;

/// Returns a line of nodes. `gbps` holds the rates of the links from left to right, in Gb/s.
fn line(gbps: &[u64]) -> Arc<Topology> {
    let chain = chain(gbps.len() as u32 + 1);
    let slowed = (0..).zip(gbps).fold(Topology::clone(&chain), |topology, (node, &gbps)| {
        let link = right(&topology, node);
        topology.slowed(link, Rate::from_gbps(gbps))
    });
    Arc::new(slowed)
}

/// Returns the link from a node of the line to its right neighbor.
fn right(topology: &Topology, node: u32) -> LinkId {
    topology.link_id(NodeId(node), PortId(u16::from(node > 0)))
}

/// Returns the time that a packet needs to cross the line without queueing.
fn crossing(topology: &Topology, bytes: u64) -> Duration {
    let links = (0..topology.node_count() as u32 - 1).map(|node| topology.link(right(topology, node)));
    let times = links.map(|link| link.expect("a link").rate.time_for(Bytes(bytes)) + Duration::from_ns(100));
    times.fold(Duration::ZERO, |sum, time| sum + time)
}

/// Returns the mean, over packets, of the sum of a packet's waiting times at the ports of a line, in us. The mean time
/// between two arrivals is `gap` us. Each packet has one of two sizes with equal probability.
fn mean_wait(topology: &Arc<Topology>, gap: f64, sizes: [u64; 2], packets: u32) -> f64 {
    let (mut gaps, mut draws) = (Stream::new(1, 0, "test/gaps"), Stream::new(1, 0, "test/sizes"));
    let mut at = 0.0;
    let last = topology.node_count() as u32 - 1;
    let flows: Vec<Flow> = (0..packets)
        .map(|id| {
            at += gaps.exponential(gap * 1e6);
            flow(id, 0, last, sizes[usize::from(draws.coin())], Time::from_ps(at as u64))
        })
        .collect();
    let sent: Vec<(Time, u64)> = flows.iter().map(|flow| (flow.start, flow.size.0)).collect();
    let received = Log::default();
    let node = |id| Parts {
        host: Some(Box::new(Toy { received: Arc::clone(&received), ..Toy::default() })),
        forwarder: Some(Box::new(Rightward(id))),
        ..Parts::default()
    };
    let mut simulation =
        Simulation::new(topology, node, |_| PortSetup::default(), flows, Config::default(), ());
    simulation.run(|_| ControlFlow::Continue(()));
    let log = received.lock().expect("no panic");
    assert_eq!(log.len(), sent.len());
    let unloaded = sizes.map(|size| (size, crossing(topology, size)));
    let waits = log.iter().map(|&(at, id)| {
        let (start, size) = sent[id as usize];
        let crossing = unloaded.iter().find(|of| of.0 == size).expect("one of the sizes").1;
        (at.since(start) - crossing).as_ns_f64() / 1e3
    });
    waits.sum::<f64>() / f64::from(packets)
}

/// Returns the serialization delay of a packet on a 10 Gbps link, in us.
fn service(bytes: u64) -> f64 {
    bytes as f64 * 8.0 / 10_000.0
}

/// Computes the Pollaczek-Khinchine formula for two service times of equal probability.
fn pollaczek_khinchine(load: f64, services: [f64; 2]) -> f64 {
    let [first, second] = services;
    let (mean, mean_square) = (f64::midpoint(first, second), f64::midpoint(first * first, second * second));
    load / mean * mean_square / (2.0 * (1.0 - load))
}

fn case(name: String, ours: f64, theirs: f64, share: f64) -> Case {
    Case { name, ours, theirs, within: at_most(share) }
}

pub(crate) fn m_d_1() -> Witness {
    let topology = line(&[10]);
    let cases = [(0.3, 400_000), (0.6, 800_000), (0.9, 3_000_000)].map(|(load, packets)| {
        let full = service(FULL);
        let ours = mean_wait(&topology, full / load, [FULL; 2], packets);
        case(format!("load {load}"), ours, load * full / (2.0 * (1.0 - load)), 0.02)
    });
    Witness {
        quantity: "M/D/1 queue: mean wait in us",
        form: "ρS / (2(1 - ρ)), Pollaczek and Khinchine with constant service",
        experiment: "packet engine, Poisson arrivals of packets of 1,500 B at one port of 10 Gbps, 0.4 to 3 million packets",
        cases: cases.into(),
    }
}

pub(crate) fn m_g_1() -> Witness {
    let topology = line(&[10]);
    let services = [SMALL, FULL].map(service);
    let mean = f64::midpoint(services[0], services[1]);
    let cases = [(0.3, 400_000), (0.6, 800_000), (0.8, 1_500_000)].map(|(load, packets)| {
        let ours = mean_wait(&topology, mean / load, [SMALL, FULL], packets);
        case(format!("load {load}"), ours, pollaczek_khinchine(load, services), 0.03)
    });
    Witness {
        quantity: "M/G/1 queue: mean wait in us",
        form: "λE[S²] / (2(1 - ρ)), Pollaczek and Khinchine",
        experiment: "the experiment of M/D/1, but with packets of 300 B or 1,500 B with equal probability",
        cases: cases.into(),
    }
}

pub(crate) fn tandem() -> Witness {
    let (load, slowest) = (0.8, service(FULL) * 10.0 / 6.0);
    let cases = [[10, 6], [6, 10], [6, 6]].map(|gbps| {
        let ours = mean_wait(&line(&gbps), slowest / load, [FULL; 2], 1_000_000);
        case(
            format!("{} Gbps, then {} Gbps", gbps[0], gbps[1]),
            ours,
            load * slowest / (2.0 * (1.0 - load)),
            0.02,
        )
    });
    Witness {
        quantity: "Tandem queues: mean sum of waits in us",
        form: "the mean wait of M/D/1 at the slowest link alone, whatever the order of the links (Avi-Itzhak 1965; Friedman 1965)",
        experiment: "packet engine, Poisson arrivals of packets of 1,500 B that cross two links one after the other, load 0.8 of a link of 6 Gbps",
        cases: cases.into(),
    }
}
