//! When subflows are to be looked at: a heap in which an entry may be early, but never late.

use raddle_core::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A subflow of a host: its flow's number, and which one it is.
pub(super) type Place = (u32, u8);

/// What is due when.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(Time, Place)>>,
}

impl Timers {
    /// Looks at `place` at `at`. `armed` is when it would be looked at anyway, and becomes what it is now.
    pub(super) fn arm(&mut self, at: Time, place: Place, armed: &mut Time) {
        if at < *armed {
            *armed = at;
            self.heap.push(Reverse((at, place)));
        }
    }

    /// The next place to look at, by `now`; entries that were armed earlier since are there twice.
    pub(super) fn due(&mut self, now: Time) -> Option<(Time, Place)> {
        self.heap.peek().filter(|Reverse((at, _))| *at <= now)?;
        self.heap.pop().map(|Reverse(entry)| entry)
    }

    /// When something is due next; [`Time::NEVER`] if nothing is.
    pub(super) fn next(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }
}
