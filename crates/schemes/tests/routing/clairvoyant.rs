//! Clairvoyant in the packet engine (specifications/expeditus.md §6.2).

use crate::clos::{AGGREGATIONS, CORES, Heard, TESTBED, TORS, Traffic, fabric, plan, run};
use raddle_core::{Duration, Header, NodeId, Time};
use raddle_packet_sim::{Change, Config, Simulation};
use raddle_schemes::halt::Halt;
use raddle_schemes::parameter::Value;
use raddle_schemes::routing::clairvoyant::ROUTING;
use raddle_schemes::scheme::View;
use raddle_testkit::{flow, link, ns, settings};
use std::collections::BTreeSet;

fn clairvoyant(mode: &'static str, flows: Vec<raddle_core::Flow>, config: Config) -> Simulation<Heard> {
    with(&[("mode", Value::Choice(mode))], flows, config)
}

fn with(values: &[(&str, Value)], flows: Vec<raddle_core::Flow>, config: Config) -> Simulation<Heard> {
    let topology = fabric(TESTBED);
    let settings = settings(ROUTING.info.parameters, values);
    let built = ROUTING.build.forwarders(&plan(&topology, &settings, 1), &Halt::default());
    let mut forwarder = built.expect("a Clos");
    run(&topology, &mut *forwarder, Traffic::Tcp(flows), config)
}

/// Four flows of 3 MB between pods, starting one after another, with distinct sources and destinations.
fn elephants() -> Vec<raddle_core::Flow> {
    let pairs = [(0, 4), (1, 5), (2, 6), (3, 7)];
    (0..).zip(pairs).map(|(n, (src, dst))| flow(n, src, dst, 3_000_000, ns(u64::from(n) * 400_000))).collect()
}

/// The cores that packets from host `src` crossed. Considers packets with payload if `with_payload` is true, and
/// otherwise packets without payload.
fn cores(heard: &Heard, src: u32, with_payload: bool) -> BTreeSet<NodeId> {
    let is_one = |seen: &&crate::clos::Seen| {
        seen.packet.src() == NodeId(src)
            && CORES.contains(&seen.to)
            && (seen.packet.payload() > 0) == with_payload
    };
    heard.seen.iter().filter(is_one).map(|seen| seen.to).collect()
}

#[test]
fn each_flow_has_a_core_of_its_own_from_the_first_packet_on() {
    let simulation = clairvoyant("paper", elephants(), Config::default());
    let heard = simulation.observer();
    let used: Vec<BTreeSet<NodeId>> = (0..4).map(|src| cores(heard, src, true)).collect();
    assert!(used.iter().all(|cores| cores.len() == 1), "{used:?}");
    assert_eq!(used.iter().flatten().collect::<BTreeSet<_>>().len(), 4);
    assert!((0..4).all(|src| cores(heard, src, false) == used[src as usize]), "the SYN too");
    assert!(
        !heard.seen.iter().any(|seen| matches!(seen.packet.header, Header::Exp(_))),
        "nobody needs to ask"
    );
    assert_eq!(heard.delivered.len(), 4);
}

/// Paths are selected for both directions of a connection. With `authsim`, the protocol of the authors' simulation
/// code, acknowledgements take the path of ECMP instead.
#[test]
fn oracle_6_2_directions() {
    let topology = fabric(TESTBED);
    let paths = raddle_schemes::routing::next_hops::ShortestPaths::new(&topology);
    let by_hash = |node| -> Option<Box<dyn raddle_core::Forwarder>> {
        Some(Box::new(raddle_schemes::routing::ecmp::Ecmp::new(node, &paths, 1)))
    };
    let ecmp = run(&topology, by_hash, Traffic::Tcp(elephants()), Config::default());
    let back = |simulation: &Simulation<Heard>| -> Vec<BTreeSet<NodeId>> {
        (4..8).map(|src| cores(simulation.observer(), src, false)).collect()
    };
    assert_eq!(back(&clairvoyant("authsim", elephants(), Config::default())), back(&ecmp));
    assert_ne!(back(&clairvoyant("paper", elephants(), Config::default())), back(&ecmp));
}

/// specifications/expeditus.md §3.7: a flow that finds the table full is forwarded by hash, and all its packets take
/// one path.
#[test]
fn oracle_3_7_flows_that_find_the_table_full_stay_together() {
    let simulation = with(&[("pst_capacity", Value::Count(1))], elephants(), Config::default());
    for src in 0..4 {
        assert_eq!(cores(simulation.observer(), src, true).len(), 1, "of host {src}");
    }
}

#[test]
fn flows_leave_failed_links() {
    let topology = fabric(TESTBED);
    let before = clairvoyant("paper", elephants()[..1].to_vec(), Config::default());
    let core = *cores(before.observer(), 0, true).first().expect("a core");
    for (a, b) in [
        (core, AGGREGATIONS[if core.0 < 18 { 2 } else { 3 }]),
        (AGGREGATIONS[usize::from(core.0 >= 18)], TORS[0]),
    ] {
        let links = vec![link(&topology, a, b), link(&topology, b, a)];
        let change = Change { at: ns(500_000), links, up: false, discovery: Duration::from_us(10) };
        let config = Config { changes: vec![change], ..Config::default() };
        let simulation = clairvoyant("paper", elephants()[..1].to_vec(), config);
        let heard = simulation.observer();
        let late = |seen: &&crate::clos::Seen| seen.arrived > ns(520_000) && seen.packet.payload() > 0;
        assert!(
            heard
                .seen
                .iter()
                .filter(late)
                .all(|seen| (seen.from, seen.to) != (b, a) && (seen.from, seen.to) != (a, b))
        );
        assert_eq!(heard.delivered.len(), 1);
    }
}

#[test]
fn clairvoyant_has_a_global_view_and_repeats_exactly() {
    assert_eq!(ROUTING.info.view, View::Global);
    let twice = [0, 1].map(|_| clairvoyant("paper", elephants(), Config::default()));
    assert_eq!(twice[0].observer().seen, twice[1].observer().seen);
    assert!(twice[0].observer().delivered.iter().all(|&(at, _)| at > Time::ZERO));
}
