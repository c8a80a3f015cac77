//! Deadlines of flows.

use crate::WorkloadError;
use raddle_core::{Duration, Stream};

/// The deadlines of flows. A deadline is given as a time after the start of its flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deadlines {
    /// Flows have no deadline.
    None,
    /// All flows have the same deadline.
    Fixed(Duration),
    /// Exponentially distributed deadlines with a minimum (Hong et al., PDQ, SIGCOMM 2012, §5.1).
    Exponential {
        /// Mean of the distribution, before the minimum is applied.
        mean: Duration,
        /// The minimum. Smaller values are raised to the minimum.
        min: Duration,
    },
}

impl Deadlines {
    /// Returns an error if the fixed deadline, or the mean of the exponential deadlines, is 0.
    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        match *self {
            Self::Fixed(Duration::ZERO) | Self::Exponential { mean: Duration::ZERO, .. } => {
                Err(WorkloadError::parameter("deadline", &Duration::ZERO, "more than 0"))
            }
            _ => Ok(()),
        }
    }

    /// Draws a deadline. The parameters must have passed `check`.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub(crate) fn draw(&self, stream: &mut Stream) -> Option<Duration> {
        match *self {
            Self::None => None,
            Self::Fixed(deadline) => Some(deadline),
            Self::Exponential { mean, min } => {
                let drawn = stream.exponential(mean.as_ps() as f64);
                Some(Duration::from_ps(drawn.round() as u64).max(min))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_deadlines_have_their_mean_and_keep_the_floor() {
        let (mean, min) = (Duration::from_ms(20), Duration::from_ms(3));
        let deadlines = Deadlines::Exponential { mean, min };
        let mut stream = Stream::new(1, 0, "test");
        let drawn: Vec<Duration> = (0..20_000).filter_map(|_| deadlines.draw(&mut stream)).collect();
        assert_eq!((drawn.len(), drawn.iter().min()), (20_000, Some(&min)));
        let sum: f64 = drawn.iter().map(|drawn| drawn.as_secs_f64()).sum();
        // If all values below m of an exponential distribution are raised to m, the new mean is
        // m + mean * exp(-m / mean). With m = 3 ms and a mean of 20 ms, this is 20.214 ms.
        assert!((sum / 20_000.0 - 0.020_214).abs() < 0.000_4, "{}", sum / 20_000.0);
    }
}
