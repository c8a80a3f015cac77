use super::ROUTING;
use crate::routing::up_down::testing::{Fabric, frame};
use raddle_core::NodeId;
use raddle_topology::XgftSize;
use std::collections::BTreeSet;

/// The source selects the root, as the destination does with D-mod-k. Nodes: hosts 0 to 7, leaves 8 to 11, middle
/// switches 12 to 15, roots 16 to 19.
#[test]
fn the_source_says_which_way_is_up() {
    let mut fabric = Fabric::new(XgftSize::k_ary_n_tree(2, 3), &ROUTING, &[]);
    let path = fabric.switches(&mut frame(6, 0, 1, 0));
    assert_eq!(path, [11, 14, 18, 12, 8].map(NodeId));
    for src in 0..4 {
        let roots: BTreeSet<NodeId> = (4..8).map(|dst| fabric.top(frame(src, dst, dst, 0))).collect();
        assert_eq!(roots.len(), 1, "host {src}");
    }
}
