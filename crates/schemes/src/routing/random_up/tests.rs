use super::ROUTING;
use crate::parameter::Value;
use crate::routing::up_down::testing::{Fabric, even, frame};
use crate::testing::segment;
use raddle_core::{NodeId, Packet};
use raddle_topology::XgftSize;
use std::collections::BTreeMap;

/// Number of packets that pass each nearest common ancestor.
fn counts(fabric: &mut Fabric, packet: impl Fn(u64) -> Packet, packets: u64) -> BTreeMap<NodeId, u32> {
    let mut counts = BTreeMap::new();
    for i in 0..packets {
        *counts.entry(fabric.top(packet(i))).or_insert(0) += 1;
    }
    counts
}

#[test]
fn oracle_8_13_every_path_is_as_likely() {
    for at in ["hop", "source"] {
        let set = [("at", Value::Choice(at))];
        let mut fabric = Fabric::new(XgftSize::k_ary_n_tree(2, 5), &ROUTING, &set);
        for (dst, level) in [(31, 5), (9, 4), (4, 3), (2, 2)] {
            let paths = 1 << (level - 1);
            even(counts(&mut fabric, |i| frame(0, dst, 1, i * 1_500), 100_000).into_values(), paths);
            even(counts(&mut fabric, |_| segment(0, dst, 1, 0), 20_000).into_values(), paths);
        }
        // In the tree XGFT(2; 4,4; 1,3), three paths lead from host 0 to host 15. Three is not a power of two.
        let slim = XgftSize { children: vec![4, 4], parents: vec![1, 3] };
        let mut fabric = Fabric::new(slim, &ROUTING, &set);
        even(counts(&mut fabric, |i| frame(0, 15, 1, i * 1_500), 30_000).into_values(), 3);
    }
}

/// The choices of successive frames are independent: a path repeats as often as chance predicts.
#[test]
fn successive_frames_are_independent() {
    for at in ["hop", "source"] {
        let mut fabric = Fabric::new(XgftSize::k_ary_n_tree(2, 5), &ROUTING, &[("at", Value::Choice(at))]);
        let tops: Vec<NodeId> = (0..40_001).map(|i| fabric.top(frame(3, 30, 1, i))).collect();
        let repeats = tops.windows(2).filter(|pair| pair[0] == pair[1]).count();
        // The expected number of repetitions is 40,000 / 16 = 2,500, with a standard deviation of 48.
        assert!(repeats.abs_diff(2_500) < 4 * 48, "{at}: {repeats}");
    }
}
