//! The payloads of a live run's flows, in a rack without programs. A payload's bytes are a function of the flow's key
//! and of the packet's position in the flow, so that a receiver can check the bytes.

use super::pool::LINE;
use super::shared::WORD;
use raddle_wire::FlowRange;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of bytes of a payload that are written and checked in a rack that does not write whole payloads. The payload
/// has `len` bytes and begins `begin` bytes into its slot. The written bytes are those in the cache line in which the
/// payload begins. The header usually ends in the same cache line, so the line is already in the cache.
#[inline]
pub(super) fn stamped(begin: usize, len: usize) -> usize {
    len.min(LINE - begin % LINE)
}

/// The words of a packet's payload, as a sequence without end. The sequence depends only on the flow's key and on the
/// packet's position in the flow.
struct Payload {
    mixed: u64,
}

impl Payload {
    #[inline]
    fn new(range: &FlowRange) -> Self {
        // A number that differs between packets that are close together in the flow.
        let position = range.position.unwrapped(0);
        Self { mixed: (range.key.0 ^ position.rotate_left(32)).wrapping_mul(ODD) }
    }

    #[inline]
    fn next(&mut self) -> u64 {
        // The state `mixed` is a multiple of `ODD` modulo 2^64. The word is the state xor the state's upper bits.
        // Successive words differ in about half of their bits.
        let word = self.mixed ^ self.mixed >> 29;
        self.mixed = self.mixed.wrapping_add(ODD);
        word
    }
}

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The words of a slot that a payload covers, in order. If the payload begins inside a word, the bytes of this word in
/// front of the payload are zeros.
struct Laid {
    payload: Payload,
    /// The previous word of the payload.
    before: u64,
    /// Number of bits by which the payload's words are shifted left.
    shift: u32,
}

impl Laid {
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the offset of a byte in a word is below 8")]
    fn new(range: &FlowRange, begin: usize) -> Self {
        Self { payload: Payload::new(range), before: 0, shift: 8 * (begin % WORD) as u32 }
    }

    #[inline]
    fn next(&mut self) -> u64 {
        let word = self.payload.next();
        // Shifts right twice, because a single shift by 64 bits is not allowed.
        let laid = word << self.shift | self.before >> 1 >> (63 - self.shift);
        self.before = word;
        laid
    }
}

/// Returns the begin and the end of the range of words that contain `len` bytes from byte `begin` on. Also returns the
/// masks of these bytes in the first word and in the last word.
fn covered(begin: usize, len: usize) -> (usize, usize, [u64; 2]) {
    let (first, end) = (begin / WORD, begin + len);
    let behind = end.next_multiple_of(WORD) - end;
    (first, end.div_ceil(WORD), [u64::MAX << (8 * (begin % WORD)), u64::MAX >> (8 * behind)])
}

/// Writes the first `len` bytes of the payload for `range` into the words of a slot, from byte `begin` on.
#[inline]
pub(super) fn write(range: &FlowRange, begin: usize, len: usize, slot: &[AtomicU64]) {
    each(range, begin, len, slot, |word, is, mask| {
        let kept = if mask == u64::MAX { 0 } else { word.load(Ordering::Relaxed) & !mask };
        word.store(is & mask | kept, Ordering::Relaxed);
    });
}

/// Appends `len` bytes of the payload for `range` to `out`.
pub(super) fn append(range: &FlowRange, len: usize, out: &mut Vec<u8>) {
    let (mut payload, end) = (Payload::new(range), out.len() + len);
    for _ in 0..len.div_ceil(WORD) {
        out.extend(payload.next().to_le_bytes());
    }
    out.truncate(end);
}

/// Returns true if the `len` bytes of a slot from byte `begin` on are the first bytes of the payload for `range`.
pub(super) fn is_right(range: &FlowRange, begin: usize, len: usize, slot: &[AtomicU64]) -> bool {
    let mut differs = 0;
    each(range, begin, len, slot, |word, is, mask| {
        differs |= (word.load(Ordering::Relaxed) ^ is) & mask;
    });
    differs == 0
}

/// Calls `visit` for each word of a slot that a payload covers, with the expected word and a mask of the payload's
/// bits.
#[inline]
fn each(
    range: &FlowRange,
    begin: usize,
    len: usize,
    slot: &[AtomicU64],
    mut visit: impl FnMut(&AtomicU64, u64, u64),
) {
    if len == 0 {
        return;
    }
    let mut laid = Laid::new(range, begin);
    let (first, end, [front, back]) = covered(begin, len);
    match &slot[first..end] {
        [] => {}
        [only] => visit(only, laid.next(), front & back),
        [one, between @ .., last] => {
            visit(one, laid.next(), front);
            for word in between {
                visit(word, laid.next(), u64::MAX);
            }
            visit(last, laid.next(), back);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::FlowKey;
    use raddle_wire::Position;

    fn range(key: u64, position: u64) -> FlowRange {
        FlowRange { key: FlowKey(key), position: Position::Byte(position), len: 100 }
    }

    #[test]
    fn a_payload_is_that_of_its_flow_and_place_alone() {
        for begin in [0, 3, 8, 21] {
            for len in [1, 4, 5, 64, 100] {
                let slot: Vec<AtomicU64> = (0..16).map(|_| AtomicU64::new(u64::MAX)).collect();
                write(&range(7, 1_000), begin, len, &slot);
                let right = |key, position| is_right(&range(key, position), begin, len, &slot);
                assert!(right(7, 1_000), "{len} bytes from {begin} on");
                let mut appended = vec![3];
                append(&range(7, 1_000), len, &mut appended);
                let bytes = slot.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes());
                assert!(bytes.skip(begin).take(len).eq(appended.drain(1..)));
                assert!(!right(8, 1_000) && !right(7, 1_001));
                let flip = |byte: usize| slot[byte / 8].fetch_xor(1 << (8 * (byte % 8)), Ordering::Relaxed);
                for byte in 0..128 {
                    flip(byte);
                    let is_theirs = (begin..begin + len).contains(&byte);
                    assert_eq!(right(7, 1_000), !is_theirs, "byte {byte}, {len} from {begin} on");
                    flip(byte);
                }
                let bytes: Vec<u8> =
                    slot.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
                assert!(
                    bytes[..begin].iter().chain(&bytes[begin + len..]).all(|&byte| byte == 0xFF),
                    "what is around it stays"
                );
            }
        }
    }
}
