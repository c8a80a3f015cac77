//! Oracle O7 of specifications/r2c2.md as properties: round trips of every built-in header, and decoders under
//! arbitrary bytes.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::*;

fn any_event() -> impl Strategy<Value = Event> {
    let kind = prop_oneof![
        Just(EventKind::Start),
        Just(EventKind::Finish),
        Just(EventKind::Demand),
        Just(EventKind::Route),
        Just(EventKind::Refresh),
    ];
    let nibbles = (0_u8..16, 0_u8..16);
    (kind, any::<(u8, u16, u16)>(), 1_u8.., nibbles, any::<(u32, u16)>()).prop_map(
        |(kind, (tree, src, dst), weight, (priority, protocol), (demand_kbps, lid))| Event {
            kind,
            tree,
            src,
            dst,
            weight,
            priority,
            protocol,
            demand_kbps,
            lid,
        },
    )
}

fn any_data(plen: impl Strategy<Value = u16>) -> impl Strategy<Value = Data> {
    let hops = proptest::collection::vec(0_u16..8, 0..=42).prop_flat_map(|ports| {
        let rlen = ports.len() as u8;
        (Just(Route::from_ports(ports, 3).unwrap()), Just(rlen), 0..=rlen)
    });
    (any::<(u32, u16, u16, u32)>(), plen, 0_u8..4, hops).prop_map(
        |((flow, src, dst, seq), plen, flags, (route, rlen, ridx))| Data {
            flow,
            src,
            dst,
            seq,
            plen,
            rlen,
            ridx,
            flags,
            route,
        },
    )
}

fn any_notice() -> impl Strategy<Value = DropNotice> {
    let reason = prop_oneof![Just(NoticeReason::QueueFull), Just(NoticeReason::LinkDown)];
    (any_data(Just(DropNotice::PAYLOAD_LEN)), any_event(), any::<(u16, u8)>(), reason)
        .prop_map(|(data, dropped, (node, port), reason)| DropNotice { data, dropped, node, port, reason })
}

fn any_controller_event() -> impl Strategy<Value = ControllerEvent> {
    let data = any_data(Just(Event::LEN as u16));
    (data, any_event()).prop_map(|(data, event)| ControllerEvent { data, event })
}

fn any_controller_rates() -> impl Strategy<Value = ControllerRates> {
    let rate = any::<(u16, u32)>().prop_map(|(lid, kbps)| FlowRate { lid, kbps });
    proptest::collection::vec(rate, 0..20).prop_flat_map(|rates| {
        any_data(Just((rates.len() * FlowRate::LEN) as u16))
            .prop_map(move |data| ControllerRates { data, rates: rates.as_slice().into() })
    })
}

fn any_announcement() -> impl Strategy<Value = Header> {
    let assignment = (any::<u32>(), 0_u8..16).prop_map(|(flow, protocol)| Assignment { flow, protocol });
    (any::<(u8, u16, u16)>(), proptest::collection::vec(assignment, 0..=300)).prop_map(
        |((tree, src, epoch), assignments)| {
            let assignments = assignments.into();
            Header::R2c2Announcement(Announcement { tree, src, epoch, assignments })
        },
    )
}

fn any_acknowledgement() -> impl Strategy<Value = Acknowledgement> {
    (any_data(Just(Acknowledgement::PAYLOAD_LEN)), any::<(u32, u16, u16, [u8; 8])>()).prop_map(
        |(data, (next, window, from, arrived))| Acknowledgement { data, next, window, from, arrived },
    )
}

fn any_digest() -> impl Strategy<Value = Digest> {
    any::<(u8, u16, u64)>().prop_map(|(tree, src, hash)| Digest { tree, src, hash })
}

fn any_request() -> impl Strategy<Value = Request> {
    let wanted = prop_oneof![Just(Wanted::Resend), Just(Wanted::Snapshot)];
    (any_data(Just(0)), wanted).prop_map(|(data, wanted)| Request { data, wanted })
}

