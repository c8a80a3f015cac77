//! The test network is a 2-ary 3-tree, as in oracle 8.12 of specifications/cee.md: hosts 0 to 7, leaves 8 to 11, middle
//! switches 12 to 15, roots 16 to 19. Ports 0 and 1 of a switch lead down, ports 2 and 3 up.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::*;
use crate::parameter::Settings;
use crate::routing::next_hops::ShortestPaths;
use crate::routing::up_down::UpDown;
use crate::testing::{RATE, backlogs, segment};
use raddle_core::{Forwarder, Header, NodeId, Packet, PortId, Ports, Time, Verdict};
use raddle_topology::{Topology, Xgft, XgftSize, builders};
use raddle_wire::Mac;
use raddle_wire::cnm::Notice;

type Switch = UpDown<SwitchAr>;

/// The leaf of hosts 0 and 1.
const LEAF: NodeId = NodeId(8);
const UP: [PortId; 2] = [PortId(2), PortId(3)];

fn tree() -> (Arc<Topology>, Xgft) {
    let size = XgftSize::k_ary_n_tree(2, 3);
    let topology = builders::xgft(size.clone(), RATE, Duration::from_ns(50));
    (Arc::new(topology.expect("a tree")), Xgft::new(size))
}

fn switch(node: NodeId, absorb: bool) -> Switch {
    switch_with(node, &Parameters { absorb, ..Parameters::default() })
}

fn switch_with(node: NodeId, parameters: &Parameters) -> Switch {
    let (topology, tree) = tree();
    UpDown::new(node, &ShortestPaths::new(&topology), &tree, SwitchAr::new(&tree, node, parameters), 1)
}

fn level(switch: &Switch, now: Time, to: u32, up: usize) -> u32 {
    switch.ascent().levels().level(now, NodeId(to), up)
}

/// A notice to host 0 about its frames to `culprit_dst`, from the queue of a switch's port `port`.
fn notice(culprit_dst: u32, feedback: u8, port: PortId) -> Packet {
    let cp = Mac::switch_port(1, 0, port.0);
    let notice = Notice { dst: 0, cp, priority: 3, feedback, q_offset: -100, q_delta: 100, culprit_dst };
    Packet::new(Notice::LEN as u32, Header::Cnm(notice))
}

fn at_ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

fn forward(switch: &mut Switch, now: Time, mut packet: Packet, arrival: Option<PortId>) -> Verdict {
    switch.forward(now, &mut packet, arrival, &Ports(&backlogs(&[0; 4])))
}

/// The verdict of host 0's leaf for a frame from host 0.
fn way(switch: &mut Switch, now: Time, dst: u32) -> Verdict {
    forward(switch, now, segment(0, dst, 1, 0), Some(PortId(0)))
}

#[test]
fn oracle_8_12_frames_change_over_when_a_notice_comes_in() {
    let mut leaf = switch(LEAF, false);
    let up = UP.map(Verdict::Forward);
    let all = |leaf: &mut Switch, ms| [4, 5, 6, 7].map(|dst| way(leaf, at_ms(ms), dst));
    // Without congestion, D-mod-k selects the first up port if the number of the destination is even.
    assert_eq!(all(&mut leaf, 0), [up[0], up[1], up[0], up[1]]);
    let down = Verdict::Forward(PortId(0));
    assert_eq!(forward(&mut leaf, at_ms(1), notice(6, 30, UP[1]), Some(UP[0])), down, "on to host 0");
    assert_eq!(all(&mut leaf, 1), [up[0], up[1], up[1], up[1]]);
    assert_eq!(forward(&mut leaf, at_ms(2), notice(6, 40, UP[1]), Some(UP[1])), down);
    assert_eq!(all(&mut leaf, 2), [up[0], up[1], up[0], up[1]]);
    let levels = |leaf: &Switch, ms| [0, 1].map(|port| level(leaf, at_ms(ms), 6, port));
    assert_eq!(levels(&leaf, 2), [30, 40]);
    assert_eq!(all(&mut leaf, 253), [up[0], up[1], up[0], up[1]]);
    assert_eq!(levels(&leaf, 253), [0, 0]);
}

