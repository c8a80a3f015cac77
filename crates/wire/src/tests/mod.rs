//! Oracle O7 of specifications/r2c2.md: headers are encoded to known bytes, and damaged bytes are refused.

mod hostile;
mod properties;

use crate::cee::Frame;
use crate::cnm::Notice;
use crate::credit::Credit;
use crate::discovery::{Hello, LinkState, LinkStates};
use crate::exp::Tagged;
use crate::hula::Probe;
use crate::pfc::Pause;
use crate::r2c2::*;
use crate::roce::{Kind, Packet};
use crate::tcp::{ACK, Segment};
use crate::udp::Datagram;
use crate::{
    Ecn, Error, FlowKey, FlowRange, Header, HeaderInfo, Mac, Minifloat, Position, d3, pdq, rated, rcp,
};
use proptest::prelude::*;

pub(crate) fn hex(text: &str) -> Vec<u8> {
    text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

pub(crate) fn bytes_of(header: &Header) -> Vec<u8> {
    let mut bytes = Vec::new();
    header.encode(&mut bytes);
    bytes
}

fn start() -> Event {
    Event {
        kind: EventKind::Start,
        tree: 0,
        src: 5,
        dst: 300,
        weight: 1,
        priority: 8,
        protocol: 0,
        demand_kbps: UNLIMITED_KBPS,
        lid: 1,
    }
}

/// Returns a packet from node 0 to node 74 on an 8x8x8 torus. Its route uses the ports [0, 0, 2, 4].
fn short_data() -> Data {
    Data {
        flow: flow_handle(0, 7),
        src: 0,
        dst: 74,
        seq: 1,
        plen: 3,
        rlen: 4,
        ridx: 0,
        flags: FLAG_PAYLOAD_COVERED,
        route: Route::from_ports([0_u8, 0, 2, 4], 3).unwrap(),
    }
}

/// Returns a packet with the longest route at 3 bits per hop.
fn long_data() -> Data {
    Data {
        flow: flow_handle(1, 3),
        src: 1,
        dst: 2,
        seq: 0xdead_beef,
        plen: 0,
        rlen: 42,
        ridx: 0,
        flags: FLAG_PAYLOAD_COVERED | FLAG_LAST,
        route: Route::from_ports((0..42_u16).map(|hop| hop % 6), 3).unwrap(),
    }
}

const SHORT_DATA: &str = "10 04 00 01 00 00 00 07 00 00 00 4a 00 00 00 01 ea 63 00 03 01 40 \
                          00 00 00 00 00 00 00 00 00 00 00 00 00 00 01 02 03";
const LONG_DATA: &str = "10 2a 00 03 00 01 00 03 00 01 00 02 de ad be ef 67 13 00 00 \
                         05 39 41 4e 50 53 94 14 e5 05 39 41 4e 50 53 94";
const ANNOUNCEMENT: &str = "31 01 00 09 00 02 00 02 99 d7 00 00 00 05 00 01 02 01 ff 12 34 00";

const CONTROLLER_EVENT: &str = "42 04 00 01 00 00 00 07 00 00 00 4a 00 00 00 01 bc 58 00 10 01 40 \
                                00 00 00 00 00 00 00 00 00 00 00 00 00 00 \
                                21 00 00 05 01 2c 01 80 ff ff ff ff 00 01 dc 4d";
const CONTROLLER_RATES: &str = "43 04 00 01 00 00 00 07 00 00 00 4a 00 00 00 01 24 3a 00 0c 01 40 \
                                00 00 00 00 00 00 00 00 00 00 00 00 00 00 \
                                00 01 00 98 96 80 00 09 00 00 00 00";

const DIGEST: &str = "26 03 01 ff 01 23 45 67 89 ab cd ef 00 00 39 d8";
const SNAPSHOT_REQUEST: &str = "47 04 00 01 00 00 00 07 00 00 00 4a 00 00 00 01 b7 68 00 00 01 40 \
                                00 00 00 00 00 00 00 00 00 00 00 00 00 00";
const RESEND_REQUEST: &str = "44 04 00 01 00 00 00 07 00 00 00 4a 00 00 00 01 ba 68 00 00 01 40 \
                              00 00 00 00 00 00 00 00 00 00 00 00 00 00";
const SNAPSHOT: &str = "49 04 00 01 00 00 00 07 00 00 00 4a 00 00 00 01 d9 2b 00 20 01 40 \
                        00 00 00 00 00 00 00 00 00 00 00 00 00 00 01 23 45 67 89 ab cd ef 00 01 ff ff \
                        00 07 00 4a 01 80 ff ff ff ff 12 34 00 09 04 22 00 26 25 a0";

fn request(wanted: Wanted) -> Request {
    Request { data: Data { plen: 0, ..short_data() }, wanted }
}

fn snapshot(first: u16, flows: Vec<FlowState>) -> Snapshot {
    let data = Data { plen: Snapshot::plen(flows.len()), ..short_data() };
    let body = SnapshotBody { hash: 0x0123_4567_89ab_cdef, first, last: u16::MAX, flows };
    Snapshot { data, body: body.into() }
}

fn two_flows() -> Vec<FlowState> {
    let flow =
        FlowState { lid: 7, dst: 74, weight: 1, priority: 8, protocol: 0, demand_kbps: UNLIMITED_KBPS };
    let other =
        FlowState { lid: 0x1234, dst: 9, weight: 4, priority: 2, protocol: 2, demand_kbps: 2_500_000 };
    vec![flow, other]
}

fn notice() -> DropNotice {
    let data = Data { plen: DropNotice::PAYLOAD_LEN, ..short_data() };
    DropNotice { data, dropped: start(), node: 9, port: 2, reason: NoticeReason::LinkDown }
}

/// Returns an acknowledgement of the packets up to 99 and of packets 103 and 104.
fn acknowledgement() -> Acknowledgement {
    let data = Data { plen: Acknowledgement::PAYLOAD_LEN, seq: 104, ..short_data() };
    Acknowledgement { data, next: 100, window: 500, from: 3, arrived: [0xc0, 0, 0, 0, 0, 0, 0, 0] }
}

fn controller_event() -> ControllerEvent {
    ControllerEvent { data: Data { plen: 16, ..short_data() }, event: start() }
}

fn controller_rates() -> ControllerRates {
    let rates = [FlowRate { lid: 1, kbps: 10_000_000 }, FlowRate { lid: 9, kbps: 0 }];
    ControllerRates { data: Data { plen: 12, ..short_data() }, rates: rates.into() }
}

pub(crate) fn segment() -> Segment {
    Segment {
        src: 1,
        dst: 0x02_03_04,
        src_port: 1_000,
        dst_port: 80,
        seq: 0x0102_0304,
        window: 64,
        plen: 4,
        ..Segment::default()
    }
}

/// Returns the second datagram of a flow of 64 KiB. The first datagram carries 1,456 bytes.
pub(crate) fn datagram() -> Datagram {
    Datagram {
        src: 1,
        dst: 0x02_03_04,
        src_port: 1_000,
        dst_port: 80,
        plen: 4,
        ecn: Ecn::NotEct,
        offset: 1_456,
        size: 65_536,
    }
}

fn pause() -> Pause {
    Pause { src: Mac::host(1), enabled: 0x81, quanta: [1, 0, 0, 0, 0, 0, 0, 0xffff] }
}

#[test]
fn oracle_o7_event_vectors() {
    let vectors = [
        (start(), "21 00 00 05 01 2c 01 80 ff ff ff ff 00 01 dc 4d"),
        (
            Event { kind: EventKind::Finish, demand_kbps: 0, ..start() },
            "22 00 00 05 01 2c 01 80 00 00 00 00 00 01 db 4d",
        ),
        (
            Event {
                kind: EventKind::Demand,
                tree: 3,
                src: 511,
                dst: 0,
                weight: 4,
                priority: 2,
                protocol: 2,
                demand_kbps: 2_500_000,
                lid: 0x1234,
            },
            "23 03 01 ff 00 00 04 22 00 26 25 a0 12 34 9e e1",
        ),
        (
            Event {
                kind: EventKind::Route,
                tree: 7,
                src: 0,
                dst: 511,
                weight: 255,
                priority: 15,
                protocol: 2,
                demand_kbps: 0xffff_fffe,
                lid: 0xffff,
            },
            "24 07 00 00 01 ff ff f2 ff ff ff fe ff ff da 07",
        ),
    ];
    for (event, text) in vectors {
        assert_eq!(event.encode()[..], hex(text), "{event:?}");
        assert_eq!(Event::decode(&hex(text)), Ok(event));
    }
}

#[test]
fn oracle_o7_data_vectors() {
    for (data, payload, text) in [(short_data(), &[1, 2, 3][..], SHORT_DATA), (long_data(), &[], LONG_DATA)] {
        let mut bytes = Vec::new();
        Header::R2c2Data(data).encode_with(payload, &mut bytes).unwrap();
        assert_eq!(bytes, hex(text));
        assert_eq!(Header::decode(&bytes), Ok((Header::R2c2Data(data), 36)));
    }
}

#[test]
fn oracle_o7_relays_change_the_hop_index_alone() {
    let before = short_data().encode(&[1, 2, 3]);
    let after = Data { ridx: 2, ..short_data() }.encode(&[1, 2, 3]);
    let changed: Vec<usize> = (0..Data::LEN).filter(|&at| before[at] != after[at]).collect();
    assert_eq!(changed, [2]);
    assert_eq!(after[2], 2);
    let mut bytes = hex(SHORT_DATA);
    bytes[2] = 2;
    assert_eq!(Data::decode(&bytes), Ok(Data { ridx: 2, ..short_data() }));
}

#[test]
fn oracle_o7_announcement_vector() {
    let assignments = [
        Assignment { flow: flow_handle(5, 1), protocol: 2 },
        Assignment { flow: flow_handle(511, 0x1234), protocol: 0 },
    ];
    let announcement = Announcement { tree: 1, src: 9, epoch: 2, assignments: assignments.into() };
    let mut bytes = Vec::new();
    announcement.encode(&mut bytes).unwrap();
    assert_eq!(bytes, hex(ANNOUNCEMENT));
    assert_eq!(Announcement::decode(&bytes), Ok(announcement));
}

#[test]
fn oracle_o7_controller_vectors() {
    let vectors = [
        (Header::R2c2ControllerEvent(controller_event()), CONTROLLER_EVENT),
        (Header::R2c2ControllerRates(controller_rates().into()), CONTROLLER_RATES),
    ];
    for (header, text) in vectors {
        assert_eq!(bytes_of(&header), hex(text), "{header:?}");
        assert_eq!(Header::decode(&hex(text)), Ok((header, hex(text).len())));
    }
}

#[test]
fn controller_packets_of_a_wrong_length_are_refused() {
    let refused = |kind, plen: u16| {
        let data = bytes_of(&Header::R2c2Data(Data { plen, ..short_data() }));
        assert_eq!(refused_field(data, 0, kind, 16), Error::Invalid { field: "plen", value: plen.into() });
    };
    refused(ControllerEvent::TYPE, 15);
    refused(ControllerEvent::TYPE, 17);
    refused(ControllerRates::TYPE, 5);
    refused(ControllerRates::TYPE, 13);
}

#[test]
fn an_announcement_holds_300_assignments_in_1512_bytes_and_no_more() {
    let of = |assignments: Vec<Assignment>| Announcement {
        tree: 0,
        src: 0,
        epoch: 0,
        assignments: assignments.into(),
    };
    let mut assignments = vec![Assignment { flow: 1, protocol: 15 }; 300];
    let mut bytes = Vec::new();
    of(assignments.clone()).encode(&mut bytes).unwrap();
    assert_eq!(bytes.len(), 1_512);
    assert_eq!(Announcement::decode(&bytes).unwrap().assignments.len(), 300);
    assignments.push(assignments[0]);
    let refused = Err(Error::Invalid { field: "count", value: 301 });
    assert_eq!(of(assignments).encode(&mut bytes), refused);
    assert_eq!(bytes.len(), 1_512, "nothing is written on an error");
    let wrong = Assignment { flow: 1, protocol: 16 };
    assert_eq!(of(vec![wrong]).encode(&mut bytes), Err(Error::Invalid { field: "rp", value: 16 }));
}

/// Checks that every flip of a single bit is detected, except in the `free` bytes.
fn assert_flips_are_noticed(bytes: &[u8], free: &[usize], decodes: impl Fn(&[u8]) -> bool) {
    assert!(decodes(bytes));
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 0x80 >> (bit % 8);
        if !free.contains(&(bit / 8)) {
            assert!(!decodes(&flipped), "bit {bit} of {bytes:02x?}");
        }
    }
}

