//! The reaction point: the rate limiter of what one adapter sends to one destination (specs/cee.md §3.3).
//!
//! A notice cuts the *current rate* and, once it has recovered for a byte cycle, makes what it was the *target rate*.
//! Cycles end when so many bytes have been sent, and when so much time has passed; each halves the distance to the
//! target. After [`Params::fr_thr`] cycles of one kind the target itself rises (active increase), after as many of
//! both it rises ever faster (hyper-active increase). A limiter at line rate with nothing left to send is done.
//!
//! Cost a frame: a division and a few additions, and nothing while the limiter is not active.

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
    /// None while frames go at line rate.
    limit: Option<Limit>,
}

/// What an active limiter remembers.
#[derive(Debug, Clone)]
struct Limit {
    pace: RecoveringRate,
    /// Cycles since the last notice, by bytes and by time.
    byte_stage: u32,
    time_stage: u32,
    /// Until the byte cycle ends, which it does below zero.
    bytes_left: i64,
    /// When the time cycle ends.
    timer: Time,
    /// Whether the last frame left the destination's queue empty.
    idle: bool,
}

impl ReactionPoint {
    /// A limiter that is not active, for an adapter of that line rate.
    #[must_use]
    pub(crate) fn new(params: Arc<Params>, line_rate: Rate, random: Stream) -> Self {
        Self { params, line_rate, random, limit: None }
    }

    /// A notice with this feedback, of which 0 says nothing, has come in.
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

    /// A frame of so many bytes begins to leave; whether it leaves the destination's queue empty.
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

    /// When the next frame may begin, which is now if it has passed.
    #[must_use]
    pub(crate) fn ready_at(&self) -> Time {
        self.limit.as_ref().map_or(Time::ZERO, |limit| limit.pace.ready_at())
    }

    /// When [`fire`](Self::fire) has to be called; never, while the limiter is not active.
    #[must_use]
    pub(crate) fn timer(&self) -> Time {
        self.limit.as_ref().map_or(Time::NEVER, |limit| limit.timer)
    }

    /// Ends the time cycle, if it is at its end.
    pub(crate) fn fire(&mut self, now: Time) {
        let Self { params, random, limit: state, .. } = self;
        let Some(limit) = state.as_mut().filter(|limit| limit.timer <= now) else { return };
        limit.time_stage += 1;
        let cycle = params.timer / limit.shortening(params, limit.time_stage);
        limit.timer = now + Duration::from_ps(around(cycle.as_ps(), random));
        limit.increase(now, params);
        // Otherwise the timer of a destination to which nothing more is sent would run for ever.
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

    /// Whether it holds nothing back any more.
    fn is_done(&self) -> bool {
        self.pace.is_at_line_rate() && self.idle
    }

    /// By what the cycle that now begins is shorter than the first; `stage` are the cycles of its own kind.
    fn shortening(&self, params: &Params, stage: u32) -> u64 {
        let halved = match params.machine {
            Machine::V22 => stage > params.fr_thr,
            Machine::Dot1q => self.byte_stage.min(self.time_stage) >= params.fr_thr,
        };
        if halved { 2 } else { 1 }
    }

    /// What the end of a cycle does to the rates.
    fn increase(&mut self, now: Time, params: &Params) {
        // Cycles of fast recovery: the one in which the standard begins to raise the target still is one in version 2.2.
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