fn any_snapshot() -> impl Strategy<Value = Snapshot> {
    let flow = (any::<(u16, u16, u32)>(), 1_u8.., 0_u8..16, 0_u8..16).prop_map(
        |((lid, dst, demand_kbps), weight, priority, protocol)| FlowState {
            lid,
            dst,
            weight,
            priority,
            protocol,
            demand_kbps,
        },
    );
    let flows = proptest::collection::vec(flow, 0..8);
    (any_data(Just(0)), any::<u64>(), flows).prop_map(|(data, hash, flows)| {
        let lids = || flows.iter().map(|flow| flow.lid);
        let (first, last) = (lids().min().unwrap_or(0), lids().max().unwrap_or(0));
        let data = Data { plen: Snapshot::plen(flows.len()), ..data };
        Snapshot { data, body: SnapshotBody { hash, first, last, flows }.into() }
    })
}

fn any_ecn() -> impl Strategy<Value = Ecn> {
    proptest::sample::select(vec![Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce])
}

fn any_segment() -> impl Strategy<Value = Segment> {
    let node = 0_u32..1 << 24;
    let sack = proptest::collection::vec(any::<(u32, u32)>(), 0..=3);
    let fields = any::<(u16, u16, u32, u32, u8, u16)>();
    (node.clone(), node, fields, 0_u16..9_000, any_ecn(), sack).prop_map(
        |(src, dst, (src_port, dst_port, seq, ack, flags, window), plen, ecn, blocks)| {
            let mut sack = [(0, 0); 3];
            sack[..blocks.len()].copy_from_slice(&blocks);
            let sack_count = blocks.len() as u8;
            Segment { src, dst, src_port, dst_port, seq, ack, flags, sack_count, window, plen, ecn, sack }
        },
    )
}

fn any_datagram() -> impl Strategy<Value = Datagram> {
    let node = 0_u32..1 << 24;
    let place = (0_u64..1 << 50, 0_u16..9_000, 0_u64..1 << 50);
    (node.clone(), node, any::<(u16, u16)>(), any_ecn(), place).prop_map(
        |(src, dst, (src_port, dst_port), ecn, (offset, plen, rest))| {
            let size = offset + u64::from(plen) + rest;
            Datagram { src, dst, src_port, dst_port, plen, ecn, offset, size }
        },
    )
}

fn any_frame() -> impl Strategy<Value = Frame> {
    let node = 0_u32..1 << 24;
    let place = (0_u64..1 << 50, 1_u16..9_000, 0_u64..1 << 50);
    (node.clone(), node, any::<(u32, u32, u64)>(), 0_u8..8, place).prop_map(
        |(src, dst, (flow, path, birth_ps), priority, (offset, plen, rest))| {
            let size = offset + u64::from(plen) + rest;
            Frame { src, dst, flow, priority, plen, path, offset, size, birth_ps }
        },
    )
}

fn any_pause() -> impl Strategy<Value = Pause> {
    any::<([u8; 6], u8, [u16; 8])>().prop_map(|(src, enabled, quanta)| {
        let counted = |i: usize| if enabled >> i & 1 == 1 { quanta[i] } else { 0 };
        Pause { src: Mac(src), enabled, quanta: std::array::from_fn(counted) }
    })
}

fn any_congestion_notice() -> impl Strategy<Value = Notice> {
    let node = 0_u32..1 << 24;
    (node.clone(), node, any::<([u8; 6], i16, i16)>(), 0_u8..8, 0_u8..64).prop_map(
        |(dst, culprit_dst, (cp, q_offset, q_delta), priority, feedback)| {
            let cp = Mac(cp);
            Notice { dst, cp, priority, feedback, q_offset, q_delta, culprit_dst }
        },
    )
}

