use super::{Xgft, XgftSize};
use crate::builders::{BuildError, xgft};
use crate::routing::{LocalRouting, Routing};
use crate::{Hops, Topology};
use proptest::prelude::*;
use raddle_core::{Duration, NodeId, PortId, Rate};
use std::sync::Arc;

const RATE: Rate = Rate::from_gbps(10);
const DELAY: Duration = Duration::from_ns(50);

fn built(size: XgftSize) -> Topology {
    xgft(size, RATE, DELAY).unwrap()
}

fn size(children: &[u32], parents: &[u32]) -> XgftSize {
    XgftSize { children: children.to_vec(), parents: parents.to_vec() }
}

fn sizes() -> impl Strategy<Value = XgftSize> {
    prop::collection::vec((1..4_u32, 1..4_u32), 1..4)
        .prop_map(|levels| levels.into_iter().unzip())
        .prop_map(|(children, parents)| XgftSize { children, parents })
}

/// Returns the number of nodes of each level, from level 0 upwards.
fn counts(size: XgftSize) -> Vec<usize> {
    let tree = Xgft::new(size);
    (0..=tree.levels()).map(|level| tree.nodes_of(level).len()).collect()
}

#[test]
fn oracle_8_1_levels_have_as_many_nodes_as_the_paper_says() {
    for (n, hosts, switches) in [(3, 8, 12), (5, 32, 80), (7, 128, 448), (8, 256, 1_024)] {
        let topology = built(XgftSize::k_ary_n_tree(2, n));
        assert_eq!((topology.hosts().count(), topology.node_count()), (hosts, hosts + switches), "n = {n}");
    }
    assert_eq!(counts(size(&[16, 16], &[1, 10])), [256, 16, 10]);
    // The middle level of XGFT(3; 2,2,2; 1,1,2) has m3 * w1 * w2 = 2 switches.
    assert_eq!(counts(size(&[2, 2, 2], &[1, 1, 2])), [8, 4, 2, 2]);
}

#[test]
fn oracle_8_1_hosts_have_as_many_paths_as_common_ancestors() {
    let size = XgftSize::k_ary_n_tree(2, 3);
    let tree = Xgft::new(size.clone());
    let paths = [1, 2, 3, 4, 7].map(|to| tree.paths(NodeId(0), NodeId(to)));
    assert_eq!(paths, [1, 2, 2, 4, 4]);
    assert_eq!([0, 1, 2, 7].map(|to| tree.common_level(NodeId(0), NodeId(to))), [0, 1, 2, 3]);
    assert_eq!(Hops::of(&built(size)).most_paths(), Some(4.0));
}

/// Checks the digits of a label (specifications/cee.md §1.1), and the path from host 0 to host 6 (specifications/cee.md
/// §8.2): from the leaf switch of host 0 to its parent 0, from there to parent 1 of that switch, then down by ports 1,
/// 1 and 0.
#[test]
fn labels_are_read_from_ids() {
    let tree = Xgft::new(XgftSize::k_ary_n_tree(2, 3));
    assert_eq!([1, 2, 3].map(|i| tree.subtree_digit(NodeId(6), i)), [0, 1, 1]);
    let leaf = tree.parent(NodeId(0), 0);
    let middle = tree.parent(leaf, 0);
    let root = tree.parent(middle, 1);
    assert_eq!([leaf, middle, root], [NodeId(8), NodeId(12), NodeId(18)]);
    assert_eq!([3, 2, 1].map(|i| tree.plane_digit(root, i)), [1, 0, 0]);
    let down = [1, 1, 0].iter().scan(root, |at, &digit| {
        *at = tree.child(*at, digit);
        Some(*at)
    });
    assert_eq!(down.last(), Some(NodeId(6)));
    assert_eq!(tree.hosts_below(NodeId(14)), 4..8, "the other half");
}

