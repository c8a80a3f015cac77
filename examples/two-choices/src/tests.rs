#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::*;
use raddle_core::{PortState, Rate};
use raddle_topology::builders;
use raddle_wire::Ecn;
use raddle_wire::tcp::Segment;

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

/// Creates the forwarder of the first leaf. Also returns the leaf's number of ports. The fabric has two leaves, two
/// spines, and two hosts per leaf.
fn leaf() -> (TwoChoices, usize) {
    let rate = Rate::from_gbps(10);
    let fabric = builders::folded_clos(2, 2, 2, rate, rate, Duration::from_us(1));
    let fabric = Arc::new(fabric.expect("a leaf-spine of four hosts"));
    let leaf = NodeId(4);
    let leaf = TwoChoices::new(leaf, &fabric, &ShortestPaths::new(&fabric), Duration::from_us(20), 1);
    (leaf, fabric.port_count(NodeId(4)))
}

/// Creates a TCP packet without payload.
fn packet_to(dst: u32) -> Packet {
    let segment = Segment {
        src: 0,
        dst,
        src_port: 1,
        dst_port: 2,
        seq: 0,
        ack: 0,
        flags: 0,
        sack_count: 0,
        window: 1,
        plen: 0,
        ecn: Ecn::NotEct,
        sack: Default::default(),
    };
    Packet::new(40, Header::Tcp(segment))
}

fn packet() -> Packet {
    packet_to(3)
}

fn chosen(leaf: &mut TwoChoices, now: Time, ports: &[PortState]) -> PortId {
    match leaf.forward(now, &mut packet(), Some(PortId(0)), &Ports(ports)) {
        Verdict::Forward(port) | Verdict::Answer(port) => port,
        verdict => panic!("{verdict:?}"),
    }
}

#[test]
fn the_shorter_queue_of_two_is_taken() {
    let (mut leaf, count) = leaf();
    let mut ports = vec![PortState::idle(Rate::from_gbps(10)); count];
    let [one, other] = leaf.neighbours[..] else { panic!("two spines") };
    ports[one.index()] = ports[one.index()].busy_until(us(10));
    assert_eq!(chosen(&mut leaf, us(0), &ports), other);
    ports[other.index()] = ports[other.index()].busy_until(us(20));
    assert_eq!(chosen(&mut leaf, us(0), &ports), one);
}

#[test]
fn what_a_spine_reports_counts_until_it_is_old() {
    let (mut leaf, count) = leaf();
    let ports = vec![PortState::idle(Rate::from_gbps(10)); count];
    let [one, other] = leaf.neighbours[..] else { panic!("two spines") };
    let report = Report::new(NodeId(6), Duration::from_us(5));
    let mut told = Packet::new(Report::LEN as u32, Header::from(report));
    assert_eq!(leaf.forward(us(0), &mut told, Some(one), &Ports(&ports)), Verdict::Absorb);
    assert_eq!(chosen(&mut leaf, us(40), &ports), other);
    let later: Vec<_> = (0..20).map(|_| chosen(&mut leaf, us(41), &ports)).collect();
    assert!(later.contains(&one), "the first of two that are equal is drawn at random");
}

#[test]
fn a_switch_reports_while_packets_pass_and_then_rests() {
    let (mut leaf, count) = leaf();
    let mut ports = vec![PortState::idle(Rate::from_gbps(10)); count];
    assert_eq!(leaf.next_tick(), Time::NEVER);
    let verdict = leaf.forward(us(0), &mut packet(), Some(PortId(0)), &Ports(&ports));
    assert!(matches!(verdict, Verdict::Answer(_)), "so that the timer is asked for");
    assert_eq!(leaf.next_tick(), us(20));
    ports[0] = ports[0].busy_until(us(27));
    leaf.tick(us(20), &Ports(&ports));
    let reports: Vec<_> = std::iter::from_fn(|| leaf.originate()).collect();
    assert_eq!(reports.len(), 2);
    let report: &Report = reports[0].0.header.extension().expect("a report");
    assert_eq!(report.wait(), Duration::from_us(7));
    assert_eq!(leaf.next_tick(), us(40));
    leaf.tick(us(40), &Ports(&ports));
    assert_eq!(leaf.next_tick(), Time::NEVER);
}

#[test]
fn a_host_behind_the_switch_gets_its_packet() {
    let (mut leaf, count) = leaf();
    let ports = vec![PortState::idle(Rate::from_gbps(10)); count];
    let mut packet = packet_to(1);
    let verdict = leaf.forward(us(0), &mut packet, Some(PortId(2)), &Ports(&ports));
    assert!(matches!(verdict, Verdict::Forward(PortId(1)) | Verdict::Answer(PortId(1))));
}
