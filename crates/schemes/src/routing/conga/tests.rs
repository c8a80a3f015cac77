//! The test network has three spines and three leaves with two hosts each, at 10 Gb/s. One of the 8 levels of load is
//! 31,250 bytes: 1/8 of what a link carries in 200 us. Hosts are nodes 0 to 5, leaves 6 to 8, spines 9 to 11. A leaf's
//! ports 2 to 4 lead to the spines. A spine's port i leads to the leaf with index i.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::*;
use crate::parameter::Settings;
use crate::registry::Registry;
use raddle_core::{Header, LinkId, Packet, PortId, PortState, Ports, Rate, Shim, Time, Verdict};
use raddle_topology::builders::{self, ClosRates};
use raddle_wire::conga::Feedback;
use raddle_wire::tcp::{ACK, SYN, Segment};
use std::collections::BTreeSet;

const RATE: Rate = Rate::from_gbps(10);
const DELAY: Duration = Duration::from_ns(100);
const LEAVES: [NodeId; 3] = [NodeId(6), NodeId(7), NodeId(8)];
const SPINES: [NodeId; 3] = [NodeId(9), NodeId(10), NodeId(11)];
const PORTS: Ports<'_> = Ports(&[PortState::idle(RATE); 5]);
const UPLINKS: [PortId; 3] = [PortId(2), PortId(3), PortId(4)];

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

fn with(topology: Topology, name: &str, set: &[(&str, Value)]) -> Result<Fabric, Unfit> {
    let mut settings = Settings::defaults(
        Registry::builtin().routing(name).expect("CONGA is in the registry").info.parameters,
    );
    set.iter().for_each(|&(key, value)| settings.set(key, value));
    Fabric::new(&Plan::new(&Arc::new(topology), name, &settings, 1))
}

fn fabric(name: &str, set: &[(&str, Value)]) -> Fabric {
    let topology = builders::folded_clos(3, 2, 3, RATE, RATE, DELAY).expect("a leaf-spine");
    with(topology, name, set).expect("CONGA's fabric")
}

fn conga() -> Fabric {
    fabric("conga", &[])
}

/// A packet of flow `flow`. `size` is the packet's size between leaves, including the overlay header.
fn packet(src: u32, dst: u32, flow: u16, size: u32) -> Packet {
    let segment = Segment { src, dst, src_port: flow, dst_port: 1, flags: ACK, ..Segment::default() };
    Packet::new(size - 4, Header::Tcp(segment))
}

fn forward(node: &mut dyn Forwarder, now: Time, packet: &mut Packet) -> PortId {
    match node.forward(now, packet, None, &PORTS) {
        Verdict::Forward(port) => port,
        other => panic!("{other:?}"),
    }
}

/// The index of the uplink that a short packet to host `dst` takes.
fn uplink(leaf: &mut Leaf, now: Time, dst: u32, flow: u16) -> usize {
    let mut sent = packet(0, dst, flow, 44);
    forward(leaf, now, &mut sent);
    overlay(&sent).tag().into()
}

fn overlay(packet: &Packet) -> Overlay {
    match packet.shim {
        Shim::Conga(overlay) => overlay,
        other => panic!("{other:?}"),
    }
}

/// For each uplink of a leaf: adds the number of levels in `local` to the load of the uplink, and stores the value in
/// `remote` as the congestion metric of the path through the uplink to the leaf of hosts 2 and 3.
fn load(leaf: &mut Leaf, now: Time, local: [u8; 3], remote: [u8; 3]) {
    for (tag, (&local, &metric)) in local.iter().zip(&remote).enumerate() {
        leaf.uplinks.count(
            now,
            UPLINKS[tag],
            &Packet::new(u32::from(local) * 31_250, packet(0, 2, 0, 40).header),
        );
        leaf.congestion.told(now, 1, Feedback { tag: tag as u8, metric });
    }
}

