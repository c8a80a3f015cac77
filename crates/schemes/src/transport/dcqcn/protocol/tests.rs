use super::*;
use raddle_core::{Bytes, Class, Duration, FlowId, FlowKey, HeaderInfo, NodeId};

const LINE_RATE: Rate = Rate::from_gbps(40);

fn host() -> Dcqcn {
    Dcqcn::new(Arc::new(Params::default()), LINE_RATE)
}

fn data(offset: u64, len: u16) -> Data {
    let (ack_request, birth) = (false, Time::ZERO);
    Data { dst: 9, src: 2, flow: 5, priority: 3, len, offset, size: 10_000, ack_request, birth }
}

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

/// The packet as it arrives after a switch has marked it.
fn marked(data: &Data) -> Packet {
    let mut packet = host().packet(data);
    assert!(packet.mark_congestion(), "data may be marked");
    packet
}

#[test]
fn data_are_writes_with_a_number_in_their_flow() {
    let packet = host().packet(&data(3_072, 1_024));
    assert_eq!(packet.size, 60 + 1_024);
    let Header::Roce(write) = &packet.header else { panic!("a RoCEv2 packet") };
    assert_eq!(
        write.kind,
        Kind::Write { psn: 3, plen: 1_024, offset: 3_072, size: 10_000, ack_request: false }
    );
    assert_eq!((write.ecn, write.src_port), (Ecn::Ect0, 0xC005));
    assert_eq!(host().read(&packet), Some(Arrival::Data(data(3_072, 1_024))));
    assert_eq!(packet.header.flow_key(), Some(host().key(2, 9, 5)));
    // The payload of 783 bytes is padded to 784 bytes, a multiple of four.
    assert_eq!(host().packet(&data(9_216, 783)).size, 60 + 784);
}

/// Packet numbers and flow numbers have 24 bits. After 2^24 packets or flows, they restart at 0.
#[test]
fn numbers_wrap_at_24_bits() {
    let many =
        Data { flow: NUMBERS + 1, offset: 1_024 * (u64::from(NUMBERS) + 2), size: 1 << 40, ..data(0, 8) };
    let packet = host().packet(&many);
    let Header::Roce(write) = &packet.header else { panic!("a RoCEv2 packet") };
    assert!(matches!(write.kind, Kind::Write { psn: 2, .. }), "{write:?}");
    assert_eq!((write.flow, host().key(2, 9, NUMBERS + 1)), (1, FlowKey(2 << 32 | 1)));
    assert_eq!(host().lane(9, 3, NUMBERS + 1), Lane::Of { flow: 1 });
}

#[test]
fn a_marked_packet_is_answered_with_a_notification_about_its_flow() {
    let mut receiver = host();
    assert_eq!(receiver.answer(us(0), &host().packet(&data(0, 1_024))), None, "not marked");
    let notification = receiver.answer(us(0), &marked(&data(0, 1_024))).expect("marked");
    assert_eq!((notification.size, notification.class()), (60, Class(6)));
    assert_eq!((notification.src(), notification.dst()), (NodeId(9), NodeId(2)));
    assert!(!notification.clone().mark_congestion(), "notifications are not marked in turn");
    assert_eq!(host().read(&notification), Some(Arrival::Notice { lane: Lane::Of { flow: 5 }, notice: () }));
    assert_eq!(receiver.answer(us(0), &notification), None);
}

#[test]
fn flows_are_notified_apart_each_once_in_50_us() {
    let mut receiver = host();
    let other = |at| Data { flow: 6, ..data(at, 1_024) };
    let mut answers = |at: u64, data: &Data| receiver.answer(us(at), &marked(data)).is_some();
    assert!(answers(0, &data(0, 1_024)));
    assert!(!answers(49, &data(1_024, 1_024)));
    assert!(answers(49, &other(0)), "another flow");
    assert!(answers(50, &data(2_048, 1_024)));
    assert!(!answers(98, &other(1_024)));
    assert_eq!(receiver.notification_points.len(), 2);
    receiver.complete(host().key(2, 9, 5));
    assert_eq!(receiver.notification_points.len(), 1);
}

/// The first notification halves the rate from 40 Gb/s to 20 Gb/s, because alpha is 1. At this rate, a packet of 1,084
/// bytes takes 433.6 ns.
#[test]
fn a_notification_spaces_packets_by_their_whole_length() {
    let mut limiter = host().limiter(9);
    limiter.sent(us(1), 1_024, false);
    assert!(limiter.ready_at() <= us(1), "at line rate, no packet waits");
    host().notice(us(1), (), &mut limiter);
    limiter.sent(us(1), 1_024, false);
    assert_eq!(limiter.ready_at(), us(1) + Duration::from_ps(433_600));
    assert_eq!(limiter.timer(), us(1) + Params::default().timer);
}

#[test]
fn a_flow_without_a_priority_has_the_transports() {
    let flow = Flow::new(FlowId(0), NodeId(2), NodeId(9), Bytes(1), Time::ZERO);
    assert_eq!(host().priority(&flow), 3);
    assert_eq!(host().priority(&Flow { priority: 5, ..flow }), 5);
}
