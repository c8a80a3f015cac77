//! Expeditus in the packet engine: the exchange of loads and its times (specifications/expeditus.md §§5.5, 11.5).

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use crate::clos::{
    AGGREGATIONS, CORES, Heard, LosesResponses, Seen, TESTBED, TORS, Traffic, datagram, fabric, plan, run,
};
use raddle_core::{Duration, Header, HeaderInfo, NodeId, Packet, Stream, Time};
use raddle_packet_sim::{Change, Config, Simulation, Threads};
use raddle_schemes::counter::Counter;
use raddle_schemes::parameter::Value;
use raddle_schemes::routing::expeditus::{Counters, Expeditus, ROUTING};
use raddle_testkit::{flow, link, ns, settings};
use raddle_topology::{ClosSize, Topology};
use raddle_wire::exp::{Tag, Tagged};
use raddle_wire::tcp::{SYN, Segment};
use std::sync::Arc;

/// The result of a run with Expeditus on the edge and aggregation switches.
struct Ran {
    simulation: Simulation<Heard>,
    counters: Arc<Counters>,
}

impl Ran {
    fn seen(&self) -> &[Seen] {
        &self.simulation.observer().seen
    }

    /// Arrival times in ns, at node `at`, of the packets that `which` selects.
    fn arrivals(&self, at: NodeId, which: impl Fn(&Seen) -> bool) -> Vec<f64> {
        let seen = self.seen().iter().filter(|seen| seen.to == at && which(seen));
        seen.map(|seen| seen.arrived.as_ns_f64()).collect()
    }

    fn responses(&self) -> Vec<&Seen> {
        self.seen().iter().filter(|seen| seen.is_tagged(true)).collect()
    }

    /// Counts of sent requests, sent responses and completed entries at edge switches, then counts of merged responses
    /// and stored entries at aggregation switches.
    fn counts(&self) -> ([u64; 3], [u64; 2]) {
        let counters = &self.counters;
        let edge = [&counters.requests, &counters.responses, &counters.answered].map(Counter::get);
        (edge, [&counters.merged, &counters.installed].map(Counter::get))
    }
}

fn expeditus(topology: &Arc<Topology>, values: &[(&str, Value)], traffic: Traffic, config: Config) -> Ran {
    losing_at(&[], topology, values, traffic, config)
}

/// A run in which the switches in `lossy` drop Exp-responses.
fn losing_at(
    lossy: &[NodeId],
    topology: &Arc<Topology>,
    values: &[(&str, Value)],
    traffic: Traffic,
    config: Config,
) -> Ran {
    let settings = settings(ROUTING.info.parameters, values);
    let switches = Expeditus::new(&plan(topology, &settings, 1)).expect("a Clos");
    let counters = Arc::clone(switches.counters());
    let forwarder = |node| match switches.forwarder(node) {
        Some(forwarder) if lossy.contains(&node) => Some(Box::new(LosesResponses(forwarder)) as Box<_>),
        forwarder => forwarder,
    };
    Ran { simulation: run(topology, forwarder, traffic, config), counters }
}

fn from_host(host: u32) -> impl Fn(&Seen) -> bool {
    move |seen| seen.from == NodeId(host)
}

/// Time of one hop of a minimum-size frame in ns: 84 B at 10 Gb/s, plus 2 us.
const HOP: f64 = 2_067.2;

#[track_caller]
fn assert_times(times: &[f64], hops: &[f64]) {
    let expected: Vec<f64> = hops.iter().map(|hops| hops * HOP).collect();
    assert!(
        times.len() == expected.len() && times.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 0.01),
        "{times:?}, not {expected:?}"
    );
}

