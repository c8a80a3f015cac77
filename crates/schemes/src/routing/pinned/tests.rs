#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::*;
use crate::parameter::Settings;
use crate::testing::{RATE, backlogs, fat_tree, segment};
use raddle_core::{
    DropReason, Duration, Forwarder, Header, LinkId, NodeId, Packet, PortId, Ports, Time, Verdict,
};
use raddle_topology::builders;
use raddle_wire::rated::Kind;
use raddle_wire::rcp;

fn bcube(n: u32, k: u32) -> Arc<Topology> {
    Arc::new(builders::bcube(n, k, RATE, Duration::from_ns(100)).expect("a BCube"))
}

fn jellyfish() -> Arc<Topology> {
    let jellyfish = builders::jellyfish(9, 6, 4, 1, RATE, Duration::from_ns(100));
    Arc::new(jellyfish.expect("a connected graph"))
}

fn paths_of(topology: &Arc<Topology>, routing: &str, most: usize) -> Result<Arc<Paths>, Unfit> {
    let settings = Settings::defaults(&[]);
    paths(&Plan::new(topology, routing, &settings, 1), 8, most)
}

/// A full-sized packet of a flow.
fn data(src: u32, dst: u32, path: u16) -> Packet {
    let segment = Segment { src, dst, path, plen: 1_460, kind: Kind::Data, ..Segment::default() };
    Packet::new(1_500, Header::Rcp(rcp::Packet { segment, rate: 0, rtt: raddle_wire::Minifloat::default() }))
}

/// A receiver's acknowledgement of a packet.
fn answer(packet: &Packet) -> Packet {
    let Header::Rcp(packet) = packet.header else { panic!("of RCP") };
    Packet::new(40, Header::Rcp(rcp::Packet { segment: packet.segment.acknowledgement(), ..packet }))
}

/// The links that a packet takes from its sender to its receiver, with the value of the packet's field `hop` on each
/// link. A host without a forwarder sends by its only port.
fn walk(
    topology: &Topology,
    nodes: &mut [Option<Box<dyn Forwarder>>],
    packet: &mut Packet,
) -> Result<Vec<(LinkId, u8)>, DropReason> {
    let (mut at, mut arrival) = (packet.src(), None);
    let mut links = Vec::new();
    loop {
        let idle = backlogs(&vec![0; topology.port_count(at)]);
        let verdict = match &mut nodes[at.index()] {
            Some(node) => {
                let verdict = node.forward(Time::ZERO, packet, arrival, &Ports(&idle));
                let foreseen = if let Verdict::Forward(port) = verdict { Some(port) } else { None };
                assert_eq!(node.foresee(packet), foreseen);
                verdict
            }
            None if arrival.is_some() => Verdict::Deliver,
            None => Verdict::Forward(PortId(0)),
        };
        match verdict {
            Verdict::Forward(port) => {
                let id = topology.link_id(at, port);
                links.push((id, packet.header.rated().expect("of RCP").hop));
                let link = topology.link(id).expect("a link");
                (at, arrival) = (link.to, Some(link.to_port));
            }
            Verdict::Deliver => return Ok(links),
            Verdict::Drop(reason) => return Err(reason),
            other => panic!("only forwarding: {other:?}"),
        }
    }
}

#[test]
fn oracle_12_acknowledgements_take_the_reverse_path() {
    let fabrics = [
        (fat_tree(4), "ecmp"),
        (bcube(3, 1), "ecmp"),
        (bcube(2, 3), "bcube"),
        (jellyfish(), "k-shortest"),
        (jellyfish(), "ecmp"),
    ];
    for (topology, routing) in fabrics {
        let paths = paths_of(&topology, routing, 12).expect("short paths");
        let mut forwarder = forwarders(&topology, Arc::clone(&paths));
        let mut nodes: Vec<_> = topology.nodes().map(&mut forwarder).collect();
        let hosts = topology.hosts().count() as u32;
        for (src, dst) in (0..hosts).flat_map(|src| [1, 5, hosts - 2].map(|by| (src, (src + by) % hosts))) {
            for path in 0..4 {
                let mut packet = data(src, dst, path);
                let there = walk(&topology, &mut nodes, &mut packet).expect("a path");
                let planned = paths.path(NodeId(src), NodeId(dst), path.into());
                let ports = there.iter().map(|(id, _)| topology.link(*id).expect("a link").from_port);
                assert!(ports.eq(planned.iter().copied()), "{routing}: {src} to {dst}");
                assert!(there.iter().map(|(_, hop)| *hop).eq((0..).take(planned.len())), "links are counted");
                let back = walk(&topology, &mut nodes, &mut answer(&packet)).expect("a way back");
                let same = back.iter().rev().map(|&(id, hop)| (topology.reverse(id), hop));
                assert!(same.eq(there), "{routing}: {src} to {dst}, by the same numbers");
            }
        }
    }
}

#[test]
fn packets_without_a_path_are_dropped() {
    let topology = bcube(2, 1);
    let paths = paths_of(&topology, "bcube", 8).expect("short paths");
    let mut node = Pinned::new(NodeId(1), &paths);
    let idle = backlogs(&[0, 0]);
    let mut verdict = |mut packet: Packet| node.forward(Time::ZERO, &mut packet, None, &Ports(&idle));
    // From server 0 to server 3, path 0 corrects digit 1 first and passes server 2, and path 1 passes server 1.
    assert_eq!(verdict(data(0, 3, 1)), Verdict::Forward(PortId(1)));
    let lost = Verdict::Drop(DropReason::NoRoute);
    assert_eq!(verdict(data(0, 3, 0)), lost, "elsewhere");
    assert_eq!(verdict(segment(0, 3, 1, 1)), lost, "TCP");
    assert_eq!(verdict(data(1, 1, 0)), Verdict::Deliver);
    // An acknowledgement that this node sends goes back along the data's path. An acknowledgement for a path that does
    // not pass this node is dropped. Only corruption causes such packets.
    assert_eq!(verdict(answer(&data(3, 1, 0))), Verdict::Forward(PortId(1)));
    assert_eq!(verdict(answer(&data(0, 2, 0))), lost);
}

#[test]
fn fabrics_that_do_not_fit_are_refused() {
    let refused = |topology: &Arc<Topology>, routing, most| {
        let unfit = paths_of(topology, routing, most).expect_err("a reason");
        (unfit.key, unfit.problem)
    };
    let (key, problem) = refused(&fat_tree(4), "bcube", 12);
    assert_eq!(
        (&key[..], &problem[..]),
        ("scheme.routing", "routing over parallel paths needs a BCube topology")
    );
    let (key, problem) = refused(&bcube(2, 3), "bcube", 8);
    assert_eq!(
        (&key[..], &problem[..]),
        ("topology", "a flow's path can have up to 10 links, but packet headers have room for at most 8")
    );
}
