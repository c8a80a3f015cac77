//! A rate that is cut under congestion, and then recovers by halving the distance to a target rate, as in the reaction
//! points of 802.1Qau and DCQCN.
//!
//! The rate is enforced by a *debt* in bits. A frame may begin when the debt is zero, and then adds its length to the
//! debt. The debt decreases at the current rate. The departure time of the next frame is not stored, because a change
//! of the rate also changes this time.
//!
//! Rates are whole bits per second. The debt is exact: its unit is 10^-12 bit, and a rate of R bit/s reduces the debt
//! by R units per picosecond.

use raddle_core::{Duration, Rate, Time};

/// A rate, and the debt that enforces the rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecoveringRate {
    line_rate: u64,
    rate: u64,
    target: u64,
    /// The debt at time `settled`, in units of 10^-12 bit.
    debt: u64,
    settled: Time,
}

/// The debt that one byte adds, in units of 10^-12 bit.
const BYTE: u64 = 8_000_000_000_000;

impl RecoveringRate {
    /// Creates a rate that starts now, at line rate.
    pub(crate) fn new(line_rate: Rate, now: Time) -> Self {
        let line_rate = line_rate.as_bps();
        Self { line_rate, rate: line_rate, target: line_rate, debt: 0, settled: now }
    }

    /// The current rate.
    pub(crate) fn rate(&self) -> Rate {
        Rate::from_bps(self.rate)
    }

    /// The target rate of the recovery.
    pub(crate) fn target(&self) -> Rate {
        Rate::from_bps(self.target)
    }

    /// True if the current rate is line rate.
    pub(crate) fn is_at_line_rate(&self) -> bool {
        self.rate == self.line_rate
    }

    /// Sets the target rate to the current rate.
    pub(crate) fn aim_here(&mut self) {
        self.target = self.rate;
    }

    /// Multiplies the current rate by `share`. The result is at least `least`, or line rate if line rate is less.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub(crate) fn cut(&mut self, now: Time, share: f64, least: Rate) {
        self.settle(now);
        self.rate = ((self.rate as f64 * share) as u64).max(least.as_bps().min(self.line_rate));
    }

    /// Sets the target rate to `target`, or to line rate if line rate is less. Then halves the distance between the
    /// current rate and the target rate. A rate within a ten-thousandth of line rate becomes line rate, because halving
    /// would never reach line rate.
    pub(crate) fn recover(&mut self, now: Time, target: Rate) {
        self.settle(now);
        self.target = target.as_bps().min(self.line_rate);
        let rate = u64::midpoint(self.rate, self.target);
        let arrived = rate > self.line_rate - self.line_rate / 10_000;
        self.rate = if arrived { self.line_rate } else { rate };
    }

    /// Adds the debt of a frame of `bytes` bytes that begins now.
    pub(crate) fn begin(&mut self, now: Time, bytes: u32) {
        self.settle(now);
        self.debt += u64::from(bytes) * BYTE;
    }

    /// The time at which the next frame may begin.
    pub(crate) fn ready_at(&self) -> Time {
        self.settled + Duration::from_ps(self.debt.div_ceil(self.rate))
    }

    /// Reduces the debt by the number of bits that the current rate gives since `settled`. Sets `settled` to `now`.
    fn settle(&mut self, now: Time) {
        let decayed = self.rate.saturating_mul(now.since(self.settled).as_ps());
        self.debt = self.debt.saturating_sub(decayed);
        self.settled = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: Rate = Rate::from_gbps(10);
    const LEAST: Rate = Rate::from_bps(100_000);

    fn at_us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    #[test]
    fn frames_begin_as_the_rate_allows() {
        let mut pace = RecoveringRate::new(LINE, Time::ZERO);
        pace.cut(Time::ZERO, 0.1, LEAST);
        for frame in 0..100 {
            assert_eq!(pace.ready_at(), at_us(12 * frame));
            pace.begin(pace.ready_at(), 1_500);
        }
        pace.begin(at_us(5_000), 1_500);
        assert_eq!(pace.ready_at(), at_us(5_012), "unused time is no credit");
    }

    #[test]
    fn a_rate_change_moves_the_next_departure() {
        let mut pace = RecoveringRate::new(LINE, Time::ZERO);
        pace.cut(Time::ZERO, 0.0, LEAST);
        pace.begin(Time::ZERO, 1_500);
        assert_eq!(pace.ready_at(), at_us(120_000), "1,500 B at 100 kb/s");
        pace.recover(at_us(60_000), Rate::from_bps(300_000));
        assert_eq!(pace.ready_at(), at_us(90_000), "the second half at 200 kb/s");
        pace.cut(at_us(75_000), 0.5, LEAST);
        assert_eq!(pace.ready_at(), at_us(105_000), "and the fourth quarter at 100 kb/s again");
    }

    #[test]
    fn the_target_is_at_most_line_rate_and_is_reached() {
        let mut pace = RecoveringRate::new(LINE, Time::ZERO);
        pace.cut(Time::ZERO, 0.5, LEAST);
        let mut rates = std::iter::from_fn(|| {
            pace.recover(Time::ZERO, Rate::from_gbps(11));
            Some(pace.rate().as_bps())
        });
        assert_eq!(rates.next(), Some(7_500_000_000));
        // The cut leaves a distance of 1/2 to line rate, and each recovery halves it. After 13 recoveries in total, the
        // rate is 1 - 2^-14 of line rate, which exceeds 0.9999 for the first time.
        assert_eq!(rates.position(|rate| rate == LINE.as_bps()), Some(11));
        assert_eq!(pace.target(), LINE);
    }

    #[test]
    fn no_rate_falls_below_the_least_but_where_the_line_does() {
        for (line, least) in [(LINE, LEAST), (Rate::from_bps(9), Rate::from_bps(9))] {
            let mut pace = RecoveringRate::new(line, Time::ZERO);
            pace.cut(Time::ZERO, 0.0, LEAST);
            assert_eq!(pace.rate(), least);
        }
    }
}
