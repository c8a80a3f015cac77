//! Mutations of bytes.

use crate::Mutator;

/// Values at the limits of bit fields.
const ENDS: [u8; 8] = [0x00, 0x01, 0x0F, 0x10, 0x7F, 0x80, 0xFE, 0xFF];

impl Mutator {
    /// Replaces the content of `bytes` with a random input of the corpus, to which random changes are made. Most
    /// changes are small.
    pub fn mutate(&mut self, corpus: &[Vec<u8>], bytes: &mut Vec<u8>) {
        bytes.clear();
        bytes.extend_from_slice(self.pick::<Vec<u8>>(corpus));
        for _ in 0..=self.below(4) {
            self.change(corpus, bytes);
        }
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "any 8 of the random bits make a random byte, and a step is at most 16"
    )]
    fn change(&mut self, corpus: &[Vec<u8>], bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            bytes.push(self.bits() as u8);
            return;
        }
        let at = self.below(bytes.len());
        match self.below(16) {
            0..=4 => bytes[at] ^= 1 << self.below(8),
            5..=7 => bytes[at] = self.bits() as u8,
            8..=9 => bytes[at] = *self.pick(&ENDS),
            // Changes a 16-bit number, because many length fields have two bytes.
            10..=11 if at + 1 < bytes.len() => {
                let step = 1 + self.below(16) as u16;
                let word = u16::from_be_bytes([bytes[at], bytes[at + 1]]);
                let word = if self.below(2) == 0 { word.wrapping_add(step) } else { word.wrapping_sub(step) };
                bytes[at..at + 2].copy_from_slice(&word.to_be_bytes());
            }
            12 => bytes.truncate(at),
            13 => bytes.extend((0..=self.below(40)).map(|_| 0)),
            14 => {
                let other: &Vec<u8> = self.pick(corpus);
                let len = other.len().min(bytes.len() - at);
                bytes[at..at + len].copy_from_slice(&other[..len]);
            }
            _ => {
                let other: &Vec<u8> = self.pick(corpus);
                let from = at.min(other.len());
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
        }
    }
}