/// specifications/expeditus.md §6.3: the header's congestion field CE becomes max(CE, load) at the leaf's uplink, and
/// again at the spine's downlink.
#[test]
fn oracle_6_3_ce_is_the_greatest_load_on_the_way() {
    let fabric = conga();
    let mut leaf = Leaf::new(&fabric, LEAVES[0]);
    let mut spines = SPINES.map(|node| Spine::new(&fabric, node));
    let mut first = packet(0, 2, 7, 70_000);
    let port = forward(&mut leaf, us(1), &mut first);
    let spine = &mut spines[leaf.uplinks.place(port)];
    assert_eq!((overlay(&first).congestion(), first.size), (2, 70_000), "70,000 of 31,250");
    assert_eq!(usize::from(overlay(&first).tag()), leaf.uplinks.place(port));
    // Another leaf first sends 100,000 bytes through this spine's port. With the 70,000 bytes of `first`, the port
    // sends 170,000 bytes, which is level 5.
    assert_eq!(forward(spine, us(1), &mut packet(4, 2, 1, 100_000)), PortId(1));
    assert_eq!(forward(spine, us(1), &mut first), PortId(1));
    assert_eq!(overlay(&first).congestion(), 5);

    // Here the uplink has more load than the spine's port. The uplink has sent more than 7 times 31,250 bytes, and the
    // spine's port to the third leaf sends only the 70,000 bytes of `second`.
    let mut second = packet(0, 4, 8, 70_000);
    load(&mut leaf, us(1), [7; 3], [0; 3]);
    let port = forward(&mut leaf, us(1), &mut second);
    forward(&mut spines[leaf.uplinks.place(port)], us(1), &mut second);
    assert_eq!(overlay(&second).congestion(), 7);
}

/// With `ce = "leaf_only"`, spines do not change the header's congestion field CE, as in the public simulation code.
#[test]
fn spines_mark_nothing_if_told_so() {
    let fabric = fabric("conga", &[("ce", Value::Choice("leaf_only"))]);
    let mut leaf = Leaf::new(&fabric, LEAVES[0]);
    let mut sent = packet(0, 2, 7, 40_000);
    let port = forward(&mut leaf, us(1), &mut sent);
    let mut spine = fabric.forwarder(SPINES[leaf.uplinks.place(port)]).expect("a spine forwards");
    forward(&mut *spine, us(1), &mut packet(4, 2, 1, 200_000));
    forward(&mut *spine, us(1), &mut sent);
    assert_eq!(overlay(&sent).congestion(), 1, "the leaf's 40,000 alone");
}

/// specifications/expeditus.md §6.3: the congestion that a packet met returns in the header of a packet of the reverse
/// direction. Hosts never see the overlay header.
#[test]
fn oracle_6_3_feedback_returns() {
    let fabric = conga();
    let [mut a, mut b] = [LEAVES[0], LEAVES[1]].map(|node| Leaf::new(&fabric, node));
    let mut there = packet(0, 2, 7, 100_000);
    let port = forward(&mut a, us(1), &mut there);
    let tag = overlay(&there).tag();
    assert_eq!(forward(&mut b, us(2), &mut there), PortId(0));
    assert_eq!((there.shim, there.size), (Shim::None, 99_996));

    let mut elsewhere = packet(2, 4, 7, 104);
    forward(&mut b, us(3), &mut elsewhere);
    assert_eq!(overlay(&elsewhere).feedback(), None, "nothing to tell the third leaf");
    let mut back = packet(2, 0, 7, 104);
    forward(&mut b, us(3), &mut back);
    assert_eq!(overlay(&back).feedback(), Some(Feedback { tag, metric: 3 }));
    assert_eq!(forward(&mut a, us(4), &mut back), PortId(0));
    assert_eq!((back.shim, back.size), (Shim::None, 100));

    // The uplink that `there` took is idle by now. Flows to the second leaf avoid the uplink only because of the
    // feedback, until the feedback expires.
    let taken = |leaf: &mut Leaf, at: u16, dst| -> BTreeSet<PortId> {
        (at..at + 60).map(|flow| forward(leaf, us(at.into()), &mut packet(1, dst, flow, 44))).collect()
    };
    let others: BTreeSet<PortId> = UPLINKS.into_iter().filter(|&other| other != port).collect();
    assert_eq!(taken(&mut a, 3_000, 2), others);
    assert_eq!(taken(&mut a, 6_000, 4), UPLINKS.into());
    assert_eq!(taken(&mut a, 10_003, 2), others);
    assert_eq!(taken(&mut a, 10_004, 3), UPLINKS.into(), "10 ms after it was told");
}

