//! Frames as a Linux host sends them: handshakes with options, IPv6, ICMP, ARP and unknown EtherTypes.

use super::*;
use crate::exp::{Tag, Tagged};
use crate::tests::hex;
use crate::{Decoders, Header, PacketKind};
use proptest::prelude::*;

const ADDRESSES_2_FROM_1: &str = "06 00 00 00 00 02 06 00 00 00 00 01";
/// A SYN from 10.0.0.1:40000 to 10.0.0.2:5001 with ECT(0) and the options MSS, SACK permitted, timestamps and window
/// scale. Its IPv4 checksum was computed independently. Its TCP checksum is 0.
const SYN: &str = "08 00 45 02 00 3c 00 01 40 00 40 06 26 b7 0a 00 00 01 0a 00 00 02 \
                   9c 40 13 89 00 00 03 e8 00 00 00 00 a0 02 fa f0 00 00 00 00 \
                   02 04 05 b4 04 02 08 0a 00 00 10 00 00 00 00 00 01 03 03 07";
/// A TCP segment with three bytes of data over IPv6, after a hop-by-hop header, with traffic class 0x02 and
/// flow label 0x12345.
const TCP_V6: &str = "86 dd 60 21 23 45 00 1f 00 40 fd 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01 \
                      fd 00 00 00 00 00 00 00 00 00 00 00 00 00 00 02 06 00 01 04 00 00 00 00 \
                      9c 41 13 89 00 00 03 e8 00 00 00 07 50 10 fa f0 00 00 00 00 61 62 63";
const PING: &str =
    "08 00 45 00 00 1c 00 01 40 00 40 01 26 de 0a 00 00 01 0a 00 00 02 08 00 f7 fe 00 01 00 00";
const ARP: &str = "08 06 00 01 08 00 06 04 00 01 06 00 00 00 00 01 0a 00 00 01 06 00 00 00 00 02 0a 00 00 02";
const UNKNOWN: &str = "12 34 de ad be ef";

pub(crate) fn frame(rest: &str) -> Vec<u8> {
    hex(&[ADDRESSES_2_FROM_1, rest].join(" "))
}

fn view(rest: &str) -> FrameView {
    FrameView::read(&frame(rest)).expect("between hosts")
}

/// Tries to set the ECN mark through the view of the frame, and returns the resulting frame.
fn marked(frame: &[u8]) -> Vec<u8> {
    let mut header = Header::Frame(FrameView::read(frame).expect("between hosts"));
    header.mark_congestion();
    let mut out = vec![0xAA];
    header.encode_with(frame, &mut out).expect("the frame");
    out.split_off(1)
}

#[test]
fn a_view_has_the_fields_that_schemes_need() {
    let five = |rest| view(rest).five_tuple().map(|it| (it.src_port, it.dst_port, it.protocol));
    assert_eq!(five(SYN), Some((40_000, 5_001, 6)));
    assert_eq!(five(TCP_V6), Some((40_001, 5_001, 6)));
    assert_eq!(five(PING), Some((0, 0, 1)));
    assert_eq!([ARP, UNKNOWN].map(five), [None; 2]);
    for rest in [SYN, TCP_V6, PING, ARP, UNKNOWN] {
        let view = view(rest);
        assert_eq!((view.ends(), view.payload_len()), (Ends::new(1_u8, 2_u8), frame(rest).len()));
        assert_eq!(view.opening(), (rest == SYN).then_some(Opening::Syn));
        assert_eq!(view.data_len(), if rest == TCP_V6 { 3 } else { 0 });
        assert_eq!(view.kind(), if rest == TCP_V6 { PacketKind::Data } else { PacketKind::Ack });
        assert_eq!(view.class(), Class(0));
    }
}

#[test]
fn vlan_tags_bring_a_priority_and_padding_is_no_payload() {
    let tagged = frame(&["81 00 a0 05 88 a8 00 01", SYN, "00 00 00"].join(" "));
    let view = FrameView::read(&tagged).expect("between hosts");
    assert_eq!((view.class(), view.opening(), view.data_len()), (Class(5), Some(Opening::Syn), 0));
    let after = marked(&tagged);
    let changed: Vec<usize> = (0..after.len()).filter(|&at| after[at] != tagged[at]).collect();
    assert_eq!(changed, [23, 33], "the mark and IPv4's checksum");
}

/// Compares a frame with the same frame after an ECN mark.
#[test]
fn a_mark_changes_the_ecn_field_and_ipv4s_checksum_alone() {
    let before = frame(SYN);
    let after = marked(&before);
    assert_eq!((after[15], &after[24..26]), (0x03, &[0x26, 0xb6][..]));
    assert_eq!(checksum::verify(checksum::sum(&after[14..34])), Ok(()));
    assert_eq!((&after[..15], &after[16..24], &after[26..]), (&before[..15], &before[16..24], &before[26..]));

    let before = frame(TCP_V6);
    let after = marked(&before);
    assert_eq!((before[15], after[15]), (0x21, 0x31));
    assert_eq!((&after[..15], &after[16..]), (&before[..15], &before[16..]));

    for rest in [PING, ARP, UNKNOWN] {
        assert_eq!(marked(&frame(rest)), frame(rest), "nothing to mark");
    }
}

