#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::testing::{Fabric, build, even, frame};
use crate::routing::{d_mod_k, hashed, random_up, s_mod_k};
use crate::scheme::Routing;
use crate::testing::{RATE, between, segment};
use proptest::prelude::*;
use raddle_core::{Duration, Forwarder, Header, NodeId, Packet, PortId};
use raddle_topology::{XgftSize, builders};
use raddle_wire::Mac;
use raddle_wire::cnm::Notice;
use std::collections::BTreeMap;
use std::sync::Arc;

const ALL: [&Routing; 4] = [&d_mod_k::ROUTING, &s_mod_k::ROUTING, &random_up::ROUTING, &hashed::ROUTING];

/// A congestion notice, sent to `to`, about frames for `culprit_dst`.
fn notice(to: u32, culprit_dst: u32) -> Packet {
    let cp = Mac::switch_port(9, 0, 0);
    let notice = Notice { dst: to, cp, priority: 3, feedback: 30, q_offset: -30, q_delta: 3, culprit_dst };
    Packet::new(Notice::LEN as u32, Header::Cnm(notice))
}

/// specifications/cee.md §8.12: notices from the destination of congested frames back to the frames' source cross each
/// root equally often.
#[test]
fn oracle_8_12_notices_cross_all_roots_under_every_routing() {
    for routing in ALL {
        let mut fabric = Fabric::new(XgftSize::k_ary_n_tree(2, 3), routing, &[]);
        let mut roots = BTreeMap::new();
        for _ in 0..4_000 {
            *roots.entry(fabric.top(notice(0, 7))).or_insert(0) += 1;
        }
        even(roots.into_values(), 4);
    }
}

#[test]
fn other_fabrics_are_refused_by_name() {
    let torus = Arc::new(builders::torus(&[4, 4], RATE, Duration::ZERO).expect("a torus"));
    for routing in ALL {
        let Err(unfit) = build(&torus, routing, &[]) else { panic!("{} on a torus", routing.info.name) };
        assert_eq!(unfit.key, "scheme.routing");
        assert!(unfit.problem.contains(routing.info.name) && unfit.hint.contains("k_ary_n_tree"), "{unfit}");
    }
}

#[test]
fn a_single_switch_is_a_tree() {
    for routing in ALL {
        let mut fabric = Fabric::new(XgftSize { children: vec![9], parents: vec![1] }, routing, &[]);
        assert_eq!(fabric.top(frame(3, 8, 1, 0)), NodeId(9), "{}", routing.info.name);
    }
    let switch = builders::single_switch(9, RATE, Duration::ZERO).expect("a switch");
    assert_eq!(
        (switch.node_count(), switch.link_at(NodeId(9), PortId(4)).map(|link| link.to.0)),
        (10, Some(4))
    );
}

/// Nodes avoid a path with a failed link as soon as they know of the failure.
#[test]
fn known_failures_are_avoided() {
    for routing in ALL {
        let mut fabric = Fabric::new(XgftSize::k_ary_n_tree(2, 3), routing, &[]);
        // Fails each uplink of host 0's leaf in turn.
        for above in [12, 13] {
            let both = between(&fabric.topology, 8, above);
            both.iter().for_each(|&link| fabric.nodes.iter_mut().for_each(|node| node.link(link, false)));
            for flow in 0..20 {
                let switches = fabric.switches(&mut frame(0, 4 + flow % 4, flow, 0));
                assert_eq!(switches[1], NodeId(25 - above), "{}", routing.info.name);
                fabric.switches(&mut segment(4 + flow % 4, 0, 1, 0));
            }
            both.iter().for_each(|&link| fabric.nodes.iter_mut().for_each(|node| node.link(link, true)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// specifications/cee.md §5: for every tree, packet and routing, the packet goes up to a nearest common ancestor
    /// and down again. The forwarders assert that no packet goes up after it has gone down.
    #[test]
    fn paths_lead_up_and_then_down(
        levels in prop::collection::vec((1..4_u32, 1..4_u32), 1..4),
        pairs in prop::collection::vec((any::<u32>(), any::<u32>()), 1..20),
    ) {
        let (children, parents) = levels.into_iter().unzip();
        let size = XgftSize { children, parents };
        for routing in ALL {
            let mut fabric = Fabric::new(size.clone(), routing, &[]);
            let hosts = fabric.tree.hosts();
            for &(src, dst) in &pairs {
                let (src, dst) = (src % hosts, dst % hosts);
                if src != dst {
                    fabric.top(frame(src, dst, 1, 0));
                    fabric.top(segment(src, dst, 7, 0));
                    fabric.top(notice(src, dst));
                }
            }
        }
    }
}