/// Oracle of specifications/expeditus.md §11.5, and the times of §5.5: a flow from the first host of the first pod to
/// the last host of the second pod. (In the specification, the SYN has an option, and tags make some frames a little
/// longer. The specification's 16.55 us are therefore 16.54 us here.)
#[test]
fn oracle_11_5_a_connection_between_pods() {
    let topology = fabric(TESTBED);
    let ran = expeditus(&topology, &[], Traffic::Tcp(vec![flow(0, 0, 7, 1, Time::ZERO)]), Config::default());
    let [src, dst] = [TORS[0], TORS[3]];

    // The SYN arrives at the source's edge switch after 2.07 us, and at the destination's edge switch after 10.34 us.
    let up = ran.arrivals(src, from_host(0));
    assert_times(&up[..1], &[1.0]);
    assert_times(&ran.arrivals(dst, |seen| seen.is_tagged(false)), &[5.0]);
    // The answer to the SYN arrives at the source's aggregation switch after 16.54 us, and at the source's edge switch
    // after 18.60 us.
    let of_syn = |seen: &Seen| seen.is_tagged(true) && seen.packet.src() == NodeId(7);
    let aggregations = ran.seen().iter().filter(|seen| AGGREGATIONS[..2].contains(&seen.to) && of_syn(seen));
    let merged: Vec<f64> = aggregations.map(|seen| seen.arrived.as_ns_f64()).collect();
    assert_times(&merged, &[8.0]);
    assert_times(&ran.arrivals(src, of_syn), &[9.0]);
    // The SYN-ACK, which is itself a request, arrives after 22.74 us. The next packet of the flow arrives after 26.87
    // us.
    assert_times(&ran.arrivals(src, |seen| seen.is_tagged(false)), &[11.0]);
    assert_times(&up[1..2], &[13.0]);

    // Each direction of the connection has one Exp-response, which crosses four links between switches.
    assert_eq!(ran.responses().len(), 2 * 4);
    assert_eq!(ran.counts(), ([2, 2, 2], [2, 2]));
    assert_eq!(ran.counters.fallbacks.get(), 0, "no packet came while an answer was out");
    assert!(!ran.simulation.observer().hosts_saw_tags());
    // All frames have the minimum size on the link, but the packet sizes show the number of loads. An Exp-response is
    // empty (43 B) on its first link, and carries the loads of 2 cores (44 B) on the other three links.
    let sizes: Vec<u32> = ran.responses().iter().map(|seen| seen.packet.size).collect();
    assert_eq!(
        sizes.iter().filter(|&&size| size == 43).count(),
        2,
        "still empty on the first link: {sizes:?}"
    );
    assert_eq!(sizes.iter().filter(|&&size| size == 44).count(), 6);
}

/// specifications/expeditus.md §5.4 and §11.5: within a pod an answer crosses two links, and no core is selected.
#[test]
fn oracle_11_5_a_connection_within_a_pod() {
    let topology = fabric(TESTBED);
    let ran = expeditus(&topology, &[], Traffic::Tcp(vec![flow(0, 0, 2, 1, Time::ZERO)]), Config::default());
    assert_times(&ran.arrivals(TORS[1], |seen| seen.is_tagged(false)), &[3.0]);
    let responses = ran.responses();
    assert!(responses.iter().all(|seen| seen.packet.size == 43));
    assert_eq!((responses.len(), ran.counts()), (2 * 2, ([2, 2, 2], [0, 0])));
    assert_eq!(ran.counters.malformed.get(), 0);
}

#[test]
fn a_leaf_spine_needs_one_stage() {
    let topology = fabric(ClosSize::leaf_spine(4, 2, 8));
    let ran = expeditus(&topology, &[], Traffic::Tcp(vec![flow(0, 0, 7, 1, Time::ZERO)]), Config::default());
    assert_eq!((ran.responses().len(), ran.counts()), (2 * 2, ([2, 2, 2], [0, 0])));
    let request = ran.seen().iter().find(|seen| seen.is_tagged(false)).expect("a request");
    assert_eq!(request.packet.size, 40 + 7, "loads of eight uplinks");
}

#[test]
fn within_a_rack_nothing_is_selected() {
    let topology = fabric(TESTBED);
    let ran = expeditus(
        &topology,
        &[],
        Traffic::Tcp(vec![flow(0, 0, 1, 1_000_000, Time::ZERO)]),
        Config::default(),
    );
    assert_eq!(ran.counts(), ([0; 3], [0; 2]));
    assert!(ran.seen().iter().all(|seen| !seen.is_tagged(false)));
    assert_eq!(ran.simulation.observer().delivered.len(), 1);
}

fn burst(at: &[Time]) -> Traffic {
    Traffic::Script(at.iter().map(|&at| (at, datagram(0, 7, 40_000, 1_000))).collect())
}

