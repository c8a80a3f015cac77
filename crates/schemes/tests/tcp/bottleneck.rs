//! TCP's congestion controls at one bottleneck: flows use the full link and share it, and DCTCP keeps the queue short.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use crate::hosts::{Hosts, TCP, flow};
use raddle_core::{Duration, Flow, NodeId, PortId, Rate, Time};
use raddle_packet_sim::{Config, LinkStats};
use raddle_topology::{Topology, builders};
use std::sync::Arc;

/// A flow size that no run completes.
const LONG: u64 = 1 << 40;

const LINE_RATE: Rate = Rate::from_gbps(10);

/// Pairs of hosts with one shared link between them. The round trip is 60 us plus the store-and-forward delays of a
/// packet and an acknowledgement, so that the bandwidth-delay product is about 52 packets. Host links are faster than
/// the shared link. With equal rates, one flow's packets would always arrive just after the full queue has sent a
/// packet, and other flows would starve (phase effects).
struct Dumbbell {
    hosts: Hosts,
    ends: Vec<NodeId>,
}

impl Dumbbell {
    fn new(transport: &'static str, pairs: u32, queue: usize, mark: Option<usize>) -> Self {
        let topology =
            builders::dumbbell(pairs, pairs, Rate::from_gbps(40), LINE_RATE, Duration::from_us(10));
        let topology: Arc<Topology> = Arc::new(topology.expect("a dumbbell"));
        let ends = topology.hosts().collect();
        Self { hosts: Hosts { transport, settings: Vec::new(), topology, queue: Some(queue), mark }, ends }
    }

    /// One long flow per pair. Each flow starts 50.17 us after the previous flow, so that the packets of different
    /// flows are not in phase.
    fn flows(&self) -> Vec<Flow> {
        let pairs = self.ends.len() / 2;
        let late = |n: usize| Duration::from_ns(50_170 * n as u64);
        let flow = |n| flow(n as u32, self.ends[n], self.ends[n + pairs], LONG, late(n));
        (0..pairs).map(flow).collect()
    }

    /// The link statistics of a run until time `end`.
    fn until(&self, end: Duration) -> Vec<LinkStats> {
        let config = Config { time_limit: Some(Time::ZERO + end), ..Config::default() };
        self.hosts.run(self.flows(), config).link_stats()
    }

    /// Data bytes that each pair's sender sent between two times.
    fn sent_between(&self, from: Duration, to: Duration) -> Vec<u64> {
        let (before, after) = (self.until(from), self.until(to));
        let senders = &self.ends[..self.ends.len() / 2];
        let link = |&sender| self.hosts.topology.link_id(sender, PortId(0)).index();
        senders.iter().map(link).map(|link| after[link].data_bytes - before[link].data_bytes).collect()
    }
}

fn jain(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|&share| share as f64).sum();
    let squares: f64 = shares.iter().map(|&share| (share as f64).powi(2)).sum();
    sum * sum / (shares.len() as f64 * squares)
}

#[test]
fn oracle_7_3_one_flow_fills_a_link_with_a_queue_of_its_bandwidth_delay_product() {
    let (from, to) = (Duration::from_ms(10), Duration::from_ms(60));
    for transport in TCP {
        let sent = Dumbbell::new(transport, 1, 53, Some(20)).sent_between(from, to)[0];
        let share = sent as f64 / LINE_RATE.bytes_in(to - from).0 as f64;
        assert!((0.95..1.01).contains(&share), "{transport}: {share}");
    }
}

#[test]
fn oracle_7_3_flows_share_a_bottleneck_fairly() {
    let (from, to) = (Duration::from_ms(10), Duration::from_ms(110));
    for transport in TCP {
        let sent = Dumbbell::new(transport, 4, 100, Some(65)).sent_between(from, to);
        assert!(jain(&sent) >= 0.9, "{transport}: {sent:?}");
        let share = sent.iter().sum::<u64>() as f64 / LINE_RATE.bytes_in(to - from).0 as f64;
        assert!(share > 0.95, "{transport}: {share}");
    }
}

/// RFC 8257: marks at K packets keep the queue near K, at full throughput and without loss.
#[test]
fn oracle_7_3_dctcp_keeps_the_queue_at_its_threshold() {
    const K: usize = 65;
    let dumbbell = Dumbbell::new("dctcp", 4, 1_000, Some(K));
    let end = Duration::from_ms(60);
    let config = Config { time_limit: Some(Time::ZERO + end), queue_depths: true, ..Config::default() };
    let simulation = dumbbell.hosts.run(dumbbell.flows(), config);
    assert_eq!(simulation.totals().dropped, 0);
    let stats = simulation.link_stats();
    let (busiest, link) = (0..).zip(&stats).max_by_key(|(_, link)| link.data_bytes).expect("links");
    assert!(link.data_bytes as f64 > 0.97 * LINE_RATE.bytes_in(end).0 as f64, "{link:?}");
    let depths = simulation.queue_depths();
    let (_, depths) = depths.iter().find(|(id, _)| id.0 == busiest).expect("the bottleneck's");
    let packets: u64 = depths.0.iter().sum();
    // Depths are counted by powers of two. Each depth is treated as the upper end of its range, so the true mean is
    // less than the computed mean.
    let bytes: u64 = (0..).zip(depths.0).map(|(power, count)| count << power).sum();
    let mean = bytes / packets / 1_500;
    assert!(mean < 2 * K as u64, "{mean} packets at most");
    assert!(mean > K as u64 / 4, "{mean} packets");
}

/// TCP NewReno, which ignores the marks, fills the whole queue.
#[test]
fn newreno_fills_the_queue_that_dctcp_leaves_empty() {
    let peak = |transport| {
        let links = Dumbbell::new(transport, 4, 500, Some(65)).until(Duration::from_ms(40));
        links.iter().map(|link| link.peak_queue).max().expect("links") / 1_500
    };
    assert_eq!(peak("tcp-newreno"), 500);
    assert!(peak("dctcp") < 250, "{}", peak("dctcp"));
}
