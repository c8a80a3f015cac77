//! The retransmission timeout (RFC 6298).

use raddle_core::Duration;

/// Clock granularity (G in RFC 6298): a timeout exceeds the smoothed round trip by at least this time.
const GRANULARITY: Duration = Duration::from_us(1);

/// Bounds of the retransmission timeout.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeoutBounds {
    /// Timeout before the first measured round trip.
    pub(crate) initial: Duration,
    /// Least timeout, before back-off.
    pub(crate) least: Duration,
    /// Greatest timeout, after back-off.
    pub(crate) greatest: Duration,
}

/// The smoothed round-trip time, the round-trip variation, and the back-off of the timeout.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RttEstimator {
    /// The smoothed round-trip time. Zero means that there is no sample yet, because a measured round trip is never
    /// zero.
    smoothed: Duration,
    variation: Duration,
    backoff: u8,
}

impl RttEstimator {
    /// Records a measured round trip. This ends the back-off of the timeout (§5, last paragraph but one).
    pub(crate) fn sample(&mut self, rtt: Duration) {
        self.backoff = 0;
        let smoothed = self.smoothed;
        if smoothed == Duration::ZERO {
            self.smoothed = rtt; // §2.2
            self.variation = rtt / 2;
            return;
        }
        let error = if rtt > smoothed { rtt - smoothed } else { smoothed - rtt };
        self.variation = (self.variation * 3 + error) / 4; // §2.3, beta = 1/4
        self.smoothed = (smoothed * 7 + rtt) / 8; // alpha = 1/8
    }

    /// Doubles the timeout after the timer has expired (§5.5).
    pub(crate) fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
    }

    /// Ends the back-off without a measured round trip. R2C2 calls this function when new packets are acknowledged, TCP
    /// when a retransmitted SYN is acknowledged.
    pub(crate) fn forgive(&mut self) {
        self.backoff = 0;
    }

    /// The smoothed round trip; zero before the first sample.
    pub(crate) fn smoothed(&self) -> Duration {
        self.smoothed
    }

    /// A bound that few round trips exceed: `SRTT + max(G, 4 · RTTVAR)` (§2.3). `None` before the first sample.
    pub(crate) fn bound(&self) -> Option<Duration> {
        (self.smoothed > Duration::ZERO).then(|| self.smoothed + (self.variation * 4).max(GRANULARITY))
    }

    /// The current timeout.
    pub(crate) fn timeout(&self, bounds: &TimeoutBounds) -> Duration {
        let base = self.bound().map_or(bounds.initial, |bound| bound.max(bounds.least));
        (base * 1_u64.checked_shl(self.backoff.into()).unwrap_or(u64::MAX)).min(bounds.greatest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: TimeoutBounds = TimeoutBounds {
        initial: Duration::from_ms(5),
        least: Duration::from_us(10),
        greatest: Duration::from_ms(60_000),
    };

    #[test]
    fn timeout_follows_the_rfc_s_recurrences() {
        let mut rtt = RttEstimator::default();
        assert_eq!(rtt.timeout(&BOUNDS), Duration::from_ms(5));
        rtt.sample(Duration::from_us(80));
        assert_eq!(rtt.timeout(&BOUNDS), Duration::from_us(80 + 4 * 40));
        // The variation is (3·40 + 80)/4 = 50 us, and the smoothed round trip is (7·80 + 160)/8 = 90 us.
        rtt.sample(Duration::from_us(160));
        assert_eq!(rtt.timeout(&BOUNDS), Duration::from_us(90 + 4 * 50));
    }

    #[test]
    fn a_steady_round_trip_leaves_the_granularity_and_the_minimum() {
        let mut rtt = RttEstimator::default();
        for _ in 0..200 {
            rtt.sample(Duration::from_us(80));
        }
        assert_eq!(rtt.timeout(&BOUNDS), Duration::from_us(81));
        let least = Duration::from_ms(1);
        assert_eq!(rtt.timeout(&TimeoutBounds { least, ..BOUNDS }), least);
    }

    #[test]
    fn back_off_doubles_up_to_the_maximum_until_a_sample() {
        let mut rtt = RttEstimator::default();
        rtt.sample(Duration::from_us(80));
        rtt.back_off();
        assert_eq!(rtt.timeout(&BOUNDS), Duration::from_us(2 * 240));
        for _ in 0..99 {
            rtt.back_off();
        }
        assert_eq!(rtt.timeout(&BOUNDS), BOUNDS.greatest);
        rtt.sample(Duration::from_us(80));
        assert_eq!(rtt.timeout(&BOUNDS), Duration::from_us(80 + 4 * 30));
    }
}