/// For each packet of a burst, the next nodes after the edge switch and after the aggregation switch.
fn ways(ran: &Ran) -> Vec<(NodeId, NodeId)> {
    let of = |from: &[NodeId], to: &[NodeId]| -> Vec<NodeId> {
        let seen = ran.seen().iter().filter(|seen| from.contains(&seen.from) && to.contains(&seen.to));
        seen.filter(|seen| seen.packet.payload() > 0).map(|seen| seen.to).collect()
    };
    of(&TORS[..1], &AGGREGATIONS).into_iter().zip(of(&AGGREGATIONS[..2], &CORES)).collect()
}

/// Oracle of specifications/expeditus.md §11.5: of three packets sent back to back, the first starts a selection and
/// the others use ECMP. One round trip later the flow has a path.
#[test]
fn oracle_11_5_a_burst_without_a_connection() {
    let topology = fabric(TESTBED);
    let ran = expeditus(&topology, &[], burst(&[ns(0), ns(0), ns(0), ns(40_000)]), Config::default());
    let leaving = ran.seen().iter().filter(|seen| seen.from == TORS[0] && seen.packet.payload() > 0);
    let tagged: Vec<bool> = leaving.map(|seen| seen.is_tagged(false)).collect();
    assert_eq!(tagged, [true, false, false, false]);
    assert_eq!((ran.counts(), ran.counters.fallbacks.get()), (([1, 1, 1], [1, 1]), 2));
    let ways = ways(&ran);
    assert!(ways[0] == ways[1] && ways[1] == ways[2], "all by the same hash: {ways:?}");
    let answer =
        ran.seen().iter().find(|seen| seen.is_tagged(true) && seen.to == TORS[0]).expect("an answer");
    assert_eq!(ways[3].0, answer.from, "the port by which the answer came");
    // The answer does not arrive before the request has crossed a link of 2 us.
    let request = Duration::from_ns(2 * 8) + Duration::from_us(2);
    assert!(answer.arrived > Time::ZERO + request);
}

/// Oracle of specifications/expeditus.md §11.5: after an answer is lost at the core, the only entry is the pending
/// entry at the edge switch.
#[test]
fn oracle_11_5_an_answer_lost_at_the_core() {
    let topology = fabric(TESTBED);
    let at: Vec<Time> = (0..10).map(|n| ns(50_000 * n)).collect();
    let ran = losing_at(&CORES, &topology, &[], burst(&at), Config::default());
    assert_eq!((ran.counts(), ran.counters.fallbacks.get()), (([1, 1, 0], [0, 0]), 9));
}

/// Oracle of specifications/expeditus.md §11.5: an answer that is lost between the source's aggregation switch and edge
/// switch has already installed an entry at the aggregation switch.
#[test]
fn oracle_11_5_an_answer_lost_below_the_aggregation_switch() {
    let topology = fabric(TESTBED);
    let at: Vec<Time> = (0..10).map(|n| ns(50_000 * n)).collect();
    let ran = losing_at(&TORS[..1], &topology, &[], burst(&at), Config::default());
    assert_eq!((ran.counts(), ran.counters.fallbacks.get()), (([1, 1, 0], [1, 1]), 9));
}

/// Oracle of specifications/expeditus.md §11.5, with §3.6: after 250 ms of idleness a flow sends a new request, with or
/// without an earlier answer.
#[test]
fn oracle_11_5_a_flow_that_idled_asks_again() {
    let topology = fabric(TESTBED);
    for clock in ["exact", "age_bit"] {
        for (lossy, answered) in [(&CORES[..0], 2), (&CORES[..], 0)] {
            let traffic = burst(&[ns(0), ns(60_000_000), ns(310_000_000)]);
            let clock = [("pst_clock", Value::Choice(clock))];
            let ran = losing_at(lossy, &topology, &clock, traffic, Config::default());
            assert_eq!(ran.counts().0, [2, 2, answered]);
            // One entry expires at the edge switch. If the answer to the first request was not lost, the entry at an
            // aggregation switch can expire too.
            assert!(ran.counters.expired.get() >= 1);
        }
    }
}