/// A notice from the leaf's own queue counts for that queue's port. After such a notice, notices of other switches that
/// arrive at that port do not count.
#[test]
fn oracle_8_12_a_local_event_locks_the_port() {
    let mut leaf = switch(LEAF, false);
    assert_eq!(forward(&mut leaf, at_ms(1), notice(6, 30, UP[0]), None), Verdict::Forward(PortId(0)));
    assert_eq!((level(&leaf, at_ms(1), 6, 0), way(&mut leaf, at_ms(1), 6)), (30, Verdict::Forward(UP[1])));
    forward(&mut leaf, at_ms(1), notice(6, 63, UP[0]), Some(UP[0]));
    assert_eq!(level(&leaf, at_ms(1), 6, 0), 30);
}

#[test]
fn notices_by_ports_downwards_or_on_hosts_below_count_for_nothing() {
    let mut leaf = switch(LEAF, false);
    // Three notices that change no level. The first is about frames to host 1, which is below the leaf. The second is
    // from the leaf's own queue towards host 0. The third arrives at another switch from below.
    forward(&mut leaf, at_ms(1), notice(1, 63, UP[0]), Some(UP[0]));
    forward(&mut leaf, at_ms(1), notice(6, 63, PortId(0)), None);
    let mut middle = switch(NodeId(12), false);
    forward(&mut middle, at_ms(1), notice(6, 63, UP[0]), Some(PortId(0)));
    for switch in [leaf, middle] {
        let levels = (0..8).flat_map(|to| [0, 1].map(|port| level(&switch, at_ms(1), to, port)));
        assert!(levels.into_iter().all(|level| level == 0));
    }
}

#[test]
fn notices_are_absorbed_only_while_another_port_is_clear() {
    let mut leaf = switch(LEAF, true);
    assert_eq!(forward(&mut leaf, at_ms(1), notice(6, 30, UP[1]), Some(UP[0])), Verdict::Absorb);
    let on = Verdict::Forward(PortId(0));
    assert_eq!(forward(&mut leaf, at_ms(2), notice(6, 40, UP[1]), Some(UP[1])), on);
    assert_eq!(forward(&mut leaf, at_ms(2), notice(6, 40, UP[1]), None), on, "its own just so");
    assert_eq!(forward(&mut leaf, at_ms(252), notice(6, 40, UP[1]), Some(UP[1])), Verdict::Absorb);
}

/// With `keep_used`, a switch drops a notice that makes frames change their port.
#[test]
fn used_notices_are_kept_from_hosts_if_told_so() {
    let mut leaf = switch_with(LEAF, &Parameters { keep_used: true, ..Parameters::default() });
    let on = Verdict::Forward(PortId(0));
    assert_eq!(
        forward(&mut leaf, at_ms(1), notice(6, 30, UP[1]), Some(UP[1])),
        on,
        "frames to 6 take port 0"
    );
    assert_eq!(forward(&mut leaf, at_ms(1), notice(6, 40, UP[0]), Some(UP[0])), Verdict::Absorb);
    assert_eq!(forward(&mut leaf, at_ms(1), notice(6, 5, UP[1]), Some(UP[1])), on, "35 is below 40 still");
}

#[test]
fn a_notice_moves_a_fifth_of_the_frames_if_told_so() {
    let mut leaf = switch_with(LEAF, &Parameters { moved: 0.2, ..Parameters::default() });
    let mut moved = || (0..10).filter(|_| way(&mut leaf, at_ms(1), 6) == Verdict::Forward(UP[1])).count();
    assert_eq!(moved(), 0);
    forward(&mut leaf, at_ms(1), notice(6, 30, UP[0]), Some(UP[0]));
    let mut moved = || (0..10).filter(|_| way(&mut leaf, at_ms(1), 6) == Verdict::Forward(UP[1])).count();
    assert_eq!(moved(), 2);
}

