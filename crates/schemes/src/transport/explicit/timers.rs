//! Timers of subflows: a heap in which an entry may be early, but never late.

use raddle_core::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A subflow of a host: the flow's number, and the subflow's index.
pub(super) type Place = (u32, u8);

/// Times and subflows, the earliest first.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(Time, Place)>>,
}

impl Timers {
    /// Sets the timer of `place` to `at`, unless it is set to an earlier time. `armed` is the time for which it is set,
    /// and is updated.
    pub(super) fn arm(&mut self, at: Time, place: Place, armed: &mut Time) {
        if at < *armed {
            *armed = at;
            self.heap.push(Reverse((at, place)));
        }
    }

    /// The next subflow that is due by `now`. A subflow whose timer was moved forward has several entries.
    pub(super) fn due(&mut self, now: Time) -> Option<(Time, Place)> {
        self.heap.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.heap.pop().map(|Reverse(entry)| entry)
    }

    /// Time of the next entry; [`Time::NEVER`] if there is none.
    pub(super) fn next(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }
}