#[test]
fn packets_that_mend_broadcasts_match_their_vectors() {
    let digest = Digest { tree: 3, src: 511, hash: 0x0123_4567_89ab_cdef };
    for (header, vector) in [
        (Header::R2c2Digest(digest), DIGEST),
        (Header::R2c2Request(request(Wanted::Resend)), RESEND_REQUEST),
        (Header::R2c2Request(request(Wanted::Snapshot)), SNAPSHOT_REQUEST),
        (Header::R2c2Snapshot(snapshot(1, two_flows())), SNAPSHOT),
    ] {
        assert_eq!(bytes_of(&header), hex(vector));
        assert_eq!(Header::decode(&hex(vector)), Ok((header, hex(vector).len())));
    }
}

#[test]
fn a_full_snapshot_fits_a_packet_of_1500_bytes() {
    let full = snapshot(0, vec![two_flows()[0]; Snapshot::MAX_FLOWS]);
    let bytes = bytes_of(&Header::R2c2Snapshot(full.clone()));
    assert!(bytes.len() <= 1_500 && bytes.len() + FlowState::LEN > 1_500, "{}", bytes.len());
    assert_eq!(Snapshot::decode(&bytes), Ok(full));
}

#[test]
fn oracle_o7_single_bit_flips_are_detected() {
    let decodes = |bytes: &[u8]| Header::decode(bytes).is_ok();
    assert_flips_are_noticed(&start().encode(), &[], decodes);
    assert_flips_are_noticed(&hex(SHORT_DATA), &[2], decodes);
    assert_flips_are_noticed(&hex(LONG_DATA), &[2], decodes);
    assert_flips_are_noticed(&notice().encode(), &[2], decodes);
    assert_flips_are_noticed(&acknowledgement().encode(), &[2], decodes);
    assert_flips_are_noticed(&hex(DIGEST), &[], decodes);
    for vector in [RESEND_REQUEST, SNAPSHOT_REQUEST, SNAPSHOT] {
        assert_flips_are_noticed(&hex(vector), &[2], decodes);
    }
    let mut sacked = Segment { flags: ACK, sack_count: 2, ..segment() };
    sacked.sack[0] = (5, 9);
    assert_flips_are_noticed(&bytes_of(&Header::Tcp(sacked)), &[], decodes);
    assert_flips_are_noticed(&bytes_of(&Header::Udp(datagram())), &[], decodes);
    for header in [
        Header::Cee(crate::cee::tests::FRAME),
        Header::Pfc(pause()),
        Header::Cnm(crate::cnm::tests::NOTICE),
        Header::Pdq(pdq::tests::PACKET),
        Header::D3(d3::tests::PACKET),
        Header::Rcp(rcp::tests::PACKET),
    ] {
        assert_flips_are_noticed(&bytes_of(&header), &[], decodes);
    }
    assert_flips_are_noticed(&hex(ANNOUNCEMENT), &[], |bytes| Announcement::decode(bytes).is_ok());
    assert_flips_are_noticed(&hex(CONTROLLER_EVENT), &[2], decodes);
    assert_flips_are_noticed(&hex(CONTROLLER_RATES), &[2], decodes);
}

