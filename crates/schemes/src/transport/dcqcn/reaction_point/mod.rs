//! The reaction point: the rate limiter of a flow at its sender (Zhu et al., §3.1, eq. 1 to 4, Figure 7).
//!
//! A notice makes the *current rate* the *target rate*, and cuts the current rate by the fraction alpha/2. Alpha is the
//! *estimate of congestion*: it rises with each notice, and falls after each [`Params::alpha_timer`] without a notice.
//! Byte cycles end after a number of bytes, and time cycles after a time. The end of each cycle halves the distance to
//! the target (fast recovery). From cycle [`Params::fr_thr`] of either kind on, the target also rises (additive
//! increase). Once the cycles of both kinds exceed that number, it rises ever faster (hyper increase).
//!
//! A flow starts at line rate. It returns to line rate when its rate is within a ten-thousandth of it. Then the limiter
//! only keeps alpha.
//!
//! # Differs from the paper
//! - The i-th cycle of hyper increase raises the target by i steps, as in QCN; the paper leaves it out.
//! - The fall of alpha is computed when alpha is next needed; its value is the same.
//!
//! Cost per packet: a division and a few additions; none at line rate.

use super::params::Params;
use crate::transport::recovering_rate::RecoveringRate;
use raddle_core::{Rate, Time};
use std::sync::Arc;

/// The rate limiter of one flow.
#[derive(Debug, Clone)]
pub(crate) struct ReactionPoint {
    params: Arc<Params>,
    line_rate: Rate,
    /// Estimate of congestion after the last notice, 0 to 1, and the time of that notice.
    estimate: Option<(f64, Time)>,
    /// `None` while packets go at line rate.
    limit: Option<Limit>,
}

/// The state of an active limiter.
#[derive(Debug, Clone)]
struct Limit {
    pace: RecoveringRate,
    /// Cycles since the last notice, by bytes (`BC`) and by time (`T`).
    byte_stage: u32,
    time_stage: u32,
    /// Bytes left in the byte cycle, which ends when this is negative.
    bytes_left: i64,
    /// The end of the time cycle.
    timer: Time,
}

impl ReactionPoint {
    /// Creates an inactive limiter for a port with rate `line_rate`.
    #[must_use]
    pub(crate) fn new(params: Arc<Params>, line_rate: Rate) -> Self {
        Self { params, line_rate, estimate: None, limit: None }
    }

    /// Handles a notice.
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

    /// The estimate of congestion: 1 before the first notice.
    #[must_use]
    pub(crate) fn alpha(&self, now: Time) -> f64 {
        let Some((alpha, noticed)) = self.estimate else { return 1.0 };
        // Applies eq. 2 once for each alpha timer that has expired since.
        let falls = now.since(noticed).as_ps() / self.params.alpha_timer.as_ps();
        alpha * power(1.0 - self.params.gain, falls)
    }

    /// A packet of `bytes` bytes begins to leave.
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

    /// Ends the time cycle, if its end has come.
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
