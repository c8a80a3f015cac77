use super::{Clos, ClosSize};
use crate::Topology;
use crate::builders::{BuildError, ClosRates, clos, fat_tree};
use crate::routing::{LocalRouting, Protocol, Routing};
use proptest::prelude::*;
use raddle_core::{Duration, NodeId, PortId, Rate, Stream};
use std::sync::Arc;

const RATE: Rate = Rate::from_gbps(10);
const DELAY: Duration = Duration::from_ns(100);

fn built(size: ClosSize) -> Topology {
    clos(size, ClosRates::all(RATE), DELAY).unwrap()
}

fn sizes() -> impl Strategy<Value = ClosSize> {
    let several = (2..5_u32, 1..4_u32);
    let one = (Just(1), 0..3_u32);
    (prop_oneof![several, one], 1..4_u32, 1..4_u32, 1..4_u32).prop_map(
        |((pods, cores), edges, aggregations, hosts)| ClosSize { pods, edges, aggregations, cores, hosts },
    )
}

/// Returns all ports that `choose` can return, by calling `choose` with every possible index.
fn chosen(choose: impl Fn(&mut dyn FnMut(usize) -> usize) -> Option<PortId>) -> Vec<PortId> {
    // `choose` need not call its argument if there is only one port.
    let mut count = None;
    let first = choose(&mut |ports| {
        count = Some(ports);
        0
    });
    assert!(count.is_none_or(|ports| ports > 0));
    first.into_iter().chain((1..count.unwrap_or(1)).map(|i| choose(&mut |_| i).unwrap())).collect()
}

/// Checks the hosts below each kind of node in a Clos network of 432 hosts. This network has 12 pods with 6 edge and 6
/// aggregation switches each, 3 cores per plane and 6 hosts per edge switch.
#[test]
fn a_switch_knows_the_hosts_below_it() {
    let clos = Clos::new(ClosSize { cores: 3, ..ClosSize::fat_tree(12) });
    let [edges, aggregations, cores] = [432, 432 + 72, 432 + 144];
    let of = |node| (clos.hosts_below(NodeId(node)), clos.hosts_of_pod(NodeId(node)));
    assert_eq!(of(edges + 7), (42..48, 36..72), "the second of the second pod");
    assert_eq!(of(aggregations + 71), (396..432, 396..432));
    assert_eq!(of(cores), (0..432, 0..432));
    assert_eq!(of(40), (40..41, 36..72), "a host");
    assert_eq!([0, 1, 2, 3].map(|level| clos.uplinks(level)), [0..1, 6..12, 6..9, 12..12]);
}

proptest! {
    #[test]
    fn arithmetic_equals_search(size in sizes()) {
        let topology = built(size);
        let known = Arc::new(Routing::new(Arc::new(topology.clone())));
        let searched = Routing::new(Arc::new(topology.unshaped()));
        for protocol in Protocol::all() {
            prop_assert_eq!(known.supports(protocol), searched.supports(protocol));
            prop_assert_eq!(known.longest_route(protocol), searched.longest_route(protocol));
        }
        let (mut ports, mut expected) = (Vec::new(), Vec::new());
        let (mut row, mut expected_row) = (Vec::new(), Vec::new());
        // A single pod may have cores. No path between hosts needs them, but every pair of nodes is connected.
        for at in topology.nodes() {
            let local = LocalRouting::new(Arc::clone(&known), at);
            let mut listed = Vec::new();
            for to in topology.nodes() {
                prop_assert_eq!(known.distance(at, to), searched.distance(at, to), "{} {}", at, to);
                known.productive(at, to, &mut ports);
                searched.productive(at, to, &mut expected);
                prop_assert_eq!(&ports, &expected, "{} {}", at, to);
                prop_assert_eq!(&chosen(|pick| known.choose(at, to, pick)), &expected);
                prop_assert_eq!(&chosen(|pick| local.choose(to, pick)), &expected);
                local.productive(to, &mut listed);
                prop_assert_eq!(&listed, &expected);
                prop_assert_eq!(&chosen(|pick| searched.choose(at, to, pick)), &expected);
                for protocol in [Protocol::Rps, Protocol::RpsPath] {
                    known.weights(protocol, at, to, 0, &mut row);
                    searched.weights(protocol, at, to, 0, &mut expected_row);
                    prop_assert_eq!(&row, &expected_row);
                    let draw = |routing: &Routing, path: &mut Vec<PortId>| {
                        let mut rng = Stream::new(1, u64::from(at.0) << 32 | u64::from(to.0), "test");
                        routing.sample(protocol, at, to, 0, &mut rng, path);
                    };
                    draw(&known, &mut ports);
                    draw(&searched, &mut expected);
                    prop_assert_eq!(&ports, &expected, "{} {} {}", protocol, at, to);
                }
            }
        }
    }
}

