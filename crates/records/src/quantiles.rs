//! Percentiles and means of samples that are too large to be held.

use crate::stats;

/// Bits of a value that a pass tells apart.
const DIGIT: u32 = 13;

/// Values of a digit.
const DIGITS: usize = 1 << DIGIT;

/// Bits of the digits of a value, whose sign is not set.
const BITS: u32 = (u64::BITS - 1).next_multiple_of(DIGIT);

/// Exact percentiles of a sample that is passed over several times: the value of a rank is found digit by digit, from the
/// most significant one on (radix selection). Takes 64 KB a percentile, whatever the size of the sample.
///
/// Values are doubles that are not negative, whose bits are in the order of the values.
#[derive(Debug)]
pub struct Quantiles {
    /// Digits that are known.
    known: u32,
    count: u64,
    wanted: Vec<Wanted>,
}

/// A percentile that is looked for.
#[derive(Debug)]
struct Wanted {
    percent: f64,
    /// The known digits of its value.
    prefix: u64,
    /// Its rank among the values that begin so, from 1 on.
    rank: u64,
    /// By the next digit: values that begin so.
    counts: Vec<u64>,
}

impl Quantiles {
    /// Passes that find the values: as many as a value has digits.
    pub const PASSES: u32 = BITS / DIGIT;

    /// Looks for these percentiles, each in `0..=100`.
    #[must_use]
    pub fn new(percentiles: &[f64]) -> Self {
        let wanted = |&percent| Wanted { percent, prefix: 0, rank: 0, counts: vec![0; DIGITS] };
        Self { known: 0, count: 0, wanted: percentiles.iter().map(wanted).collect() }
    }

    /// Takes in a value of the sample. Every pass takes in the same values, in any order.
    pub fn add(&mut self, value: f64) {
        debug_assert!(value >= 0.0, "{value} has bits in the order of values");
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

    /// The percentiles by nearest rank, after the last pass; `None` of an empty sample.
    ///
    /// # Panics
    /// Before the last pass.
    #[must_use]
    pub fn values(&self) -> Vec<Option<f64>> {
        assert_eq!(self.known, Self::PASSES, "all passes are needed");
        let value = |wanted: &Wanted| (self.count > 0).then(|| f64::from_bits(wanted.prefix));
        self.wanted.iter().map(value).collect()
    }
}

/// A mean that does not depend on the order of the values: they are added up in fixed point, to 2^-40.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mean {
    sum: u128,
    count: u64,
}

impl Mean {
    /// Values are counted in these.
    const UNIT: f64 = 1.0 / (1_u64 << 40) as f64;

    /// Takes in a value that is not negative.
    pub fn add(&mut self, value: f64) {
        self.sum += (value / Self::UNIT).round() as u128;
        self.count += 1;
    }

    /// The mean; `None` of no values.
    #[must_use]
    pub fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64 * Self::UNIT)
    }

    /// The number of values.
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
