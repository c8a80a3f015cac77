//! Start times of flows.

use crate::{PerHost, WorkloadError};
use raddle_core::{Bytes, Duration, Stream, Time};

/// The process that gives the start times of flows, over the whole fabric or separately at each host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// A Poisson process from time 0 on.
    Poisson {
        /// Mean gap between the starts of successive flows, over all hosts.
        mean_gap: Duration,
    },
    /// A Poisson process from time 0 on, with the rate that offers a given load. A load of 1 is the sum, over all hosts
    /// that may send, of the rate of the host's fastest link. In a Clos network this sum is divided by the
    /// [oversubscription](raddle_topology::Oversubscription::total) (specifications/expeditus.md §8.9).
    Load {
        /// The load, more than 0.
        load: f64,
        /// The mean flow size used to compute the rate; the mean of the size distribution if `None`.
        mean_size: Option<Bytes>,
        /// If true, all start times are scaled so that the drawn flows offer exactly this load between the first start
        /// and the last start. If false, only the expected load is exact: a small number of flows with a heavy-tailed
        /// size distribution can offer half or twice the load.
        exact: bool,
    },
    /// One flow every `gap`, the first at time 0.
    Fixed {
        /// The gap.
        gap: Duration,
    },
    /// Every flow starts at a random time from 0 to `jitter` (uniform), and thus at time 0 if `jitter` is 0.
    AllAtOnce {
        /// Length of the interval in which flows start.
        jitter: Duration,
    },
    /// Each sender produces frames of one size independently. A flow is one frame or one burst.
    PerHost(PerHost),
}

impl Arrivals {
    /// True if all hosts share one Poisson process. The pairs must then be drawn at random: a Poisson process split at
    /// random is a Poisson process at every host.
    pub(crate) fn random(&self) -> bool {
        matches!(self, Self::Poisson { .. } | Self::Load { .. })
    }

    /// Returns the mean gap between starts over all hosts, in picoseconds; 0 if all flows start at once.
    /// `bits_per_second` returns the rate that corresponds to a load of 1. `mean_size` is the mean of the size
    /// distribution in bytes.
    pub(crate) fn mean_gap_ps(
        &self,
        bits_per_second: impl FnOnce() -> f64,
        mean_size: f64,
    ) -> Result<f64, WorkloadError> {
        match *self {
            Self::Poisson { mean_gap: gap } | Self::Fixed { gap } if gap == Duration::ZERO => {
                Err(WorkloadError::parameter("gap", &gap, "more than 0"))
            }
            Self::Poisson { mean_gap: gap } | Self::Fixed { gap } => Ok(gap.as_ps() as f64),
            Self::AllAtOnce { .. } => Ok(0.0),
            Self::Load { load, .. } if !(load > 0.0 && load.is_finite()) => {
                Err(WorkloadError::parameter("load", &load, "more than 0"))
            }
            Self::Load { mean_size: Some(Bytes(0)), .. } => {
                Err(WorkloadError::parameter("mean size", &Bytes(0), "at least 1 B"))
            }
            Self::PerHost(per_host) => {
                let bits = 8.0 * mean_size * per_host.frames_a_flow();
                Ok(1e12 * bits / (per_host.load * bits_per_second()))
            }
            Self::Load { load, mean_size: other, .. } => {
                let bits = 8.0 * other.map_or(mean_size, |mean| mean.0 as f64);
                Ok(1e12 * bits / (load * bits_per_second()))
            }
        }
    }

    /// Returns an endless iterator of start times. The times are in order, except with `AllAtOnce` and a jitter.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub(crate) fn starts(
        &self,
        mean_gap_ps: f64,
        mut stream: Stream,
    ) -> impl Iterator<Item = Time> + Clone + use<> {
        let moment = match *self {
            Self::AllAtOnce { jitter } if jitter > Duration::ZERO => Some(jitter.as_ps()),
            _ => None,
        };
        let random = self.random();
        let gap = move |stream: &mut Stream| {
            let ps = if random { stream.exponential(mean_gap_ps) } else { mean_gap_ps };
            Duration::from_ps(ps.round() as u64)
        };
        let mut next = Time::ZERO + if random { gap(&mut stream) } else { Duration::ZERO };
        std::iter::repeat_with(move || match moment {
            Some(ps) => Time::ZERO + Duration::from_ps(stream.below(ps + 1)),
            None => {
                let after = next + gap(&mut stream);
                std::mem::replace(&mut next, after)
            }
        })
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::*;

    fn starts(arrivals: Arrivals, flows: usize) -> Vec<Time> {
        let mean_gap_ps = arrivals.mean_gap_ps(|| 10e9, 1_000.0).unwrap();
        arrivals.starts(mean_gap_ps, Stream::new(1, 0, "test")).take(flows).collect()
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
        assert_eq!(starts(Arrivals::AllAtOnce { jitter: Duration::ZERO }, 2), [Time::ZERO; 2]);
    }

    #[test]
    fn jitter_spreads_a_burst_over_its_moment() {
        let jitter = Duration::from_us(1);
        let mut starts = starts(Arrivals::AllAtOnce { jitter }, 10_000);
        starts.sort_unstable();
        let [least, median, most] = [0, 5_000, 9_999].map(|i| starts[i].as_ps());
        assert!(least < 10_000 && most <= 1_000_000 && most > 990_000, "{least} {most}");
        assert!(median.abs_diff(500_000) < 30_000, "{median}");
    }

    #[test]
    fn a_load_is_a_gap_by_the_mean_size() {
        let gap = |load, mean_size| {
            Arrivals::Load { load, mean_size, exact: false }.mean_gap_ps(|| 10e9, 1_000.0).unwrap().round()
                as u64
        };
        assert_eq!(gap(1.0, None), 800_000, "1,000 B at 10 Gbps");
        assert_eq!(gap(0.25, Some(Bytes(500))), 1_600_000);
    }

    #[test]
    fn gaps_and_loads_of_zero_are_refused() {
        let error = |arrivals: Arrivals| arrivals.mean_gap_ps(|| 1.0, 1.0).unwrap_err().to_string();
        assert_eq!(
            error(Arrivals::Poisson { mean_gap: Duration::ZERO }),
            "the gap must be more than 0 (got 0 ps)"
        );
        assert_eq!(error(Arrivals::Fixed { gap: Duration::ZERO }), "the gap must be more than 0 (got 0 ps)");
        let load = |load, mean_size| error(Arrivals::Load { load, mean_size, exact: false });
        assert_eq!(load(0.0, None), "the load must be more than 0 (got 0)");
        assert_eq!(load(f64::NAN, None), "the load must be more than 0 (got NaN)");
        assert_eq!(load(0.5, Some(Bytes(0))), "the mean size must be at least 1 B (got 0 B)");
    }
}
