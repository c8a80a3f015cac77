//! Random streams, one per (seed, entity, purpose). A new node or an additional draw therefore never changes the draws
//! of another stream.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use std::hash::Hasher;

/// A reproducible source of randomness (PCG-64).
#[derive(Debug, Clone)]
pub struct Stream(Pcg64);

impl Stream {
    /// The stream of `entity` (the number of a node, link or flow) for `purpose`, under the run's `seed`.
    #[must_use]
    pub fn new(seed: u64, entity: u64, purpose: &str) -> Self {
        let mut key = [0; 32];
        for (i, word) in key.chunks_exact_mut(8).enumerate() {
            let mut hasher = rustc_hash::FxHasher::default();
            hasher.write_u64(seed);
            hasher.write_u64(entity);
            for &byte in purpose.as_bytes() {
                hasher.write_u8(byte);
            }
            hasher.write_u64(i as u64);
            word.copy_from_slice(&hasher.finish().to_le_bytes());
        }
        Self(Pcg64::from_seed(key))
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number uniform in `0..bound`.
    ///
    /// # Panics
    /// In debug builds, if `bound` is zero.
    #[allow(clippy::cast_possible_truncation, reason = "Lemire's method uses the product's lower 64 bits")]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0, "`bound` must be greater than 0");
        // Lemire's method. The result is exactly uniform, because draws that would favour some results are rejected.
        loop {
            let product = u128::from(self.bits()) * u128::from(bound);
            let low = product as u64;
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }

    /// An index uniform in `0..len`.
    ///
    /// # Panics
    /// In debug builds, if `len` is zero.
    #[allow(clippy::cast_possible_truncation, reason = "the index is below `len`, which is a `usize`")]
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// A float uniform in `[0, 1)`, with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Tosses a fair coin: true and false are equally likely.
    pub fn coin(&mut self) -> bool {
        self.bits() >> 63 == 1
    }

    /// An exponentially distributed number with this mean. The number is the same on every machine.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -libm::log1p(-self.unit()) * mean
    }

    /// Draws from a geometric distribution: the number of trials up to and including the first success. `mean` is the
    /// mean of this number and must be at least 1.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub fn geometric(&mut self, mean: f64) -> u64 {
        debug_assert!(mean >= 1.0, "the mean number of trials must be at least 1");
        // If success is certain, the divisor is -inf and the quotient is 0. The cast to an integer saturates
        // if the quotient is too large.
        let failures = libm::log1p(-self.unit()) / libm::log1p(-mean.recip());
        (failures as u64).saturating_add(1)
    }

    /// Puts `items` in a uniformly random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.index(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_each_part_of_their_key_and_repeat() {
        let first = |seed, entity, purpose| Stream::new(seed, entity, purpose).bits();
        let base = first(1, 2, "route");
        assert_eq!(base, first(1, 2, "route"));
        assert_ne!(base, first(2, 2, "route"));
        assert_ne!(base, first(1, 3, "route"));
        assert_ne!(base, first(1, 2, "tick"));
    }

    #[test]
    fn golden_bits_are_stable_for_ever() {
        let mut stream = Stream::new(1, 2, "route");
        let golden = [stream.bits(), stream.bits()];
        assert_eq!(golden, [14_699_791_496_792_360_545, 5_370_214_464_870_789_265]);
    }

    #[test]
    fn below_covers_its_range_evenly() {
        let mut stream = Stream::new(7, 0, "test");
        let mut counts = [0_u32; 6];
        for _ in 0..60_000 {
            counts[stream.index(6)] += 1;
        }
        assert!(counts.iter().all(|&n| n.abs_diff(10_000) < 500), "{counts:?}");
    }

    #[test]
    fn geometric_numbers_have_their_mean_and_their_share_of_ones() {
        let mut stream = Stream::new(7, 0, "test");
        for mean in [1.0, 1.25, 20.0] {
            let drawn: Vec<u64> = (0..100_000).map(|_| stream.geometric(mean)).collect();
            let sum: u64 = drawn.iter().sum();
            assert!((sum as f64 / 1e5 / mean - 1.0).abs() < 0.01, "{mean}: {sum}");
            let ones = drawn.iter().filter(|&&n| n == 1).count();
            assert!((ones as f64 / 1e5 - mean.recip()).abs() < 0.004, "{mean}: {ones}");
        }
    }
}
