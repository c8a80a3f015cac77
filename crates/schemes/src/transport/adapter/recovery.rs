//! The timers of go-back-N, of all flows that an adapter sends.

use crate::transport::go_back_n::Params;
use raddle_core::{FlowKey, Time};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Flows that are sent until they are acknowledged.
#[derive(Debug)]
pub(super) struct Recovery {
    pub(super) params: Params,
    /// Their places among those that the host sends.
    places: FxHashMap<FlowKey, u32>,
    /// When their timers may end: at most one entry a flow, and entries of flows that are over.
    timers: BinaryHeap<Reverse<(Time, FlowKey)>>,
    /// Flows that were given up, and how many of their packets were sent more than once.
    pub(super) given_up: Vec<(FlowKey, u32)>,
}

impl Recovery {
    pub(super) fn new(params: Params) -> Self {
        let (places, timers, given_up) = Default::default();
        Self { params, places, timers, given_up }
    }

    /// A flow begins.
    pub(super) fn open(&mut self, key: FlowKey, place: u32) {
        self.places.insert(key, place);
    }

    /// The place of a flow that is not over.
    pub(super) fn place(&self, key: FlowKey) -> Option<u32> {
        self.places.get(&key).copied()
    }

    /// A flow is over.
    pub(super) fn close(&mut self, key: FlowKey) {
        self.places.remove(&key);
    }

    /// Asks for a flow, which has no other entry, to be [due](Self::due) at that time.
    pub(super) fn arm(&mut self, at: Time, key: FlowKey) {
        self.timers.push(Reverse((at, key)));
    }

    /// The place of a flow that is due, which then has no entry.
    pub(super) fn due(&mut self, now: Time) -> Option<u32> {
        if self.next() > now {
            return None;
        }
        let Reverse((_, key)) = self.timers.pop()?;
        self.place(key)
    }

    /// When the next flow is due. Entries of flows that are over keep nobody awake.
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
