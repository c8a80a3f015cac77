//! Tests of UDP over one switch in the packet engine.

use super::*;
use crate::routing::ecmp::Ecmp;
use crate::routing::next_hops::ShortestPaths;
use raddle_core::{Bytes, Duration, Flow, FlowId, NodeId, Parts, Rate, Report, Time};
use raddle_packet_sim::{Config, Observer, PortSetup, Simulation};
use raddle_topology::builders::single_switch;
use std::ops::ControlFlow;
use std::sync::Arc;

const PACKET: u64 = 1_456;
const DELAY: Duration = Duration::from_us(1);

fn line_rate() -> Rate {
    Rate::from_gbps(10)
}

/// The reports of all hosts, with the time of each report.
#[derive(Default)]
struct Reports(Vec<(Time, Report)>);

impl Observer for Reports {
    fn report(&mut self, now: Time, _: NodeId, report: Report) {
        self.0.push((now, report));
    }
}

impl Reports {
    /// Times at which flows were delivered, in ascending order.
    fn delivered(&self) -> Vec<Time> {
        let delivered = self.0.iter().filter(|(_, report)| matches!(report, Report::Delivered { .. }));
        delivered.map(|&(at, _)| at).collect()
    }

    /// Times at which senders closed their flows.
    fn closed(&self) -> Vec<Time> {
        let closed = self.0.iter().filter(|(_, report)| matches!(report, Report::Closed { .. }));
        closed.map(|&(at, _)| at).collect()
    }
}

fn flow(id: u32, src: u32, dst: u32, size: u64, app_rate: Option<Rate>) -> Flow {
    Flow { app_rate, ..Flow::new(FlowId(id), NodeId(src), NodeId(dst), Bytes(size), Time::ZERO) }
}

/// The finished simulation of `flows` among four hosts at a switch. A port queues at most `queue` packets, or any
/// number if `queue` is `None`.
fn simulate(flows: Vec<Flow>, queue: Option<usize>) -> Simulation<Reports> {
    let topology = Arc::new(single_switch(4, line_rate(), DELAY).expect("a switch"));
    let paths = ShortestPaths::new(&topology);
    let node = |id| Parts {
        host: topology.is_host(id).then(|| Box::new(UdpHost::new(id, Params::default())) as _),
        forwarder: Some(Box::new(Ecmp::new(id, &paths, 1))),
        ..Parts::default()
    };
    let port = |_| PortSetup { limit_packets: queue, ..PortSetup::default() };
    let mut simulation = Simulation::new(&topology, node, port, flows, Config::default(), Reports::default());
    assert!(simulation.run(|_| ControlFlow::Continue(())));
    simulation
}

/// For a packet of 1,500 bytes: the time from the departure of its last bit at the sender to the arrival of its last
/// bit at the receiver.
fn across() -> Duration {
    DELAY + line_rate().time_for(Bytes(1_500)) + DELAY
}

#[test]
fn a_flow_at_a_rate_sends_each_packet_when_it_is_due() {
    let rate = Rate::from_gbps(1);
    let simulation = simulate(vec![flow(0, 0, 1, 10 * PACKET, Some(rate))], None);
    let last = Time::ZERO + rate.time_for(Bytes(9 * PACKET));
    assert_eq!(simulation.observer().closed(), [last]);
    assert_eq!(simulation.observer().delivered(), [last + line_rate().time_for(Bytes(1_500)) + across()]);
}

#[test]
fn a_flow_without_a_rate_fills_the_link_and_no_queue() {
    let simulation = simulate(vec![flow(0, 0, 1, 1_000 * PACKET, None)], None);
    let sent = Time::ZERO + line_rate().time_for(Bytes(1_000 * 1_500));
    assert_eq!(simulation.observer().delivered(), [sent + across()]);
    let deepest = simulation.link_stats().iter().map(|link| link.peak_queue).max();
    assert_eq!(deepest, Some(1_500));
}

#[test]
fn flows_without_a_rate_take_turns_and_one_with_a_rate_keeps_it() {
    let paced = Rate::from_gbps(1);
    let flows = vec![
        flow(0, 0, 1, 200 * PACKET, None),
        flow(1, 0, 2, 200 * PACKET, None),
        flow(2, 0, 3, 20 * PACKET, Some(paced)),
    ];
    let simulation = simulate(flows, None);
    let closed = simulation.observer().closed();
    let paced_end = Time::ZERO + paced.time_for(Bytes(19 * PACKET));
    assert_eq!(closed[0], paced_end, "the paced flow is independent of the other flows");
    assert!(closed[2].since(closed[1]) <= line_rate().time_for(Bytes(2 * 1_500)), "{closed:?}");
}

#[test]
fn a_flow_that_lost_a_packet_never_finishes() {
    // Two flows at line rate have the same destination. The third flow has another destination, so it loses no packets.
    let size = 500 * PACKET;
    let flows = vec![flow(0, 0, 3, size, None), flow(1, 1, 3, size, None), flow(2, 2, 0, size, None)];
    let simulation = simulate(flows, Some(100));
    let totals = simulation.totals();
    assert!(totals.dropped > 0, "the queue overflows");
    assert_eq!(totals.sent_bytes, 3 * size, "nothing is sent again");
    assert_eq!(simulation.observer().closed().len(), 3);
    assert!(simulation.observer().delivered().len() < 3, "a flow that lost a packet is not delivered");
}
