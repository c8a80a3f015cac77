//! Whole Ethernet frames cross a fabric in lockstep. The switches of ECMP, Expeditus and CONGA forward the frames byte
//! for byte, regardless of the content of the frames. Only congestion marks change bytes. Packets carry tags of the
//! routing only on links between switches.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use raddle_core::{
    Decoders, Duration, LinkId, NodeId, Observer, Packet, Parts, PortAgent, PortState, Rate, Time,
};
use raddle_live::lockstep::Lockstep;
use raddle_schemes::parameter::Settings;
use raddle_schemes::scheme::Plan;
use raddle_testkit::registry;
use raddle_topology::builders::{ClosRates, clos, folded_clos};
use raddle_topology::{ClosSize, LinkLayer, Topology};
use raddle_wire::Error;
use std::sync::Arc;

const HOSTS: u8 = 8;

/// EtherType and packet of each frame: a SYN with MSS, SACK, timestamps and window scale; the SYN-ACK that answers it;
/// TCP over IPv6 behind an extension header; UDP; ICMP; ARP; an unknown EtherType; and an unknown EtherType behind a
/// VLAN tag.
const FRAMES: [&str; 8] = [
    "0800 4502003c000140004006 26b7 0a0000010a000002 9c401389000003e800000000a002faf000000000 \
     020405b40402080a000010000000000001030307",
    "0800 4502003c000140004006 26b7 0a0000020a000001 13899c40000007d0000003e9a012faf000000000 \
     020405b40402080a000020000000100001030307",
    "86dd 60212345001f0040 fd000000000000000000000000000001 fd000000000000000000000000000002 \
     0600010400000000 9c411389000003e8000000075010faf000000000616263",
    "0800 4500001f000140004011 26d4 0a0000010a000002 9c401389000b0000 616263",
    "0800 4500001c000140004001 26de 0a0000010a000002 0800f7fe00010000",
    "0806 0001080006040001 0600000000010a000001 0600000000020a000002",
    "1234 deadbeef",
    "8100 a00c 1234 deadbeef",
];

/// A frame from one host to another. `rest` is the EtherType and the packet in hexadecimal. `tail` bytes follow the
/// packet.
fn frame(src: u8, dst: u8, rest: &str, tail: usize) -> Vec<u8> {
    let digits: Vec<u32> = rest.chars().filter_map(|digit| digit.to_digit(16)).collect();
    let packet = digits.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8);
    let addresses = [6, 0, 0, 0, 0, dst, 6, 0, 0, 0, 0, src];
    addresses.into_iter().chain(packet).chain((0..tail).map(|at| at as u8)).collect()
}

/// Compares the bytes on every link with the frames that hosts sent.
struct Wiretap {
    topology: Arc<Topology>,
    sent: Vec<Vec<u8>>,
    /// Number of packets that are not plain frames. All of them are on links between switches.
    tagged: u32,
}

impl Observer for Wiretap {
    fn transmitted(&mut self, _: Time, _: Time, link: LinkId, bytes: &mut [u8]) {
        let is_frame = self.sent.iter().any(|frame| frame == bytes);
        let link = self.topology.link(link).expect("a link");
        if self.topology.is_host(link.from) || self.topology.is_host(link.to) {
            assert!(is_frame, "hosts see frames as they are: {bytes:x?}");
        }
        self.tagged += u32::from(!is_frame);
    }
    fn malformed(&mut self, _: Time, _: LinkId, bytes: &[u8], error: Error) {
        panic!("{error}: {bytes:x?}");
    }
}