/// Random flows of up to 40 kB, most of them between hosts of different racks.
fn crowd(count: u32, hosts: u64, mean_gap_ns: u64, seed: u64) -> Vec<raddle_core::Flow> {
    let mut stream = Stream::new(seed, 0, "test/flows");
    let mut at = Time::ZERO;
    (0..count)
        .map(|id| {
            at += Duration::from_ns(stream.below(2 * mean_gap_ns));
            let src = stream.below(hosts);
            let dst = (src + 2 + stream.below(hosts - 3)) % hosts;
            flow(id, src as u32, dst as u32, 1 + stream.below(40_000), at)
        })
        .collect()
}

/// specifications/expeditus.md §10.12: without loss every request is answered. If an answer goes from one pod to
/// another, an aggregation switch merges it.
#[test]
fn oracle_10_12_no_request_stays_without_answer() {
    for size in [TESTBED, ClosSize::fat_tree(4), ClosSize { cores: 3, ..ClosSize::fat_tree(6) }] {
        let topology = fabric(size);
        let hosts = topology.hosts().count() as u64;
        let per_pod = hosts as u32 / size.pods;
        let flows = crowd(300, hosts, 500, 7);
        let between_racks =
            flows.iter().filter(|flow| flow.src.0 / size.hosts != flow.dst.0 / size.hosts).count();
        let between_pods = flows.iter().filter(|flow| flow.src.0 / per_pod != flow.dst.0 / per_pod).count();
        let ran = expeditus(&topology, &[], Traffic::Tcp(flows), Config::default());
        let (racks, pods) = (2 * between_racks as u64, 2 * between_pods as u64);
        assert_eq!(ran.counts(), ([racks; 3], [pods; 2]), "{size:?}");
        assert_eq!((ran.counters.malformed.get(), ran.counters.void.get()), (0, 0));
        let observer = ran.simulation.observer();
        assert_eq!((observer.delivered.len(), observer.dropped.len()), (300, 0));
        assert!(!observer.hosts_saw_tags());
        assert_eq!(ran.simulation.packets_inside(), 0);
    }
}

/// specifications/expeditus.md §5.5: if control packets have short queueing delays, a connection's answer arrives
/// before its first payload. Every flow then keeps one path.
#[test]
fn connections_never_change_their_path() {
    let topology = fabric(ClosSize::fat_tree(4));
    let ran = expeditus(&topology, &[], Traffic::Tcp(crowd(200, 16, 20_000, 3)), Config::default());
    let mut ways = std::collections::BTreeMap::new();
    for seen in ran.seen().iter().filter(|seen| seen.packet.payload() > 0) {
        let key = (seen.packet.header.flow_key(), seen.from);
        assert_eq!(*ways.entry(key).or_insert(seen.to), seen.to, "a flow turns off");
    }
    assert!(ways.len() > 600, "{}", ways.len());
}

/// Large flows that start one after another avoid each other's links. With ECMP, some of these flows would share a
/// link.
#[test]
fn elephants_avoid_each_other() {
    // Four hosts of the first pod send to the second pod. Each rack's two flows share two uplinks, and all four flows
    // share four cores.
    let pairs = [(0, 4), (1, 5), (2, 6), (3, 7)];
    let flows = |count| {
        (0..count)
            .map(|n| flow(n, pairs[n as usize].0, pairs[n as usize].1, 3_000_000, ns(u64::from(n) * 400_000)))
    };
    let topology = fabric(TESTBED);
    let ran = expeditus(&topology, &[], Traffic::Tcp(flows(4).collect()), Config::default());
    let mut used = std::collections::BTreeSet::new();
    for seen in ran.seen().iter().filter(|seen| seen.packet.payload() > 0 && CORES.contains(&seen.to)) {
        used.insert((seen.packet.src(), seen.to));
    }
    let cores: std::collections::BTreeSet<NodeId> = used.iter().map(|&(_, core)| core).collect();
    assert_eq!((used.len(), cores.len()), (4, 4), "{used:?}");
    // A 3 MB flow without competition takes 2.5 ms.
    let last = ran.simulation.observer().delivered.iter().map(|&(at, _)| at).max();
    assert!(last < Some(ns(1_200_000 + 2_700_000)), "{last:?}");
}

