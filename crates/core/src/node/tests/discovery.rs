//! Tests of a node that detects by itself which links are down.

use super::*;
use crate::discovery::{Cables, Discovery};
use raddle_wire::discovery::{Hello, LinkState, LinkStates};

/// Time of the node's first hello, and the time between two hellos.
const PERIOD: Duration = Duration::from_us(1);

/// Returns the node of [`node`], with topology discovery. Ports 0 and 1 have links. The reverse directions of these
/// links are links 3 and 4.
fn discovering(forwarder: Option<Verdicts>) -> (Node<Fake>, Fake) {
    let (Node { host, forwarder, .. }, runtime) = node(vec![], forwarder);
    let cables = Cables::new([Some(3), Some(4), None, Some(0), Some(1)].map(|link| link.map(LinkId)));
    let discovery = Discovery::new(cables, LinkId(0), 3, PERIOD, Time::ZERO + PERIOD);
    let parts = Parts { host, forwarder, discovery: Some(Box::new(discovery)), ..Parts::default() };
    (Node::new(parts, ()), runtime)
}

fn says(hears: bool) -> Packet {
    Packet::new(16, Header::Hello(Hello { link: 4, hears, digest: 0 }))
}

#[test]
fn a_node_says_hello_over_its_links_and_asks_for_the_next_tick() {
    let (mut node, mut runtime) = discovering(None);
    assert_eq!((node.tick(), node.is_at_rest()), (ns(1_000), true), "a node with only hellos is at rest");
    runtime.now = ns(1_000);
    node.ticked(&mut runtime);
    assert_eq!(
        runtime.log.take(),
        [Leaves(HELLO, None, PortId(0)), Leaves(HELLO, None, PortId(1)), TickAt(2_000)]
    );
    assert_eq!(runtime.totals.sent, 2);
}

#[test]
fn discoverys_packets_end_at_the_node_and_others_pass_it() {
    let (mut node, mut runtime) = discovering(None);
    node.arrived(&mut runtime, says(true), BY);
    assert_eq!((runtime.log.take(), runtime.totals.delivered), (vec![], 1));
    node.arrived(&mut runtime, packet(1), BY);
    assert_eq!(runtime.log.take(), [Got(1, BY), Polled]);
}

#[test]
fn the_scheme_hears_of_links_by_the_same_words_as_from_an_oracle() {
    let (mut node, mut runtime) = discovering(Some(Verdicts::default()));
    node.arrived(&mut runtime, says(false), BY);
    let told = [1, 4].map(LinkId).map(|link| [Told(link, false), Link(link, false)]).concat();
    let flood = Leaves(STATES, None, PortId(0));
    assert_eq!(runtime.log.take(), [told, vec![Polled, flood]].concat());
    let states = [LinkState { link: 3, sequence: 1 }].into();
    let states = Packet::new(12, Header::LinkStates(LinkStates { states }));
    node.arrived(&mut runtime, states, PortId(0));
    let told = [0, 3].map(LinkId).map(|link| [Told(link, false), Link(link, false)]).concat();
    assert_eq!(runtime.log.take(), [told, vec![Polled]].concat());
}

#[test]
fn a_forwarder_ticks_at_its_own_times() {
    let ticks = [ns(500), ns(1_000)].into();
    let (mut node, mut runtime) = discovering(Some(Verdicts { ticks, ..Verdicts::default() }));
    assert!(node.tick() == ns(500) && !node.is_at_rest());
    runtime.now = ns(500);
    node.ticked(&mut runtime);
    assert_eq!(runtime.log.take(), [Ticked, TickAt(1_000)]);
    runtime.now = ns(1_000);
    node.ticked(&mut runtime);
    let hellos = [0, 1].map(|port| Leaves(HELLO, None, PortId(port)));
    assert_eq!(runtime.log.take(), [vec![Ticked], hellos.to_vec(), vec![TickAt(2_000)]].concat());
}

#[test]
fn no_host_is_told_of_a_lost_hello() {
    let (mut node, mut runtime) = discovering(None);
    let why = DropReason::LinkDown;
    assert!(!node.lose(&mut runtime, says(true), None, Some(BY), why));
    assert!(!node.left(&mut runtime, &says(true), None));
    assert_eq!(runtime.log.take(), [Lost(HELLO, Some(BY), why)]);
}
