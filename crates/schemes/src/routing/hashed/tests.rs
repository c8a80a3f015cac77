use super::ROUTING;
use crate::parameter::Value;
use crate::routing::up_down::testing::{Fabric, even, frame};
use crate::testing::segment;
use raddle_core::{Header, NodeId, Packet};
use raddle_topology::XgftSize;
use std::collections::BTreeMap;

fn fabric(key: &'static str) -> Fabric {
    Fabric::new(XgftSize::k_ary_n_tree(2, 5), &ROUTING, &[("key", Value::Choice(key))])
}

fn counts(fabric: &mut Fabric, packets: impl Iterator<Item = Packet>) -> BTreeMap<NodeId, u32> {
    let mut counts = BTreeMap::new();
    packets.for_each(|packet| *counts.entry(fabric.top(packet)).or_insert(0) += 1);
    counts
}

#[test]
fn oracle_8_13_a_flow_keeps_to_its_path_and_flows_spread() {
    let mut fabric = fabric("flow");
    for flow in 0..100 {
        let frames = (0..50).map(|i| frame(0, 31, flow, i * 1_500));
        assert_eq!(counts(&mut fabric, frames).len(), 1, "flow {flow}");
    }
    even(counts(&mut fabric, (0..10_000).map(|flow| frame(0, 31, flow, 0))).into_values(), 16);
    even(counts(&mut fabric, (0..10_000).map(|port| segment(0, 31, port, 0))).into_values(), 16);
}

#[test]
fn the_key_pair_keeps_one_path_and_the_key_frame_spreads_frames() {
    let frames = || (0..10_000).map(|i| frame(0, 31, i % 7, u64::from(i) * 1_500));
    assert_eq!(counts(&mut fabric("pair"), frames()).len(), 1);
    even(counts(&mut fabric("frame"), frames()).into_values(), 16);
    // Each pair has one host in each half of the tree, and uses one of sixteen roots.
    let pairs = (0..256).map(|pair| frame(pair / 16, 16 + pair % 16, 1, 0));
    even(counts(&mut fabric("pair"), pairs).into_values(), 16);
    // TCP segments have no offset field that the scheme hashes, so the segments of a flow stay on one path.
    assert_eq!(counts(&mut fabric("frame"), (0..100).map(|i| segment(0, 31, 5, i * 1_460))).len(), 1);
}

/// RFC 2992 §2: each path owns an equal range of the 65,536 hash values. The digits of a path's number are the ports
/// upwards.
#[test]
fn switches_compute_the_path_that_the_source_would_write() {
    let mut fabric = fabric("flow");
    for flow in 0..200 {
        let mut sent = frame(5, 26, flow, 0);
        let top = fabric.top(sent.clone());
        fabric.switches(&mut sent);
        let Header::Cee(written) = sent.header else { panic!("a frame") };
        let hash = super::crc16::crc16([5, 26, flow, 0, 0]);
        assert_eq!(written.path, u32::from(hash) * 16 / 65_536);
        assert_eq!(top.0, fabric.tree.nodes_of(5).start + written.path);
    }
}