#[test]
fn a_payload_that_is_not_covered_may_change() {
    let data = Data { flags: 0, ..short_data() };
    let mut bytes = bytes_of(&Header::R2c2Data(data));
    bytes[Data::LEN] ^= 1;
    assert_eq!(Data::decode(&bytes), Ok(data));
}

#[test]
fn every_prefix_of_a_packet_is_truncated() {
    let packets = [
        Header::R2c2Data(short_data()),
        Header::R2c2Event(start()),
        Header::R2c2DropNotice(notice()),
        Header::R2c2Acknowledgement(acknowledgement()),
        Header::R2c2ControllerEvent(controller_event()),
        Header::R2c2ControllerRates(controller_rates().into()),
        Header::R2c2Digest(Digest { tree: 0, src: 1, hash: 2 }),
        Header::R2c2Request(request(Wanted::Resend)),
        Header::R2c2Request(request(Wanted::Snapshot)),
        Header::R2c2Snapshot(snapshot(1, two_flows())),
        Header::Tcp(segment()),
        Header::Udp(datagram()),
        Header::Cee(crate::cee::tests::FRAME),
        Header::Pfc(pause()),
        Header::Cnm(crate::cnm::tests::NOTICE),
        Header::Roce(crate::roce::tests::WRITE),
        Header::Roce(crate::roce::tests::NOTIFICATION),
        Header::Roce(crate::roce::tests::ACKNOWLEDGEMENT),
        Header::Pdq(pdq::tests::PACKET),
        Header::D3(d3::tests::PACKET),
        Header::Rcp(rcp::tests::PACKET),
    ];
    for bytes in packets.map(|header| bytes_of(&header)) {
        for have in 0..bytes.len() {
            let error = Header::decode(&bytes[..have]).unwrap_err();
            assert!(
                matches!(error, Error::Truncated { have: h, need } if h == have && need > have),
                "{error}"
            );
        }
    }
}

