//! PFQ in the packet engine.

#![allow(clippy::cast_possible_truncation, reason = "small numbers")]

use raddle_core::{Duration, Flow, FlowKey, Header, LinkId, NodeId, Packet, Rate, Report, Stream, Time};
use raddle_packet_sim::{Config, Observer, PortSetup, Simulation};
use raddle_schemes::parameter::{Settings, Value};
use raddle_schemes::scheme::Plan;
use raddle_testkit::{flow, registry, settings, us};
use raddle_topology::{Topology, builders};
use std::ops::ControlFlow;
use std::sync::Arc;

#[derive(Default, PartialEq, Debug)]
struct Heard {
    delivered: Vec<(Time, FlowKey)>,
    /// For each link that a data packet crossed: the time at which the packet was sent on the link, the flow handle,
    /// and the size in bytes.
    sent: Vec<(Time, u32, u32)>,
}

impl Observer for Heard {
    const FORWARDED: bool = true;

    fn report(&mut self, now: Time, _: NodeId, report: Report) {
        if let Report::Delivered { key, .. } = report {
            self.delivered.push((now, key));
        }
    }

    fn forwarded(&mut self, _: Time, sent: Time, _: LinkId, packet: &Packet) {
        if let Header::R2c2Data(data) = &packet.header {
            self.sent.push((sent, data.flow, packet.size));
        }
    }
}

fn torus() -> Arc<Topology> {
    Arc::new(builders::torus(&[4, 4], Rate::from_gbps(10), Duration::from_ns(100)).expect("valid dims"))
}

fn run(mode: &'static str, flows: Vec<Flow>, limit: Option<Time>) -> Simulation<Heard> {
    let topology = torus();
    let pfq = registry().transport("pfq").expect("a transport of the registry");
    let settings = settings(pfq.info.parameters, &[("mode", Value::Choice(mode))]);
    let plan = Plan::new(&topology, "rps", &settings, 1);
    let mut parts = registry().build(pfq, &plan, &Settings::defaults(&[])).expect("PFQ fits a small torus");
    let port = |link| PortSetup { queue: (parts.queue)(link), ..PortSetup::default() };
    let ports: Vec<PortSetup> = (0..topology.link_slots()).map(LinkId::of).map(port).collect();
    let mut ports = ports.into_iter();
    let config = Config { time_limit: limit, ..Config::default() };
    let port = |_| ports.next().expect("a setup a link");
    let mut simulation =
        Simulation::new(&topology, |id| (parts.node)(id), port, flows, config, Heard::default());
    assert!(simulation.run(|_| ControlFlow::Continue(())));
    simulation
}

/// Much more concurrent traffic than the fabric can carry.
fn overload() -> Vec<Flow> {
    let mut stream = Stream::new(5, 0, "test/overload");
    (0..600)
        .map(|id| {
            let src = stream.below(16) as u32;
            let dst = (src + 1 + stream.below(15) as u32) % 16;
            flow(id, src, dst, 1 + stream.below(60_000), Time::from_ps(u64::from(id) * 100_000))
        })
        .collect()
}

#[test]
fn nothing_is_lost_and_every_flow_finishes() {
    for mode in ["adaptive", "strict"] {
        let flows = overload();
        let bytes: u64 = flows.iter().map(|flow| flow.size.0).sum();
        let simulation = run(mode, flows, None);
        let totals = simulation.totals();
        assert_eq!((totals.dropped, totals.delivered_bytes, totals.flows_delivered), (0, bytes, 600));
        assert_eq!(simulation.packets_inside(), 0, "no packet waits for ever");
    }
}

#[test]
fn the_same_run_twice_is_the_same() {
    let (one, other) = (run("adaptive", overload(), None), run("adaptive", overload(), None));
    assert_eq!(one.observer(), other.observer());
    assert_eq!(one.totals(), other.totals());
}

#[test]
fn buffers_stay_within_credits() {
    // One flow over one link. Credits for four packet buffers at the link's far end limit each queue to four packets.
    let simulation = run("adaptive", vec![flow(0, 0, 1, 3_000_000, Time::ZERO)], None);
    let peak = simulation.link_stats().iter().map(|link| link.peak_queue).max();
    assert!(peak <= Some(4 * 1_536), "{peak:?}");
}

#[test]
fn two_flows_share_a_link_equally() {
    // Both flows cross only the link from node 0 to node 1, and start at slightly different times.
    let flows = vec![flow(0, 0, 1, 1 << 40, Time::ZERO), flow(1, 0, 1, 1 << 40, us(7))];
    let simulation = run("adaptive", flows, Some(us(2_000)));
    let late = us(500);
    let bytes = |lid: u32| {
        let of = simulation.observer().sent.iter().filter(|(at, flow, _)| *at > late && flow & 0xffff == lid);
        of.map(|&(_, _, size)| u64::from(size)).sum::<u64>() as f64
    };
    assert!((bytes(1) / bytes(2) - 1.0).abs() < 0.01, "{} {}", bytes(1), bytes(2));
    let rate = (bytes(1) + bytes(2)) * 8.0 / 1.5e-3;
    assert!(rate > 9.9e9, "the link is full: {rate}");
}