fn any_roce() -> impl Strategy<Value = Packet> {
    let node = 0_u32..1 << 24;
    let write = (node.clone(), 0_u64..1 << 50, 0_u16..9_000, 0_u64..1 << 50, any::<bool>()).prop_map(
        |(psn, offset, plen, rest, ack_request)| {
            let size = offset + u64::from(plen) + rest;
            Kind::Write { psn, plen, offset, size, ack_request }
        },
    );
    let acknowledgement = (node.clone(), any::<bool>())
        .prop_map(|(expected, refused)| Kind::Acknowledgement { expected, refused });
    let kind = prop_oneof![3 => write, 1 => acknowledgement, 1 => Just(Kind::Notification)];
    ((node.clone(), node.clone(), node), 0_u8..8, any_ecn(), any::<u16>(), kind).prop_map(
        |((src, dst, flow), priority, ecn, src_port, kind)| Packet {
            src,
            dst,
            priority,
            ecn,
            src_port,
            flow,
            kind,
        },
    )
}

fn any_pdq() -> impl Strategy<Value = Header> {
    let words = any::<(u32, u32, u32, u32, u16, u16)>();
    (rated::tests::any_segment(), words).prop_map(
        |(segment, (rate, pauseby, deadline, expected, rtt, interval))| {
            let rtt = Minifloat(rtt);
            let scheduling = pdq::Scheduling { rate, pauseby, deadline, expected, rtt, interval };
            Header::Pdq(pdq::Packet { segment, scheduling })
        },
    )
}

fn any_d3() -> impl Strategy<Value = Header> {
    (rated::tests::any_segment(), any::<(u16, u16, [u16; 8])>()).prop_map(|(segment, (new, old, grants))| {
        let [desired, desired_before] = [new, old].map(Minifloat);
        let request = d3::Request { desired, desired_before, grants: grants.map(Minifloat) };
        Header::D3(d3::Packet { segment, request })
    })
}

fn any_rcp() -> impl Strategy<Value = Header> {
    (rated::tests::any_segment(), any::<(u32, u16)>())
        .prop_map(|(segment, (rate, rtt))| Header::Rcp(rcp::Packet { segment, rate, rtt: Minifloat(rtt) }))
}

pub(super) fn any_header() -> impl Strategy<Value = Header> {
    prop_oneof![
        any_data(0_u16..9_000).prop_map(Header::R2c2Data),
        any_event().prop_map(Header::R2c2Event),
        any_notice().prop_map(Header::R2c2DropNotice),
        any_announcement(),
        any_acknowledgement().prop_map(Header::R2c2Acknowledgement),
        any_controller_event().prop_map(Header::R2c2ControllerEvent),
        any_controller_rates().prop_map(|packet| Header::R2c2ControllerRates(packet.into())),
        any_digest().prop_map(Header::R2c2Digest),
        any_request().prop_map(Header::R2c2Request),
        any_snapshot().prop_map(Header::R2c2Snapshot),
        any_segment().prop_map(Header::Tcp),
        any_datagram().prop_map(Header::Udp),
        (crate::exp::tests::any_tag(), any_segment())
            .prop_map(|(tag, segment)| Header::Exp(Box::new(Tagged { tag, inner: Header::Tcp(segment) }))),
        (crate::exp::tests::any_tag(), any_datagram())
            .prop_map(|(tag, datagram)| Header::Exp(Box::new(Tagged { tag, inner: Header::Udp(datagram) }))),
        (crate::exp::tests::any_tag(), any_roce())
            .prop_map(|(tag, packet)| Header::Exp(Box::new(Tagged { tag, inner: Header::Roce(packet) }))),
        (crate::exp::tests::any_tag(), any_frame())
            .prop_map(|(tag, frame)| Header::Exp(Box::new(Tagged { tag, inner: Header::Cee(frame) }))),
        (0_u32..1 << 24, any::<u8>())
            .prop_map(|(tor, utilisation)| Header::HulaProbe(Probe { tor, utilisation })),
        any_credit().prop_map(Header::Credit),
        any_hello().prop_map(Header::Hello),
        any_link_states().prop_map(Header::LinkStates),
        any_frame().prop_map(Header::Cee),
        any_pause().prop_map(Header::Pfc),
        any_congestion_notice().prop_map(Header::Cnm),
        any_roce().prop_map(Header::Roce),
        any_pdq(),
        any_d3(),
        any_rcp(),
    ]
}