/// Sets one byte of a valid packet, corrects the checksum, and returns the decoder's error, which can concern only this
/// field.
fn refused_field(mut bytes: Vec<u8>, at: usize, value: u8, checksum_at: usize) -> Error {
    bytes[at] = value;
    bytes[checksum_at..checksum_at + 2].fill(0);
    let sum = crate::checksum::fold(crate::checksum::sum(&bytes));
    bytes[checksum_at..checksum_at + 2].copy_from_slice(&(!sum).to_be_bytes());
    Header::decode(&bytes).unwrap_err()
}

#[test]
fn values_that_the_formats_forbid_are_refused() {
    let invalid = |field, value| Error::Invalid { field, value };
    assert_eq!(refused_field(start().encode().to_vec(), 6, 0, 14), invalid("weight", 0));
    assert_eq!(refused_field(hex(LONG_DATA), 1, 43, 16), invalid("rlen", 43));
    assert_eq!(refused_field(hex(LONG_DATA), 3, 4, 16), invalid("flags", 4));
    let mut overshot = hex(LONG_DATA);
    overshot[2] = 43;
    assert_eq!(Header::decode(&overshot), Err(invalid("ridx", 43)));
    let unprotected = DropNotice { data: Data { flags: 0, ..notice().data }, ..notice() };
    let mut strange = unprotected.encode();
    strange[Data::LEN + 19] = 2;
    assert_eq!(DropNotice::decode(&strange), Err(invalid("reason", 2)));
    assert_eq!(refused_field(hex(DIGEST), 13, 1, 14), invalid("zero", 1));
    let mut unprotected = snapshot(1, two_flows());
    unprotected.data.flags = 0;
    for (at, field, value) in [(16, "weight", 0), (9, "lid", 7)] {
        let mut strange = bytes_of(&Header::R2c2Snapshot(unprotected.clone()));
        strange[Data::LEN + at] = if field == "lid" { 8 } else { 0 };
        assert_eq!(Header::decode(&strange), Err(invalid(field, value)));
    }
    for (kind, plen) in [(0x44, 1), (0x47, 1), (0x48, 11), (0x48, 13)] {
        let mut bytes = hex(SNAPSHOT);
        (bytes[0], bytes[3], bytes[19]) = (kind, 0, plen);
        bytes[Data::LEN..].fill(0); // so that a checksum over all bytes equals a checksum over the header
        assert_eq!(refused_field(bytes, 19, plen, 16), invalid("plen", plen.into()), "{kind:#x}");
    }
    assert_eq!(Header::decode(&[0x11; 64]), Err(Error::UnknownType(0x11)));
    assert_eq!(Header::decode(&[0x46; 64]), Err(Error::UnknownType(0x46)), "IPv4 options are not spoken");
}