#[test]
fn invalid_trees_are_refused() {
    let refused = |children: &[u32], parents: &[u32]| xgft(size(children, parents), RATE, DELAY).unwrap_err();
    assert_eq!(refused(&[2, 2], &[1]), BuildError::Levels { children: 2, parents: 1 });
    assert_eq!(refused(&[], &[]), BuildError::Empty("children"));
    assert_eq!(refused(&[2, 0], &[1, 2]), BuildError::Empty("children"));
    assert_eq!(refused(&[2, 2], &[0, 2]), BuildError::Empty("parents"));
    let too_large = |error| matches!(error, BuildError::TooLarge { .. });
    assert!(too_large(refused(&[u32::MAX; 20], &[u32::MAX; 20])));
    assert!(too_large(refused(&[40_000, 2], &[1, 40_000])), "ports of a leaf");
    assert!(too_large(refused(&[2; 25], &[1; 25])), "nodes");
    assert!(too_large(refused(&[1], &[70_000])), "ports of a host");
}

/// Returns the host and all of its ancestors, found by following links upwards.
fn ancestors(topology: &Topology, tree: &Xgft, host: NodeId) -> Vec<NodeId> {
    let mut found = vec![host];
    let mut next = 0;
    while let Some(&at) = found.get(next) {
        next += 1;
        for (_, link) in topology.links_from(at) {
            if tree.level(link.to) > tree.level(at) && !found.contains(&link.to) {
                found.push(link.to);
            }
        }
    }
    found.sort_unstable();
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// From every ancestor of a host, exactly one path leads down to the host (specifications/cee.md §8.1).
    #[test]
    fn oracle_8_1_an_ancestor_reaches_a_host_by_one_path_down(size in sizes()) {
        let (topology, tree) = (built(size.clone()), Xgft::new(size));
        for host in topology.hosts() {
            let above = ancestors(&topology, &tree, host);
            for node in topology.nodes() {
                let below = tree.below(node);
                prop_assert_eq!(tree.hosts_below(node).contains(&host.0), above.contains(&node));
                if tree.level(node) == 0 {
                    continue;
                }
                // The down port leads to the only child that is the host or one of its ancestors.
                let towards: Vec<PortId> = topology
                    .links_from(node)
                    .filter(|(_, link)| tree.level(link.to) < tree.level(node) && above.contains(&link.to))
                    .map(|(_, link)| link.from_port)
                    .collect();
                let expected: Vec<PortId> = below.down(host).into_iter().collect();
                prop_assert_eq!(towards, if above.contains(&node) { expected } else { Vec::new() });
            }
        }
    }

    #[test]
    fn arithmetic_equals_search(size in sizes()) {
        let topology = Arc::new(built(size.clone()));
        let (tree, searched) = (Xgft::new(size), Arc::new(Routing::new(Arc::new(topology.unshaped()))));
        let known = Arc::new(Routing::new(Arc::clone(&topology)));
        let (mut ports, mut expected) = (Vec::new(), Vec::new());
        for node in topology.nodes() {
            let level = tree.level(node);
            prop_assert!(tree.nodes_of(level).contains(&node.0));
            prop_assert_eq!(topology.port_count(node), tree.port_count(level));
            let local = LocalRouting::new(Arc::clone(&known), node);
            for host in topology.hosts() {
                searched.productive(node, host, &mut expected);
                local.productive(host, &mut ports);
                prop_assert_eq!(&ports, &expected);
                if level == 0 {
                    let hops = searched.distance(node, host).unwrap();
                    prop_assert_eq!(hops as usize, 2 * tree.common_level(node, host));
                }
            }
        }
        prop_assert_eq!(Hops::of(&topology), Hops::of(&topology.unshaped()));
    }

    #[test]
    fn digits_differ_between_neighbours_only_where_they_must(size in sizes()) {
        let (topology, tree) = (built(size.clone()), Xgft::new(size));
        for (_, link) in topology.links() {
            let (a, b) = (tree.level(link.from), tree.level(link.to));
            prop_assert_eq!(a.abs_diff(b), 1);
            let (low, high) = (a.min(b), a.max(b));
            for i in high + 1..=tree.levels() {
                prop_assert_eq!(tree.subtree_digit(link.from, i), tree.subtree_digit(link.to, i));
            }
            for i in 1..=low {
                prop_assert_eq!(tree.plane_digit(link.from, i), tree.plane_digit(link.to, i));
            }
            if a < b {
                let port = u32::from(link.from_port.0 - tree.uplinks(a).start);
                prop_assert_eq!(port, tree.plane_digit(link.to, b));
            } else {
                prop_assert_eq!(u32::from(link.from_port.0), tree.subtree_digit(link.to, a));
            }
        }
    }
}
