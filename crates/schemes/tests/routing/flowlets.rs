//! The routings that use flowlets (LetFlow, CONGA and HULA), with TCP in the packet engine.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use raddle_core::{
    DropReason, Duration, Flow, FlowKey, Header, LinkId, NodeId, Packet, PortId, Rate, Report, Shim, Stream,
    Time,
};
use raddle_packet_sim::{Change, Config, Observer, PortSetup, Simulation};
use raddle_schemes::parameter::Settings;
use raddle_schemes::scheme::Plan;
use raddle_testkit::{flow, registry, us};
use raddle_topology::builders::{self, ClosRates};
use raddle_topology::{LinkLayer, Topology};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

const RATE: Rate = Rate::from_gbps(10);
const ALL: [&str; 4] = ["letflow", "conga", "conga-flow", "hula"];

struct Heard {
    topology: Arc<Topology>,
    /// Delivery times of flows, by the flow's key in packets.
    delivered: BTreeMap<FlowKey, Time>,
    /// Number of packets with an overlay header. A packet counts once for each link that it crosses.
    overlays: u64,
    /// Number of probes. A probe counts once for each link that it crosses.
    probes: u64,
    /// Number of probes, and of packets with an overlay header, that crossed a host's link.
    told_hosts: u64,
    drops: BTreeMap<&'static str, u64>,
}

impl Observer for Heard {
    const FORWARDED: bool = true;

    fn report(&mut self, now: Time, _: NodeId, report: Report) {
        if let Report::Delivered { key, .. } = report {
            self.delivered.insert(key, now);
        }
    }

    fn forwarded(&mut self, _: Time, _: Time, link: LinkId, packet: &Packet) {
        let link = self.topology.link(link).expect("packets cross links");
        let is_overlay = packet.shim != Shim::None;
        let is_probe = matches!(packet.header, Header::HulaProbe(_));
        self.overlays += u64::from(is_overlay);
        self.probes += u64::from(is_probe);
        let is_hosts = self.topology.is_host(link.from) || self.topology.is_host(link.to);
        self.told_hosts += u64::from(is_hosts && (is_overlay || is_probe));
    }

    fn dropped(&mut self, _: Time, _: NodeId, _: Option<PortId>, _: &Packet, why: DropReason) {
        let name = if why == DropReason::LinkDown { "link down" } else { "other" };
        *self.drops.entry(name).or_default() += 1;
    }
}

/// A leaf-spine: hosts 0 to 15, leaves 16 and 17, and eight spines. A leaf has as many uplinks as hosts.
fn leaf_spine() -> Arc<Topology> {
    let fabric = builders::folded_clos(2, 8, 8, RATE, RATE, Duration::from_us(1)).expect("a leaf-spine");
    Arc::new(fabric.with_link_layer(LinkLayer::ETHERNET))
}

/// A fat-tree: hosts 0 to 15, edge switches 16 to 23, aggregation switches 24 to 31, cores 32 to 35.
fn fat_tree() -> Arc<Topology> {
    Arc::new(builders::fat_tree(4, ClosRates::all(RATE), Duration::from_us(1)).expect("an even k"))
}

fn run(topology: &Arc<Topology>, routing: &str, flows: Vec<Flow>, changes: Vec<Change>) -> Simulation<Heard> {
    let transport = registry().transport("tcp-newreno").expect("TCP is in the registry");
    let of_routing = registry().routing_defaults(routing);
    let settings = Settings::defaults(transport.info.parameters);
    let plan = Plan::new(topology, routing, &settings, 1);
    let mut parts = registry().build(transport, &plan, &of_routing).expect("the fabric suits the routing");
    let config = Config { changes, ..Config::default() };
    let heard = Heard {
        topology: Arc::clone(topology),
        delivered: BTreeMap::new(),
        overlays: 0,
        probes: 0,
        told_hosts: 0,
        drops: BTreeMap::new(),
    };
    let port = |_| PortSetup::default();
    let mut simulation = Simulation::new(topology, |id| (parts.node)(id), port, flows, config, heard);
    assert!(simulation.run(|_| ControlFlow::Continue(())), "{routing} comes to rest");
    assert_eq!(simulation.packets_inside(), 0, "{routing}");
    simulation
}

