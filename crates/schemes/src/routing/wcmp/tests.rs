use super::*;
use crate::routing::ecmp::Ecmp;
use crate::testing::{between, fat_tree, route, segment};
use raddle_topology::Topology;

fn nodes(topology: &Arc<Topology>) -> Vec<Wcmp> {
    let paths = ShortestPaths::new(topology);
    topology.nodes().map(|node| Wcmp::new(node, &paths, 16, 1)).collect()
}

#[test]
fn on_a_symmetric_fabric_flows_go_as_with_ecmp() {
    let topology = fat_tree(4);
    let mut weighted = nodes(&topology);
    let paths = ShortestPaths::new(&topology);
    let mut equal: Vec<_> = topology.nodes().map(|node| Ecmp::new(node, &paths, 1)).collect();
    for src_port in 0..200 {
        let packet = &mut segment(0, 2 + u32::from(src_port) % 14, src_port, 0);
        assert_eq!(route(&topology, &mut weighted, packet), route(&topology, &mut equal, packet));
    }
}

/// A fat-tree with k = 4. The first aggregation switch has lost one of its two cores. The edge switches below this
/// switch then send through it one third of their flows to other pods, and half of their flows within the pod.
#[test]
fn oracle_a_lost_core_link_halves_the_weight_of_its_switch() {
    let topology = fat_tree(4);
    let mut nodes = nodes(&topology);
    for link in between(&topology, 24, 32) {
        nodes.iter_mut().for_each(|node| node.link(link, false));
    }
    let mut count = |dst, flows| {
        let mut first =
            |src_port| route(&topology, &mut nodes, &mut segment(0, dst, src_port, 0)).expect("a path")[1];
        (0..flows).filter(|&src_port| first(src_port) == PortId(2)).count()
    };
    // Four standard deviations are 103 flows for one third of 3,000 flows, and 110 flows for one half.
    assert!(count(15, 3_000).abs_diff(1_000) < 103);
    assert!(count(2, 3_000).abs_diff(1_500) < 110);
    // After the repair both switches have the same weight.
    for link in between(&topology, 24, 32) {
        nodes.iter_mut().for_each(|node| node.link(link, true));
    }
    let again = (0..3_000).filter(|&src_port| {
        route(&topology, &mut nodes, &mut segment(0, 15, src_port, 0)).expect("a path")[1] == PortId(2)
    });
    assert!(again.count().abs_diff(1_500) < 110);
}