/// specifications/expeditus.md §3.7: flows with a shared entry use the same path. Only the first of these flows starts
/// a selection, as long as the entry has not expired.
#[test]
fn oracle_3_7_collisions_in_hardware_mode() {
    let topology = fabric(TESTBED);
    let packets = || {
        let to = |src_port| datagram(0, 7, src_port, 1_000);
        Traffic::Script((0..20).map(|n| (ns(50_000 * u64::from(n)), to(n))).collect())
    };
    let one_slot = [("pst_lookup", Value::Choice("hw")), ("pst_capacity", Value::Count(1))];
    let ran = expeditus(&topology, &one_slot, packets(), Config::default());
    assert_eq!(ran.counts().0, [1, 1, 1]);
    assert!(ways(&ran)[1..].windows(2).all(|pair| pair[0] == pair[1]));
    let ran = expeditus(&topology, &[("pst_lookup", Value::Choice("hw"))], packets(), Config::default());
    assert_eq!(ran.counts().0, [20, 20, 20], "20 of 65,536");
}

#[test]
fn flows_that_find_the_table_full_go_by_hash() {
    let topology = fabric(TESTBED);
    let packets = (0..20).map(|n| (ns(50_000 * u64::from(n)), datagram(0, 7, n, 1_000)));
    let ran = expeditus(
        &topology,
        &[("pst_capacity", Value::Count(5))],
        Traffic::Script(packets.collect()),
        Config::default(),
    );
    assert_eq!(ran.counts().0, [5, 5, 5]);
    assert_eq!((ran.counters.fallbacks.get(), ran.counters.refused.get()), (15, 15));
}

/// specifications/expeditus.md §5.5: a SYN that is retransmitted while its answer is pending starts a new selection
/// only with `reselect_on_syn`.
#[test]
fn oracle_5_5_reselect_on_syn() {
    let topology = fabric(TESTBED);
    let segment = Segment { src: 0, dst: 7, src_port: 1, dst_port: 2, flags: SYN, ..Segment::default() };
    let syn = |at| (at, Packet::new(40, Header::Tcp(segment)));
    for (reselect, requests) in [(false, 1), (true, 2)] {
        let traffic = Traffic::Script(vec![syn(ns(0)), syn(ns(5_000_000))]);
        let values = [("reselect_on_syn", Value::Flag(reselect))];
        let ran = losing_at(&CORES, &topology, &values, traffic, Config::default());
        assert_eq!(ran.counts().0, [requests, requests, 0]);
    }
}

/// A failure of both directions of a link, of which all nodes learn at once.
fn outage(topology: &Topology, at: Time, a: NodeId, b: NodeId) -> Change {
    Change {
        at,
        links: vec![link(topology, a, b), link(topology, b, a)],
        up: false,
        discovery: Duration::ZERO,
    }
}

/// specifications/expeditus.md §5.6: the entries of a port that went down expire, and the flow takes another path. A
/// new selection starts only if the port is at the edge switch.
#[test]
fn oracle_5_6_a_flow_leaves_a_dead_uplink() {
    let topology = fabric(TESTBED);
    let at: Vec<Time> = (0..12).map(|n| ns(50_000 * n)).collect();
    let before = expeditus(&topology, &[], burst(&at), Config::default());
    let (aggregation, core) = ways(&before)[11];
    for (a, b) in [(TORS[0], aggregation), (aggregation, core)] {
        let config = Config { changes: vec![outage(&topology, ns(275_000), a, b)], ..Config::default() };
        let ran = expeditus(&topology, &[], burst(&at), config);
        let after = &ways(&ran)[6..];
        assert!(after.iter().all(|&way| way != (aggregation, core)), "{after:?}");
        assert_eq!(ran.simulation.observer().dropped, [], "nothing was under way");
        let new_requests = u64::from(a == TORS[0]);
        assert_eq!(ran.counts().0, [1 + new_requests; 3]);
    }
}

