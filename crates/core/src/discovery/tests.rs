//! Tests of nodes that run the protocol over simulated links. The links have a delay of a microsecond, lose packets,
//! and fail in one direction or in both.

use super::*;
use crate::{PortState, Rate, Stream};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const PERIOD: Duration = Discovery::PERIOD;
const DELAY: Duration = Duration::from_us(1);
const PORTS: [PortState; 16] = [PortState::idle(Rate::from_gbps(10)); 16];

/// Maximum number of successive packets that a link loses in these tests. With one more loss, nodes could consider the
/// link down.
const MOST_LOST: u32 = 1;

fn periods(count: u64) -> Duration {
    PERIOD * count
}

/// A fabric and its clock.
struct Net {
    now: Time,
    cables: Cables,
    nodes: Vec<Discovery>,
    /// For each node, the links that its scheme considers down.
    told: Vec<BTreeSet<LinkId>>,
    /// For each directed link: the node at which it starts, the node and port where it ends, and whether it works.
    links: Vec<(usize, usize, PortId, bool)>,
    /// Packets in flight, keyed by arrival time, then by the order in which they were sent.
    under_way: BTreeMap<(Time, u64), (LinkId, Packet)>,
    sent: u64,
    /// Probability, in percent, that a link loses a packet. A link that has lost `MOST_LOST` successive packets does
    /// not lose the next packet.
    loss: u64,
    /// For each directed link, its current number of successive losses.
    lost: Vec<u32>,
    random: Stream,
}

impl Net {
    /// Creates a fabric with these cables.
    fn new(nodes: usize, cables: &[(usize, usize)]) -> Self {
        let ends_at = |node| cables.iter().filter(move |&&(a, b)| a == node || b == node);
        let first: Vec<usize> =
            (0..=nodes).map(|node| (0..node).map(|node| ends_at(node).count()).sum()).collect();
        let mut free = first.clone();
        let mut take = |node: usize| {
            free[node] += 1;
            free[node] - 1
        };
        let mut links = vec![(0, 0, PortId(0), true); first[nodes]];
        let mut others = vec![None; first[nodes]];
        for &(a, b) in cables {
            let (there, back) = (take(a), take(b));
            links[there] = (a, b, PortId::of(back - first[b]), true);
            links[back] = (b, a, PortId::of(there - first[a]), true);
            (others[there], others[back]) = (Some(LinkId::of(back)), Some(LinkId::of(there)));
        }
        let cables = Cables::new(others);
        let node = |node: usize| {
            let begins = Time::ZERO + PERIOD * (node as u64 + 1) / nodes as u64;
            let ports = first[node + 1] - first[node];
            Discovery::new(cables.clone(), LinkId::of(first[node]), ports, PERIOD, begins)
        };
        Self {
            now: Time::ZERO,
            nodes: (0..nodes).map(node).collect(),
            told: vec![BTreeSet::new(); nodes],
            lost: vec![0; links.len()],
            links,
            cables,
            under_way: BTreeMap::new(),
            sent: 0,
            loss: 0,
            random: Stream::new(1, 0, "loss"),
        }
    }

    /// Returns the directed link from node `from` to node `to`.
    fn link(&self, from: usize, to: usize) -> LinkId {
        let place = self.links.iter().position(|link| (link.0, link.1) == (from, to));
        LinkId::of(place.expect("neighbours"))
    }

    /// Sets whether a directed link works. Packets in flight on a failing link are lost.
    fn set(&mut self, link: LinkId, up: bool) {
        self.links[link.index()].3 = up;
        if !up {
            self.under_way.retain(|_, (by, _)| *by != link);
        }
    }

    /// Sets whether both directions of a link work.
    fn set_cable(&mut self, link: LinkId, up: bool) {
        self.set(link, up);
        self.set(self.cables.other(link).expect("a link"), up);
    }