fn fabrics() -> [(&'static str, Arc<Topology>); 3] {
    let rate = Rate::from_gbps(10);
    let size = ClosSize { pods: 2, edges: 2, aggregations: 2, cores: 2, hosts: 2 };
    let clos = clos(size, ClosRates::all(rate), Duration::from_us(2)).expect("a Clos network");
    let leaf_spine = folded_clos(4, 2, 2, rate, rate, Duration::from_us(1)).expect("a leaf-spine");
    let [clos, leaf_spine] =
        [clos, leaf_spine].map(|fabric| Arc::new(fabric.with_link_layer(LinkLayer::ETHERNET)));
    [("ecmp", Arc::clone(&clos)), ("expeditus", clos), ("conga", leaf_spine)]
}

fn lockstep<O: Observer>(topology: &Arc<Topology>, routing: &str, observer: O) -> Lockstep<O> {
    let transport = registry().transport("udp").expect("in the registry");
    let settings = Settings::defaults(transport.info.parameters);
    let plan = Plan::new(topology, routing, &settings, 1);
    let mut parts =
        registry().build(transport, &plan, &registry().routing_defaults(routing)).expect("it fits");
    let node = |id| Parts { host: None, ..(parts.node)(id) };
    Lockstep::new(topology, node, vec![], observer).with_decoders(Decoders::BUILTIN.with_frames())
}

#[test]
fn frames_cross_every_fabric_byte_for_byte() {
    for (routing, topology) in fabrics() {
        let mut sent = Vec::new();
        for (round, tail) in (0..).zip([0, 1, 46, 700, 1_400, 0, 900]) {
            for (place, rest) in FRAMES.into_iter().enumerate() {
                // The SYN-ACK goes from host 7 to host 0, the other frames from host 0 to host 7. Each frame is also
                // sent between another pair of hosts.
                let (src, dst) = if place == 1 { (7, 0) } else { (0, 7) };
                sent.push((round, frame(src, dst, rest, tail)));
                sent.push((round, frame((place as u8 + 2) % HOSTS, (place as u8 + 5) % HOSTS, rest, tail)));
            }
        }
        let frames = sent.iter().map(|(_, frame)| frame.clone()).collect();
        let tap = Wiretap { topology: Arc::clone(&topology), sent: frames, tagged: 0 };
        let mut live = lockstep(&topology, routing, tap);
        for (place, (round, bytes)) in sent.iter().enumerate() {
            // The frames of a round wait behind each other in queues. The time between rounds lets the switches
            // complete their path selections and exchange their loads.
            live.advance(Time::ZERO + Duration::from_us(60) * *round + Duration::from_ns(place as u64));
            live.send_frame(NodeId(bytes[11].into()), bytes).expect("a frame");
        }
        assert!(live.run(Time::from_ps(1_000_000_000_000)), "{routing}: at rest within a second");
        let mut sent: Vec<_> = sent.into_iter().map(|(_, frame)| frame).collect();
        let mut received = Vec::new();
        for node in (0..HOSTS).map(|host| NodeId(host.into())) {
            let frames = live.take_frames(node);
            assert!(frames.is_sorted_by_key(|&(at, _)| at));
            assert!(frames.iter().all(|(at, frame)| *at > Time::ZERO && NodeId(frame[5].into()) == node));
            received.extend(frames.into_iter().map(|(_, frame)| frame));
        }
        received.sort();
        sent.sort();
        assert!(received == sent, "{routing}: {} of {} frames", received.len(), sent.len());
        let totals = live.totals();
        assert_eq!((totals.sent, live.packets_inside()), (totals.delivered, 0), "{routing}: {totals:?}");
        assert_eq!(live.observer().tagged > 0, routing != "ecmp", "{routing}");
    }
}

#[test]
fn a_frame_takes_its_bytes_on_the_wire_and_no_second_header() {
    let [(routing, topology), ..] = fabrics();
    let mut live = lockstep(&topology, routing, ());
    let bytes = frame(0, 7, FRAMES[0], 0);
    let full = [&bytes[..], &vec![0; 1_514 - bytes.len()]].concat();
    live.send_frame(NodeId(0), &full).expect("a frame");
    live.advance(Time::ZERO + Duration::from_ms(1));
    let [(at, _)] = live.take_frames(NodeId(7))[..] else { panic!("one frame") };
    // The frame with its check sequence, the preamble and the gap have 1,538 bytes. There are six links of 10 Gbps and
    // 2 us.
    assert_eq!(at, Time::ZERO + (Duration::from_ps(1_538 * 800) + Duration::from_us(2)) * 6);
}

/// Marks every packet that can carry a congestion mark.
struct Marker;

impl PortAgent for Marker {
    fn enqueue(&mut self, _: Time, packet: &mut Packet, _: &PortState) -> Option<Packet> {
        packet.mark_congestion();
        None
    }
}

#[test]
fn a_queue_that_marks_a_frame_changes_the_ecn_field_and_nothing_else() {
    for (routing, topology) in fabrics() {
        let mut live = lockstep(&topology, routing, ()).with_agents(|_| Some(Box::new(Marker)));
        let mut changed = |rest| -> Vec<usize> {
            let bytes = frame(0, 7, rest, 5);
            live.send_frame(NodeId(0), &bytes).expect("a frame");
            let now = live.now();
            live.advance(now + Duration::from_ms(1));
            let frames = live.take_frames(NodeId(7));
            let [(_, arrived)] = &frames[..] else { panic!("{routing}: {frames:?}") };
            assert_eq!(arrived.len(), bytes.len());
            (0..bytes.len()).filter(|&at| arrived[at] != bytes[at]).collect()
        };
        assert_eq!(changed(FRAMES[0]), [15, 25], "{routing}: the mark and IPv4's checksum");
        assert_eq!(changed(FRAMES[2]), [15], "{routing}: the mark");
        for rest in &FRAMES[3..] {
            assert!(changed(rest).is_empty(), "{routing}: nothing to mark in {rest}");
        }
    }
}

#[test]
fn bytes_that_are_not_a_frame_between_hosts_are_refused() {
    let [(routing, topology), ..] = fabrics();
    let mut live = lockstep(&topology, routing, ());
    let frame = frame(0, 7, FRAMES[6], 0);
    assert_eq!(live.send_frame(NodeId(0), &frame[..10]), Err(Error::Truncated { have: 10, need: 14 }));
    let foreign = [&[2; 6], &frame[6..]].concat();
    assert!(matches!(live.send_frame(NodeId(0), &foreign), Err(Error::Invalid { field: "destination", .. })));
    assert_eq!(live.totals().sent, 0);
}
