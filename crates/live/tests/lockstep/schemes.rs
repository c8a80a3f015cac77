//! The schemes of the registry give the same packets and the same reports in the packet engine and in lockstep. One
//! test compares all schemes with their default parameters. Others compare some schemes with other parameters, noisy
//! links or hello messages. Schemes whose hosts wait until their packets have left the port are not compared.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use crate::both::{run_in_lockstep, run_queues_in_lockstep, simulate, simulate_queues};
use raddle_core::{
    Bytes, Duration, Flow, FlowId, Header, LinkErrors, LinkId, NodeId, Observer, Parts, Rate, Report, Stream,
    Time,
};
use raddle_live::lockstep::Lockstep;
use raddle_schemes::parameter::{Settings, Value};
use raddle_schemes::scheme::{Built, Plan, Transport};
use raddle_testkit::registry;
use raddle_topology::builders::{self, ClosRates};
use raddle_topology::{Builder, Shape, Topology, XgftSize, discoverers};
use raddle_wire::discovery::{Hello, LinkStates};
use std::collections::BTreeSet;
use std::sync::Arc;

const SEED: u64 = 3;

fn flows(nodes: u64) -> Vec<Flow> {
    let mut random = Stream::new(SEED, 0, "flows");
    let mut start = Time::ZERO;
    let flow = |id| {
        start += Duration::from_ps(random.below(2_000_000));
        let src = random.below(nodes);
        let dst = (src + 1 + random.below(nodes - 1)) % nodes;
        Flow::new(FlowId(id), NodeId(src as u32), NodeId(dst as u32), Bytes(1 + random.below(60_000)), start)
    };
    (0..60).map(flow).collect()
}

/// Builds the scheme on this topology. Returns `None` if hosts wait until their packets have left the port, or if the
/// scheme or the routing does not fit the topology.
fn parts(scheme: &Transport, routing: &str, topology: &Arc<Topology>) -> Option<Built> {
    parts_with(scheme, routing, topology, &Settings::defaults(scheme.info.parameters))
}

/// Like `parts`, with these parameters instead of the defaults.
fn parts_with(
    scheme: &Transport,
    routing: &str,
    topology: &Arc<Topology>,
    settings: &Settings,
) -> Option<Built> {
    let points = registry().congestion_point("qcn");
    let of_points = Settings::defaults(points.expect("in the registry").info.parameters);
    let congestion_points = Some(("qcn", &of_points));
    let plan = Plan { congestion_points, ..Plan::new(topology, routing, settings, SEED) };
    let of_routing = registry().routing(routing).map_or(&[][..], |routing| routing.info.parameters);
    let parts = registry().build(scheme, &plan, &Settings::defaults(of_routing)).ok()?;
    (!parts.hear_of_departures).then_some(parts)
}

#[test]
fn every_scheme_sends_the_same_bytes_in_both_engines() {
    let (rate, delay) = (Rate::from_gbps(10), Duration::from_ns(100));
    let torus = builders::torus(&[4, 4], rate, delay).expect("a 4x4 torus");
    let fat_tree = builders::fat_tree(4, ClosRates::all(rate), delay).expect("a fat-tree of 16 hosts");
    let leaf_spine = builders::folded_clos(4, 4, 3, rate, rate, delay).expect("a leaf-spine of 16 hosts");
    let tree = builders::xgft(XgftSize::k_ary_n_tree(2, 4), rate, delay).expect("a tree of 16 hosts");
    let flows = flows(16);
    let end = Time::ZERO + Duration::from_ms(100);
    let mut compared = BTreeSet::new();
    let fabrics = [torus, fat_tree, leaf_spine, tree].map(Arc::new);
    let schemes = registry()
        .transports()
        .iter()
        .flat_map(|scheme| registry().routings_of(scheme).into_iter().map(move |name| (scheme, name)));
    for ((scheme, routing), topology) in
        schemes.flat_map(|scheme| fabrics.each_ref().map(|fabric| (scheme, fabric)))
    {
        let (Some(simulated), Some(moved)) =
            (parts(scheme, routing, topology), parts(scheme, routing, topology))
        else {
            continue;
        };
        let topology = topology.clone();
        let name = format!("{} over {routing}", scheme.info.name);
        let Built { node, agent, queue, .. } = simulated;
        let simulated =
            simulate_queues(&topology, node, agent, queue, flows.clone(), end, &LinkErrors::default());
        let Built { node, agent, queue, .. } = moved;
        let moved =
            run_queues_in_lockstep(&topology, node, agent, queue, flows.clone(), end, &LinkErrors::default());
        let delivered =
            moved.reports.iter().filter(|(.., report)| matches!(report, Report::Delivered { .. }));
        assert_eq!(delivered.count(), flows.len(), "{name}");
        assert_eq!(simulated.reports, moved.reports, "{name}");
        assert_eq!(simulated.peaks, moved.peaks, "{name}");
        // `assert_eq` would print all bytes of all packets.
        assert!(simulated.packets == moved.packets, "{name}");
        compared.extend([scheme.info.name, routing]);
    }
    let routings = registry().routings().iter().map(|routing| routing.info.name);
    assert!(
        routings
            .chain(["r2c2", "tcp-newreno", "tcp-cubic", "dctcp", "udp", "pdq", "d3", "rcp", "pfq"])
            .all(|name| compared.contains(name)),
        "{compared:?}"
    );
}

