//! A recording of the calls to an event queue, to replay them on other data structures (`bench/benches/event_queues`).

use crate::events::{Event, EventQueue};
use raddle_core::Time;

/// A call that changed an event queue. The queue pops events in order of (`time`, `target`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// An event is inserted.
    Push {
        /// The event's time, in picoseconds.
        time: u64,
        /// The event's kind and the index of its link, node or change. Orders events of equal time.
        target: u32,
    },
    /// The next event is removed.
    Pop,
}

/// The engine's event queue, without recording.
#[derive(Debug)]
pub struct EngineQueue(EventQueue);

impl EngineQueue {
    /// Creates the queue of a partition with `links` links.
    #[must_use]
    pub fn new(links: usize) -> Self {
        let mut queue = EventQueue::new(links, Time::ZERO);
        queue.trace = None;
        Self(queue)
    }

    /// Inserts an event.
    #[inline]
    pub fn push(&mut self, time: u64, target: u32) {
        self.0.push(Event { time, target });
    }

    /// Removes the next event.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, u32)> {
        self.0.pop_before(Time::NEVER).map(|event| (event.time, event.target))
    }
}