fn random(count: u32) -> Vec<Flow> {
    let mut stream = Stream::new(7, 0, "test/flows");
    let flow = |id| {
        let src = stream.below(16) as u32;
        let dst = (src + 1 + stream.below(15) as u32) % 16;
        flow(id, src, dst, 1 + stream.below(400_000), us(u64::from(id) * 5))
    };
    (0..count).map(flow).collect()
}

/// Each host of one leaf sends 10 MB to a host of the other leaf. At line rate, a flow takes 8.4 ms. Each flow starts
/// 0.5 ms after the previous flow, so the last flow starts at 3.5 ms. If no two flows share an uplink, the last flow
/// ends at about 11.9 ms.
#[test]
fn flows_that_see_congestion_share_no_uplink_if_they_need_not() {
    let topology = leaf_spine();
    let flows = || (0..8).map(|n| flow(n, n, 8 + n, 10_000_000, us(u64::from(n) * 500))).collect();
    let end =
        |routing| run(&topology, routing, flows(), Vec::new()).observer().delivered.values().max().copied();
    let ends =
        ["conga", "conga-flow", "hula"].map(|routing| end(routing).expect("flows end").as_ns_f64() / 1e6);
    assert!(ends.iter().all(|end| (11.7..12.1).contains(end)), "{ends:?} ms");
    let hashed = end("ecmp").expect("flows end").as_ns_f64() / 1e6;
    assert!(hashed > 16.0, "{hashed} ms by ECMP");
}

#[test]
fn hosts_receive_no_messages_between_switches() {
    for (routing, overlays, probes) in [
        ("letflow", false, false),
        ("conga", true, false),
        ("conga-flow", true, false),
        ("hula", false, true),
    ] {
        let simulation = run(&leaf_spine(), routing, random(300), Vec::new());
        assert_eq!(simulation.totals().flows_delivered, 300, "{routing}");
        let heard = simulation.observer();
        assert_eq!(
            (heard.overlays > 0, heard.probes > 0, heard.told_hosts),
            (overlays, probes, 0),
            "{routing}"
        );
        assert!(heard.drops.is_empty(), "{routing}: {:?}", heard.drops);
    }
}

/// HULA's probes in three tiers of switches: each time one of the 8 edge switches sends probes, the probes cross 44
/// links.
#[test]
fn probes_of_hula_in_a_fat_tree_are_as_many_as_they_should_be() {
    let simulation = run(&fat_tree(), "hula", random(300), Vec::new());
    let probes = simulation.observer().probes;
    assert!(probes > 8 * 44 && probes.is_multiple_of(44), "{probes}");
    assert_eq!(simulation.totals().flows_delivered, 300);
}

/// Two links fail during traffic and are repaired. The switches learn of each change 200 us later.
#[test]
fn flows_survive_failures() {
    for (topology, links, routings) in [
        (leaf_spine(), [(16, 18), (17, 21)], &ALL[..]),
        (fat_tree(), [(24, 32), (23, 30)], &["letflow", "hula"]),
    ] {
        let both = |(from, to)| -> Vec<LinkId> {
            let mut links = topology.links_from(NodeId(from));
            let (link, _) = links.find(|(_, link)| link.to == NodeId(to)).expect("neighbours");
            vec![link, topology.reverse(link)]
        };
        let change = |at_us, ends, up| Change {
            at: us(at_us),
            links: both(ends),
            up,
            discovery: Duration::from_us(200),
        };
        let changes = vec![
            change(300, links[0], false),
            change(600, links[1], false),
            change(1_500, links[0], true),
            change(1_700, links[1], true),
        ];
        for routing in routings {
            let simulation = run(&topology, routing, random(400), changes.clone());
            assert_eq!(simulation.totals().flows_delivered, 400, "{routing}");
            let drops = &simulation.observer().drops;
            assert!(drops.contains_key("link down") && drops.len() == 1, "{routing}: {drops:?}");
        }
    }
}