/// In this test PDQ's header has more bytes than its fields need. The links carry these extra bytes too, so a bad link
/// may also damage them.
#[test]
fn a_header_that_charges_more_than_its_fields_sends_the_same_bytes_in_both_engines() {
    let star = builders::single_switch(16, Rate::from_gbps(1), Duration::from_us(1));
    let topology = Arc::new(star.expect("a switch of 16 ports"));
    let scheme = registry().transport("pdq").expect("PDQ is in the registry");
    let errors = LinkErrors { seed: SEED, corruption: 0.01, ..LinkErrors::default() };
    let end = Time::ZERO + Duration::from_ms(100);
    for charged in [1, 64] {
        let mut settings = Settings::defaults(scheme.info.parameters);
        settings.set("h_sched", Value::Bytes(charged));
        let parts = || parts_with(scheme, "ecmp", &topology, &settings).expect("PDQ needs FIFO ports");
        let (simulated, moved) = (parts(), parts());
        let flows = flows(16);
        let simulated = simulate(&topology, simulated.node, simulated.agent, flows.clone(), end, &errors);
        let moved = run_in_lockstep(&topology, moved.node, moved.agent, flows, end, &errors);
        assert_eq!(simulated.reports, moved.reports);
        assert!(simulated.packets == moved.packets, "other packets");
        let least = moved.packets.iter().map(|(.., bytes)| bytes.len()).min();
        assert_eq!(least, Some(40 + charged as usize));
    }
}

/// PFQ does not retransmit a lost packet, and the buffer that was reserved for the packet stays occupied. So the links
/// of this test lose and damage only credits: packets go one way around a ring, and only credits go the other way.
#[test]
fn pfq_gives_credits_again_that_links_lose_and_damage() {
    let mut builder = Builder::default();
    let nodes: Vec<NodeId> = (0..6).map(|_| builder.host(0)).collect();
    for (node, next) in (0..6).map(|node| (node, (node + 1) % 6)) {
        builder.join(nodes[node], nodes[next], Rate::from_gbps(10), Duration::from_ns(100));
    }
    let topology = Arc::new(builder.build(Shape::General));
    let scheme = registry().transport("pfq").expect("PFQ is in the registry");
    // The destination is one or two hops onwards, so all shortest paths lead the same way around the ring.
    let flow = |id: u32| {
        let (src, dst) = (NodeId(id % 6), NodeId((id + 1 + id % 2) % 6));
        Flow::new(FlowId(id), src, dst, Bytes(200_000), Time::from_ps(u64::from(id) * 10_000_000))
    };
    let flows: Vec<Flow> = (0..60).map(flow).collect();
    let back = topology.links().filter(|(_, link)| link.to.0 == (link.from.0 + 5) % 6).map(|(id, _)| id);
    let end = Time::ZERO + Duration::from_ms(500);
    let some = LinkErrors { seed: SEED, loss: 0.2, corruption: 0.2, ..LinkErrors::default() };
    let lossy = LinkErrors { links: Some(back.collect()), ..some };
    let traces = [LinkErrors::default(), lossy].map(|errors| {
        let parts = || parts(scheme, "rps", &topology).expect("PFQ runs on any fabric");
        let Built { node, agent, queue, .. } = parts();
        let simulated = simulate_queues(&topology, node, agent, queue, flows.clone(), end, &errors);
        let Built { node, agent, queue, .. } = parts();
        let moved = run_queues_in_lockstep(&topology, node, agent, queue, flows.clone(), end, &errors);
        assert_eq!(simulated.reports, moved.reports);
        assert!(simulated.packets == moved.packets, "other packets");
        assert_eq!(simulated.losses, []);
        let delivered =
            moved.reports.iter().filter(|(.., report)| matches!(report, Report::Delivered { .. }));
        assert_eq!(delivered.count(), flows.len());
        moved
    });
    assert!(traces[0].reports != traces[1].reports, "what is lost makes packets wait");
}

