#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::*;
use crate::builders::{self, ClosRates};
use raddle_core::{Duration, LinkId, Rate};
use std::collections::BTreeSet;

const RATE: Rate = Rate::from_gbps(1);
const DELAY: Duration = Duration::from_ns(25_100);

fn fat_tree(k: u32) -> Arc<Topology> {
    Arc::new(builders::fat_tree(k, ClosRates::all(RATE), DELAY).unwrap())
}

fn bcube(n: u32, k: u32) -> Arc<Topology> {
    Arc::new(builders::bcube(n, k, RATE, DELAY).unwrap())
}

fn jellyfish(switches: u32, ports: u32, network_ports: u32) -> Arc<Topology> {
    Arc::new(builders::jellyfish(switches, ports, network_ports, 1, RATE, DELAY).unwrap())
}

/// Returns the links of a path.
fn links(paths: &Paths, src: NodeId, dst: NodeId, choice: u32) -> Vec<LinkId> {
    let topology = paths.topology();
    let mut at = src;
    let follow = |&port: &PortId| {
        let id = topology.link_id(at, port);
        at = topology.link(id).expect("each port of a path has a link").to;
        id
    };
    let links = paths.path(src, dst, choice).iter().map(follow).collect();
    assert_eq!(at, dst);
    links
}

/// Returns the nodes of a path, including both ends.
fn nodes(paths: &Paths, src: NodeId, dst: NodeId, choice: u32) -> Vec<NodeId> {
    let to = |link: LinkId| paths.topology().link(link).expect("a link").to;
    [src].into_iter().chain(links(paths, src, dst, choice).into_iter().map(to)).collect()
}

/// Returns all ordered pairs of distinct hosts.
fn pairs(topology: &Topology) -> impl Iterator<Item = (NodeId, NodeId)> {
    let hosts: Vec<NodeId> = topology.hosts().collect();
    let ends = hosts.clone();
    hosts.into_iter().flat_map(move |a| ends.clone().into_iter().map(move |b| (a, b))).filter(|(a, b)| a != b)
}

#[test]
fn equal_cost_paths_are_shortest_on_every_fabric_and_choices_spread_over_all_of_them() {
    let torus = builders::torus(&[4, 3], RATE, DELAY).unwrap();
    for topology in [fat_tree(4), bcube(3, 1), jellyfish(9, 6, 4), Arc::new(torus)] {
        let routing = Routing::new(Arc::clone(&topology));
        let paths = Paths::new(Arc::clone(&topology), Choice::Ecmp).unwrap();
        for (src, dst) in pairs(&topology) {
            for choice in 0..3 {
                let path = links(&paths, src, dst, choice);
                assert_eq!(path.len() as u32, routing.distance(src, dst).unwrap(), "{src} to {dst}");
            }
        }
    }
    let tree = Paths::new(fat_tree(4), Choice::Ecmp).unwrap();
    let mut seen = std::collections::BTreeMap::new();
    for flow in 0..4_000 {
        let choice = tree.choice(flow, 0);
        assert!(choice < Paths::CHOICES);
        *seen.entry(links(&tree, NodeId(0), NodeId(15), choice)).or_insert(0) += 1;
    }
    assert_eq!(seen.len(), 4, "a path by each core");
    assert!(seen.values().all(|&flows: &i32| (flows - 1_000).abs() < 150), "{seen:?}");
}

#[test]
fn nowhere_and_itself_have_no_path() {
    let topology = bcube(2, 1);
    let cut = topology.surviving(|link| {
        let link = topology.link(link).expect("only links are asked for");
        link.from != NodeId(3) && link.to != NodeId(3)
    });
    let bcube = Paths::new(topology, Choice::Bcube).unwrap();
    assert!(bcube.path(NodeId(2), NodeId(2), 1).is_empty());
    for choice in [Choice::Ecmp, Choice::KShortest { k: 2 }] {
        let paths = Paths::new(Arc::new(cut.clone()), choice).unwrap();
        assert!(paths.path(NodeId(0), NodeId(3), 0).is_empty());
        assert!(paths.path(NodeId(0), NodeId(0), 0).is_empty());
    }
}

