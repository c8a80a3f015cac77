//! Tests of a rack whose links fail, recover, lose packets and damage packets.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use raddle_core::{
    Bytes, Change, Duration, Flow, FlowId, LinkErrors, LinkId, NodeId, Observer, Parts, Rate, Report, Stream,
    Time, Totals,
};
use raddle_live::rack::{Config, Rack};
use raddle_packet_sim::{PortSetup, Simulation};
use raddle_schemes::parameter::{Settings, Value};
use raddle_schemes::scheme::{Built, Plan};
use raddle_testkit::registry;
use raddle_topology::{Topology, builders, discoverers};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Time between two hello messages of a node.
const PERIOD: Duration = Duration::from_us(50);

#[derive(Default)]
struct Delivered(u32);

impl Observer for Delivered {
    fn report(&mut self, _: Time, _: NodeId, report: Report) {
        self.0 += u32::from(matches!(report, Report::Delivered { .. }));
    }
}

fn torus() -> Arc<Topology> {
    let torus = builders::torus(&[4, 4], Rate::from_gbps(5), Duration::from_ns(100));
    Arc::new(torus.expect("a 4x4 torus"))
}

/// The parts of R2C2 nodes. R2C2 acknowledges and retransmits packets if `reliable` is true. Nodes send hello messages
/// if `hello` is true.
fn parts(topology: &Arc<Topology>, reliable: bool, hello: bool) -> impl FnMut(NodeId) -> Parts {
    let scheme = registry().transport("r2c2").expect("R2C2 is in the registry");
    let mut settings = Settings::defaults(scheme.info.parameters);
    settings.set("reliable", Value::Flag(reliable));
    let plan = Plan::new(topology, "rps", &settings, 1);
    let built = registry().build(scheme, &plan, &registry().routing_defaults("rps"));
    let Built { mut node, .. } = built.expect("R2C2 fits a torus");
    let discoverer = discoverers(topology, PERIOD);
    move |id| Parts { discovery: hello.then(|| discoverer(id)), ..node(id) }
}

fn flows(count: u32) -> Vec<Flow> {
    let mut random = Stream::new(1, 0, "flows");
    let flow = |id: u32| {
        let src = random.below(16);
        let dst = (src + 1 + random.below(15)) % 16;
        let start = us(20) * u64::from(id);
        Flow::new(FlowId(id), NodeId(src as u32), NodeId(dst as u32), Bytes(60_000), Time::ZERO + start)
    };
    (0..count).map(flow).collect()
}

fn us(us: u64) -> Duration {
    Duration::from_us(us)
}

/// Both directions of the first link of node 0, and all links of node 5, fail and recover.
fn changes(topology: &Topology) -> Vec<Change> {
    let both = |link: LinkId| [link, topology.reverse(link)];
    let of = |node: u32| topology.links_from(NodeId(node)).flat_map(|(link, _)| both(link));
    let cable: Vec<LinkId> = of(0).take(2).collect();
    let node: Vec<LinkId> = of(5).collect();
    let change = |at, up, links: &Vec<LinkId>| Change {
        at: Time::ZERO + us(at),
        links: links.clone(),
        up,
        discovery: us(100),
    };
    vec![
        change(200, false, &cable),
        change(400, false, &node),
        change(700, true, &node),
        change(900, true, &cable),
    ]
}

/// The totals that both engines report. A rack does not count events, and does not know the size of a packet that
/// became unreadable.
fn counts(totals: &Totals) -> Totals {
    Totals { events: 0, dropped_bytes: 0, ..*totals }
}

/// Runs the same experiment in the packet engine and in a rushed rack, which is never late. Returns the totals and the
/// number of delivered flows of both runs.
fn both(changes: Vec<Change>, errors: &LinkErrors, hello: bool) -> [(Totals, u32); 2] {
    let topology = torus();
    let limit = Some(Time::ZERO + Duration::from_ms(20));
    let config = raddle_packet_sim::Config {
        changes: changes.clone(),
        errors: errors.clone(),
        time_limit: limit,
        ..raddle_packet_sim::Config::default()
    };
    let nodes = parts(&topology, true, hello);
    let port = |_| PortSetup::default();
    let mut simulation = Simulation::new(&topology, nodes, port, flows(100), config, Delivered::default());
    assert!(simulation.run(|_| ControlFlow::Continue(())));
    let simulated = (counts(&simulation.totals()), simulation.into_observer().0);
    let nodes = parts(&topology, true, hello);
    let config = Config { ring: 1 << 13, time_limit: limit, ..Config::default() };
    let rack = Rack::new(&topology, nodes, &flows(100), &config).expect("memory to share");
    let mut rack = rack.with_changes(changes).with_errors(errors);
    let mut delivered = Delivered::default();
    rack.rush(&mut delivered);
    [simulated, (counts(&rack.totals()), delivered.0)]
}