    /// Carries out the effects that a node requests.
    fn follow(&mut self, node: usize) {
        while let Some(effect) = self.nodes[node].next_effect() {
            match effect {
                Effect::Send(packet, port) => {
                    let link = self.nodes[node].link(port);
                    self.sent += 1;
                    let lost = &mut self.lost[link.index()];
                    if *lost < MOST_LOST && self.random.below(100) < self.loss {
                        *lost += 1;
                    } else if self.links[link.index()].3 {
                        *lost = 0;
                        self.under_way.insert((self.now + DELAY, self.sent), (link, packet));
                    }
                }
                Effect::Link { links, up } => {
                    for link in links {
                        let told = &mut self.told[node];
                        let is_news = if up { told.remove(&link) } else { told.insert(link) };
                        assert!(is_news, "the state must have changed");
                    }
                }
            }
        }
    }

    /// Runs for the time `span`. A node for which `sleeps` returns true does nothing, and the packets to this node
    /// wait.
    fn run_but(&mut self, span: Duration, sleeps: impl Fn(usize) -> bool) {
        let until = self.now + span;
        loop {
            let ticks = (0..self.nodes.len()).filter(|&node| !sleeps(node));
            let tick = ticks.map(|node| (self.nodes[node].next_tick(), node)).min();
            let mut arrivals =
                self.under_way.iter().filter(|(_, (link, _))| !sleeps(self.links[link.index()].1));
            let arrival = arrivals.next().map(|(&key, _)| key);
            let (tick_at, node) = tick.unwrap_or((Time::NEVER, 0));
            if tick_at.min(arrival.map_or(Time::NEVER, |(at, _)| at)) > until {
                break;
            }
            if let Some((at, _)) = arrival.filter(|&(at, _)| at < tick_at) {
                let (link, packet) =
                    self.under_way.remove(&arrival.expect("an arrival")).expect("its packet in flight");
                self.now = self.now.max(at);
                let (_, to, port, _) = self.links[link.index()];
                assert!(self.nodes[to].take(self.now, &packet.header, port), "all packets are discovery's");
                self.follow(to);
            } else {
                self.now = self.now.max(tick_at);
                self.nodes[node].tick(self.now, &Ports(&PORTS));
                self.follow(node);
            }
        }
        self.now = until;
    }

    fn run(&mut self, span: Duration) {
        self.run_but(span, |_| false);
    }

    /// Returns true if a link works in both directions.
    fn works(&self, link: LinkId) -> bool {
        let other = self.cables.other(link).expect("a link");
        self.links[link.index()].3 && self.links[other.index()].3
    }

    /// The nodes that a node can reach over working links.
    fn component(&self, node: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::from([node]);
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            for (id, &(from, to, ..)) in self.links.iter().enumerate() {
                if from == node && self.works(LinkId::of(id)) && reached.insert(to) {
                    open.push(to);
                }
            }
        }
        reached
    }

    /// Asserts that every node knows the true state of each link with an end in its component, and has told its scheme
    /// all states that it knows.
    fn assert_all_know(&self) {
        for (node, discovery) in self.nodes.iter().enumerate() {
            let component = self.component(node);
            for (id, &(from, to, ..)) in self.links.iter().enumerate() {
                let link = LinkId::of(id);
                assert_eq!(self.told[node].contains(&link), discovery.is_down(link));
                if component.contains(&from) || component.contains(&to) {
                    assert_eq!(
                        discovery.is_down(link),
                        !self.works(link),
                        "node {node} of link {from} to {to}"
                    );
                }
            }
        }
    }

    /// Runs until a node knows that a link is down (or up, if `is_down` is false). Returns the time that this took.
    fn time_until(&mut self, node: usize, link: LinkId, is_down: bool) -> Duration {
        let begin = self.now;
        while self.nodes[node].is_down(link) != is_down {
            assert!(self.now.since(begin) < periods(Discovery::SETTLES), "the node never learns it");
            self.run(PERIOD / 10);
        }
        self.now.since(begin)
    }
}

/// Creates a line of `nodes` nodes.
fn line(nodes: usize) -> Net {
    Net::new(nodes, &(1..nodes).map(|node| (node - 1, node)).collect::<Vec<_>>())
}