fn any_credit() -> impl Strategy<Value = Credit> {
    (any::<u32>(), any::<u32>(), prop::collection::vec(any::<u32>(), 0..=Credit::MOST))
        .prop_map(|(given, taken, flows)| Credit::new(given, taken, flows))
}

fn any_hello() -> impl Strategy<Value = Hello> {
    any::<(u32, bool, u64)>().prop_map(|(link, hears, digest)| Hello { link, hears, digest })
}

fn any_link_states() -> impl Strategy<Value = LinkStates> {
    let state = any::<(u32, u32)>().prop_map(|(link, sequence)| LinkState { link, sequence });
    prop::collection::vec(state, 1..=LinkStates::MOST).prop_map(|states| LinkStates { states: states.into() })
}

/// Generates arbitrary bytes. More than half of the results begin with a byte that some decoder accepts.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let types = proptest::sample::select(vec![
        0x01_u8, 0x06, 0x10, 0x21, 0x25, 0x26, 0x31, 0x41, 0x42, 0x43, 0x44, 0x45, 0x47, 0x48, 0x49, 0x60,
        0x83, 0x84, 0x87, 0x8E, 0x99, 0xE9, 0xF0,
    ]);
    (proptest::option::of(types), proptest::collection::vec(any::<u8>(), 0..120)).prop_map(
        |(kind, mut bytes)| {
            if let (Some(kind), Some(first)) = (kind, bytes.first_mut()) {
                *first = kind;
            }
            bytes
        },
    )
}

fn decode_all(bytes: &[u8]) {
    let _ = Header::decode(bytes);
    let _ = Announcement::decode(bytes);
}

proptest! {
    #[test]
    fn oracle_o7_decode_undoes_encode(header in any_header(), trailer in 0_usize..8) {
        let mut bytes = bytes_of(&header);
        prop_assert_eq!(bytes.len(), header.wire_len() + header.payload_len());
        bytes.resize(bytes.len() + trailer, 0xAA);
        let len = header.wire_len() - header.trailer_len();
        prop_assert_eq!(Header::decode(&bytes), Ok((header, len)));
    }

    #[test]
    fn one_header_at_most_recognises_a_packet(header in any_header(), bytes in any_bytes()) {
        prop_assert_eq!(Header::recognisers(&bytes_of(&header)), 1);
        // If a frame ends before its EtherType, both frame types of converged Ethernet recognise
        // the frame.
        prop_assert!(Header::recognisers(&bytes) <= 1 || bytes.len() < 18);
    }

    #[test]
    fn oracle_o7_decode_never_panics(bytes in any_bytes()) {
        decode_all(&bytes);
    }

    /// Changes one byte of a valid packet, then also cuts the packet off before this byte.
    #[test]
    fn damaged_packets_never_panic(header in any_header(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = bytes_of(&header);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        decode_all(&bytes);
        decode_all(&bytes[..at]);
    }
}

/// HULA's probe, the shim and Expeditus's tag have no checksum, as in their papers. Headers of other crates may also
/// have no checksum. No flip of a single bit turns the type of another packet into one of these types.
#[test]
fn no_flipped_bit_leads_to_a_packet_without_a_checksum() {
    let rated = (0x60_u8..0x70).chain(0xE0..=0xFF);
    let all = (0x20_u8..0x30).chain(rated).chain([
        0x01,
        0x06,
        0x10,
        0x31,
        0x41,
        0x42,
        0x43,
        0x44,
        0x45,
        0x47,
        0x48,
        0x49,
        0x83,
        Hello::TYPE,
        LinkStates::TYPE,
    ]);
    let unchecked = [Probe::TYPE, crate::Shim::TYPE, 0x99, crate::extension::TYPE];
    for first in all.chain(unchecked) {
        for other in unchecked.into_iter().filter(|&other| other != first) {
            assert!((first ^ other).count_ones() > 1, "{first:#04x} and {other:#04x}");
        }
    }
}