#[test]
fn parallel_paths_need_bcube() {
    assert_eq!(Paths::new(fat_tree(4), Choice::Bcube).err(), Some(PathsError::NoBcube));
}

#[test]
fn oracle_12_parallel_paths_of_bcube_share_no_node() {
    for (n, k) in [(2, 3), (4, 1), (3, 2), (5, 0)] {
        let paths = Paths::new(bcube(n, k), Choice::Bcube).unwrap();
        let &Shape::Bcube(cube) = paths.topology().shape() else { panic!("a BCube") };
        for (src, dst) in pairs(paths.topology()) {
            let distance = cube.distance(src, dst) / 2;
            let mut inner: BTreeSet<NodeId> = BTreeSet::new();
            let mut count = 0;
            for choice in 0..=k {
                let path = nodes(&paths, src, dst, choice);
                let hops = if choice < distance { distance } else { distance + 2 };
                assert_eq!(path.len() as u32, 2 * hops + 1, "{src} to {dst}, {choice}");
                assert!(path.len() - 1 <= cube.longest_parallel_path());
                inner.extend(&path[1..path.len() - 1]);
                count += path.len() - 2;
            }
            assert_eq!(inner.len(), count, "{src} to {dst}");
            assert!(!inner.contains(&src) && !inner.contains(&dst));
        }
        let longest = pairs(paths.topology()).flat_map(|(src, dst)| (0..=k).map(move |c| (src, dst, c)));
        let longest = longest.map(|(src, dst, c)| paths.path(src, dst, c).len()).max();
        assert_eq!(longest, Some(cube.longest_parallel_path()));
    }
}

#[test]
fn the_first_parallel_path_corrects_digits_from_the_highest_down() {
    let paths = Paths::new(bcube(2, 3), Choice::Bcube).unwrap();
    let ports = |src, dst, choice| paths.path(NodeId(src), NodeId(dst), choice).to_vec();
    let of = |ports: &[u16]| ports.iter().map(|&port| PortId(port)).collect::<Vec<_>>();
    assert_eq!(ports(0b0000, 0b1011, 0), of(&[3, 1, 1, 1, 0, 1]));
    assert_eq!(ports(0b0000, 0b1011, 1), of(&[1, 1, 0, 1, 3, 1]), "rotated");
    assert_eq!(ports(0b0000, 0b1011, 3), of(&[2, 1, 1, 1, 0, 1, 3, 1, 2, 0]), "by a detour");
    assert_eq!((0..6).map(|subflow| paths.choice(7, subflow)).collect::<Vec<_>>(), [0, 1, 2, 3, 0, 1]);
}

/// Returns the lengths of all loopless paths between two nodes, in order, found by exhaustive search.
fn all_lengths(topology: &Topology, src: NodeId, dst: NodeId) -> Vec<usize> {
    fn walk(topology: &Topology, passed: &mut Vec<NodeId>, dst: NodeId, lengths: &mut Vec<usize>) {
        let at = passed[passed.len() - 1];
        if at == dst {
            lengths.push(passed.len() - 1);
            return;
        }
        for (_, link) in topology.links_from(at) {
            if !passed.contains(&link.to) {
                passed.push(link.to);
                walk(topology, passed, dst, lengths);
                passed.pop();
            }
        }
    }
    let mut lengths = Vec::new();
    walk(topology, &mut vec![src], dst, &mut lengths);
    lengths.sort_unstable();
    lengths
}