#[test]
fn headers_are_enough_for_a_view_and_a_frame_that_is_not_marked_need_not_be_written() {
    let padded = |rest| [&frame(rest)[..], &[0; 1_400]].concat();
    for (rest, headers) in [(SYN, 54), (PING, 34), (ARP, 18), (UNKNOWN, 18), (TCP_V6, 14 + 40 + 8 + 20)] {
        let whole = padded(rest);
        assert_eq!(FrameView::read_front(&whole[..headers], whole.len()), Some(FrameView::read(&whole)));
    }
    let mut short = frame(SYN);
    short[16..18].fill(0);
    let view = FrameView::read(&short).expect("between hosts");
    assert_eq!(view.five_tuple(), None, "a packet that is shorter than its header");
    let whole = padded(SYN);
    assert_eq!(FrameView::read_front(&whole[..53], whole.len()), None, "the flags of TCP are not at hand");
    let mut view = FrameView::read(&whole).expect("between hosts");
    assert!(view.patch_front(&mut []));
    assert!(view.mark_congestion() && !view.patch_front(&mut []));
}

#[test]
fn fragments_of_a_packet_are_one_flow() {
    let mut first = frame(SYN);
    first[20] = 0x20; // more fragments
    let mut second = first.clone();
    (second[20], second[21], second[34]) = (0, 9, 0xFF);
    let five = |frame: &[u8]| FrameView::read(frame).expect("between hosts").five_tuple();
    assert_eq!(five(&first), five(&second));
    assert_eq!(five(&first).map(FiveTuple::ports), Some(0));
}

#[test]
fn frames_of_other_systems_are_decoded_only_on_request() {
    let told = Decoders::BUILTIN.with_frames();
    for rest in [SYN, TCP_V6, PING, ARP, UNKNOWN] {
        let bytes = frame(rest);
        assert_eq!(told.decode(&bytes), Ok((Header::Frame(view(rest)), 0)));
        assert_eq!(Header::decode(&bytes), Err(Error::UnknownType(6)));
    }
    let data = crate::tests::bytes_of(&Header::Cee(crate::cee::tests::FRAME));
    assert_eq!(
        told.decode(&data),
        Header::decode(&data),
        "a frame of converged Ethernet is none of another system"
    );
    let mut broadcast = frame(ARP);
    broadcast[..6].fill(0xFF);
    assert!(FrameView::read(&broadcast).is_err() && told.decode(&broadcast).is_err());
}

#[test]
fn a_tag_goes_in_front_of_a_frame_and_comes_off_again() {
    let bytes = frame(SYN);
    let tagged = Header::Exp(Box::new(Tagged { tag: Tag::request([3, 1]), inner: Header::Frame(view(SYN)) }));
    let mut out = Vec::new();
    tagged.encode_with(&bytes, &mut out).expect("the frame");
    assert_eq!(out, [&hex("99 00 02 31")[..], &bytes].concat());
    assert_eq!(Decoders::BUILTIN.with_frames().decode(&out), Ok((tagged.clone(), 4)));
    assert_eq!((tagged.opening(), tagged.framing()), (Some(Opening::Syn), Framing::Frame { tag: 4, fcs: 0 }));
}

/// Generates damaged frames, which reach all layers of the decoder, and random bytes.
fn any_frame() -> impl Strategy<Value = Vec<u8>> {
    let vectors = [SYN, TCP_V6, PING, ARP, UNKNOWN].map(frame).to_vec();
    let flips = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    let likely = (prop::sample::select(vectors), flips, any::<prop::sample::Index>(), any::<bool>());
    let damaged = likely.prop_map(|(mut frame, flips, end, is_cut)| {
        for (at, value) in flips {
            let len = frame.len();
            frame[at.index(len)] = value;
        }
        frame.truncate(if is_cut { end.index(frame.len()) } else { frame.len() });
        frame
    });
    prop_oneof![damaged, prop::collection::vec(any::<u8>(), 0..90)]
}

proptest! {
    #[test]
    fn any_frame_is_read_or_refused_and_given_back(frame in any_frame()) {
        let mut patched = frame.clone();
        write_ecn(&mut patched, Ecn::Ce);
        prop_assert_eq!(patched.len(), frame.len());
        if let Ok(view) = FrameView::read(&frame) {
            let mut out = Vec::new();
            Header::Frame(view).encode_with(&frame, &mut out).expect("the frame");
            prop_assert_eq!(&out, &frame);
            let changed = marked(&frame).iter().zip(&frame).filter(|(new, old)| new != old).count();
            prop_assert!(changed <= 3, "the ECN field and IPv4's checksum");
        }
    }

    /// A relay that reads only the front of a frame gets the view of the whole frame, or detects that it
    /// needs more bytes.
    #[test]
    fn a_front_is_read_as_the_whole_frame_or_not_at_all(frame in any_frame(), end: prop::sample::Index) {
        let front = &frame[..end.index(frame.len() + 1)];
        if let Some(read) = FrameView::read_front(front, frame.len()) {
            prop_assert_eq!(read, FrameView::read(&frame));
        }
    }

    /// RFC 1624: an incremental update of a correct checksum gives a correct checksum.
    #[test]
    fn a_patched_checksum_is_right(mut header: [u8; 20], ecn in 0..4_u8) {
        header[0] = 0x45;
        put16(&mut header, IPV4_CHECKSUM, 0);
        let sum = checksum::sum(&header);
        put16(&mut header, IPV4_CHECKSUM, !checksum::fold(sum));
        let mut frame = [&hex(ADDRESSES_2_FROM_1)[..], &[8, 0], &header].concat();
        write_ecn(&mut frame, Ecn::of(ecn));
        prop_assert_eq!(checksum::verify(checksum::sum(&frame[14..])), Ok(()));
        prop_assert_eq!(frame[15], header[1] & !3 | ecn);
    }
}
