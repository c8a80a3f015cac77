//! Demand estimation (R2C2 §3.3.2). The demand of a flow is the rate that the flow can use. The application may limit
//! this rate.

/// A flow announces a demand when its estimated demand falls below this fraction of its allocated rate.
const BELOW_ALLOCATION: f64 = 0.9;
/// A flow announces its demand again when the estimate differs from the last announced demand by more than this
/// fraction.
const CHANGE: f64 = 0.1;
/// Weight of the newest sample in the smoothed estimate.
const GAIN: f64 = 0.25;
/// Least number of periods between two announcements of a flow.
const PERIODS_BETWEEN: u32 = 4;

/// One sample of the demand, in bit/s: `d[i+1] = s[i] + q[i]/T`. This is the number of bits released in the last period
/// plus the number of bits queued now, divided by the period.
#[must_use]
fn sample(released: u64, queued: u64, period_s: f64) -> f64 {
    (released + queued) as f64 * 8.0 / period_s
}

/// The demand of one flow in bit/s, estimated once per period.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand {
    smoothed: f64,
    announced: f64,
    backlogged_periods: u32,
    periods_since: u32,
}

impl Default for Demand {
    fn default() -> Self {
        Self {
            smoothed: f64::INFINITY,
            announced: f64::INFINITY,
            backlogged_periods: 0,
            periods_since: PERIODS_BETWEEN,
        }
    }
}

impl Demand {
    /// The last announced demand in Kbit/s, as in event headers. The value is rounded up, so that a small demand does
    /// not become zero. The greatest value means an unlimited demand.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub(super) fn announced_kbps(&self) -> u32 {
        (self.announced / 1e3).ceil() as u32
    }

    /// Ends a period of `period_s` seconds. `released` is the number of bytes sent in the period, `queued` is the
    /// number of bytes that wait now, and `allocation` is the flow's rate limit in bit/s. Returns true if there is a
    /// new demand to announce.
    ///
    /// An announced demand becomes unlimited again after at least two periods in a row that end with a backlog. A
    /// backlog of at most `few` bytes, or of at most a quarter of the released bytes, does not count. Pacing and
    /// estimation cause such backlogs.
    pub(super) fn period(
        &mut self,
        released: u64,
        queued: u64,
        few: u64,
        period_s: f64,
        allocation: f64,
    ) -> bool {
        let newest = sample(released, queued, period_s);
        self.smoothed =
            if self.smoothed.is_finite() { (1.0 - GAIN) * self.smoothed + GAIN * newest } else { newest };
        self.backlogged_periods =
            if queued > few.max(released / 4) { self.backlogged_periods + 1 } else { 0 };
        self.periods_since = self.periods_since.saturating_add(1);
        if self.periods_since < PERIODS_BETWEEN {
            return false;
        }
        let announce = if self.announced.is_finite() {
            if self.backlogged_periods >= 2 {
                f64::INFINITY
            } else if (self.smoothed - self.announced).abs() > CHANGE * self.announced {
                self.smoothed
            } else {
                return false;
            }
        } else if self.smoothed < BELOW_ALLOCATION * allocation {
            self.smoothed
        } else {
            return false;
        };
        let before = self.announced_kbps();
        self.announced = announce;
        self.periods_since = 0;
        // While an application produces no bytes, its estimated demand keeps falling. Events carry the demand in whole
        // kbps, so an event is needed only if the rounded demand has changed.
        self.announced_kbps() != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_wire::r2c2::UNLIMITED_KBPS;

    #[test]
    fn samples_match_the_worked_examples() {
        // In a period of 1 ms: 4 Gb/s released plus 1 MB queued gives a demand of 12 Gb/s. 1 Gb/s released and no
        // backlog gives 1 Gb/s.
        assert!((sample(500_000, 1_000_000, 1e-3) - 12e9).abs() < 1.0);
        assert!((sample(125_000, 0, 1e-3) - 1e9).abs() < 1.0);
    }

    #[test]
    fn smoothing_matches_the_worked_example() {
        let mut demand = Demand::default();
        for (bytes, expected) in [(1_000, 8e6), (500, 7e6), (500, 6.25e6)] {
            demand.period(bytes, 0, 0, 1e-3, 0.0);
            assert!((demand.smoothed - expected).abs() < 1e-3, "{} {expected}", demand.smoothed);
        }
    }

    #[test]
    fn a_starved_source_announces_once_and_takes_it_back_under_backlog() {
        let mut demand = Demand::default();
        assert_eq!(demand.announced_kbps(), UNLIMITED_KBPS);
        assert!(demand.period(25_000, 0, 3_000, 1e-3, 475e6));
        assert_eq!(demand.announced_kbps(), 200_000);
        assert!(!demand.period(25_000, 0, 3_000, 1e-3, 200e6));
        let later = (0..4).filter(|_| demand.period(25_000, 9_000, 3_000, 1e-3, 200e6)).count();
        assert_eq!((later, demand.announced_kbps()), (1, UNLIMITED_KBPS));
    }
}