/// specifications/expeditus.md §6.3: a new flow takes the uplink with the least metric. The metric is the greater of
/// the local and the remote load, or the remote load alone. Columns: local loads, remote loads, and the least loaded
/// uplinks by each of the two metrics.
#[test]
fn oracle_6_3_decisions() {
    for (local, remote, by_max, by_remote) in [
        ([0, 3, 5], [4, 2, 0], vec![1], vec![2]),
        ([7, 1, 2], [0, 6, 1], vec![2], vec![0]),
        ([2, 2, 2], [1, 0, 2], vec![0, 1, 2], vec![1]),
        ([0, 0, 0], [0, 0, 0], vec![0, 1, 2], vec![0, 1, 2]),
        ([7, 7, 7], [7, 6, 7], vec![0, 1, 2], vec![1]),
        ([1, 0, 1], [0, 1, 7], vec![0, 1], vec![0]),
    ] {
        for (decision, expected) in [("max", &by_max), ("remote_only", &by_remote)] {
            let mut leaf = Leaf::new(&fabric("conga", &[("decision", Value::Choice(decision))]), LEAVES[0]);
            load(&mut leaf, us(1), local, remote);
            let chosen: BTreeSet<usize> = (0..60).map(|flow| uplink(&mut leaf, us(1), 2, flow)).collect();
            assert_eq!(chosen.into_iter().collect::<Vec<_>>(), *expected, "{decision} {local:?} {remote:?}");
        }
    }
}

/// specifications/expeditus.md §6.3: a flow moves only between flowlets, and only to an uplink with strictly less load.
#[test]
fn oracle_6_3_flowlets_move_only_to_a_strictly_better_uplink() {
    let fabric = conga();
    for flow in 0..20 {
        let mut leaf = Leaf::new(&fabric, LEAVES[0]);
        let port = |leaf: &mut Leaf, at| uplink(leaf, us(at), 2, flow);
        let mut now = 0;
        let home = port(&mut leaf, now);
        let others = |here, there| std::array::from_fn(|tag| if tag == home { here } else { there });
        // All local loads are 0, so the remote loads alone decide.
        load(&mut leaf, us(now), [0; 3], others(7, 0));
        assert_eq!(port(&mut leaf, now + 90), home, "no gap, no move");
        for equal in [7, 3, 0] {
            now += 1_000;
            load(&mut leaf, us(now), [0; 3], [equal; 3]);
            assert_eq!(port(&mut leaf, now), home, "no reason to move");
        }
        now += 1_000;
        load(&mut leaf, us(now), [0; 3], others(3, 2));
        let next = port(&mut leaf, now);
        assert_ne!(next, home);
        now += 1_000;
        load(&mut leaf, us(now), [0; 3], others(2, 2));
        assert_eq!(port(&mut leaf, now), next, "nor back");
    }
}

/// Sends bursts of 120 KB from the first leaf to the second leaf, with gaps of 250 us. Returns the uplinks about which
/// the second leaf sends feedback.
fn uplinks_seen(fabric: &Fabric) -> BTreeSet<u8> {
    let [mut a, mut b] = [LEAVES[0], LEAVES[1]].map(|node| Leaf::new(fabric, node));
    let mut seen = BTreeSet::new();
    for burst in 0..12 {
        for segment in 0..80 {
            let now = us(450 * burst) + Duration::from_ns(2_500 * segment);
            let mut sent = packet(0, 2, 7, 1_504);
            forward(&mut a, now, &mut sent);
            forward(&mut b, now, &mut sent);
            let mut back = packet(2, 0, 7, 44);
            forward(&mut b, now, &mut back);
            seen.extend(overlay(&back).feedback().map(|feedback| feedback.tag));
            forward(&mut a, now, &mut back);
        }
    }
    seen
}

/// specifications/expeditus.md §6.4: a leaf has remote metrics only for uplinks that carry traffic to the remote leaf.
/// With CONGA-Flow, few uplinks carry such traffic.
#[test]
fn oracle_6_4_conga_flow_knows_only_the_uplinks_it_uses() {
    assert_eq!(uplinks_seen(&conga()), [0, 1, 2].into());
    assert_eq!(uplinks_seen(&fabric("conga-flow", &[])).len(), 1);
}

