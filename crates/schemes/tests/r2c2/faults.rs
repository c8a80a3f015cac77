//! Nodes converge despite faults. Seeded schedules make links and nodes fail and recover, links lose and corrupt
//! packets, and queues overflow, on small fabrics. Some time after the last fault, all nodes that can reach each other
//! know the same live flows and compute the same rates.

#![allow(clippy::cast_possible_truncation, reason = "small numbers")]

use crate::rack::{Rack, assert_alike, rack_under};
use raddle_core::{Duration, Flow, FlowId, FlowKey, LinkErrors, LinkId, NodeId, Rate, Report, Stream, Time};
use raddle_packet_sim::{Change, Config};
use raddle_schemes::transport::r2c2::{Doubt, Params};
use raddle_testkit::{flow, us};
use raddle_topology::routing::{Protocol, Routing};
use raddle_topology::{Topology, builders};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const LONG: u64 = 1 << 40;
/// Faults begin and flows start before this time.
const FAULTS_US: u64 = 2_500;
/// By this time all nodes have had time to recover.
const END_US: u64 = 9_000;

/// The kinds of faults in a schedule.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each flag turns one kind of fault on")]
struct Kinds {
    failures: bool,
    small_queues: bool,
    loss: bool,
    corruption: bool,
}

/// An outage of links. Nodes learn of a link's failure and of its repair after `discovery_us`.
#[derive(Debug, Clone)]
struct Outage {
    links: Vec<LinkId>,
    from_us: u64,
    until_us: Option<u64>,
    discovery_us: u64,
}

#[derive(Debug)]
struct Schedule {
    topology: Arc<Topology>,
    params: Params,
    flows: Vec<Flow>,
    outages: Vec<Outage>,
    errors: LinkErrors,
    limit_packets: Option<usize>,
}

fn fabric(stream: &mut Stream) -> (Arc<Topology>, Vec<Protocol>) {
    let (rate, delay) = (Rate::from_gbps(1), Duration::from_ns(100));
    let grid = vec![Protocol::Rps, Protocol::RpsPath, Protocol::Vlb, Protocol::Ecmp];
    let (topology, protocols) = match stream.below(5) {
        0 => (builders::torus(&[3, 3], rate, delay), grid),
        1 => (builders::torus(&[4, 4], rate, delay), grid),
        2 => (builders::mesh(&[3, 4], rate, delay), grid),
        3 => (builders::torus(&[2, 2, 3], rate, delay), grid),
        _ => (builders::folded_clos(3, 2, 3, rate, rate, delay), vec![Protocol::Rps, Protocol::Ecmp]),
    };
    (Arc::new(topology.expect("a small fabric")), protocols)
}

fn flows(topology: &Topology, stream: &mut Stream) -> Vec<Flow> {
    let hosts: Vec<NodeId> = topology.hosts().collect();
    let count = 4 + stream.below(40) as u32;
    let mut flows: Vec<Flow> = (0..count)
        .map(|id| {
            let src = stream.below(hosts.len() as u64) as usize;
            let dst = (src + 1 + stream.below(hosts.len() as u64 - 1) as usize) % hosts.len();
            let size = if stream.below(4) == 0 { LONG } else { 1 + stream.below(40_000) };
            let start = us(stream.below(FAULTS_US));
            let mut flow = flow(id, hosts[src].0, hosts[dst].0, size, start);
            flow.weight = 1 + stream.below(4) as u8;
            flow.app_rate = (size < LONG && stream.coin()).then_some(Rate::from_bps(300_000_000));
            flow
        })
        .collect();
    flows.sort_by_key(|flow| flow.start);
    (0..).zip(&mut flows).for_each(|(id, flow)| flow.id = FlowId(id));
    flows
}

fn outages(topology: &Topology, stream: &mut Stream) -> Vec<Outage> {
    let slow = stream.coin();
    let links: Vec<LinkId> = topology.links().map(|(id, _)| id).collect();
    (0..=stream.below(6))
        .map(|_| {
            let links = if stream.below(3) == 0 {
                let node = NodeId(stream.below(topology.node_count() as u64) as u32);
                topology.links_from(node).flat_map(|(id, _)| [id, topology.reverse(id)]).collect()
            } else {
                let link = links[stream.below(links.len() as u64) as usize];
                vec![link, topology.reverse(link)]
            };
            let from_us = stream.below(FAULTS_US);
            let repair = from_us + 1 + stream.below(800);
            let until_us = (stream.below(4) > 0).then_some(repair.min(FAULTS_US));
            let until_us = until_us.map(|until| until.max(from_us + 1));
            let discovery_us = if slow { 200 + stream.below(600) } else { stream.below(20) };
            Outage { links, from_us, until_us, discovery_us }
        })
        .collect()
}

