use super::*;
use crate::parameter::Settings;
use raddle_core::{Header, Rate};
use raddle_topology::Topology;
use raddle_topology::builders::folded_clos;
use raddle_wire::tcp::{ACK, Segment};
use std::collections::BTreeSet;

const LEAF: NodeId = NodeId(8);

/// A fabric of four spines and two leaves with four hosts each, and the forwarder of the first leaf.
fn leaf(choice: Choice) -> (Arc<Topology>, LetFlow) {
    let rate = Rate::from_gbps(10);
    let fabric = folded_clos(2, 4, 4, rate, rate, Duration::from_ns(100)).expect("a leaf-spine");
    let fabric = Arc::new(fabric);
    let paths = ShortestPaths::new(&fabric);
    (fabric, LetFlow::new(LEAF, &paths, 1, &Parameters { choice, ..Parameters::default() }))
}

/// The port that the leaf selects for a packet of flow `flow` at `us` microseconds.
fn port(leaf: &mut LetFlow, us: u64, flow: u16) -> PortId {
    let segment = Segment {
        src: 0,
        dst: 5,
        src_port: flow,
        dst_port: 1,
        flags: ACK,
        plen: 1_460,
        ..Segment::default()
    };
    let now = Time::ZERO + Duration::from_us(us);
    match leaf.forward(now, &mut Packet::new(1_500, Header::Tcp(segment)), None, &Ports(&[])) {
        Verdict::Forward(port) => port,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_flowlet_keeps_its_port_and_the_next_one_draws_evenly() {
    for choice in [Choice::Random, Choice::Hash] {
        let (_, mut leaf) = leaf(choice);
        let mut counts = [0_u32; 4];
        for n in 0..4_000 {
            let first = port(&mut leaf, 2_000 * n, 7);
            assert_eq!(port(&mut leaf, 2_000 * n + 499, 7), first);
            counts[first.index() - 4] += 1;
        }
        assert!(counts.iter().all(|&n| n.abs_diff(1_000) < 120), "{choice:?}: {counts:?}");
    }
}

#[test]
fn flows_that_never_pause_never_move() {
    let (_, mut leaf) = leaf(Choice::Random);
    for flow in 0..20 {
        let first = port(&mut leaf, 0, flow);
        assert!((1..100).all(|n| port(&mut leaf, 400 * n, flow) == first));
        let Parameters { t_fl, expiry, flowlets, .. } = Parameters::default();
        leaf.flowlets = Flowlets::new(flowlets, t_fl, expiry);
    }
}

#[test]
fn a_dead_uplink_is_left_at_once_when_it_is_known() {
    let (fabric, mut leaf) = leaf(Choice::Random);
    let first = port(&mut leaf, 0, 7);
    leaf.link(fabric.link_id(LEAF, first), false);
    let moved: BTreeSet<PortId> = (0..50).map(|flow| port(&mut leaf, 1, flow)).collect();
    assert!(moved.len() == 3 && !moved.contains(&first), "{moved:?}");
}

#[test]
fn a_host_of_one_link_needs_no_forwarder() {
    let (fabric, _) = leaf(Choice::Random);
    let settings = Settings::defaults(INFO.parameters);
    let plan = Plan::new(&fabric, "letflow", &settings, 1);
    let mut forwarders = build(&plan).expect("any fabric will do");
    assert!(forwarders(NodeId(0)).is_none() && forwarders(LEAF).is_some());
}