#[test]
fn oracle_o7_acknowledgement_vector() {
    let bytes = hex("48 04 00 01 00 00 00 07 00 00 00 4a 00 00 00 68 f3 95 00 10 01 40 \
                     00 00 00 00 00 00 00 00 00 00 00 00 00 00 \
                     00 00 00 64 01 f4 00 03 c0 00 00 00 00 00 00 00");
    assert_eq!(acknowledgement().encode()[..], bytes);
    assert_eq!(Acknowledgement::decode(&bytes), Ok(acknowledgement()));
    let mut longer = bytes.clone();
    longer[3] = 0;
    longer[16..18].copy_from_slice(&[0, 0]);
    assert_eq!(
        refused_field(longer[..Data::LEN].to_vec(), 19, 0, 16),
        Error::Invalid { field: "plen", value: 0 }
    );
}

#[test]
fn an_acknowledgement_names_the_packets_beyond_the_next() {
    assert_eq!(acknowledgement().packets().collect::<Vec<_>>(), [103, 104]);
    let at_the_end =
        Acknowledgement { next: u32::MAX - 1, arrived: [0, 0, 0, 0, 0, 0, 0, 1], ..acknowledgement() };
    assert_eq!(at_the_end.packets().collect::<Vec<_>>(), [64], "numbers wrap");
}