fn schedule(seed: u64, kinds: Kinds) -> Schedule {
    let stream = &mut Stream::new(seed, 0, "test/schedule");
    let (topology, protocols) = fabric(stream);
    let protocol = protocols[stream.below(protocols.len() as u64) as usize];
    let flows = flows(&topology, stream);
    let outages = if kinds.failures { outages(&topology, stream) } else { Vec::new() };
    let errors = LinkErrors {
        seed,
        loss: if kinds.loss { 0.05 * stream.unit() } else { 0.0 },
        corruption: if kinds.corruption { 0.1 * stream.unit() } else { 0.0 },
        links: None,
        until: Some(us(FAULTS_US)),
        ..LinkErrors::default()
    };
    let is_lossy = errors.loss + errors.corruption > 0.0;
    let params = Params {
        protocol,
        rho: Duration::from_us(100),
        doubt: if is_lossy { Doubt::Always } else { Doubt::AfterFaults },
        digest_period: Duration::from_us(300),
        ..Params::default()
    };
    let limit_packets = (kinds.small_queues && stream.below(4) > 0).then(|| 3 + stream.below(8) as usize);
    Schedule { topology, params, flows, outages, errors, limit_packets }
}

impl Schedule {
    fn changes(&self) -> Vec<Change> {
        let change = |outage: &Outage, at, up| Change {
            at: us(at),
            links: outage.links.clone(),
            up,
            discovery: Duration::from_us(outage.discovery_us),
        };
        let both = |outage: &Outage| {
            let mut changes = vec![change(outage, outage.from_us, false)];
            changes.extend(outage.until_us.map(|until| change(outage, until, true)));
            changes
        };
        self.outages.iter().flat_map(both).collect()
    }

    /// Runs until no events are left, or until `end`.
    fn run(&self, end: Option<Time>) -> Rack {
        let config = Config {
            time_limit: end,
            changes: self.changes(),
            errors: self.errors.clone(),
            ..Config::default()
        };
        rack_under(&self.topology, self.params, self.flows.clone(), config, self.limit_packets)
    }

    /// The fabric without the links that stay down.
    fn surviving(&self) -> Topology {
        let lasting: Vec<LinkId> = self
            .outages
            .iter()
            .filter(|outage| outage.until_us.is_none())
            .flat_map(|o| o.links.clone())
            .collect();
        self.topology.surviving(|link| !lasting.contains(&link))
    }

    /// Asserts that at the end of a run, nodes that can reach each other know the same live flows and compute the same
    /// rates.
    fn assert_recovered(&self, rack: &Rack, what: &str) {
        let routing = Routing::new(Arc::new(self.surviving()));
        let reach = |a: NodeId, b: NodeId| a == b || routing.distance(a, b).is_some();
        let open = open_flows(rack);
        for first in
            self.topology.hosts().filter(|&node| self.topology.hosts().all(|o| o >= node || !reach(o, node)))
        {
            let part = || self.topology.hosts().filter(move |&node| reach(first, node));
            assert_alike(part().map(|node| &rack.nodes[node.index()]), what);
            let known = rack.nodes[first.index()].lock().expect("no panic").table().len();
            let alive = open.iter().filter(|&&key| reach(first, NodeId((key.0 >> 16) as u32))).count();
            if self.outages.is_empty() {
                assert_eq!(known, alive, "{what}");
            } else {
                // A node gives up a flow without a report if the two ends of the flow cannot reach each other.
                assert!(known <= alive, "{what}: {known} of at most {alive} flows");
            }
        }
    }

    /// Asserts that packets are lost at a dead link only for a limited time after a failure or a repair of the link:
    /// until all nodes know of the change and earlier packets have arrived.
    fn assert_nobody_uses_dead_links(&self, rack: &Rack, what: &str) {
        let under_way = Duration::from_ms(3);
        for &(at, node, port) in &rack.simulation.observer().dead_ends {
            let link = self.topology.link_id(node, port);
            let outages = || self.outages.iter().filter(|outage| outage.links.contains(&link));
            // Nodes learn of a link's changes in order, so a slow discovery of one change delays the discovery of later
            // changes.
            let discovery = outages().map(|outage| outage.discovery_us).max().unwrap_or(0);
            let found_out = |outage: &Outage| {
                let changes = [Some(outage.from_us), outage.until_us];
                changes.into_iter().flatten().any(|change| {
                    let change = us(change);
                    (change..change + Duration::from_us(discovery) + under_way).contains(&at)
                })
            };
            assert!(outages().any(found_out), "{what}: a packet for {link:?} at {at}");
        }
    }
}

/// The flows that were opened and are not closed yet.
fn open_flows(rack: &Rack) -> BTreeSet<FlowKey> {
    let mut open = BTreeSet::new();
    for (_, report) in &rack.simulation.observer().reports {
        match report {
            Report::Opened { key, .. } => open.insert(*key),
            Report::Closed { key, .. } => open.remove(key),
            _ => true,
        };
    }
    open
}