#[test]
fn a_rack_loses_the_same_packets_as_the_packet_engine() {
    let whole = LinkErrors::default();
    let noisy = LinkErrors { seed: 1, loss: 0.01, corruption: 0.01, ..LinkErrors::default() };
    for (changes, errors) in [(changes(&torus()), &whole), (vec![], &noisy), (changes(&torus()), &noisy)] {
        let [simulated, moved] = both(changes, errors, false);
        assert_eq!(simulated, moved);
        assert_eq!(simulated.1, 100);
        assert!(simulated.0.dropped > 30, "{simulated:?}");
    }
}

#[test]
fn hellos_find_the_same_failures_in_a_rack_as_in_the_packet_engine() {
    let [simulated, moved] = both(changes(&torus()), &LinkErrors::default(), true);
    // The two engines stop sending hello messages at different times, so the numbers of sent hello messages are not
    // compared.
    let others = |(totals, delivered): (Totals, u32)| {
        let data = totals.kinds[raddle_core::PacketKind::Data as usize];
        (data, totals.sent_bytes, totals.drops.link_down, delivered)
    };
    assert_eq!(others(simulated), others(moved));
    assert_eq!(moved.1, 100);
}

/// Number of checks, about 10 ms apart, after which a test gives up on a run.
const PATIENCE: u32 = 4_000;

/// Runs a rack in real time until the run ends. Returns the number of delivered flows.
fn run(rack: &mut Rack) -> u32 {
    let mut delivered = Delivered::default();
    let mut looks = 0;
    let ended = rack.run(&mut delivered, |_| {
        looks += 1;
        if looks < PATIENCE { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert!(ended, "after {looks} looks: {:?}", rack.totals());
    delivered.0
}

/// Each packet is delivered or lost, exactly once. This holds regardless of which thread handles a failure first.
#[test]
fn threads_agree_on_the_packets_that_a_failure_loses() {
    let topology = torus();
    for threads in [1, 2, 3] {
        let config = Config { dilation: 20, threads, ring: 1 << 13, ..Config::default() };
        let rack = Rack::new(&topology, parts(&topology, true, false), &flows(100), &config);
        let mut rack = rack.expect("memory to share").with_changes(changes(&topology));
        assert_eq!(run(&mut rack), 100, "in {threads}");
        let totals = rack.totals();
        assert_eq!(totals.sent, totals.delivered + totals.dropped, "in {threads}: {totals:?}");
        assert_eq!(totals.dropped, totals.drops.link_down, "in {threads}");
        assert!(totals.dropped > 0 && rack.link_stats().iter().map(|link| link.drops).sum::<u64>() > 0);
    }
}

/// Links fail one after the other, lose packets and damage packets. The nodes learn of failures only through hello
/// messages.
#[test]
fn every_byte_arrives_over_links_that_fail() {
    let topology = torus();
    let cables: Vec<LinkId> =
        topology.links().map(|(link, _)| link).filter(|&link| link < topology.reverse(link)).collect();
    let mut random = Stream::new(1, 0, "failures");
    let mut changes = Vec::new();
    for outage in 0..15 {
        let cable = cables[random.index(cables.len())];
        let links = vec![cable, topology.reverse(cable)];
        let at = Time::ZERO + Duration::from_ms(2 + 8 * outage);
        let change = |at, up| Change { at, links: links.clone(), up, discovery: Duration::ZERO };
        changes.extend([change(at, false), change(at + Duration::from_ms(6), true)]);
    }
    let flow = |id: u32| {
        let start = Time::ZERO + us(1_000) * u64::from(id);
        Flow::new(FlowId(id), NodeId(id % 16), NodeId((id * 7 + 5) % 16), Bytes(1_000_000), start)
    };
    let flows: Vec<Flow> = (0..120).filter(|id| id % 16 != (id * 7 + 5) % 16).map(flow).collect();
    let config = Config { dilation: 4, ring: 1 << 13, ..Config::default() };
    let rack = Rack::new(&topology, parts(&topology, true, true), &flows, &config).expect("memory to share");
    let errors = LinkErrors { seed: 1, loss: 0.001, corruption: 0.001, ..LinkErrors::default() };
    let mut rack = rack.with_changes(changes).with_errors(&errors);
    assert_eq!(run(&mut rack) as usize, flows.len());
    let (totals, fidelity) = (rack.totals(), rack.fidelity());
    assert_eq!(fidelity.wrong_payloads, 0, "damage is found out");
    let drops = totals.drops;
    assert!(drops.link_down > 0 && drops.lost > 0 && drops.malformed > 0, "{drops:?}");
}