#[test]
fn a_fat_tree_is_that_of_al_fares() {
    for (k, hosts) in [(2, 2), (4, 16), (6, 54), (8, 128), (10, 250), (12, 432)] {
        let tree = fat_tree(k, ClosRates::all(RATE), DELAY).unwrap();
        let half = k / 2;
        let (k, wide) = (k as usize, half as usize);
        assert_eq!(tree.hosts().count(), hosts);
        assert_eq!(tree.node_count(), hosts + k * k + wide * wide);
        // Every port of every switch has a link.
        assert!(tree.nodes().all(|node| tree.port_count(node) == if tree.is_host(node) { 1 } else { k }));
        assert_eq!(tree.links().count(), tree.link_slots());
        // Aggregation switch a of every pod is connected to cores a·k/2 to a·k/2 + k/2 - 1. The port number
        // at the core is the pod's number.
        let (aggregations, cores) = (hosts + k * wide, hosts + k * k);
        for pod in 0..k {
            for a in 0..wide {
                for up in 0..wide {
                    let at = NodeId::of(aggregations + pod * wide + a);
                    let link = tree.link_at(at, PortId::of(wide + up)).unwrap();
                    assert_eq!((link.to, link.to_port), (NodeId::of(cores + a * wide + up), PortId::of(pod)));
                }
            }
        }
    }
}

#[test]
fn the_altoona_like_network_has_the_hosts_of_its_specification() {
    let size = ClosSize { pods: 96, edges: 48, aggregations: 4, cores: 12, hosts: 16 };
    assert_eq!((Clos::new(size).hosts(), Clos::new(size).diameter()), (73_728, 6));
}

#[test]
fn nodes_know_their_level_and_pod() {
    let clos = Clos::new(ClosSize { pods: 3, edges: 2, aggregations: 2, cores: 1, hosts: 2 });
    assert_eq!([0, 1, 2, 3].map(|level| clos.nodes_of(level)), [0..12, 12..18, 18..24, 24..26]);
    let pod = |node| clos.pod_of(NodeId(node));
    assert_eq!([0, 3, 4, 11, 12, 14, 17, 18, 20, 23].map(pod), [0, 0, 1, 2, 0, 1, 2, 0, 1, 2].map(Some));
    assert_eq!([24, 25].map(pod), [None; 2]);
}

#[test]
fn each_level_has_its_rate() {
    let rates =
        ClosRates { host: Rate::from_gbps(10), uplink: Rate::from_gbps(40), core: Rate::from_gbps(100) };
    let tree = fat_tree(4, rates, DELAY).unwrap();
    let clos = Clos::new(ClosSize::fat_tree(4));
    for (_, link) in tree.links() {
        let lower = clos.level(link.from).min(clos.level(link.to));
        assert_eq!((link.rate, link.delay), ([rates.host, rates.uplink, rates.core][lower], DELAY));
    }
}

#[test]
fn impossible_clos_networks_are_refused() {
    let rates = ClosRates::all(RATE);
    let tree = |k| fat_tree(k, rates, DELAY).unwrap_err();
    assert_eq!(tree(0), BuildError::Empty("k"));
    assert_eq!(tree(5), BuildError::Odd("k"));
    let most = u64::from(u16::MAX);
    let too_many_ports =
        |count| BuildError::TooLarge { what: "the number of ports of an edge switch", count, most };
    assert_eq!(tree(u32::MAX - 1), too_many_ports(u64::from(u32::MAX) - 1));
    assert!(matches!(tree(1_024), BuildError::TooLarge { what: "the number of nodes", .. }));
    let size = ClosSize { pods: 2, edges: 1, aggregations: 1, cores: 0, hosts: 1 };
    assert_eq!(clos(size, rates, DELAY).unwrap_err(), BuildError::Empty("cores"));
    let dead = ClosRates { core: Rate::ZERO, ..rates };
    assert_eq!(fat_tree(4, dead, DELAY).unwrap_err(), BuildError::ZeroRate);
}
