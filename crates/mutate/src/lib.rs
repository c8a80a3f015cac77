//! Hostile input for the tests of readers and decoders: mutations of valid input, drawn by a seed. On stable Rust, and so fast
//! that a decoder sees a thousand million inputs in minutes.
//!
//! `RADDLE_FUZZ_INPUTS` sets how many inputs each test tries and `RADDLE_FUZZ_SEED` which, 1 by default.

mod bytes;
mod text;

use std::fmt::Display;
use std::panic::{self, AssertUnwindSafe};

/// A reproducible source of random numbers (SplitMix64: Steele, Lea and Flood, OOPSLA 2014).
#[derive(Debug, Clone)]
pub struct Mutator(u64);

impl Mutator {
    /// The mutations of that seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number below `bound`, which is above 0; as good as uniform for the small bounds of tests.
    #[allow(clippy::cast_possible_truncation, reason = "the number is below `bound`")]
    pub const fn below(&mut self, bound: usize) -> usize {
        ((self.bits() as u128 * bound as u128) >> 64) as usize
    }

    /// One of `items`, of which there are some.
    pub fn pick<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len())]
    }
}

/// A number of the environment.
///
/// # Panics
/// If the variable is not a number.
fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|error| panic!("{name}={text}: {error}")))
}

/// Hands `check` so many inputs (`RADDLE_FUZZ_INPUTS` if that is set), each of which `draw` makes. Returns how many of them
/// `check` has accepted, which a test should hold against a least number: a mutation that nothing accepts tests nothing.
///
/// # Panics
/// If `check` panics: with the seed and the number of the input, and the input as `show` shows it.
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
            panic!("input {number} of seed {seed}:\n{}", show(&input));
        };
        accepted += u64::from(accepts);
    }
    accepted
}

/// Bytes as they are shown.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
