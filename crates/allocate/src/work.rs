//! The remaining work of a flow, with its rate and its deadline.

use crate::fluid::GRACE_S;
use raddle_core::{Duration, Time};

const PS_PER_S: f64 = 1e12;

/// The remaining work of a flow.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    /// Deadline; [`Time::NEVER`] if the flow has none.
    pub(crate) due: Time,
    /// The maximum rate at which the flow can send, bit/s.
    pub(crate) max_bps: f64,
    pub(crate) rate_bps: f64,
    /// Bits left at `since`, the time of the latest update.
    pub(crate) remaining_bits: f64,
    since: Time,
}

impl Work {
    /// Returns the work of a flow that does not send yet.
    pub(crate) fn new(now: Time, size_bits: f64, due: Time, max_bps: f64) -> Self {
        Self { due, max_bps, rate_bps: 0.0, remaining_bits: size_bits, since: now }
    }

    /// Updates the remaining bits to `now`.
    pub(crate) fn advance(&mut self, now: Time) {
        let sent = self.rate_bps * now.since(self.since).as_secs_f64();
        self.remaining_bits = (self.remaining_bits - sent).max(0.0);
        self.since = now;
    }

    /// Returns the seconds for which the flow can pause and then still meet its deadline at its maximum rate, as of the
    /// latest update; negative if it cannot meet the deadline.
    fn slack_s(&self) -> f64 {
        (self.due.as_ps() as f64 - self.since.as_ps() as f64) / PS_PER_S - self.remaining_bits / self.max_bps
    }

    /// True if, as of the latest update, the flow would be late by more than [`GRACE_S`] seconds even at its maximum
    /// rate.
    pub(crate) fn is_late(&self) -> bool {
        self.due != Time::NEVER && self.slack_s() < -GRACE_S
    }

    /// Returns the rate that the flow needs to meet its deadline, in bit/s, as of the latest update; at most the
    /// maximum rate at which it can send.
    pub(crate) fn needs_bps(&self) -> f64 {
        (self.remaining_bits / self.due.since(self.since).as_secs_f64()).min(self.max_bps)
    }

    /// Returns the time from which the flow [is late](Self::is_late) if it continues at its current rate;
    /// [`Time::NEVER`] if there is no such time.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub(crate) fn late_at(&self) -> Time {
        if self.due == Time::NEVER || self.rate_bps >= self.needs_bps() {
            return Time::NEVER;
        }
        let in_s = (self.slack_s() + GRACE_S) / (1.0 - self.rate_bps / self.max_bps) + GRACE_S;
        self.since + Duration::from_ps((in_s.max(0.0) * PS_PER_S) as u64 + 1)
    }
}