/// specifications/expeditus.md §5.6: the entry of a port that went down expires even if the outage begins and ends
/// between two packets of the flow.
#[test]
fn oracle_5_6_a_flow_asks_again_after_an_outage_that_it_missed() {
    let topology = fabric(TESTBED);
    let at: Vec<Time> = (0..12).map(|n| ns(50_000 * n)).collect();
    let (aggregation, _) = ways(&expeditus(&topology, &[], burst(&at), Config::default()))[11];
    let down = outage(&topology, ns(275_000), TORS[0], aggregation);
    let up = Change { at: ns(280_000), up: true, ..down.clone() };
    let config = Config { changes: vec![down, up], ..Config::default() };
    assert_eq!(expeditus(&topology, &[], burst(&at), config).counts().0, [2; 3]);
}

/// specifications/expeditus.md §5.6: a flow leaves a plane that does not reach the destination's edge switch, although
/// the flow's own uplink is up.
#[test]
fn oracle_5_6_a_flow_leaves_a_plane_that_does_not_arrive() {
    let topology = fabric(TESTBED);
    let at: Vec<Time> = (0..12).map(|n| ns(50_000 * n)).collect();
    let before = expeditus(&topology, &[], burst(&at), Config::default());
    let (aggregation, _) = ways(&before)[11];
    let there = NodeId(aggregation.0 + 2);
    let config =
        Config { changes: vec![outage(&topology, ns(275_000), there, TORS[3])], ..Config::default() };
    let ran = expeditus(&topology, &[], burst(&at), config);
    assert!(ways(&ran)[6..].iter().all(|&(way, _)| way != aggregation));
    assert_eq!((ran.counts().0, ran.simulation.observer().dropped.len()), ([2; 3], 0));
}

/// Flows survive failures during traffic, and no tag ever reaches a host.
#[test]
fn random_failures_amid_traffic() {
    let topology = fabric(ClosSize::fat_tree(4));
    let links: Vec<_> = topology.links().map(|(_, link)| (link.from, link.to)).collect();
    let mut stream = Stream::new(5, 0, "test/failures");
    for _ in 0..10 {
        let mut changes = Vec::new();
        for _ in 0..6 {
            let (a, b) = links[stream.index(links.len())];
            let at = ns(stream.below(100_000));
            let discovery = Duration::from_ns(stream.below(30_000));
            let down = Change { discovery, ..outage(&topology, at, a, b) };
            let up = Change { at: at + Duration::from_ns(stream.below(100_000)), up: true, ..down.clone() };
            changes.extend([down, up]);
        }
        let config = Config { changes, ..Config::default() };
        let ran = expeditus(&topology, &[], Traffic::Tcp(crowd(150, 16, 500, 9)), config);
        let observer = ran.simulation.observer();
        assert_eq!(observer.delivered.len(), 150);
        assert!(!observer.hosts_saw_tags());
        assert!(ran.counters.responses.get() <= ran.counters.requests.get());
        assert!(ran.counters.answered.get() + ran.counters.void.get() <= ran.counters.responses.get());
    }
}

#[test]
fn tags_from_hosts_are_dropped() {
    let topology = fabric(TESTBED);
    let mut packet = datagram(0, 7, 1, 100);
    let tag = Tag::request([0, 0]);
    let inner = packet.header.clone();
    packet = Packet::new(packet.size + tag.wire_len() as u32, Header::Exp(Box::new(Tagged { tag, inner })));
    let ran = expeditus(&topology, &[], Traffic::Script(vec![(ns(0), packet)]), Config::default());
    assert_eq!((ran.counters.from_hosts.get(), ran.counts()), (1, ([0; 3], [0; 2])));
    assert_eq!(ran.simulation.observer().dropped, [raddle_core::DropReason::Malformed]);
}

#[test]
fn any_number_of_threads_gives_the_same() {
    let topology = fabric(ClosSize::fat_tree(4));
    let run = |threads| {
        let changes = vec![outage(&topology, ns(60_000), NodeId(24), NodeId(32))];
        let config = Config { threads: Threads::Always(threads), changes, ..Config::default() };
        expeditus(&topology, &[], Traffic::Tcp(crowd(200, 16, 300, 11)), config)
    };
    let one = run(1);
    for threads in [2, 3, 4] {
        let many = run(threads);
        assert!(many.seen() == one.seen(), "{threads} threads");
        assert_eq!(many.counts(), one.counts());
    }
}
