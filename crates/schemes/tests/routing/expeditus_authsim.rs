//! Expeditus with the protocol of the authors' simulation code (specifications/expeditus.md §0.2).

use crate::clos::{AGGREGATIONS, CORES, Heard, TESTBED, TORS, Traffic, fabric, plan, run};
use raddle_core::{Header, NodeId, PacketKind, Time};
use raddle_packet_sim::{Config, Simulation};
use raddle_schemes::counter::Counter;
use raddle_schemes::parameter::Value;
use raddle_schemes::routing::expeditus::{Expeditus, ROUTING};
use raddle_testkit::{flow, settings};

/// A run of a single flow. The counts are requests, responses, completed entries of edge switches, and stored entries
/// of aggregation switches.
fn one_flow(dst: u32) -> (Simulation<Heard>, [u64; 4]) {
    let topology = fabric(TESTBED);
    let settings = settings(
        ROUTING.info.parameters,
        &[("mode", Value::Choice("authsim")), ("alpha", Value::Fraction(0.3))],
    );
    let switches = Expeditus::new(&plan(&topology, &settings, 1)).expect("a Clos");
    let traffic = Traffic::Tcp(vec![flow(0, 0, dst, 100_000, Time::ZERO)]);
    let simulation = run(&topology, |node| switches.forwarder(node), traffic, Config::default());
    let counters = switches.counters();
    let counts = [&counters.requests, &counters.responses, &counters.answered, &counters.installed];
    (simulation, counts.map(Counter::get))
}

/// The number of loads in each tag seen between switches, in order, without consecutive repetitions.
fn tags(heard: &Heard) -> Vec<usize> {
    let tag = |header: &Header| match header {
        Header::Exp(tagged) => Some(tagged.tag.len()),
        _ => None,
    };
    let mut tags: Vec<_> = heard.seen.iter().filter_map(|seen| tag(&seen.packet.header)).collect();
    tags.dedup();
    tags
}

/// The nodes in `among` that packets from `src` reached. Considers packets with payload if `with_payload` is true, and
/// otherwise packets without payload.
fn visited(heard: &Heard, src: u32, among: &[NodeId], with_payload: bool) -> Vec<NodeId> {
    let is_one = |seen: &&crate::clos::Seen| {
        seen.packet.src() == NodeId(src)
            && among.contains(&seen.to)
            && (seen.packet.payload() > 0) == with_payload
    };
    let mut nodes: Vec<_> = heard.seen.iter().filter(is_one).map(|seen| seen.to).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

#[test]
fn oracle_0_2_between_pods_loads_ride_on_the_handshake() {
    let (simulation, counts) = one_flow(7);
    let heard = simulation.observer();
    assert_eq!(counts, [1, 1, 1, 1]);
    // The SYN carries two loads. The SYN-ACK carries none on its first link, and then the loads of two cores.
    assert_eq!(tags(heard), [2, 0, 2]);
    assert!(!heard.hosts_saw_tags());
    assert_eq!(heard.delivered.len(), 1);
    // There is one selection. The forward flow goes up by the aggregation switch in the plane of the SYN-ACK, and by
    // one core.
    let forward = visited(heard, 0, &AGGREGATIONS[..2], true);
    let back: Vec<NodeId> = visited(heard, 7, &AGGREGATIONS[2..], false);
    assert_eq!((forward.len(), back.len()), (1, 1));
    assert_eq!(forward[0].0 + 2, back[0].0, "the same plane");
    assert_eq!(visited(heard, 0, &CORES, true).len(), 1);
}

#[test]
fn oracle_0_2_within_a_pod_the_answer_carries_the_loads() {
    let (simulation, counts) = one_flow(2);
    let heard = simulation.observer();
    assert_eq!(counts, [0, 1, 1, 0]);
    assert_eq!(tags(heard), [2]);
    assert_eq!(visited(heard, 0, &AGGREGATIONS, true).len(), 1);
    assert!(!heard.hosts_saw_tags());
}

#[test]
fn the_scheme_sends_no_packets_of_its_own() {
    let hops = |simulation: &Simulation<Heard>| {
        let between = |seen: &&crate::clos::Seen| TORS.contains(&seen.from) || TORS.contains(&seen.to);
        simulation.observer().seen.iter().filter(between).count()
    };
    let topology = fabric(TESTBED);
    let paths = raddle_schemes::routing::next_hops::ShortestPaths::new(&topology);
    let ecmp = |node| -> Option<Box<dyn raddle_core::Forwarder>> {
        Some(Box::new(raddle_schemes::routing::ecmp::Ecmp::new(node, &paths, 1)))
    };
    let traffic = Traffic::Tcp(vec![flow(0, 0, 7, 100_000, Time::ZERO)]);
    let (simulation, _) = one_flow(7);
    assert_eq!(hops(&simulation), hops(&run(&topology, ecmp, traffic, Config::default())));
    // With or without a tag, a SYN-ACK counts as a packet that opens a connection, so its loss counts as the loss of a
    // handshake packet.
    let heard = &simulation.observer().seen;
    assert!(heard.iter().all(|seen| seen.packet.kind() != PacketKind::Notice));
    let opening = heard.iter().filter(|seen| seen.packet.opens_connection());
    assert_eq!(opening.count(), 12, "a SYN and a SYN-ACK over six links each");
}