/// Runs one schedule per seed, and asserts that the nodes recover. Returns the number of lost packets for each reason.
fn recover(seeds: std::ops::Range<u64>, kinds: Kinds) -> BTreeMap<String, u64> {
    let mut reasons = BTreeMap::new();
    for seed in seeds {
        let schedule = schedule(seed, kinds);
        let rack = schedule.run(Some(us(END_US)));
        let what = format!("seed {seed}");
        schedule.assert_recovered(&rack, &what);
        if !kinds.corruption {
            schedule.assert_nobody_uses_dead_links(&rack, &what); // a corrupted hop counter can misroute a packet
        }
        for (reason, count) in &rack.simulation.observer().reasons {
            *reasons.entry(reason.clone()).or_default() += count;
        }
    }
    reasons
}

#[test]
fn oracle_o11_nothing_diverges_when_links_and_nodes_fail_and_recover() {
    let lost = recover(0..60, Kinds { failures: true, ..Kinds::default() });
    assert!(lost["LinkDown"] > 100, "{lost:?}");
}

#[test]
fn oracle_o11_nothing_diverges_when_queues_overflow_too() {
    let lost = recover(100..160, Kinds { failures: true, small_queues: true, ..Kinds::default() });
    assert!(lost["QueueFull"] > 100 && lost["LinkDown"] > 100, "{lost:?}");
}

#[test]
fn oracle_o11_nothing_diverges_on_links_that_lose_and_damage_packets() {
    let lost = recover(200..260, Kinds { loss: true, corruption: true, ..Kinds::default() });
    assert!(lost["Lost"] > 100 && lost["Malformed"] > 100, "{lost:?}");
}

#[test]
fn oracle_o11_nothing_diverges_when_everything_goes_wrong() {
    let lost = recover(300..360, Kinds { failures: true, small_queues: true, loss: true, corruption: true });
    assert!(["LinkDown", "QueueFull", "Lost", "Malformed"].iter().all(|&why| lost[why] > 100), "{lost:?}");
}

#[test]
fn oracle_o11_a_rack_comes_to_rest_however_much_its_links_lose() {
    for seed in 400..420 {
        let mut schedule =
            schedule(seed, Kinds { failures: true, small_queues: true, loss: true, corruption: true });
        schedule.flows.retain(|flow| flow.size.0 < LONG);
        schedule.errors.until = None;
        let rack = schedule.run(None);
        assert_eq!(rack.simulation.packets_inside(), 0);
        schedule.assert_recovered(&rack, &format!("seed {seed}"));
    }
}

/// A 4x4 torus on which every node sends without end; start times are spread over the first millisecond.
fn busy(outages: Vec<Outage>, corruption: f64, params: Params) -> Schedule {
    let topology =
        Arc::new(builders::torus(&[4, 4], Rate::from_gbps(1), Duration::from_ns(100)).expect("valid dims"));
    let flows = (0..16).map(|src| flow(src, src, (src + 5) % 16, LONG, us(60 * u64::from(src)))).collect();
    let errors = LinkErrors { seed: 1, corruption, until: Some(us(1_500)), ..LinkErrors::default() };
    Schedule { topology, params, flows, outages, errors, limit_packets: None }
}

/// Parameters that turn digests off, so that nodes learn of flows only from broadcasts.
fn told_only() -> Params {
    Params { digest_period: Duration::ZERO, rho: Duration::from_us(100), ..Params::default() }
}

#[test]
fn oracle_o11_a_repaired_node_learns_all_flows_from_repeated_broadcasts() {
    let mut schedule = busy(Vec::new(), 0.0, told_only());
    let links = schedule.topology.links_from(NodeId(6));
    let links = links.flat_map(|(id, _)| [id, schedule.topology.reverse(id)]).collect();
    schedule.outages = vec![Outage { links, from_us: 500, until_us: Some(1_200), discovery_us: 40 }];
    let rack = schedule.run(Some(us(4_000)));
    schedule.assert_recovered(&rack, "");
    // Two of 16 flows have ended: the flow from node 6, and the flow from node 1 to node 6. Neither node starts another
    // flow.
    assert_eq!(rack.nodes[6].lock().expect("no panic").table().len(), 14);
}

#[test]
fn damaged_broadcasts_are_said_again_by_the_neighbour() {
    let known = |resends| {
        let rack = busy(Vec::new(), 0.02, Params { resends, ..told_only() }).run(Some(us(4_000)));
        rack.nodes.iter().map(|node| node.lock().expect("no panic").table().len()).sum::<usize>()
    };
    assert_eq!(known(8), 16 * 16);
    assert!(known(0) < 16 * 16, "nobody hears of some flows otherwise");
}
