//! What the packets of a live run carry: bytes that follow from the flow and the place in it, so that a receiver can tell
//! whether they are the sender's.

use raddle_core::FlowKey;
use raddle_wire::FlowRange;

/// Bytes of a payload that are written and checked if not all are: a cache line.
pub(super) const STAMP: usize = 64;

/// Word `i` of the payload that begins at `position`, a number that differs from packet to packet of a flow.
fn word(key: FlowKey, position: u64, i: u64) -> u64 {
    // Multiplied by an odd number and folded: neighbours differ in about half of their bits.
    let mixed = (key.0 ^ position.rotate_left(32)).wrapping_add(i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

/// The first bytes of a payload, word by word.
fn words(range: &FlowRange) -> impl Iterator<Item = [u8; 8]> + use<> {
    let (key, position) = (range.key, range.position.unwrapped(0));
    (0..).map(move |i| word(key, position, i).to_le_bytes())
}

/// Appends the first `len` bytes of the payload that these bytes of a flow are.
pub(super) fn append(range: &FlowRange, len: usize, out: &mut Vec<u8>) {
    let end = out.len() + len;
    for word in words(range).take(len.div_ceil(8)) {
        out.extend_from_slice(&word);
    }
    out.truncate(end);
}

/// Whether these are the first bytes of that payload.
pub(super) fn is_right(range: &FlowRange, payload: &[u8]) -> bool {
    payload.chunks(8).zip(words(range)).all(|(bytes, word)| word[..bytes.len()] == *bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_wire::Position;

    fn range(key: u64, position: u64) -> FlowRange {
        FlowRange { key: FlowKey(key), position: Position::Byte(position), len: 100 }
    }

    #[test]
    fn a_payload_is_that_of_its_flow_and_place_alone() {
        let mut payload = Vec::new();
        append(&range(7, 1_000), 100, &mut payload);
        assert_eq!(payload.len(), 100);
        assert!(is_right(&range(7, 1_000), &payload) && is_right(&range(7, 1_000), &payload[..13]));
        assert!(!is_right(&range(8, 1_000), &payload) && !is_right(&range(7, 1_001), &payload));
        for place in 0..payload.len() {
            payload[place] ^= 1;
            assert!(!is_right(&range(7, 1_000), &payload), "byte {place}");
            payload[place] ^= 1;
        }
    }
}