/// Forwards a packet from switch to switch, starting at `node`. Each later switch knows the packet's ingress port.
/// Returns the nodes that the packet visits.
fn walk(topology: &Topology, switches: &mut [Switch], mut node: NodeId, packet: &Packet) -> Vec<NodeId> {
    let mut arrival = None;
    let mut path = vec![node];
    loop {
        match forward(&mut switches[node.index()], at_ms(1), packet.clone(), arrival) {
            Verdict::Deliver => return path,
            Verdict::Forward(port) => {
                let link = topology.link_id(node, port);
                node = topology.link(link).expect("a link").to;
                let back = topology.reverse(link);
                arrival = (0..4).map(PortId).find(|&port| topology.link_id(node, port) == back);
                path.push(node);
            }
            other => panic!("notices travel: {other:?}"),
        }
    }
}

/// Notices from the leaf of host 7 to host 0 cross each of the four roots equally often: chi-square is below the 99.9th
/// percentile for three degrees of freedom. Afterwards, every up port at which such notices have arrived has a level
/// above 0 for host 7.
#[test]
fn oracle_8_12_notices_come_by_all_paths() {
    let (topology, tree) = tree();
    let mut switches: Vec<Switch> = topology.nodes().map(|node| switch(node, false)).collect();
    let leaf_of_7 = tree.parent(NodeId(7), 0);
    let mut crossed = [0_u32; 4];
    for _ in 0..4_000 {
        let path = walk(&topology, &mut switches, leaf_of_7, &notice(7, 1, PortId(1)));
        assert_eq!(path.len(), 6, "{path:?}");
        assert_eq!(path[5], NodeId(0));
        crossed[(path[2].0 - 16) as usize] += 1;
    }
    let chi_square: f64 = crossed.iter().map(|&n| (f64::from(n) - 1_000.0).powi(2) / 1_000.0).sum();
    assert!(chi_square < 16.27, "{crossed:?}: {chi_square}");
    for (switch, ports) in [(8, [0, 1]), (12, [0, 1]), (13, [0, 1])] {
        let levels = ports.map(|port| level(&switches[switch], at_ms(1), 7, port));
        assert!(levels.iter().all(|&level| level > 0), "switch {switch}: {levels:?}");
    }
}

/// Oracle 8.2 of specifications/cee.md: without congestion, frames take the same path as with D-mod-k.
#[test]
fn oracle_8_2_without_congestion_frames_take_d_mod_k() {
    let (topology, tree) = tree();
    let mut switches: Vec<Switch> = topology.nodes().map(|node| switch(node, false)).collect();
    for (dst, parents) in [(6, [0, 1]), (7, [1, 1]), (4, [0, 0])] {
        let path = walk(&topology, &mut switches, NodeId(0), &segment(0, dst, 1, 0));
        let middle = tree.parent(LEAF, parents[0]);
        assert_eq!(path[..4], [NodeId(0), LEAF, middle, tree.parent(middle, parents[1])]);
        assert_eq!(path[6], NodeId(dst));
    }
}

/// If one of two up ports has failed, frames take the other port, even if it is congested.
#[test]
fn known_failures_are_avoided() {
    let (topology, _) = tree();
    let mut leaf = switch(LEAF, false);
    forward(&mut leaf, at_ms(1), notice(6, 63, UP[1]), Some(UP[1]));
    leaf.link(topology.link_id(LEAF, UP[0]), false);
    assert_eq!([4, 5, 6, 7].map(|dst| way(&mut leaf, at_ms(1), dst)), [Verdict::Forward(UP[1]); 4]);
    leaf.link(topology.link_id(LEAF, UP[0]), true);
    assert_eq!(way(&mut leaf, at_ms(1), 6), Verdict::Forward(UP[0]));
}

#[test]
fn other_fabrics_and_switches_without_congestion_points_are_refused() {
    let settings = Settings::defaults(INFO.parameters);
    let (tree, clos) = (tree().0, crate::testing::fat_tree(4));
    let refused = |topology, points| {
        let plan = Plan::new(topology, INFO.name, &settings, 1);
        build(&Plan { congestion_points: points, ..plan }).err().map(|unfit| unfit.key)
    };
    let of_points = Settings::defaults(crate::link::qcn::CONGESTION_POINT.info.parameters);
    let points = Some(("qcn", &of_points));
    assert_eq!(refused(&clos, points), Some("scheme.routing".into()));
    assert_eq!(refused(&tree, None), Some("scheme".into()));
    assert_eq!(refused(&tree, points), None);
}