/// A choice counts the uplinks about which the destination leaf has told within the time constant of the load estimate,
/// here 200 us. Later packets of a flowlet make no choice.
#[test]
fn choices_and_recent_metrics_are_counted() {
    let fabric = conga();
    let mut leaf = Leaf::new(&fabric, LEAVES[0]);
    let counted = |fabric: &Fabric| {
        let Counters { choices, of_senders, uplinks, recent, all_recent } = &**fabric.counters();
        [choices, of_senders, uplinks, recent, all_recent].map(crate::counter::Counter::get)
    };
    leaf.congestion.told(us(1_000), 1, Feedback { tag: 0, metric: 3 });
    leaf.congestion.told(us(1_001), 1, Feedback { tag: 2, metric: 0 });
    forward(&mut leaf, us(1_200), &mut packet(0, 2, 7, 44));
    assert_eq!(counted(&fabric), [1, 0, 3, 1, 0], "an acknowledgement, and an uplink told 199 us ago");
    forward(&mut leaf, us(1_210), &mut packet(0, 2, 7, 44));
    assert_eq!(counted(&fabric), [1, 0, 3, 1, 0], "the same flowlet");
    (0..3).for_each(|tag| leaf.congestion.told(us(2_000), 1, Feedback { tag, metric: 0 }));
    let header = |flags, plen| {
        let segment = Segment { src: 0, dst: 2, src_port: 8, dst_port: 1, flags, plen, ..Segment::default() };
        Packet::new(100, Header::Tcp(segment))
    };
    forward(&mut leaf, us(2_000), &mut header(SYN, 0));
    assert_eq!(counted(&fabric), [2, 1, 6, 4, 1], "a SYN");
    forward(&mut leaf, us(2_300), &mut header(ACK, 60));
    assert_eq!(counted(&fabric), [3, 2, 9, 4, 1], "data, 300 us after the SYN");
}

#[test]
fn a_leaf_does_without_uplinks_that_do_not_lead_there() {
    let fabric = conga();
    let topology = Arc::clone(fabric.paths.topology());
    let mut leaf = Leaf::new(&fabric, LEAVES[0]);
    let mut tell = |link: LinkId, up| [link, topology.reverse(link)].map(|link| leaf.link(link, up));
    tell(topology.link_id(LEAVES[0], PortId(2)), false);
    tell(topology.link_id(SPINES[1], PortId(1)), false);
    let mut taken = |dst| -> BTreeSet<PortId> {
        (0..60).map(|flow| forward(&mut leaf, us(1), &mut packet(0, dst, flow, 44))).collect()
    };
    assert_eq!(taken(2), [PortId(4)].into());
    assert_eq!(taken(4), [PortId(3), PortId(4)].into());
    let mut other = Leaf::new(&fabric, LEAVES[1]);
    for port in UPLINKS {
        other.link(topology.link_id(LEAVES[1], port), false);
    }
    let lost = other.forward(us(1), &mut packet(2, 0, 7, 40), None, &PORTS);
    assert_eq!(lost, Verdict::Drop(raddle_core::DropReason::NoRoute));
}

/// A packet takes a detour around a failure that its source does not know of. On the detour, the packet crosses a leaf
/// that is not its destination leaf. This leaf does not replace the overlay header.
#[test]
fn a_packet_in_transit_keeps_its_header() {
    let mut leaf = Leaf::new(&conga(), LEAVES[2]);
    let mut passing = packet(0, 2, 7, 104);
    let sent = Overlay::new(1).with_feedback(Feedback { tag: 2, metric: 4 });
    passing.set_shim(Shim::Conga(sent));
    forward(&mut leaf, us(1), &mut passing);
    assert_eq!((overlay(&passing), passing.size), (sent, 104));
    assert!((0..3).all(|tag| leaf.congestion.towards(us(1), 0, tag) == 0), "it was not told this leaf");
}

#[test]
fn packets_within_a_leaf_bear_no_header() {
    let mut leaf = Leaf::new(&conga(), LEAVES[0]);
    let mut local = packet(0, 1, 7, 104);
    assert_eq!(forward(&mut leaf, us(1), &mut local), PortId(1));
    assert_eq!((local.shim, local.size), (Shim::None, 100));
}

/// Pitfall 18 of specifications/expeditus.md: CONGA is not defined for three tiers of switches. A torus and a
/// leaf-spine with more than 16 spines are refused too.
#[test]
fn other_fabrics_are_refused() {
    let problem = |topology| with(topology, "conga-flow", &[]).map(|_| ()).map_err(|unfit| unfit.problem);
    let fat_tree = builders::fat_tree(4, ClosRates::all(RATE), DELAY).expect("a fat-tree");
    assert!(
        problem(fat_tree)
            .is_err_and(|problem| problem.contains("`conga-flow`") && problem.contains("core switches"))
    );
    let torus = builders::torus(&[4, 4], RATE, DELAY).expect("a torus");
    assert!(problem(torus).is_err_and(|problem| problem.contains("not a leaf-spine")));
    let wide = |spines| builders::folded_clos(2, 1, spines, RATE, RATE, DELAY).expect("a leaf-spine");
    assert!(
        problem(wide(17)).is_err_and(|problem| problem.contains("at most 16") && problem.contains("have 17"))
    );
    assert_eq!(problem(wide(16)), Ok(()));
}
