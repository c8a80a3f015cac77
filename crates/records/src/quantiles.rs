//! Percentiles and means of samples that are too large to fit in memory.

use crate::stats;

/// Number of bits of a digit. Each pass examines one digit of every value.
const DIGIT: u32 = 13;

/// Number of possible digits.
const DIGITS: usize = 1 << DIGIT;

/// Number of bits of all digits of a value: the bits of a double without the sign bit, rounded up to whole digits. The
/// sign bit is always 0.
const BITS: u32 = (u64::BITS - 1).next_multiple_of(DIGIT);

/// Exact percentiles of a sample that is read in several passes (radix selection). For each percentile, a pass finds
/// one digit of the value at the percentile's rank, starting with the most significant digit. The memory is 64 KB per
/// percentile, for any sample size.
///
/// Values are non-negative doubles. Their bit patterns, read as integers, have the same order as the values.
#[derive(Debug)]
pub struct Quantiles {
    /// Number of digits found so far.
    known: u32,
    count: u64,
    wanted: Vec<Wanted>,
}

/// A percentile to find.
#[derive(Debug)]
struct Wanted {
    percent: f64,
    /// The digits of the percentile's value found so far.
    prefix: u64,
    /// The rank of the percentile's value among the values that begin with `prefix`, counted from 1.
    rank: u64,
    /// Number of values in the current pass that begin with `prefix`, indexed by their next digit.
    counts: Vec<u64>,
}

impl Quantiles {
    /// Number of passes: one per digit of a value.
    pub const PASSES: u32 = BITS / DIGIT;

    /// Prepares the search for the given percentiles, each in `0..=100`.
    #[must_use]
    pub fn new(percentiles: &[f64]) -> Self {
        let wanted = |&percent| Wanted { percent, prefix: 0, rank: 0, counts: vec![0; DIGITS] };
        Self { known: 0, count: 0, wanted: percentiles.iter().map(wanted).collect() }
    }

    /// Adds a value of the sample. Every pass must add the same values, but the order of the values may differ.
    #[allow(clippy::cast_possible_truncation, reason = "the cast keeps the bits of one digit")]
    pub fn add(&mut self, value: f64) {
        debug_assert!(value >= 0.0, "a value must not be negative (got {value})");
        let bits = value.to_bits();
        self.count += u64::from(self.known == 0);
        let below = BITS - DIGIT * (self.known + 1);
        for wanted in &mut self.wanted {
            let digits = bits >> below;
            if digits >> DIGIT == wanted.prefix {
                wanted.counts[digits as usize % DIGITS] += 1;
            }
        }
    }

    /// Ends a pass.
    pub fn end_pass(&mut self) {
        let (first, count) = (self.known == 0, self.count);
        for wanted in &mut self.wanted {
            if first {
                wanted.rank = stats::rank(wanted.percent, count);
            }
            let mut below = 0;
            let digit = wanted.counts.iter().position(|&values| {
                below += values;
                below >= wanted.rank
            });
            let digit = digit.unwrap_or(0);
            wanted.rank -= (below - wanted.counts[digit]).min(wanted.rank);
            wanted.prefix = wanted.prefix << DIGIT | digit as u64;
            wanted.counts.fill(0);
        }
        self.known += 1;
    }

    /// Returns the percentiles by nearest rank, after the last pass. Each percentile is `None` for an empty sample.
    ///
    /// # Panics
    /// If the last pass has not ended.
    #[must_use]
    pub fn values(&self) -> Vec<Option<f64>> {
        assert_eq!(self.known, Self::PASSES, "the last pass over the sample must have ended");
        let value = |wanted: &Wanted| (self.count > 0).then(|| f64::from_bits(wanted.prefix));
        self.wanted.iter().map(value).collect()
    }
}

/// A mean that does not depend on the order of the values. The values are added in fixed point, with a resolution of
/// 2^-40.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mean {
    sum: u128,
    count: u64,
}

impl Mean {
    /// The resolution of the sum.
    const UNIT: f64 = 1.0 / (1_u64 << 40) as f64;

    /// Adds a value, which must not be negative.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub fn add(&mut self, value: f64) {
        self.sum += (value / Self::UNIT).round() as u128;
        self.count += 1;
    }

    /// Returns the mean. `None` if no value was added.
    #[must_use]
    pub fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64 * Self::UNIT)
    }

    /// Returns the number of values.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn select(sample: &[f64], percentiles: &[f64]) -> Vec<Option<f64>> {
        let mut quantiles = Quantiles::new(percentiles);
        for _ in 0..Quantiles::PASSES {
            sample.iter().for_each(|&value| quantiles.add(value));
            quantiles.end_pass();
        }
        quantiles.values()
    }

    #[test]
    fn an_empty_sample_has_no_percentiles_and_no_mean() {
        assert_eq!(select(&[], &[50.0, 99.0]), [None, None]);
        assert_eq!(Mean::default().value(), None);
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_the_sorted_sample(
            mut sample in proptest::collection::vec(0.0..1e12_f64, 1..400),
            repeat in 0_usize..3,
        ) {
            let first = sample[0];
            sample.extend(std::iter::repeat_n(first, repeat * sample.len()));
            let percentiles = [0.0, 50.0, 95.0, 99.0, 99.9, 100.0];
            let selected = select(&sample, &percentiles);
            stats::sort(&mut sample);
            let expected: Vec<_> = percentiles.map(|p| stats::percentile(&sample, p)).into();
            prop_assert_eq!(selected, expected);
        }

        #[test]
        fn a_mean_is_the_same_in_any_order(mut sample in proptest::collection::vec(0.0..1e12_f64, 1..100)) {
            let mean = |sample: &[f64]| {
                let mut mean = Mean::default();
                sample.iter().for_each(|&value| mean.add(value));
                mean.value().unwrap()
            };
            let one = mean(&sample);
            sample.reverse();
            prop_assert_eq!(one.to_bits(), mean(&sample).to_bits());
            prop_assert!((one / stats::mean(&sample).unwrap() - 1.0).abs() < 1e-9);
        }
    }
}
