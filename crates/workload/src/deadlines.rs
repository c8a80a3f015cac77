//! By when flows should be complete.

use crate::WorkloadError;
use raddle_core::{Duration, Stream};

/// How long after their start flows should be complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deadlines {
    /// It does not matter.
    None,
    /// The same for all.
    Fixed(Duration),
    /// Exponential, raised to a floor (Hong et al., PDQ, SIGCOMM 2012, §5.1).
    Exponential {
        /// Mean of the distribution, before it is raised.
        mean: Duration,
        /// The floor.
        min: Duration,
    },
}

impl Deadlines {
    /// Refuses parameters that no flow could meet.
    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        match *self {
            Self::Fixed(Duration::ZERO) | Self::Exponential { mean: Duration::ZERO, .. } => {
                Err(WorkloadError::parameter("deadline", &Duration::ZERO, "more than 0"))
            }
            _ => Ok(()),
        }
    }

    /// Draws a deadline; parameters have been checked.
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
        // Of an exponential raised to m: mean + m - mean (1 - e^(-m / mean)) = 20.214 ms.
        assert!((sum / 20_000.0 - 0.020_214).abs() < 0.000_4, "{}", sum / 20_000.0);
    }
}
