//! Every decoder reads mutations of valid packets. No decoder panics, and a decoded packet can be encoded and decoded
//! again. In the first test, the checksums of about half of the inputs are corrected, so that these inputs reach the
//! code after the checksum tests.

#![allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]

use super::properties::any_header;
use super::*;
use crate::crc::crc32;
use crate::roce::icrc;
use crate::{Decoders, dcbx, ethernet};
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use raddle_mutate::{Mutator, hex as shown, hold};

/// Returns valid packets that cover every built-in header. Every call returns the same packets.
fn packets() -> Vec<Vec<u8>> {
    let mut runner = TestRunner::deterministic();
    let mut packet = || bytes_of(&any_header().new_tree(&mut runner).unwrap().current());
    (0..1_000).map(|_| packet()).collect()
}

/// Sets the 16 bits at `at` so that the one's-complement sum of the words of `covered`, plus `more`, is 0xFFFF.
fn put_sum(bytes: &mut [u8], covered: std::ops::Range<usize>, at: usize, more: usize) {
    bytes[at..at + 2].fill(0);
    let Some(covered) = bytes.get(covered) else { return };
    let word = |pair: &[u8]| usize::from(pair[0]) << 8 | usize::from(*pair.get(1).unwrap_or(&0));
    let sum = (more + covered.chunks(2).map(word).sum::<usize>()) % 0xFFFF;
    bytes[at..at + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

/// Corrects the checksums of a packet. The checksums of random bytes would almost never be correct.
fn seal(bytes: &mut [u8]) {
    let word = |bytes: &[u8], at| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    match (bytes.first(), bytes.len()) {
        (Some(0x10 | 0x41..=0x44 | 0x47..=0x49), 36..) => {
            let covered = if bytes[3] & 1 == 1 { word(bytes, 18) } else { 0 };
            let ridx = std::mem::take(&mut bytes[2]);
            if matches!(bytes[0], 0x41 | 0x42) && bytes.len() >= 52 {
                put_sum(bytes, 36..52, 50, 0); // the checksum of the event in the payload
            }
            put_sum(bytes, 0..36 + covered, 16, 0);
            bytes[2] = ridx;
        }
        (Some(0x20..=0x2F), 16..) => put_sum(bytes, 0..16, 14, 0),
        (Some(0x31), 12..) => {
            let end = 12 + 5 * word(bytes, 6);
            put_sum(bytes, 0..end, 8, 0);
        }
        (Some(0x45), 60..) if word(bytes, 22) == usize::from(Packet::PORT) => {
            put_sum(bytes, 0..20, 10, 0);
            let total = word(bytes, 2);
            if (60..=bytes.len()).contains(&total) {
                let crc = icrc(&bytes[..total - 4]);
                bytes[total - 4..total].copy_from_slice(&crc);
            }
        }
        (Some(0x45), 40..) => {
            put_sum(bytes, 0..20, 10, 0);
            let total = word(bytes, 2);
            let (protocol, at) = if bytes[9] == 17 { (17, 26) } else { (6, 36) };
            let addresses = (12..20).step_by(2).map(|at| word(bytes, at)).sum::<usize>();
            put_sum(bytes, 20..total, at, addresses + protocol + total.saturating_sub(20));
        }
        (Some(0x60..=0x6F | 0xE0..), 40..) => {
            let end = 40 + word(bytes, 16);
            put_sum(bytes, 0..end, 4, 0);
        }
        (Some(&Credit::TYPE), Credit::LEN..) => put_sum(bytes, 0..Credit::LEN, 2, 0),
        // Expeditus's tag has no checksum, but the packet after the tag has one.
        (Some(0x99), 4..) => {
            let tag = 3 + usize::from(bytes[2] & 0x7F).div_ceil(2);
            if let Some(inner) = bytes.get_mut(tag..) {
                seal(inner);
            }
        }
        (Some(&Hello::TYPE), 16..) => put_sum(bytes, 0..16, 2, 0),
        (Some(&LinkStates::TYPE), 4..) => {
            let end = 4 + 8 * usize::from(bytes[1]);
            put_sum(bytes, 0..end, 2, 0);
        }
        (Some(0x01 | 0x06), 64..) => {
            let data = bytes[16..18] == Frame::ETHERTYPE.to_be_bytes();
            let len = if data { word(bytes, 46).max(64) } else { 64 };
            if let Some(frame) = bytes.get_mut(..len) {
                let (covered, fcs) = frame.split_at_mut(len - 4);
                fcs.copy_from_slice(&crc32(covered));
            }
        }
        _ => {}
    }
}

/// Reads the bytes with every decoder. Checks that a decoded packet can be encoded and decoded again. Returns true if
/// `decoders` read a header.
fn check(bytes: &[u8], decoders: &Decoders) -> bool {
    check_frame(bytes);
    let _ = dcbx::Announcement::decode(bytes);
    let _ = Announcement::decode(bytes);
    let _ = crate::Shim::decode(bytes);
    let front = &bytes[..bytes.len().min(64)];
    let _ = decoders.decode_front(front, bytes.len());
    let Ok((header, len)) = decoders.decode(bytes) else { return false };
    let payload = &bytes[len..len + header.payload_len()];
    let mut again = Vec::with_capacity(bytes.len());
    header.encode_with(payload, &mut again).expect("the payload is as long as the header says");
    let len = header.wire_len() - header.trailer_len();
    assert_eq!(decoders.decode(&again), Ok((header, len)));
    true
}

/// Treats the bytes as an Ethernet frame. Checks that a removed tag can be inserted again, and that the
/// response to a request is not a request.
fn check_frame(frame: &[u8]) {
    let mut bare = frame.to_vec();
    if let Ok(Some(tag)) = ethernet::remove_tag(&mut bare) {
        ethernet::insert_tag(&mut bare, &tag).expect("a frame");
        assert_eq!(ethernet::tag(&bare), Ok(Some(tag)));
    }
    if let Ok(response) = ethernet::exp_response(frame) {
        assert!(ethernet::tag(&response).expect("a frame").is_some_and(|tag| tag.is_response));
        assert!(ethernet::exp_response(&response).is_err());
    }
}

#[test]
fn no_bytes_make_a_decoder_panic() {
    let corpus = packets();
    let draw = |mutator: &mut Mutator| {
        let mut bytes = Vec::with_capacity(256);
        mutator.mutate(&corpus, &mut bytes);
        if mutator.below(2) == 0 {
            seal(&mut bytes);
        }
        bytes
    };
    let inputs = 1_000_000;
    let decoders = Decoders::BUILTIN;
    let read = hold(inputs, draw, |bytes| check(bytes, &decoders), |bytes| shown(bytes));
    assert!(read > 100_000, "{read} inputs are read as packets");
}

#[test]
fn no_bytes_make_the_view_of_a_frame_panic() {
    let corpus = packets();
    let draw = |mutator: &mut Mutator| {
        let mut bytes = Vec::with_capacity(256);
        mutator.mutate(&corpus, &mut bytes);
        bytes
    };
    let decoders = Decoders::BUILTIN.with_frames();
    let read = hold(200_000, draw, |bytes| check(bytes, &decoders), |bytes| shown(bytes));
    assert!(read > 10_000, "{read} inputs are read as packets");
}

/// Flips one bit of each packet. Without [`seal`], more than half of these packets would have a wrong checksum.
#[test]
fn every_checksum_can_be_put_right() {
    let mut mutator = Mutator::new(1);
    let (mut wrong_before, mut wrong, packets) = (0, 0, packets());
    for mut packet in packets.iter().cloned() {
        let at = mutator.below(packet.len());
        packet[at] ^= 1 << mutator.below(8);
        wrong_before += u32::from(Header::decode(&packet) == Err(Error::Checksum));
        seal(&mut packet);
        wrong += u32::from(Header::decode(&packet) == Err(Error::Checksum));
    }
    assert!(wrong_before > 500 && wrong < 50, "{wrong_before} wrong checksums before, {wrong} after");
}