#[test]
fn a_quiet_fabric_says_a_hello_a_period_over_each_link() {
    let mut net = line(4);
    net.run(periods(100));
    net.assert_all_know();
    assert_eq!(net.sent, 600);
    let room = |net: &Net| net.nodes.iter().map(|node| node.effects.capacity()).collect::<Vec<_>>();
    let before = room(&net);
    net.run(periods(100));
    assert_eq!((room(&net), net.nodes[0].database.states().len()), (before, 0), "hellos take no memory");
    assert!(net.told.iter().all(BTreeSet::is_empty));
}

#[test]
fn a_link_that_fails_is_down_after_three_silent_periods_and_up_after_two_hellos() {
    for direction in [(1, 2), (2, 1)] {
        let mut net = line(4);
        net.run(periods(5));
        let link = net.link(direction.0, direction.1);
        net.set(link, false);
        let failed = net.time_until(0, link, true);
        assert!((periods(2)..=periods(4) + PERIOD / 2).contains(&failed), "{failed}");
        net.run(PERIOD);
        assert!(net.nodes.iter().all(|node| node.is_down(link)), "every node must consider the link down");
        net.assert_all_know();
        net.set(link, true);
        let repaired = net.time_until(0, link, false);
        assert!(repaired <= periods(2) + PERIOD / 2, "{repaired}");
        net.run(PERIOD);
        net.assert_all_know();
    }
}

#[test]
fn nodes_that_were_apart_catch_up() {
    let mut net = line(6);
    let (middle, left, right) = (net.link(2, 3), net.link(0, 1), net.link(4, 5));
    net.run(periods(2));
    net.set_cable(middle, false);
    net.run(periods(10));
    net.set_cable(left, false);
    net.set_cable(right, false);
    net.run(periods(10));
    assert!(!net.nodes[2].is_down(right) && !net.nodes[3].is_down(left), "no message can have reached them");
    net.set_cable(middle, true);
    net.run(periods(10));
    assert!(net.nodes[2].is_down(right) && net.nodes[3].is_down(left));
    net.assert_all_know();
}

#[test]
fn a_node_that_was_late_fails_no_neighbour() {
    let mut net = line(3);
    net.run(periods(3));
    // While node 1 sleeps, nodes 0 and 2 consider its links down. They correct this after node 1 has resumed.
    net.run_but(periods(10), |node| node == 1);
    assert!(net.nodes[0].is_down(LinkId(0)) && !net.nodes[1].is_down(LinkId(0)));
    net.run(periods(10));
    net.assert_all_know();
    // All nodes sleep, as if their common process were suspended: no node considers any link down.
    let before = net.nodes.iter().map(Discovery::changed_at).collect::<Vec<_>>();
    net.run_but(periods(10), |_| true);
    net.run(periods(10));
    assert_eq!(net.nodes.iter().map(Discovery::changed_at).collect::<Vec<_>>(), before);
    net.assert_all_know();
}

/// Creates node 0 without a network. The test itself passes packets to the node and reads the node's effects.
fn alone() -> Discovery {
    let cables = Cables::new([Some(LinkId(1)), Some(LinkId(0)), Some(LinkId(3)), Some(LinkId(2))]);
    Discovery::new(cables, LinkId(0), 1, PERIOD, Time::ZERO + PERIOD)
}

fn effects(discovery: &mut Discovery) -> Vec<Effect> {
    std::iter::from_fn(|| discovery.next_effect()).collect()
}

fn at(period: u64) -> Time {
    Time::ZERO + periods(period)
}

#[test]
fn a_period_in_which_the_node_was_late_is_no_miss() {
    let mut node = alone();
    let ports = Ports(&PORTS);
    node.tick(at(1), &ports); // at the start, every neighbour is marked as heard
    for due in [2, 3] {
        node.tick(at(due), &ports);
    }
    // This would be the third miss, but the tick is late by slightly more than half a period. So this period is not
    // counted, and the next silent period is the third miss.
    let late = at(4) + PERIOD / 2 + Duration::from_ps(1);
    node.tick(late, &ports);
    assert_eq!(node.next_tick(), late + PERIOD);
    assert!(!node.is_down(LinkId(0)));
    node.tick(late + PERIOD, &ports);
    assert!(node.is_down(LinkId(0)) && node.is_down(LinkId(1)));
    assert_eq!(node.changed_at(), late + PERIOD);
}

