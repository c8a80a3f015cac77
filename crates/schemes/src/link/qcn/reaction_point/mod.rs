//! The reaction point: the rate limiter of one adapter for one destination (specifications/cee.md §3.3).
//!
//! A notice cuts the *current rate*. The rate before the cut also becomes the *target rate*, unless [`Params::efr`] is
//! set and no byte cycle has ended since the previous notice. A byte cycle ends after a certain number of sent bytes,
//! and a time cycle after a certain time. The end of each cycle halves the distance to the target. After
//! [`Params::fr_thr`] cycles of one kind the target rate itself rises (active increase). After this number of cycles of
//! each kind, the target rises ever faster (hyper-active increase). In IEEE 802.1Q, both increases begin one cycle
//! earlier. A limiter becomes inactive when it is at line rate and the destination's queue is empty.
//!
//! Cost per frame: a division and a few additions. An inactive limiter costs nothing.

use super::params::{Machine, Params};
use super::{MOST_FEEDBACK, around};
use crate::transport::recovering_rate::RecoveringRate;
use raddle_core::{Duration, Rate, Stream, Time};
use std::sync::Arc;

/// The rate limiter for one destination.
#[derive(Debug, Clone)]
pub(crate) struct ReactionPoint {
    params: Arc<Params>,
    line_rate: Rate,
    random: Stream,
    /// The limiter's state while it is active. With `None`, frames are sent at line rate.
    limit: Option<Limit>,
}

/// The state of an active limiter.
#[derive(Debug, Clone)]
struct Limit {
    pace: RecoveringRate,
    /// Number of byte cycles that have ended since the latest notice.
    byte_stage: u32,
    /// Number of time cycles that have ended since the latest notice.
    time_stage: u32,
    /// Bytes until the byte cycle ends, which happens when this value is negative.
    bytes_left: i64,
    /// Time at which the time cycle ends.
    timer: Time,
    /// True if the adapter's queue for the destination was empty after the latest frame. Also true from the limiter's
    /// activation to the next frame.
    idle: bool,
}

impl ReactionPoint {
    /// An inactive limiter for an adapter of this line rate.
    #[must_use]
    pub(crate) fn new(params: Arc<Params>, line_rate: Rate, random: Stream) -> Self {
        Self { params, line_rate, random, limit: None }
    }

    /// Handles a notice with this feedback. Feedback of 0 has no effect.
    pub(crate) fn notice(&mut self, now: Time, feedback: u8) {
        if feedback == 0 {
            return;
        }
        let Self { params, line_rate, random, limit } = self;
        let limit = limit.get_or_insert_with(|| Limit::new(RecoveringRate::new(*line_rate, now), params));
        if limit.byte_stage > 0 || !params.efr {
            limit.pace.aim_here();
            limit.bytes_left = around(params.byte_limit.0, random).cast_signed();
        }
        (limit.byte_stage, limit.time_stage) = (0, 0);
        let taken = params.gd * f64::from(feedback) / f64::from(MOST_FEEDBACK);
        limit.pace.cut(now, (1.0 - taken).max(params.min_dec), params.min_rate);
        limit.timer = now + Duration::from_ps(around(params.timer.as_ps(), random));
    }

    /// Notes that a frame of `bytes` bytes begins to leave. `queue_empty` is true if the frame was the last frame in
    /// the destination's queue.
    pub(crate) fn sent(&mut self, now: Time, bytes: u32, queue_empty: bool) {
        let Self { params, random, limit: state, .. } = self;
        let Some(limit) = state else { return };
        limit.pace.begin(now, bytes);
        limit.bytes_left -= i64::from(bytes);
        if limit.bytes_left < 0 {
            limit.byte_stage += 1;
            let cycle = params.byte_limit.0 / limit.shortening(params, limit.byte_stage);
            limit.bytes_left = around(cycle, random).cast_signed();
            limit.increase(now, params);
        }
        limit.idle = queue_empty;
        if limit.is_done() {
            *state = None;
        }
    }

    /// Earliest time at which the next frame may begin. If this time has passed, the frame may begin now.
    #[must_use]
    pub(crate) fn ready_at(&self) -> Time {
        self.limit.as_ref().map_or(Time::ZERO, |limit| limit.pace.ready_at())
    }

    /// Time at which [`fire`](Self::fire) must be called; [`Time::NEVER`] while the limiter is inactive.
    #[must_use]
    pub(crate) fn timer(&self) -> Time {
        self.limit.as_ref().map_or(Time::NEVER, |limit| limit.timer)
    }

    /// Ends the time cycle if its time is over.
    pub(crate) fn fire(&mut self, now: Time) {
        let Self { params, random, limit: state, .. } = self;
        let Some(limit) = state.as_mut().filter(|limit| limit.timer <= now) else { return };
        limit.time_stage += 1;
        let cycle = params.timer / limit.shortening(params, limit.time_stage);
        limit.timer = now + Duration::from_ps(around(cycle.as_ps(), random));
        limit.increase(now, params);
        // Without this check the timer would run for ever after the last frame to a destination.
        if limit.is_done() {
            *state = None;
        }
    }
}

impl Limit {
    fn new(pace: RecoveringRate, params: &Params) -> Self {
        let bytes_left = params.byte_limit.0.cast_signed();
        Self { pace, byte_stage: 0, time_stage: 0, bytes_left, timer: Time::NEVER, idle: true }
    }

    /// True if the limiter is at line rate and the destination's queue is empty, so that the limiter can become
    /// inactive.
    fn is_done(&self) -> bool {
        self.pace.is_at_line_rate() && self.idle
    }

    /// Factor by which the cycle that now begins is shorter than the first cycle. `stage` is the number of finished
    /// cycles of this kind.
    fn shortening(&self, params: &Params, stage: u32) -> u64 {
        let halved = match params.machine {
            Machine::V22 => stage > params.fr_thr,
            Machine::Dot1q => self.byte_stage.min(self.time_stage) >= params.fr_thr,
        };
        if halved { 2 } else { 1 }
    }

    /// Updates the rates at the end of a cycle.
    fn increase(&mut self, now: Time, params: &Params) {
        // Number of cycles of fast recovery. In the standard the target begins to rise one cycle earlier than in
        // version 2.2.
        let recovery = match params.machine {
            Machine::V22 => params.fr_thr,
            Machine::Dot1q => params.fr_thr - 1,
        };
        let (fewer, more) = (self.byte_stage.min(self.time_stage), self.byte_stage.max(self.time_stage));
        let step = if fewer > recovery {
            params.r_hai.as_bps() * u64::from(fewer - recovery)
        } else if more > recovery {
            params.r_ai.as_bps()
        } else {
            0
        };
        let first = self.byte_stage == 1 || self.time_stage == 1;
        let (rate, target) = (self.pace.rate().as_bps(), self.pace.target().as_bps());
        let reduced = params.trr && first && target > 10 * rate;
        let target = if reduced { target / 8 } else { target + step };
        self.pace.recover(now, Rate::from_bps(target));
    }
}

#[cfg(test)]
mod tests;
