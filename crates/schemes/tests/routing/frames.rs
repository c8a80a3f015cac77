//! Whole Ethernet frames, as kernels send them, cross the switches of ECMP, Expeditus and CONGA unchanged, except for
//! an ECN mark and the IPv4 checksum of a marked packet. Links carry bytes. A switch decodes only the headers of a
//! frame and copies the body.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use crate::clos::{TESTBED, fabric};
use raddle_core::{
    Decoders, Duration, Forwarder, Header, NodeId, Packet, PortId, PortState, Ports, Rate, Verdict,
};
use raddle_schemes::parameter::Settings;
use raddle_schemes::scheme::Plan;
use raddle_testkit::{ns, registry};
use raddle_topology::Topology;
use raddle_topology::builders::folded_clos;
use std::sync::Arc;

/// A SYN from 10.0.0.1:40000 to 10.0.0.2:5001, ECT(0), with MSS, SACK permitted, timestamps and window scale.
const SYN: &str = "0800 4502003c000140004006 26b7 0a0000010a000002 9c401389000003e800000000a002faf000000000 \
                   020405b40402080a000010000000000001030307";
/// The SYN-ACK that answers this SYN.
const SYN_ACK: &str = "0800 4502003c000140004006 26b7 0a0000020a000001 13899c40000007d0000003e9a012faf000000000 \
                       020405b40402080a000020000000100001030307";
const TCP_V6: &str = "86dd 60212345001f0040 fd000000000000000000000000000001 fd000000000000000000000000000002 \
                      0600010400000000 9c411389000003e8000000075010faf000000000616263";
const UDP: &str = "0800 4500001f000140004011 26d4 0a0000010a000002 9c401389000b0000 616263";
const PING: &str = "0800 4500001c000140004001 26de 0a0000010a000002 0800f7fe00010000";
const ARP: &str = "0806 0001080006040001 0600000000010a000001 0600000000020a000002";
const UNKNOWN: &str = "1234 deadbeef";

/// A frame from one host to another; `rest` holds the EtherType and the payload in hexadecimal digits.
fn frame(src: u8, dst: u8, rest: &str) -> Vec<u8> {
    let digits: Vec<u32> = rest.chars().filter_map(|digit| digit.to_digit(16)).collect();
    let packet = digits.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8);
    [6, 0, 0, 0, 0, dst, 6, 0, 0, 0, 0, src].into_iter().chain(packet).collect()
}

/// Switches with instant delivery of bytes between them.
struct Fabric {
    topology: Arc<Topology>,
    switches: Vec<Option<Box<dyn Forwarder>>>,
    ports: Vec<Vec<PortState>>,
    decoders: Decoders,
    /// True if queues set an ECN mark on every packet that allows marks.
    is_congested: bool,
    /// Number of arrivals, at switches, of packets with a tag or a shim.
    with_tags: u32,
}

impl Fabric {
    fn new(topology: &Arc<Topology>, routing: &str) -> Self {
        let transport = registry().transport("udp").expect("in the registry");
        let settings = Settings::defaults(transport.info.parameters);
        let of_routing = registry().routing_defaults(routing);
        let mut parts = registry()
            .build(transport, &Plan::new(topology, routing, &settings, 1), &of_routing)
            .expect("it fits");
        let state = PortState::idle(Rate::from_gbps(10));
        Self {
            switches: topology.nodes().map(|node| (parts.node)(node).forwarder).collect(),
            ports: topology.nodes().map(|node| vec![state; topology.port_count(node)]).collect(),
            topology: Arc::clone(topology),
            decoders: Decoders::BUILTIN.with_frames(),
            is_congested: false,
            with_tags: 0,
        }
    }

    /// Carries a frame from host `host` through the fabric. Returns the frames that leave the fabric, each with the
    /// receiving host.
    fn carry(&mut self, host: u32, bytes: Vec<u8>) -> Vec<(NodeId, Vec<u8>)> {
        let mut arrived = Vec::new();
        let mut under_way = vec![(NodeId(host), PortId(0), bytes)];
        while let Some((from, out, arrived_bytes)) = under_way.pop() {
            let link = *self.topology.link_at(from, out).expect("a link");
            if self.topology.is_host(link.to) {
                arrived.push((link.to, arrived_bytes));
                continue;
            }
            let (mut packet, body) = Packet::decode_with(&arrived_bytes, &self.decoders).expect("a packet");
            self.with_tags +=
                u32::from(packet.shim.wire_len() > 0 || matches!(packet.header, Header::Exp(_)));
            if self.is_congested {
                packet.mark_congestion();
            }
            let switch = self.switches[link.to.index()].as_mut().expect("a switch");
            let ports = Ports(&self.ports[link.to.index()]);
            let verdict = switch.forward(ns(0), &mut packet, Some(link.to_port), &ports);
            if let Verdict::Forward(out) | Verdict::Answer(out) = verdict {
                let mut bytes = Vec::new();
                packet.encode_with(&arrived_bytes[body], &mut bytes).expect("the same body");
                assert_eq!(packet.size as usize, bytes.len());
                under_way.push((link.to, out, bytes));
            } else {
                assert_eq!(verdict, Verdict::Absorb);
            }
            if matches!(verdict, Verdict::Answer(_) | Verdict::Absorb) {
                while let Some((packet, out)) = switch.originate() {
                    let mut bytes = Vec::new();
                    packet.encode(&mut bytes);
                    under_way.push((link.to, out, bytes));
                }
            }
        }
        arrived
    }
}

#[test]
fn frames_cross_every_fabric_byte_for_byte() {
    let rate = Rate::from_gbps(10);
    let leaf_spine = Arc::new(folded_clos(4, 2, 2, rate, rate, Duration::from_us(1)).expect("a leaf-spine"));
    for (routing, topology, has_tags) in
        [("ecmp", fabric(TESTBED), false), ("expeditus", fabric(TESTBED), true), ("conga", leaf_spine, true)]
    {
        let mut fabric = Fabric::new(&topology, routing);
        // Frames go from the first host to the last host and back. Each frame is sent twice, before and after a path is
        // selected.
        for _ in 0..2 {
            for rest in [SYN, TCP_V6, UDP, PING, ARP, UNKNOWN] {
                let bytes = frame(0, 7, rest);
                assert_eq!(fabric.carry(0, bytes.clone()), [(NodeId(7), bytes)], "{routing}: {rest}");
            }
            let bytes = frame(7, 0, SYN_ACK);
            assert_eq!(fabric.carry(7, bytes.clone()), [(NodeId(0), bytes)], "{routing}");
        }
        assert_eq!(fabric.with_tags > 0, has_tags, "{routing}");

        fabric.is_congested = true;
        let changed = |fabric: &mut Fabric, rest| -> Vec<usize> {
            let bytes = frame(0, 7, rest);
            let arrived = fabric.carry(0, bytes.clone());
            (0..bytes.len()).filter(|&at| arrived[0].1[at] != bytes[at]).collect()
        };
        assert_eq!(changed(&mut fabric, SYN), [15, 25], "{routing}: the mark and IPv4's checksum");
        assert_eq!(changed(&mut fabric, TCP_V6), [15], "{routing}: the mark");
        for rest in [UDP, PING, ARP, UNKNOWN] {
            assert!(changed(&mut fabric, rest).is_empty(), "{routing}: nothing to mark in {rest}");
        }
    }
}