#[test]
fn a_node_that_stays_behind_fails_a_silent_neighbour_all_the_same() {
    let mut node = alone();
    let mut ticks = 0;
    while !node.is_down(LinkId(0)) {
        assert!(ticks < 10, "the link must go down");
        node.tick(node.next_tick() + PERIOD, &Ports(&PORTS));
        ticks += 1;
    }
    assert_eq!(ticks, 4, "the first period counts as heard, then come three misses");
}

#[test]
fn any_packet_counts_as_life_but_only_a_hello_brings_a_link_up() {
    let mut node = alone();
    for period in 1..20 {
        node.heard(PortId(0));
        node.heard(PortId(20)); // no such port
        node.tick(at(period), &Ports(&PORTS));
    }
    assert!(!node.is_down(LinkId(0)));
    (20..24).for_each(|period| node.tick(at(period), &Ports(&PORTS)));
    assert!(node.is_down(LinkId(0)));
    node.heard(PortId(0));
    node.tick(at(24), &Ports(&PORTS));
    assert!(node.is_down(LinkId(0)));
    let says = |hears| Header::Hello(Hello { link: 1, hears, digest: 0 });
    assert!(node.take(at(24), &says(false), PortId(0)));
    assert!(node.is_down(LinkId(0)), "the neighbour does not hear the node");
    node.take(at(24), &says(true), PortId(0));
    assert!(!node.is_down(LinkId(0)));
}

#[test]
fn a_node_says_nothing_over_a_dead_port() {
    let mut node = alone();
    node.tick(at(1), &Ports(&[PortState::idle(Rate::ZERO)]));
    assert_eq!(effects(&mut node), []);
    node.tick(at(2), &Ports(&PORTS));
    assert_eq!(effects(&mut node).len(), 1);
}

/// A node ignores invalid states, keeps no more states than links, and answers a neighbour at most once per period.
#[test]
fn hostile_packets_are_ignored_and_counted() {
    let mut node = alone();
    let states = |states: &[(u32, u32)]| {
        let states = states.iter().map(|&(link, sequence)| LinkState { link, sequence }).collect();
        Header::LinkStates(LinkStates { states })
    };
    let absurd = states(&[(4, 1), (u32::MAX, 1), (2, u32::MAX / 2)]);
    node.take(at(0), &absurd, PortId(0));
    node.take(at(0), &states(&[(2, 0), (3, 0)]), PortId(0));
    assert_eq!(node.ignored(), Ignored { known: 2, absurd: 3 });
    let hello = |link, digest| Header::Hello(Hello { link, hears: true, digest });
    node.take(at(0), &hello(3, 5), PortId(0));
    node.take(at(0), &hello(1, 5), PortId(9));
    assert_eq!(node.ignored().absurd, 5);
    assert_eq!(effects(&mut node), []);

    for sequence in 1..1_000 {
        node.take(at(0), &states(&[(2, sequence), (3, sequence)]), PortId(0));
    }
    assert_eq!(node.database.states().len(), 2);
    assert_eq!(effects(&mut node).len(), 999, "each change must be flooded");
    for digest in 1..1_000 {
        node.take(at(0), &hello(1, digest), PortId(0));
    }
    assert_eq!(effects(&mut node).len(), 1, "the node must answer only once per period");
    assert!(!node.take(at(0), &Header::Tcp(raddle_wire::tcp::Segment::default()), PortId(0)));
}

/// A node that restarts has lost the sequence numbers of its links. If it receives a state of its own link with a later
/// number, it answers with a state whose number is later still.
#[test]
fn a_node_overrules_other_nodes_claims_about_its_links() {
    for (told, says) in [(7, 8), (8, 10)] {
        let mut node = alone();
        let states = [LinkState { link: 0, sequence: told }].into();
        node.take(at(0), &Header::LinkStates(LinkStates { states }), PortId(0));
        assert!(!node.is_down(LinkId(0)));
        let states = [LinkState { link: 0, sequence: says }].into();
        let answer = packet(Header::LinkStates(LinkStates { states }));
        assert_eq!(effects(&mut node), [Effect::Send(answer, PortId(0))]);
    }
}

