//! A FIFO port fed by Poisson arrivals of equal packets is an M/D/1 queue: mean wait = rho S / (2 (1 - rho)).

use crate::toy::{Log, Toy, chain, flow};
use raddle_core::{Duration, Parts, Stream, Time};
use raddle_packet_sim::{Config, PortSetup, Simulation};
use std::ops::ControlFlow;
use std::sync::Arc;

fn mean_wait_ns(load: f64, packets: u32) -> f64 {
    let topology = chain(2);
    let mut gaps = Stream::new(1, 0, "test/gaps");
    let mut at = 0.0;
    let flows: Vec<_> = (0..packets)
        .map(|id| {
            at += -(1.0 - gaps.unit()).ln() * 1_200_000.0 / load;
            flow(id, 0, 1, 1_500, Time::from_ps(at as u64))
        })
        .collect();
    let starts: Vec<Time> = flows.iter().map(|flow| flow.start).collect();
    let received = Log::default();
    let node = |_| Parts {
        host: Some(Box::new(Toy { received: Arc::clone(&received), ..Toy::default() })),
        forwarder: None,
        ..Parts::default()
    };
    let mut simulation =
        Simulation::new(&topology, node, |_| PortSetup::default(), flows, Config::default(), ());
    simulation.run(|_| ControlFlow::Continue(()));
    let log = received.lock().expect("no panic");
    assert_eq!(log.len(), starts.len());
    let unloaded = Duration::from_ns(1_300);
    let waits = log.iter().map(|&(at, seq)| (at.since(starts[seq as usize]) - unloaded).as_ns_f64());
    waits.sum::<f64>() / f64::from(packets)
}

#[test]
fn mean_wait_matches_m_d_1_within_two_percent() {
    for (load, packets) in [(0.3, 400_000), (0.6, 800_000), (0.9, 3_000_000)] {
        let expected = load * 1_200.0 / (2.0 * (1.0 - load));
        let measured = mean_wait_ns(load, packets);
        let error = measured / expected - 1.0;
        assert!(error.abs() < 0.02, "load {load}: {measured} ns for {expected} ns");
    }
}