#[test]
fn reliable_r2c2_sends_the_same_bytes_in_both_engines_over_noisy_links() {
    let torus = builders::torus(&[4, 4], Rate::from_gbps(10), Duration::from_ns(100));
    let topology = Arc::new(torus.expect("a 4x4 torus"));
    let scheme = registry().transport("r2c2").expect("R2C2 is in the registry");
    let mut settings = Settings::defaults(scheme.info.parameters);
    settings.set("reliable", Value::Flag(true));
    let node = || parts_with(scheme, "rps", &topology, &settings).expect("R2C2 needs FIFO ports").node;
    let flows = flows(16);
    let end = Time::ZERO + Duration::from_ms(100);
    let errors = LinkErrors { seed: SEED, loss: 0.01, corruption: 0.01, ..LinkErrors::default() };
    let simulated = simulate(&topology, node(), |_| None, flows.clone(), end, &errors);
    let moved = run_in_lockstep(&topology, node(), |_| None, flows.clone(), end, &errors);
    let repeats = moved.reports.iter().filter_map(|(.., report)| match report {
        Report::Closed { retransmissions, .. } => Some(*retransmissions),
        _ => None,
    });
    assert_eq!(repeats.clone().count(), flows.len(), "every flow is known to have arrived");
    assert!(repeats.sum::<u32>() > 20);
    assert_eq!(simulated.reports, moved.reports);
    assert!(simulated.packets == moved.packets, "other packets");
}

/// In the first 2 ms the links lose one packet in five and damage one in a hundred, except in the run with PFQ. So
/// nodes miss hello messages, and sometimes mark a working link as failed. All flows are still delivered.
#[test]
fn nodes_that_say_hello_send_the_same_bytes_in_both_engines() {
    let torus = builders::torus(&[4, 4], Rate::from_gbps(10), Duration::from_ns(100));
    let topology = Arc::new(torus.expect("a 4x4 torus"));
    let errors = LinkErrors {
        seed: SEED,
        loss: 0.2,
        corruption: 0.01,
        until: Some(Time::ZERO + Duration::from_ms(2)),
        ..LinkErrors::default()
    };
    for (scheme, routing, errors) in
        [("r2c2", "rps", &errors), ("tcp-newreno", "ecmp", &errors), ("pfq", "rps", &LinkErrors::default())]
    {
        let transport = registry().transport(scheme).expect("in the registry");
        let mut settings = Settings::defaults(transport.info.parameters);
        if scheme == "r2c2" {
            settings.set("reliable", Value::Flag(true));
        }
        let built = || {
            let built = parts_with(transport, routing, &topology, &settings).expect("FIFO ports do");
            let Built { mut node, queue, .. } = built;
            let discoverer = discoverers(&topology, Duration::from_us(50));
            let node = move |id| Parts { discovery: Some(discoverer(id)), ..node(id) };
            (node, queue)
        };
        let ((node, queue), end) = (built(), Time::ZERO + Duration::from_ms(10_000));
        let simulated = simulate_queues(&topology, node, |_| None, queue, flows(16), end, errors);
        let (node, queue) = built();
        let moved = run_queues_in_lockstep(&topology, node, |_| None, queue, flows(16), end, errors);
        assert_eq!(simulated.reports, moved.reports, "{scheme}");
        assert!(simulated.packets == moved.packets, "{scheme}: other packets");
        let delivered =
            moved.reports.iter().filter(|(.., report)| matches!(report, Report::Delivered { .. }));
        assert_eq!(delivered.count(), 60, "{scheme}");
        let of_type = |first| moved.packets.iter().filter(move |(.., bytes)| bytes[0] == first).count();
        assert!(of_type(Hello::TYPE) > 64, "{scheme}");
        assert_eq!(of_type(LinkStates::TYPE) > 100, scheme != "pfq", "{scheme}");
    }
}

