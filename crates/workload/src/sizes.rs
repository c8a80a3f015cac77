//! Flow sizes.

use crate::{SizeCdf, WorkloadError};
use raddle_core::{Bytes, Stream};

/// Flow sizes in application bytes: rounded to whole bytes, at least 1, never capped.
#[derive(Debug, Clone, PartialEq)]
pub enum Sizes {
    /// All flows have the same size.
    Fixed(Bytes),
    /// Pareto distribution: `P(size > x) = (scale / x)^shape`, with `scale = mean (shape - 1) / shape`.
    Pareto {
        /// Tail index, more than 1. If it is at most 2, the variance is infinite.
        shape: f64,
        /// Mean of the distribution. For a heavy tail, the mean of a sample is usually well below this mean
        /// (specifications/r2c2.md §10).
        mean: Bytes,
    },
    /// Exponential distribution.
    Exponential {
        /// Mean size.
        mean: Bytes,
    },
    /// Uniform distribution over the whole bytes from `min` to `max`, both included.
    Uniform {
        /// Smallest size.
        min: Bytes,
        /// Largest size.
        max: Bytes,
    },
    /// A distribution that is given by points of its cumulative distribution function.
    Cdf(SizeCdf),
}

impl Sizes {
    /// Returns the distribution's mean in bytes.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self {
            Self::Fixed(size) => size.0 as f64,
            Self::Pareto { mean, .. } | Self::Exponential { mean } => mean.0 as f64,
            Self::Uniform { min, max } => f64::midpoint(min.0 as f64, max.0 as f64),
            Self::Cdf(cdf) => cdf.mean(),
        }
    }

    /// Returns an error for parameters that describe no distribution.
    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        let bad = WorkloadError::parameter;
        match *self {
            Self::Fixed(Bytes(0)) => Err(bad("size", &Bytes(0), "at least 1 B")),
            Self::Pareto { mean: Bytes(0), .. } | Self::Exponential { mean: Bytes(0) } => {
                Err(bad("mean size", &Bytes(0), "at least 1 B"))
            }
            Self::Pareto { shape, .. } if !(shape > 1.0 && shape.is_finite()) => {
                Err(bad("Pareto shape", &shape, "greater than 1, because otherwise the mean is infinite"))
            }
            Self::Uniform { min: Bytes(0), .. } => Err(bad("smallest size", &Bytes(0), "at least 1 B")),
            Self::Uniform { min, max } if max < min => {
                Err(bad("largest size", &max, "at least the smallest size"))
            }
            _ => Ok(()),
        }
    }

    /// Draws a size. The parameters must have passed `check`.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub(crate) fn draw(&self, stream: &mut Stream) -> Bytes {
        let bytes = match self {
            Self::Fixed(size) => return *size,
            Self::Uniform { min, max } => return Bytes(min.0 + stream.below(max.0 - min.0 + 1)),
            Self::Pareto { shape, mean } => {
                let scale = mean.0 as f64 * (shape - 1.0) / shape;
                // `1 - unit()` is in (0, 1], so the size is finite.
                scale * libm::pow(1.0 - stream.unit(), -1.0 / shape)
            }
            Self::Exponential { mean } => stream.exponential(mean.0 as f64),
            Self::Cdf(cdf) => cdf.quantile(stream.unit()),
        };
        Bytes((bytes.round() as u64).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Sizes = Sizes::Pareto { shape: 1.05, mean: Bytes(100_000) };

    fn sample(sizes: &Sizes, flows: usize) -> Vec<u64> {
        let mut stream = Stream::new(1, 0, "workload/sizes");
        let mut sample: Vec<u64> = (0..flows).map(|_| sizes.draw(&mut stream).0).collect();
        sample.sort_unstable();
        sample
    }

    /// Compares sampled sizes of set-up S with specifications/r2c2.md §10, "Workload facts".
    #[test]
    fn oracle_workload_facts_of_set_up_s() {
        let flows = 1_000_000;
        let sample = sample(&S, flows);
        let below = |limit: u64| sample.partition_point(|&size| size < limit) as f64 / flows as f64;
        let near = |got: f64, want: f64, within: f64| assert!((got - want).abs() < within, "{got} {want}");
        assert_eq!(sample[0], 4_762, "scale");
        near(sample[flows / 2] as f64, 9_210.0, 30.0);
        near(sample[flows * 99 / 100] as f64, 382_000.0, 8_000.0);
        near(below(100_000), 0.9591, 0.0006);
        near(1.0 - below(1_000_001), 0.00364, 0.0002);
    }

    #[test]
    fn exponential_and_uniform_have_their_means() {
        let mean = |sizes: &Sizes| sample(sizes, 100_000).iter().sum::<u64>() as f64 / 1e5;
        let exponential = Sizes::Exponential { mean: Bytes(50_000) };
        assert!((mean(&exponential) - exponential.mean()).abs() < 500.0);
        let uniform = Sizes::Uniform { min: Bytes(2_000), max: Bytes(198_000) };
        assert!((mean(&uniform) - uniform.mean()).abs() < 600.0);
        let sample = sample(&Sizes::Uniform { min: Bytes(3), max: Bytes(5) }, 1_000);
        assert_eq!((sample[0], sample[999]), (3, 5));
    }

    #[test]
    fn no_flow_is_empty() {
        assert_eq!(sample(&Sizes::Exponential { mean: Bytes(1) }, 1_000)[0], 1);
    }

    #[test]
    fn parameters_that_describe_no_distribution_are_refused() {
        let refused = [
            Sizes::Fixed(Bytes(0)),
            Sizes::Pareto { shape: 1.0, mean: Bytes(1) },
            Sizes::Pareto { shape: f64::NAN, mean: Bytes(1) },
            Sizes::Pareto { shape: 1.5, mean: Bytes(0) },
            Sizes::Exponential { mean: Bytes(0) },
            Sizes::Uniform { min: Bytes(0), max: Bytes(1) },
            Sizes::Uniform { min: Bytes(2), max: Bytes(1) },
        ];
        for sizes in refused {
            assert!(sizes.check().is_err(), "{sizes:?}");
        }
        assert_eq!(S.check(), Ok(()));
    }
}
