//! Generates hostile input for tests of readers and decoders: random mutations of valid input, determined by a seed.
//! This crate needs only stable Rust, and is fast enough to give a decoder a billion inputs in minutes.
//!
//! The environment variable `RADDLE_FUZZ_INPUTS` sets the number of inputs per test. `RADDLE_FUZZ_SEED` sets the seed
//! (default 1).

mod bytes;
mod text;

use std::fmt::Display;
use std::panic::{self, AssertUnwindSafe};

/// A reproducible source of random numbers (SplitMix64: Steele, Lea and Flood, OOPSLA 2014).
#[derive(Debug, Clone)]
pub struct Mutator(u64);

impl Mutator {
    /// Creates a source of mutations from a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Draws the next 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// Draws a number below `bound`, which must be greater than 0. The distribution is almost uniform for the small
    /// bounds of tests.
    #[allow(clippy::cast_possible_truncation, reason = "the number is below `bound`")]
    pub const fn below(&mut self, bound: usize) -> usize {
        ((self.bits() as u128 * bound as u128) >> 64) as usize
    }

    /// Draws one of `items`, which must not be empty.
    pub fn pick<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len())]
    }
}

/// Reads a whole number from an environment variable. Returns `None` if the variable is not set or is not valid
/// Unicode.
///
/// # Panics
/// If the variable is not a whole number from 0 to 2^64 - 1.
fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|error| panic!("{name}={text}: {error}")))
}

/// Creates inputs with `draw` and passes each to `check`. The number of inputs is `RADDLE_FUZZ_INPUTS` if this variable
/// is set, otherwise `inputs`. Returns the number of inputs that `check` accepted. A test should require a minimum of
/// this number, because mutations that are never accepted test only the first checks of a decoder.
///
/// # Panics
/// If `check` panics. The message has the seed, the number of the input, and the input as formatted by `show`. Also if
/// `RADDLE_FUZZ_INPUTS` or `RADDLE_FUZZ_SEED` is not a whole number.
pub fn hold<I, S: Display>(
    inputs: u64,
    mut draw: impl FnMut(&mut Mutator) -> I,
    check: impl Fn(&I) -> bool,
    show: impl Fn(&I) -> S,
) -> u64 {
    let inputs = variable("RADDLE_FUZZ_INPUTS").unwrap_or(inputs);
    let seed = variable("RADDLE_FUZZ_SEED").unwrap_or(1);
    let mut mutator = Mutator::new(seed);
    let mut accepted = 0;
    for number in 0..inputs {
        let input = draw(&mut mutator);
        let Ok(accepts) = panic::catch_unwind(AssertUnwindSafe(|| check(&input))) else {
            panic!("`check` panicked on input {number} of seed {seed}:\n{}", show(&input));
        };
        accepted += u64::from(accepts);
    }
    accepted
}

/// Formats bytes in hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
