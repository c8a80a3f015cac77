//! When flows start.

use crate::{WorkloadError, exponential};
use raddle_core::{Duration, Stream, Time};

/// When flows start, over the whole fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// A Poisson process from time 0 on.
    Poisson {
        /// Mean gap between one flow's start and the next, wherever they start.
        mean_gap: Duration,
    },
    /// One flow every `gap`, the first at time 0.
    Fixed {
        /// The gap.
        gap: Duration,
    },
    /// Every flow at time 0.
    AllAtOnce,
}

impl Arrivals {
    /// Whether starts are random, so that pairs must be too (a Poisson process split at random is Poisson at
    /// every host).
    pub(crate) fn random(&self) -> bool {
        matches!(self, Self::Poisson { .. })
    }

    /// The starts, in order, for ever.
    pub(crate) fn starts(&self, mut stream: Stream) -> Result<impl Iterator<Item = Time>, WorkloadError> {
        let (first, mean_gap) = match *self {
            Self::Poisson { mean_gap: gap } | Self::Fixed { gap } if gap == Duration::ZERO => {
                return Err(WorkloadError::parameter("gap", &gap, "more than 0"));
            }
            Self::Poisson { mean_gap } => (random_gap(&mut stream, mean_gap), mean_gap),
            Self::Fixed { gap } => (Duration::ZERO, gap),
            Self::AllAtOnce => (Duration::ZERO, Duration::ZERO),
        };
        let random = self.random();
        Ok(std::iter::successors(Some(Time::ZERO + first), move |&start| {
            Some(start + if random { random_gap(&mut stream, mean_gap) } else { mean_gap })
        }))
    }
}

/// An exponentially distributed gap, to the nearest picosecond.
fn random_gap(stream: &mut Stream, mean: Duration) -> Duration {
    Duration::from_ps(exponential(stream, mean.as_ps() as f64).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(arrivals: Arrivals, flows: usize) -> Vec<Time> {
        arrivals.starts(Stream::new(1, 0, "test")).unwrap().take(flows).collect()
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_deviation_of_an_exponential() {
        let flows = 200_000;
        let starts = starts(Arrivals::Poisson { mean_gap: Duration::from_us(1) }, flows);
        let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1].since(pair[0]).as_ns_f64()).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1_000.0).abs() < 10.0, "{mean}");
        assert!((variance.sqrt() - 1_000.0).abs() < 15.0, "{}", variance.sqrt());
    }

    #[test]
    fn fixed_gaps_start_at_zero() {
        let gap = Duration::from_ns(7);
        let expected = [0, 7_000, 14_000].map(Time::from_ps);
        assert_eq!(starts(Arrivals::Fixed { gap }, 3), expected);
        assert_eq!(starts(Arrivals::AllAtOnce, 2), [Time::ZERO; 2]);
    }

    #[test]
    fn a_gap_of_zero_is_refused() {
        let arrivals = Arrivals::Poisson { mean_gap: Duration::ZERO };
        let error = arrivals.starts(Stream::new(1, 0, "test")).err().unwrap();
        assert_eq!(error.to_string(), "gap is 0 ps, but must be more than 0");
    }
}
