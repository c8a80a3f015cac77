use super::*;
use crate::testing::{between, fat_tree, route, segment};
use raddle_topology::Topology;

fn nodes(topology: &Arc<Topology>, in_turn: bool) -> Vec<Spray> {
    let paths = ShortestPaths::new(topology);
    topology.nodes().map(|node| Spray::new(node, &paths, in_turn, 1)).collect()
}

#[test]
fn in_turn_one_flow_takes_all_paths_equally() {
    let topology = fat_tree(4);
    let mut nodes = nodes(&topology, true);
    let mut packet = segment(0, 15, 1, 0);
    let mut counts = [[0; 2]; 2];
    for _ in 0..400 {
        let path = route(&topology, &mut nodes, &mut packet).expect("a path");
        assert_eq!(path.len(), 6);
        counts[path[1].index() - 2][path[2].index() - 2] += 1;
    }
    assert_eq!(counts, [[100; 2]; 2], "four cores in turn");
}

#[test]
fn at_random_paths_are_independent_and_even() {
    let topology = fat_tree(8);
    let mut nodes = nodes(&topology, false);
    let mut packet = segment(0, 127, 1, 0);
    let paths = (0..16_000).map(|_| route(&topology, &mut nodes, &mut packet).expect("a path"));
    let mut counts = [[0_i32; 4]; 4];
    let mut repeats = 0;
    let mut last = None;
    for path in paths {
        let place = [path[1].index() - 4, path[2].index() - 4];
        repeats += i32::from(last == Some(place));
        counts[place[0]][place[1]] += 1;
        last = Some(place);
    }
    // The expected counts are 1,000 packets on each of 16 paths, and 1,000 packets that take the same path as the
    // packet before. Four standard deviations are 123.
    let counts = counts.into_iter().flatten().chain([repeats]);
    assert!(counts.clone().all(|n| (n - 1_000).abs() < 123), "{:?}", counts.collect::<Vec<_>>());
}

#[test]
fn known_failures_are_avoided() {
    let topology = fat_tree(4);
    let mut nodes = nodes(&topology, false);
    for link in between(&topology, 16, 24) {
        nodes.iter_mut().for_each(|node| node.link(link, false));
    }
    for _ in 0..50 {
        let path = route(&topology, &mut nodes, &mut segment(0, 15, 1, 0)).expect("a path");
        assert_eq!(path[1], PortId(3), "the other aggregation switch");
    }
}