/// Draws a connected graph: each node except the first has a link to an earlier node, and there are some additional
/// links.
fn any_graph() -> impl Strategy<Value = (usize, Vec<(usize, usize)>)> {
    (2_usize..9).prop_flat_map(|nodes| {
        let tree = prop::collection::vec(any::<prop::sample::Index>(), nodes - 1);
        let more = prop::collection::vec((0..nodes, 0..nodes), 0..4);
        (tree, more).prop_map(move |(tree, more)| {
            let tree = tree.iter().zip(1..).map(|(other, node)| (other.index(node), node));
            let more = more.into_iter().filter(|(a, b)| a != b);
            (nodes, tree.chain(more).collect())
        })
    })
}

/// Draws changes of links: the link, which directions change, the new state, and the time until the next change in
/// tenths of a period.
fn any_trouble() -> impl Strategy<Value = Vec<(prop::sample::Index, bool, bool, u64)>> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<bool>(), any::<bool>(), 0_u64..80), 0..12)
}

fn troubled(
    (nodes, cables): &(usize, Vec<(usize, usize)>),
    trouble: &[(prop::sample::Index, bool, bool, u64)],
    loss: u64,
) -> Net {
    let mut net = Net::new(*nodes, cables);
    net.loss = loss;
    for &(link, both, up, tenths) in trouble {
        let link = LinkId::of(link.index(net.links.len()));
        if both {
            net.set_cable(link, up);
        } else {
            net.set(link, up);
        }
        net.run(PERIOD / 10 * tenths);
    }
    net
}

proptest! {
    /// Whatever packets a neighbour sends, a node stores at most one link state for each link, and answers each packet
    /// with only a few packets.
    #[test]
    fn hostile_packets_take_bounded_memory(
        hellos in prop::collection::vec((0_u32..6, any::<bool>(), any::<u64>()), 1..50),
        states in prop::collection::vec((0_u32..6, any::<u32>(), 0_u32..1 << 25), 1..50),
    ) {
        let mut node = alone();
        let mut base = 0_u32;
        for ((link, hears, digest), (other, absolute, ahead)) in hellos.into_iter().zip(states) {
            node.take(at(0), &Header::Hello(Hello { link, hears, digest }), PortId(0));
            base = base.wrapping_add(ahead);
            let states = [base, absolute].map(|sequence| LinkState { link: other, sequence }).into();
            node.take(at(0), &Header::LinkStates(LinkStates { states }), PortId(0));
            prop_assert!(effects(&mut node).len() < 10);
            prop_assert!(node.database.states().len() <= 4);
        }
    }

    #[test]
    fn ten_periods_after_the_last_change_all_know(graph in any_graph(), trouble in any_trouble()) {
        let mut net = troubled(&graph, &trouble, 0);
        net.run(periods(Discovery::SETTLES));
        net.assert_all_know();
    }

    #[test]
    fn ten_periods_after_the_last_loss_all_know(
        graph in any_graph(),
        trouble in any_trouble(),
        loss in 1_u64..60,
    ) {
        let mut net = troubled(&graph, &trouble, loss);
        net.loss = 0;
        net.run(periods(Discovery::SETTLES));
        net.assert_all_know();
    }

    /// Links lose packets with a probability of 33 %, but never two successive packets. In the end, each node knows the
    /// true state of each link with an end in its component, and no node considers a working link down because of a
    /// loss.
    #[test]
    fn in_spite_of_loss_all_know_in_the_end(graph in any_graph(), trouble in any_trouble()) {
        let mut net = troubled(&graph, &trouble, 33);
        net.run(periods(10 * Discovery::SETTLES));
        net.assert_all_know();
        let before: Vec<Time> = net.nodes.iter().map(Discovery::changed_at).collect();
        net.run(periods(10 * Discovery::SETTLES));
        let after: Vec<Time> = net.nodes.iter().map(Discovery::changed_at).collect();
        prop_assert_eq!(before, after);
    }
}
