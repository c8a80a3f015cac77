//! The timers of go-back-N for all flows that an adapter sends.

use crate::transport::go_back_n::Params;
use raddle_core::{FlowKey, Time};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The flows that have not ended, with their timers, and the flows that the sender gave up.
#[derive(Debug)]
pub(super) struct Recovery {
    pub(super) params: Params,
    /// Each flow's index in the host's list of outgoing flows.
    places: FxHashMap<FlowKey, u32>,
    /// Times at which the flows' timers may expire, at most one per flow. A flow that has ended may still have an
    /// entry.
    timers: BinaryHeap<Reverse<(Time, FlowKey)>>,
    /// The key and the number of retransmissions of each flow that the sender gave up.
    pub(super) given_up: Vec<(FlowKey, u32)>,
}

impl Recovery {
    pub(super) fn new(params: Params) -> Self {
        let (places, timers, given_up) = Default::default();
        Self { params, places, timers, given_up }
    }

    /// Adds a flow.
    pub(super) fn open(&mut self, key: FlowKey, place: u32) {
        self.places.insert(key, place);
    }

    /// The index of a flow; `None` if the flow has ended.
    pub(super) fn place(&self, key: FlowKey) -> Option<u32> {
        self.places.get(&key).copied()
    }

    /// Removes a flow that has ended.
    pub(super) fn close(&mut self, key: FlowKey) {
        self.places.remove(&key);
    }

    /// Adds a timer entry for a flow that has none. The flow is [due](Self::due) at time `at`.
    pub(super) fn arm(&mut self, at: Time, key: FlowKey) {
        self.timers.push(Reverse((at, key)));
    }

    /// Returns the index of a flow whose timer entry is due by `now`, and removes the entry; `None` if no entry is due.
    pub(super) fn due(&mut self, now: Time) -> Option<u32> {
        if self.next() > now {
            return None;
        }
        let Reverse((_, key)) = self.timers.pop()?;
        self.place(key)
    }

    /// Time of the next timer of a flow that has not ended, or [`Time::NEVER`]. Removes earlier entries of flows that
    /// have ended.
    pub(super) fn next(&mut self) -> Time {
        while let Some(&Reverse((at, key))) = self.timers.peek() {
            if self.places.contains_key(&key) {
                return at;
            }
            self.timers.pop();
        }
        Time::NEVER
    }
}
