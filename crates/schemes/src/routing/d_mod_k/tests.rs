#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::ROUTING;
use crate::parameter::Value;
use crate::routing::up_down::testing::{Fabric, frame};
use crate::testing::segment;
use raddle_core::NodeId;
use raddle_topology::XgftSize;
use std::collections::{BTreeMap, BTreeSet};

fn fabric(k: u32, n: usize) -> Fabric {
    Fabric::new(XgftSize::k_ary_n_tree(k, n), &ROUTING, &[])
}

/// Nodes: hosts 0 to 7, leaves 8 to 11, middle switches 12 to 15, roots 16 to 19.
#[test]
fn oracle_8_2_paths_of_figure_5() {
    let mut fabric = fabric(2, 3);
    let mut path =
        |dst| fabric.switches(&mut frame(0, dst, 1, 0)).iter().map(|node| node.0).collect::<Vec<_>>();
    // The path to host 6 goes up by the parents 0 and 1 to the third root, and down by the ports 1, 1 and 0.
    assert_eq!(path(6), [8, 12, 18, 14, 11]);
    // The path to host 7 goes up by the parents 1 and 1, the path to host 4 by the parents 0 and 0.
    assert_eq!(path(7), [8, 13, 19, 15, 11]);
    assert_eq!(path(4), [8, 12, 16, 14, 10]);
    assert_eq!(path(1), [8]);
}

#[test]
fn oracle_8_2_one_root_a_destination() {
    for (k, n) in [(2, 5), (3, 3), (4, 2)] {
        let mut fabric = fabric(k, n);
        let hosts = fabric.tree.hosts();
        for dst in 0..hosts {
            let far = (0..hosts).filter(|&src| fabric.tree.common_level(NodeId(src), NodeId(dst)) == n);
            let roots: BTreeSet<NodeId> =
                far.collect::<Vec<_>>().into_iter().map(|src| fabric.top(segment(src, dst, 9, 0))).collect();
            assert_eq!(roots.len(), 1, "{k}-ary {n}-tree, host {dst}");
        }
    }
}

/// The greatest number of flows on one link if each host `src` sends one flow to host `dst(src)`.
fn most_on_a_link(fabric: &mut Fabric, dst: impl Fn(u32) -> u32) -> u32 {
    let mut links = BTreeMap::new();
    for src in 0..fabric.tree.hosts() {
        let dst = dst(src);
        if src != dst {
            let path =
                [vec![NodeId(src)], fabric.switches(&mut frame(src, dst, 1, 0)), vec![NodeId(dst)]].concat();
            path.windows(2).for_each(|ends| *links.entry([ends[0], ends[1]]).or_insert(0) += 1);
        }
    }
    links.into_values().max().unwrap_or(0)
}

#[test]
fn oracle_8_2_shifts_meet_on_no_link() {
    for (k, n) in [(2, 4), (3, 3), (4, 2)] {
        let mut fabric = fabric(k, n);
        let hosts = fabric.tree.hosts();
        for shift in 1..hosts {
            assert_eq!(
                most_on_a_link(&mut fabric, |src| (src + shift) % hosts),
                1,
                "{k}-ary {n}-tree by {shift}"
            );
        }
        // The permutation that reverses the digits makes flows share links, which shows that the assertion above can
        // fail.
        let reversed = |src: u32| (0..n as u32).fold(0, |dst, i| dst * k + src / k.pow(i) % k);
        assert!(most_on_a_link(&mut fabric, reversed) > 1, "{k}-ary {n}-tree");
    }
}

/// In a slimmed tree the two choices of `divisor` select different paths. Each leaf has four hosts and two parents, and
/// hosts 0 to 15 are in the first half of the tree.
#[test]
fn the_divisor_is_a_choice_in_slimmed_trees() {
    let size = XgftSize { children: vec![4, 4, 2], parents: vec![1, 2, 2] };
    let roots = |divisor| {
        let set = [("divisor", Value::Choice(divisor))];
        let mut fabric = Fabric::new(size.clone(), &ROUTING, &set);
        let first = fabric.tree.nodes_of(3).start;
        (16..32).map(|dst| fabric.top(frame(0, dst, 1, 0)).0 - first).collect::<Vec<_>>()
    };
    // A leaf selects its parent u_2 = d mod 2 for destination d. That parent selects the root: u_3 = d / 2 mod 2 with
    // the divisor `parents`, and u_3 = d / 4 mod 2 with `children`. The root's number is u_2 + 2 u_3.
    assert_eq!(roots("parents"), [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
    assert_eq!(roots("children"), [0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3]);
    let full = XgftSize::k_ary_n_tree(3, 3);
    let mut alike = ["parents", "children"]
        .map(|divisor| Fabric::new(full.clone(), &ROUTING, &[("divisor", Value::Choice(divisor))]));
    for dst in 1..27 {
        let [a, b] = alike.each_mut().map(|fabric| fabric.top(frame(0, dst, 1, 0)));
        assert_eq!(a, b, "host {dst}");
    }
}