#[test]
fn control_packets_name_the_flow_they_are_about() {
    let key = |header: Header| header.flow_key();
    assert_eq!(key(Header::R2c2Event(start())), Some(FlowKey(5 << 16 | 1)));
    assert_eq!(key(Header::R2c2DropNotice(notice())), Some(FlowKey(5 << 16 | 1)));
    assert_eq!(key(Header::R2c2Acknowledgement(acknowledgement())), Some(FlowKey(7)));
    assert_eq!(key(Header::R2c2ControllerEvent(controller_event())), Some(FlowKey(5 << 16 | 1)));
    assert_eq!(key(Header::R2c2Request(request(Wanted::Resend))), None);
}

/// For every transport, checks the flow's key, and the position and number of the packet's data bytes.
#[test]
fn a_packet_with_data_says_which_bytes_of_which_flow_it_holds() {
    let rated = rated::tests::DATA;
    let write = crate::roce::tests::WRITE;
    let frame = crate::cee::tests::FRAME;
    for (header, key, position, len) in [
        (Header::Tcp(segment()), segment().key(), Position::WrappedByte(0x0102_0303), 4),
        (Header::Udp(datagram()), datagram().key(), Position::Byte(1_456), 4),
        (Header::R2c2Data(short_data()), FlowKey(7), Position::Packet(1), 3),
        (Header::Cee(frame), frame.key(), Position::Byte(1_500), 64),
        (Header::Roce(write), write.key(), Position::Byte(4_096), 3),
        (Header::Pdq(pdq::tests::PACKET), rated.key(), Position::Packet(2), 3),
        (Header::D3(d3::tests::PACKET), rated.key(), Position::Packet(2), 3),
        (Header::Rcp(rcp::tests::PACKET), rated.key(), Position::Packet(2), 3),
    ] {
        assert_eq!(header.range(), Some(FlowRange { key, position, len }), "{header:?}");
        assert_eq!(header.flow_key(), Some(key), "{header:?}");
        let tagged = Tagged { tag: crate::exp::Tag::request([1]), inner: header.clone() };
        assert_eq!(tagged.range(), header.range());
    }
    for header in [
        Header::Tcp(Segment { plen: 0, ..segment() }),
        Header::R2c2Acknowledgement(acknowledgement()),
        Header::Roce(crate::roce::tests::NOTIFICATION),
        Header::Roce(crate::roce::tests::ACKNOWLEDGEMENT),
        Header::Pfc(pause()),
    ] {
        assert_eq!(header.range(), None, "{header:?}");
    }
}

/// RoCEv2 uses UDP. The UDP source port distinguishes the flows between two hosts.
#[test]
fn packets_over_ipv4_have_a_five_tuple() {
    let five = |header: Header| header.five_tuple().map(|it| (it.src_port, it.dst_port, it.protocol));
    assert_eq!(five(Header::Tcp(segment())), Some((1_000, 80, 6)));
    assert_eq!(five(Header::Udp(datagram())), Some((1_000, 80, 17)));
    assert_eq!(five(Header::Roce(crate::roce::tests::WRITE)), Some((0xC001, 4_791, 17)));
    assert_eq!(five(Header::R2c2Data(short_data())), None);
}
