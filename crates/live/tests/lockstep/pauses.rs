//! Priority flow control (IEEE 802.1Qbb) pauses the same ports at the same times in both engines.

use crate::both::{Trace, simulate_ports, trace};
use raddle_core::{
    Bytes, Duration, Flow, FlowId, LinkErrors, LinkFlowControl, LinkId, NodeId, Rate, Report, Time,
};
use raddle_live::lockstep::Lockstep;
use raddle_packet_sim::PortSetup;
use raddle_schemes::link::pfc;
use raddle_schemes::parameter::{Settings, Value};
use raddle_schemes::queue::strict::Strict;
use raddle_schemes::scheme::{Built, Plan};
use raddle_testkit::registry;
use raddle_topology::{Topology, builders};
use std::sync::Arc;

const LIMIT: Time = Time::from_ps(20_000_000_000);

/// Hosts 0 to 6 send to host 7 at the same time.
fn incast() -> Vec<Flow> {
    let flow = |host: u32| {
        Flow::new(FlowId(host), NodeId(host), NodeId(7), Bytes(100_000), Time::ZERO + Duration::from_ns(300))
    };
    (0..7).map(flow).collect()
}

/// Builds the nodes of a transport, and PFC that pauses at 20 KB and resumes at 10 KB. If `drain` is given, hosts free
/// the memory of received packets at this rate.
fn built(
    topology: &Arc<Topology>,
    transport: &str,
    drain: Option<Rate>,
) -> (Built, impl FnMut(LinkId) -> Option<Box<dyn LinkFlowControl>>) {
    let transport = registry().transport(transport).expect("in the registry");
    let settings = Settings::defaults(transport.info.parameters);
    let red = registry().congestion_point("red").expect("in the registry");
    let of_red = Settings::defaults(red.info.parameters);
    let plan =
        Plan { congestion_points: Some(("red", &of_red)), ..Plan::new(topology, "ecmp", &settings, 1) };
    let mut built = registry().build(transport, &plan, &Settings::defaults(&[])).expect("it fits");
    if transport.info.name == "dcqcn" {
        built.agent = (red.build)(&Plan { settings: &of_red, ..plan }).expect("parameters that fit");
    }
    let mut of_pfc = Settings::defaults(pfc::FLOW_CONTROL.info.parameters);
    for (name, bytes) in [("buffer", 200_000), ("xoff", 20_000), ("xon", 10_000)] {
        of_pfc.set(name, Value::Bytes(bytes));
    }
    if let Some(drain) = drain {
        of_pfc.set("drain_rate", Value::Rate(drain));
    }
    let of_pfc = Plan { settings: &of_pfc, ..plan };
    let pfc = (pfc::FLOW_CONTROL.build)(&of_pfc, built.mtu + built.header_bytes).expect("enough headroom");
    (built, pfc)
}

fn both(transport: &str, drain: Option<Rate>, errors: &LinkErrors) -> [Trace; 2] {
    let (rate, delay) = (Rate::from_gbps(10), Duration::from_ns(500));
    let topology = Arc::new(builders::folded_clos(2, 4, 2, rate, rate, delay).expect("a leaf-spine"));
    let (Built { node, mut agent, .. }, mut pfc) = built(&topology, transport, drain);
    let port = |link| PortSetup {
        queue: Some(Box::<Strict>::default()),
        agent: agent(link),
        flow_control: pfc(link),
        ..PortSetup::default()
    };
    let simulated = simulate_ports(&topology, node, port, incast(), LIMIT, errors);
    let (Built { node, agent, .. }, pfc) = built(&topology, transport, drain);
    let live = Lockstep::new(&topology, node, incast(), Trace::default());
    let live = live.with_queues(|_| Some(Box::<Strict>::default())).with_agents(agent).with_flow_control(pfc);
    [simulated, trace(live.with_errors(errors), LIMIT)]
}

#[test]
fn the_engines_pause_the_same_ports() {
    for transport in ["udp", "tcp-newreno", "dcqcn"] {
        let [simulated, moved] = both(transport, None, &LinkErrors::default());
        let pauses: u64 = simulated.flow_control.iter().map(|(_, account)| account.pauses).sum();
        assert!(pauses > 10, "{transport}: {pauses} pauses");
        assert!(simulated.losses.is_empty(), "{transport} loses nothing");
        assert_eq!(simulated.flow_control, moved.flow_control, "{transport}");
        assert_same(&simulated, &moved, transport);
    }
}

#[test]
fn slow_hosts_pause_their_switch_in_both_engines() {
    let [simulated, moved] = both("udp", Some(Rate::from_gbps(4)), &LinkErrors::default());
    let of_host = LinkId(7);
    let pauses =
        |trace: &Trace| trace.flow_control.iter().find(|(link, _)| *link == of_host).map(|of| of.1.pauses);
    assert!(pauses(&simulated).is_some_and(|pauses| pauses > 2), "{:?}", pauses(&simulated));
    assert_same(&simulated, &moved, "udp");
}

/// RoCE recovers with acknowledgements, negative acknowledgements and timeouts.
#[test]
fn the_engines_recover_from_the_same_losses() {
    let errors = LinkErrors { seed: 1, loss: 0.01, ..LinkErrors::default() };
    let [simulated, moved] = both("dcqcn", None, &errors);
    assert!(simulated.losses.len() > 10, "{} losses", simulated.losses.len());
    let delivered = |report: &Report| matches!(report, Report::Delivered { .. });
    assert_eq!(simulated.reports.iter().filter(|of| delivered(&of.2)).count(), incast().len());
    assert_same(&simulated, &moved, "dcqcn");
}

/// Checks that the packets on the links, their times, the reports, the losses and the peak backlogs are the same in
/// both traces. Packets are compared in sorted order, because the engines may list packets of one instant in different
/// orders. The reason is that in the packet engine, a port may be free again before its end-of-transmission event is
/// handled.
fn assert_same(simulated: &Trace, moved: &Trace, transport: &str) {
    let packets = |trace: &Trace| {
        let mut packets = trace.packets.clone();
        packets.sort();
        packets
    };
    assert!(packets(simulated) == packets(moved), "{transport}: packets");
    assert_eq!(simulated.reports, moved.reports, "{transport}: reports");
    assert_eq!(simulated.losses, moved.losses, "{transport}: losses");
    assert_eq!(simulated.peaks, moved.peaks, "{transport}: queues");
}
