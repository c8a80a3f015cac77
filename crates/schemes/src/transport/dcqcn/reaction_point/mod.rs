//! The reaction point: the rate limiter of a flow at its sender (Zhu et al., SIGCOMM 2015, §3.1, eq. 1 to 4, Figure 7).
//!
//! A congestion notification sets the *target rate* to the *current rate*, and then cuts the current rate by the
//! fraction alpha/2. Alpha is the *estimate of congestion*: it rises with each notification, and falls after each
//! period [`Params::alpha_timer`] without a notification. The current rate recovers in cycles. A byte cycle ends after
//! a number of sent bytes, and a time cycle after a constant time. The end of each cycle halves the difference between
//! the current rate and the target rate (fast recovery). From cycle number [`Params::fr_thr`] of either kind on, the
//! target rate also rises at the end of each cycle (additive increase). When both kinds have had more than `fr_thr`
//! cycles, the target rate rises faster with each cycle (hyper increase).
//!
//! A flow starts at line rate, without a limiter. When the current rate is within a ten-thousandth of line rate, the
//! flow returns to line rate. Until the next notification, the reaction point keeps only alpha.
//!
//! # Differs from the paper
//! - The i-th cycle of hyper increase raises the target rate by i steps, as in QCN. The paper does not give the steps.
//! - Reductions of alpha are computed only when alpha is next needed. This does not change the value of alpha.
//!
//! Cost per packet: a division and a few additions. At line rate, a packet costs nothing.

use super::params::Params;
use crate::transport::recovering_rate::RecoveringRate;
use raddle_core::{Rate, Time};
use std::sync::Arc;

/// The rate limiter of one flow.
#[derive(Debug, Clone)]
pub(crate) struct ReactionPoint {
    params: Arc<Params>,
    line_rate: Rate,
    /// The estimate of congestion (alpha, 0 to 1) after the last notification, and the time of this notification.
    /// `None` before the first notification.
    estimate: Option<(f64, Time)>,
    /// The state of the rate limit; `None` while the flow sends at line rate.
    limit: Option<Limit>,
}

/// The state of an active limiter.
#[derive(Debug, Clone)]
struct Limit {
    pace: RecoveringRate,
    /// Number of byte cycles since the last notification (`BC` in the paper).
    byte_stage: u32,
    /// Number of time cycles since the last notification (`T` in the paper).
    time_stage: u32,
    /// Number of bytes left in the byte cycle. The cycle ends when this number becomes negative.
    bytes_left: i64,
    /// The time at which the time cycle ends.
    timer: Time,
}

impl ReactionPoint {
    /// Creates an inactive limiter for a port with rate `line_rate`.
    #[must_use]
    pub(crate) fn new(params: Arc<Params>, line_rate: Rate) -> Self {
        Self { params, line_rate, estimate: None, limit: None }
    }

    /// Handles a congestion notification.
    pub(crate) fn notice(&mut self, now: Time) {
        let alpha = self.alpha(now);
        let Self { params, line_rate, limit, .. } = self;
        let pace = match limit.take() {
            Some(limit) => limit.pace,
            None => RecoveringRate::new(*line_rate, now),
        };
        let limit = limit.insert(Limit {
            pace,
            byte_stage: 0,
            time_stage: 0,
            bytes_left: params.byte_limit.0.cast_signed(),
            timer: now + params.timer,
        });
        limit.pace.aim_here();
        limit.pace.cut(now, 1.0 - alpha / 2.0, params.min_rate); // eq. 1
        self.estimate = Some(((1.0 - params.gain) * alpha + params.gain, now));
    }

    /// The estimate of congestion (alpha); 1 before the first notification.
    #[must_use]
    pub(crate) fn alpha(&self, now: Time) -> f64 {
        let Some((alpha, noticed)) = self.estimate else { return 1.0 };
        // Applies eq. 2 once for each period of the alpha timer since the last notification.
        let falls = now.since(noticed).as_ps() / self.params.alpha_timer.as_ps();
        alpha * power(1.0 - self.params.gain, falls)
    }

    /// Records that a packet of `bytes` bytes begins to leave.
    pub(crate) fn sent(&mut self, now: Time, bytes: u32) {
        let Self { params, limit: state, .. } = self;
        let Some(limit) = state else { return };
        limit.pace.begin(now, bytes);
        limit.bytes_left -= i64::from(bytes);
        if limit.bytes_left < 0 {
            limit.byte_stage += 1;
            limit.bytes_left = params.byte_limit.0.cast_signed();
            self.increase(now);
        }
    }

    /// The time at which the next packet may begin. A time in the past means now.
    #[must_use]
    pub(crate) fn ready_at(&self) -> Time {
        self.limit.as_ref().map_or(Time::ZERO, |limit| limit.pace.ready_at())
    }

    /// The time at which [`fire`](Self::fire) must be called; [`Time::NEVER`] while the limiter is inactive.
    #[must_use]
    pub(crate) fn timer(&self) -> Time {
        self.limit.as_ref().map_or(Time::NEVER, |limit| limit.timer)
    }

    /// Ends the time cycle if it is due by `now`.
    pub(crate) fn fire(&mut self, now: Time) {
        let Some(limit) = self.limit.as_mut().filter(|limit| limit.timer <= now) else { return };
        limit.time_stage += 1;
        limit.timer = now + self.params.timer;
        self.increase(now);
    }

    /// Updates the rates at the end of a cycle (Figure 7).
    fn increase(&mut self, now: Time) {
        let Self { params, limit: state, .. } = self;
        let Some(limit) = state else { return };
        let fewer = limit.byte_stage.min(limit.time_stage);
        let more = limit.byte_stage.max(limit.time_stage);
        let step = if more < params.fr_thr {
            0
        } else if fewer > params.fr_thr {
            params.r_hai.as_bps() * u64::from(fewer - params.fr_thr)
        } else {
            params.r_ai.as_bps()
        };
        limit.pace.recover(now, Rate::from_bps(limit.pace.target().as_bps() + step)); // eq. 3 and 4
        if limit.pace.is_at_line_rate() {
            *state = None;
        }
    }
}

/// `base` to the power of `n`, by multiplication only, so that the result has the same bits on every machine.
fn power(mut base: f64, mut n: u64) -> f64 {
    let mut product = 1.0;
    while n > 0 {
        if n & 1 == 1 {
            product *= base;
        }
        base *= base;
        n >>= 1;
    }
    product
}

#[cfg(test)]
mod tests;