#[test]
fn r2c2_chooses_protocols_alike_in_both_engines() {
    let torus = builders::torus(&[4, 4], Rate::from_gbps(10), Duration::from_ns(100));
    let topology = Arc::new(torus.expect("a 4x4 torus"));
    let scheme = registry().transport("r2c2").expect("R2C2 is in the registry");
    for by in ["token", "random"] {
        let mut settings = Settings::defaults(scheme.info.parameters);
        settings.set("rho", Value::Duration(Duration::from_us(10)));
        settings.set("select", Value::Choice(by));
        settings.set("select_period", Value::Duration(Duration::from_us(100)));
        let node = || parts_with(scheme, "rps", &topology, &settings).expect("R2C2 needs FIFO ports").node;
        let flow =
            |(id, src, dst)| Flow::new(FlowId(id), NodeId(src), NodeId(dst), Bytes(4_000_000), Time::ZERO);
        let flows = [(0, 0, 1), (1, 10, 11)].map(flow).to_vec();
        let end = Time::ZERO + Duration::from_ms(10);
        let simulated = simulate(&topology, node(), |_| None, flows.clone(), end, &LinkErrors::default());
        let moved = run_in_lockstep(&topology, node(), |_| None, flows.clone(), end, &LinkErrors::default());
        let paced = moved.reports.iter().filter_map(|(.., report)| match report {
            Report::Paced { rate, .. } => Some(*rate),
            _ => None,
        });
        assert!(paced.max() > Some(Rate::from_gbps(10)), "{by}: two links at least for each flow");
        assert_eq!(simulated.reports, moved.reports, "{by}");
        assert!(simulated.packets == moved.packets, "{by}: other packets");
    }
}

/// Damages every fortieth packet. Counts delivered flows, and packets with SACK blocks.
#[derive(Default)]
struct BadLinks {
    packets: u32,
    delivered: usize,
    with_sack: usize,
}

impl Observer for BadLinks {
    fn report(&mut self, _: Time, _: NodeId, report: Report) {
        self.delivered += usize::from(matches!(report, Report::Delivered { .. }));
    }
    fn transmitted(&mut self, _: Time, _: Time, _: LinkId, bytes: &mut [u8]) {
        if let Ok((Header::Tcp(segment), _)) = Header::decode(bytes) {
            self.with_sack += usize::from(segment.sack_count > 0);
        }
        self.packets += 1;
        if self.packets.is_multiple_of(40) {
            let last = bytes.len() - 1;
            bytes[last] ^= 1;
        }
    }
}

#[test]
fn tcp_delivers_over_links_that_damage_bytes() {
    let torus = builders::torus(&[4, 4], Rate::from_gbps(10), Duration::from_ns(100));
    let topology = Arc::new(torus.expect("a 4x4 torus"));
    let scheme = registry().transport("tcp-newreno").expect("TCP is in the registry");
    let node = parts(scheme, "ecmp", &topology).expect("TCP needs FIFO ports").node;
    let flows = flows(16);
    let mut live = Lockstep::new(&topology, node, flows.clone(), BadLinks::default());
    assert!(live.run(Time::ZERO + Duration::from_ms(10_000)), "at rest within 10 s");
    assert_eq!(live.observer().delivered, flows.len());
    assert_eq!(live.totals().drops.malformed, u64::from(live.observer().packets / 40));
    assert!(live.observer().with_sack > 0);
}
