//! 64-bit checksums over words. A checksum detects a mixture of old and new words. It does not protect against a peer
//! that forges the checksum.

use std::sync::atomic::{AtomicU64, Ordering};

/// Odd multipliers: the first 64 bits of the golden ratio's fraction, and the multipliers of SplitMix64 (Steele, Lea,
/// Flood, OOPSLA 2014).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
const FIRST: u64 = 0xBF58_476D_1CE4_E5B9;
const SECOND: u64 = 0x94D0_49BB_1331_11EB;

/// Number of words that are processed in parallel, so that their multiplications do not wait for one another.
const LANES: usize = 4;

/// SplitMix64's last step: every bit of the result depends on every bit of the word.
const fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(FIRST);
    let word = (word ^ word >> 27).wrapping_mul(SECOND);
    word ^ word >> 31
}

/// Mixes a word into the state. For a fixed word the function is a bijection of the state, and for a fixed state a
/// bijection of the word. So a change of a single word always changes the result.
const fn step(state: u64, word: u64) -> u64 {
    (state.rotate_left(29) ^ word).wrapping_mul(GOLDEN)
}

/// The state of a checksum that is computed word by word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Check {
    lanes: [u64; LANES],
}

impl Check {
    /// Begins the checksum of an entry with the sequence number, the due time, and the word with length and tag.
    pub(super) const fn of_entry(sequence: u64, due: u64, packed: u64) -> Self {
        let state = mix(step(step(mix(sequence), due), packed));
        Self { lanes: [state, !state, state.rotate_left(16), !state.rotate_left(48)] }
    }

    /// Adds the payload, and returns the checksum of the entry.
    #[inline]
    pub(super) fn over(mut self, payload: &[AtomicU64]) -> u64 {
        let (fours, rest) = payload.as_chunks::<LANES>();
        for four in fours {
            for (lane, word) in self.lanes.iter_mut().zip(four) {
                *lane = step(*lane, word.load(Ordering::Relaxed));
            }
        }
        for (lane, word) in self.lanes.iter_mut().zip(rest) {
            *lane = step(*lane, word.load(Ordering::Relaxed));
        }
        self.lanes.into_iter().fold(0, |state, lane| mix(step(state, lane)))
    }
}

/// Returns the checksum of a receiver's record.
pub(super) const fn of_record(taken: u64, beat: u64) -> u64 {
    mix(step(mix(taken ^ FIRST), beat))
}
