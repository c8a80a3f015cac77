//! Tests of nodes that detect failed links by topology discovery, in the packet engine.

use raddle_core::discovery::Discovery;
use raddle_core::{
    Duration, Flow, Forwarder, LinkId, NodeId, Packet, Parts, PortId, Ports, Time, Totals, Verdict,
};
use raddle_packet_sim::{Change, Config, PortSetup, Simulation, Threads};
use raddle_testkit::flow;
use raddle_testkit::toy::{Toy, chain, packet};
use raddle_topology::{Topology, discoverers};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

const PERIOD: Duration = Duration::from_us(50);

/// The notifications that nodes received: the node, the link, and the link's new state.
type Told = Arc<Mutex<Vec<(NodeId, LinkId, bool)>>>;

/// A forwarder that records the notifications about links.
struct Listener(NodeId, Told);

impl Forwarder for Listener {
    fn forward(&mut self, _: Time, packet: &mut Packet, _: Option<PortId>, _: &Ports<'_>) -> Verdict {
        if packet.dst() == self.0 { Verdict::Deliver } else { Verdict::Forward(PortId(0)) }
    }

    fn link(&mut self, link: LinkId, up: bool) {
        self.1.lock().unwrap_or_else(PoisonError::into_inner).push((self.0, link, up));
    }
}

/// Runs a chain of six nodes until the fabric is at rest. Returns the end time, the totals, and the notifications that
/// nodes received.
fn run(
    says_hello: bool,
    changes: Vec<Change>,
    flows: Vec<Flow>,
    threads: Threads,
) -> (Time, Totals, Vec<(NodeId, LinkId, bool)>) {
    let topology = chain(6);
    let (discoverer, told) = (discoverers(&topology, PERIOD), Told::default());
    let node = |id| Parts {
        host: Some(Box::<Toy>::default()),
        forwarder: Some(Box::new(Listener(id, Arc::clone(&told)))),
        discovery: says_hello.then(|| discoverer(id)),
        ..Parts::default()
    };
    let config = Config { changes, threads, ..Config::default() };
    let mut simulation = Simulation::new(&topology, node, |_| PortSetup::default(), flows, config, ());
    assert!(simulation.run(|_| ControlFlow::Continue(())), "it comes to its own end");
    let ended = (simulation.now(), simulation.totals());
    assert!(simulation.run(|_| ControlFlow::Continue(())));
    assert_eq!(ended, (simulation.now(), simulation.totals()), "and stays there");
    let totals = Totals { events: 0, ..ended.1 };
    let mut told = std::mem::take(&mut *told.lock().unwrap_or_else(PoisonError::into_inner));
    told.sort_unstable(); // the order depends on the threads
    (ended.0, totals, told)
}

/// The failure and the recovery of both directed links between node `left` and the next node of the chain. `from` and
/// `to` are the times of the two changes, as multiples of the period.
fn outage(topology: &Topology, left: u32, from: u64, to: u64) -> Vec<Change> {
    let port = PortId(u16::from(left > 0));
    let link = topology.link_id(NodeId(left), port);
    let links = vec![link, topology.reverse(link)];
    let change =
        |at, up| Change { at: Time::ZERO + PERIOD * at, links: links.clone(), up, discovery: Duration::ZERO };
    vec![change(from, false), change(to, true)]
}

#[test]
fn hellos_end_with_the_period_in_which_all_else_has_ended() {
    let flows = vec![flow(0, 1, 0, 1_500, Time::ZERO + PERIOD * 7 / 2)];
    let (now, totals, told) = run(true, vec![], flows.clone(), Threads::Always(1));
    assert!((Time::ZERO + PERIOD * 3..Time::ZERO + PERIOD * 4).contains(&now), "{now}");
    // Hellos: 4 periods * 5 links * 2 directions = 40. The data packet is the 41st packet.
    assert_eq!((totals.sent, totals.delivered, totals.packet_hops), (41, 41, 41));
    assert_eq!(told, []);
    let (now, totals, _) = run(false, vec![], flows, Threads::Always(1));
    assert_eq!((totals.sent, now), (1, Time::ZERO + PERIOD * 7 / 2 + Duration::from_ns(1_300)));
}

#[test]
fn nodes_that_say_hello_hear_nothing_from_the_oracle() {
    let topology = chain(6);
    // The outage is too short for detection.
    let (_, totals, told) = run(true, outage(&topology, 2, 3, 4), vec![], Threads::Always(1));
    assert_eq!(told, []);
    assert!(totals.drops.link_down <= 2, "nobody says hello over a port that is down");
    let (_, _, told) = run(false, outage(&topology, 2, 3, 4), vec![], Threads::Always(1));
    assert_eq!(told.len(), 6 * 2 * 2);
}

#[test]
fn all_nodes_hear_of_a_failure_and_of_its_repair_on_any_number_of_threads() {
    let topology = chain(6);
    let changes = || {
        let mut changes = outage(&topology, 2, 3, 20);
        changes.extend(outage(&topology, 4, 10, 25));
        changes
    };
    let one = run(true, changes(), vec![], Threads::Always(1));
    assert_eq!(one.2.len(), 2 * 6 * 2 * 2, "two links, six nodes, both directions, down and up");
    assert!((Time::ZERO + PERIOD * (24 + Discovery::SETTLES)..).contains(&one.0));
    for threads in [2, 3].map(Threads::Always).into_iter().chain([Threads::Drawn { threads: 3, seed: 1 }]) {
        assert_eq!(run(true, changes(), vec![], threads), one, "{threads:?}");
    }
}

#[test]
fn a_packet_on_its_way_is_not_the_end() {
    let late = packet(NodeId(1), NodeId(0), 1, 1_500).size;
    let flows = (0..10).map(|id| flow(id, 1, 0, late.into(), Time::ZERO + PERIOD * u64::from(id))).collect();
    let (_, totals, _) = run(true, vec![], flows, Threads::Always(1));
    assert_eq!(totals.delivered_bytes, 15_000);
}
