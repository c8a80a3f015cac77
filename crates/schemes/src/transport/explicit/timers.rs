//! The timers of subflows, in a heap. The timer of a subflow may expire earlier than the subflow is due, but never
//! later.

use raddle_core::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Identifies a subflow of a host by the flow's number and the subflow's index.
pub(super) type Place = (u32, u8);

/// Timers of subflows, ordered by time.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(Time, Place)>>,
}

impl Timers {
    /// Sets the timer of subflow `place` to `at`, unless the timer is set to an earlier time. `armed` is the time for
    /// which the timer is set. The function updates `armed`.
    pub(super) fn arm(&mut self, at: Time, place: Place, armed: &mut Time) {
        if at < *armed {
            *armed = at;
            self.heap.push(Reverse((at, place)));
        }
    }

    /// Removes and returns the earliest entry that is due by `now`. A subflow has several entries if its timer was set
    /// again to an earlier time.
    pub(super) fn due(&mut self, now: Time) -> Option<(Time, Place)> {
        self.heap.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.heap.pop().map(|Reverse(entry)| entry)
    }

    /// Time of the next entry; [`Time::NEVER`] if the heap is empty.
    pub(super) fn next(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }
}