#[test]
fn the_k_shortest_paths_are_those_of_an_exhaustive_search() {
    for (topology, k) in [(jellyfish(7, 5, 4), 12), (bcube(2, 1), 5), (fat_tree(4), 6), (bcube(3, 1), 20)] {
        let paths = Paths::new(Arc::clone(&topology), Choice::KShortest { k }).unwrap();
        for (src, dst) in pairs(&topology).step_by(5) {
            let all = all_lengths(&topology, src, dst);
            let found: BTreeSet<_> = (0..k).map(|choice| links(&paths, src, dst, choice)).collect();
            assert_eq!(found.len(), all.len().min(k as usize), "{src} to {dst}: no path twice");
            let mut lengths: Vec<_> = found.iter().map(Vec::len).collect();
            lengths.sort_unstable();
            assert_eq!(lengths, all[..found.len()], "{src} to {dst}");
            for choice in 0..k {
                let mut path = nodes(&paths, src, dst, choice);
                let length = path.len();
                path.sort_unstable();
                path.dedup();
                assert_eq!(path.len(), length, "no loop");
            }
        }
    }
}

#[test]
fn pairs_choose_different_paths_of_equal_length() {
    // A pair of switches has 15 paths through one intermediate switch, all of the same length. Of the 8
    // chosen paths, 7 pass an intermediate switch.
    let topology = jellyfish(17, 18, 16);
    let paths = Paths::new(Arc::clone(&topology), Choice::KShortest { k: 8 }).unwrap();
    let mut passing = vec![0_u32; topology.node_count()];
    for (src, dst) in pairs(&topology).filter(|(src, dst)| src.0 % 2 == 0 && dst.0 % 2 == 0) {
        for choice in 0..8 {
            let path = nodes(&paths, src, dst, choice);
            assert!(path.len() == 4 || path.len() == 5, "{path:?}");
            if path.len() == 5 {
                passing[path[2].index()] += 1;
            }
        }
    }
    let passing: Vec<u32> =
        topology.nodes().filter(|&n| !topology.is_host(n)).map(|n| passing[n.index()]).collect();
    assert_eq!(passing.iter().sum::<u32>(), 17 * 16 * 7);
    // An intermediate switch lies on 112 paths on average. Each of the 240 pairs that could use this switch
    // chooses it with probability 7/15, which gives a standard deviation of 7.7.
    assert!(passing.iter().all(|&count| count.abs_diff(112) < 50), "{passing:?}");
}

#[test]
fn paths_that_are_too_long_are_left_out_or_refused() {
    let topology = jellyfish(17, 18, 16);
    let paths =
        |most| Paths::new(Arc::clone(&topology), Choice::KShortest { k: 8 }).unwrap().of_at_most(most);
    let lengths = |paths: &Paths| {
        let lengths = (0..8).map(|choice| paths.path(NodeId(0), NodeId(33), choice).len());
        lengths.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(lengths(&paths(4).unwrap()), [3, 4]);
    assert_eq!(lengths(&paths(3).unwrap()), [3]);
    assert_eq!(paths(2).err(), Some(PathsError::TooLong { longest: 3, most: 2 }));
    let cube = |most| Paths::new(bcube(2, 3), Choice::Bcube).unwrap().of_at_most(most).err();
    assert_eq!([cube(10), cube(8)], [None, Some(PathsError::TooLong { longest: 10, most: 8 })]);
    let tree = |most| Paths::new(fat_tree(4), Choice::Ecmp).unwrap().of_at_most(most).err();
    assert_eq!([tree(6), tree(5)], [None, Some(PathsError::TooLong { longest: 6, most: 5 })]);
}

#[test]
fn a_fabric_of_65536_hosts_needs_no_table() {
    let paths = Paths::new(fat_tree(64), Choice::Ecmp).unwrap().of_at_most(6).unwrap();
    for flow in 0..1_000_u32 {
        let (src, dst) = (NodeId(flow * 32), NodeId(65_535 - flow));
        assert_eq!(links(&paths, src, dst, paths.choice(flow.into(), 0)).len(), 6);
    }
}
