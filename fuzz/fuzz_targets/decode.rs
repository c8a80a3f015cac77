//! Any bytes through every decoder of `raddle-wire`: nothing panics, and what is read can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use raddle_wire::{Header, HeaderInfo, dcbx, ethernet};

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    check_frame(bytes);
    let _ = dcbx::Announcement::decode(bytes);
    check(&repaired(bytes));
});

fn check(bytes: &[u8]) {
    if let Ok((header, len)) = Header::decode(bytes) {
        let payload = &bytes[len..len + header.payload_len()];
        let mut again = Vec::new();
        header.encode_with(payload, &mut again).expect("the payload is as long as the header says");
        let len = header.wire_len() - header.trailer_len();
        assert_eq!(Header::decode(&again), Ok((header, len)));
    }
}

/// The bytes as an Ethernet frame: a tag comes off as it went on, and what answers a request is itself no request.
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

/// The bytes with their checksums put right, which chance alone would not do.
fn repaired(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let word = |bytes: &[u8], at| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    match (bytes.first(), bytes.len()) {
        (Some(0x10 | 0x41..=0x44 | 0x47..=0x49), 36..) => {
            let covered = if bytes[3] & 1 == 1 { word(&bytes, 18) } else { 0 };
            let ridx = std::mem::take(&mut bytes[2]);
            if matches!(bytes[0], 0x41 | 0x42) && bytes.len() >= 52 {
                seal(&mut bytes, 36..52, 50, 0); // the event within
            }
            seal(&mut bytes, 0..36 + covered, 16, 0);
            bytes[2] = ridx;
        }
        (Some(0x20..=0x2F), 16..) => seal(&mut bytes, 0..16, 14, 0),
        (Some(0x31), 12..) => {
            let end = 12 + 5 * word(&bytes, 6);
            seal(&mut bytes, 0..end, 8, 0);
        }
        (Some(0x45), 40..) => {
            seal(&mut bytes, 0..20, 10, 0);
            let total = word(&bytes, 2);
            let (protocol, at) = if bytes[9] == 17 { (17, 26) } else { (6, 36) };
            let addresses = (12..20).step_by(2).map(|at| word(&bytes, at)).sum::<usize>();
            seal(&mut bytes, 20..total, at, addresses + protocol + total.saturating_sub(20));
        }
        (Some(0x60..=0x6F | 0xE0..), 40..) => {
            let end = 40 + word(&bytes, 16);
            seal(&mut bytes, 0..end, 4, 0);
        }
        (Some(0x84), 16..) => seal(&mut bytes, 0..16, 2, 0),
        (Some(0x87), 4..) => {
            let end = 4 + 8 * usize::from(bytes[1]);
            seal(&mut bytes, 0..end, 2, 0);
        }
        (Some(0x01 | 0x06), 64..) => {
            let data = bytes[16..18] == [0x88, 0xB5];
            let len = if data { word(&bytes, 46).max(64) } else { 64 };
            if let Some(frame) = bytes.get_mut(..len) {
                let (covered, fcs) = frame.split_at_mut(len - 4);
                fcs.copy_from_slice(&crc32(covered));
            }
        }
        _ => {}
    }
    bytes
}

/// Ethernet's check sequence, bit by bit.
fn crc32(bytes: &[u8]) -> [u8; 4] {
    let shift = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
    let step = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| shift(crc));
    (!bytes.iter().fold(!0, step)).to_le_bytes()
}

/// Makes `covered` plus `more` sum to 0xFFFF by the 16 bits at `at`.
fn seal(bytes: &mut [u8], covered: std::ops::Range<usize>, at: usize, more: usize) {
    bytes[at..at + 2].fill(0);
    let Some(covered) = bytes.get(covered) else { return };
    let word = |pair: &[u8]| usize::from(pair[0]) << 8 | usize::from(*pair.get(1).unwrap_or(&0));
    let sum = (more + covered.chunks(2).map(word).sum::<usize>()) % 0xFFFF;
    bytes[at..at + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}
