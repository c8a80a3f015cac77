//! A live flow.

use crate::crossing::Crossing;
use raddle_core::{Duration, Flow, LinkId, Time};

const PS_PER_S: f64 = 1e12;

/// A flow that has started and has not sent all of its bits.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) flow: Flow,
    /// The flow's slot in the allocation; `None` until its handshake is complete.
    pub(crate) slot: Option<u32>,
    /// Time of the flow's valid entry in the heap; [`Time::NEVER`] if there is none.
    pub(crate) queued: Time,
    /// Time at which the flow begins to send. Once the flow sends: the time at which it ends at its present rate, or
    /// [`Time::NEVER`] at rate 0.
    pub(crate) due: Time,
    /// Time at which `left` was computed and the flow got its present rate.
    since: Time,
    /// Bits on the wire that were left to send at the time `since`.
    left: f64,
    /// Rate in bit/s.
    rate: f64,
    pub(crate) crossing: Crossing,
    pub(crate) row: Box<[(LinkId, f32)]>,
}

impl Live {
    /// A flow of `bits` bits on the wire, which begins to send at `begin`.
    pub(crate) fn new(flow: Flow, bits: f64, begin: Time, crossing: Crossing, row: &[(LinkId, f32)]) -> Self {
        let (slot, row) = (None, row.into());
        Self {
            flow,
            slot,
            queued: Time::NEVER,
            due: begin,
            since: begin,
            left: bits,
            rate: 0.0,
            crossing,
            row,
        }
    }

    /// Bits on the wire that are left to send at `now`.
    pub(crate) fn left(&self, now: Time) -> f64 {
        let seconds = now.since(self.since).as_ps() as f64 / PS_PER_S;
        if self.rate > 0.0 { (self.left - self.rate * seconds).max(0.0) } else { self.left }
    }

    /// The time at which the flow got its present rate.
    pub(crate) fn since(&self) -> Time {
        self.since
    }

    /// Bits on the wire that the flow has sent at its present rate.
    pub(crate) fn sent(&self, now: Time) -> f64 {
        // A flow ends at a whole picosecond, by which it has sent all of its bits.
        if self.slot.is_some() && self.due <= now { self.left } else { self.left - self.left(now) }
    }

    /// Sets the flow's rate from `now` on, in bit/s.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub(crate) fn set_rate(&mut self, now: Time, rate: f64) {
        self.left = self.left(now);
        (self.since, self.rate) = (now, rate);
        self.due = if rate > 0.0 {
            // The cast of a float saturates, so a flow with a tiny rate is practically never due.
            now + Duration::from_ps((self.left / rate * PS_PER_S).ceil() as u64)
        } else {
            Time::NEVER
        };
    }
}
