//! What an event queue was asked to do, to do it again on other structures (`bench/benches/event_queues.rs`).

use crate::events::{Event, EventQueue};
use raddle_core::Time;

/// A call that changed an event queue. Events come out by (`time`, `target`), the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// An event is put in.
    Push {
        /// When it is due, in picoseconds.
        time: u64,
        /// What it is about; breaks ties.
        target: u32,
    },
    /// The next event is taken out.
    Pop,
}

/// The engine's own event queue, not recording.
#[derive(Debug)]
pub struct EngineQueue(EventQueue);

impl EngineQueue {
    /// As a partition with so many links has it.
    #[must_use]
    pub fn new(links: usize) -> Self {
        let mut queue = EventQueue::new(links, Time::ZERO);
        queue.trace = None;
        Self(queue)
    }

    /// Puts an event in.
    #[inline]
    pub fn push(&mut self, time: u64, target: u32) {
        self.0.push(Event { time, target });
    }

    /// Takes the next event out.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, u32)> {
        self.0.pop_before(Time::NEVER).map(|event| (event.time, event.target))
    }
}
