//! Flows finish despite losses: incast into a short queue, and links that drop and corrupt packets at random.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use crate::hosts::{Hosts, TCP, flow};
use proptest::prelude::*;
use raddle_core::{Duration, LinkErrors, NodeId, Rate, Stream, Time};
use raddle_packet_sim::Config;
use raddle_schemes::parameter::Value;
use raddle_topology::builders::single_switch;
use std::sync::Arc;

fn star(transport: &'static str, hosts: u32, queue: usize, settings: Vec<(&'static str, Value)>) -> Hosts {
    let topology = single_switch(hosts, Rate::from_gbps(10), Duration::from_us(1)).expect("a switch");
    Hosts { transport, settings, topology: Arc::new(topology), queue: Some(queue), mark: Some(queue / 2) }
}

#[test]
fn incast_loses_packets_and_all_flows_finish() {
    for transport in TCP {
        for handshake in [false, true] {
            let hosts = star(transport, 33, 40, vec![("handshake", Value::Flag(handshake))]);
            let flows = (0..32).map(|n| flow(n, NodeId(n), NodeId(32), 100_000, Duration::ZERO)).collect();
            let simulation = hosts.run(flows, Config::default());
            assert_eq!(simulation.totals().flows_delivered, 32, "{transport}");
            assert!(simulation.totals().dropped > 0, "{transport}: the queue overflows");
            assert_eq!(simulation.packets_inside(), 0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Every link drops up to 10% of the packets and corrupts up to 2%, so a path of two links loses up to 22%.
    #[test]
    fn flows_finish_on_links_that_lose_packets_at_random(
        seed in any::<u64>(),
        transport in prop::sample::select(TCP.to_vec()),
        (loss, corruption) in (0.0..0.1_f64, 0.0..0.02_f64),
        (handshake, sack) in any::<(bool, bool)>(),
    ) {
        let settings = vec![
            ("handshake", Value::Flag(handshake)),
            ("sack", Value::Flag(sack)),
            ("syn_tries", Value::Count(255)),
        ];
        let hosts = star(transport, 6, 30, settings);
        let mut stream = Stream::new(seed, 0, "tests/losses");
        let flows = (0..20).map(|id| {
            let src = stream.below(6) as u32;
            let dst = (src + 1 + stream.below(5) as u32) % 6;
            flow(id, NodeId(src), NodeId(dst), 1 + stream.below(60_000), Duration::from_us(u64::from(id) * 20))
        });
        let flows = flows.collect();
        let errors = LinkErrors { seed, loss, corruption, ..LinkErrors::default() };
        let time_limit = Some(Time::ZERO + Duration::from_ms(3_600_000));
        let simulation = hosts.run(flows, Config { errors, time_limit, ..Config::default() });
        prop_assert_eq!(simulation.totals().flows_delivered, 20);
        prop_assert_eq!(simulation.packets_inside(), 0);
    }
}
