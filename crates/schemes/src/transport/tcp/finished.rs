//! What a host rarely looks at: flows received to the end, flows given up, and streams that are open.

use raddle_core::{Duration, FlowId, FlowKey, Time};
use rustc_hash::FxHashMap;

/// Flows received to the end, remembered as TIME-WAIT does: should its last acknowledgement be lost, the sender
/// repeats its last segment, and has to be answered.
#[derive(Debug, Default)]
pub(super) struct Finished {
    /// Key and last acknowledgement of flows heard of in this generation, and in the one before.
    recent: FxHashMap<FlowKey, u32>,
    older: FxHashMap<FlowKey, u32>,
    generation_ends: Time,
    /// Key and retransmissions of flows that were given up.
    pub(super) given_up: Vec<(FlowKey, u32)>,
    /// Streams sent from here that the application has not closed.
    pub(super) streams: FxHashMap<FlowId, FlowKey>,
}

impl Finished {
    /// Twice the maximum segment lifetime of RFC 9293 §3.4.2: a flow is remembered for once to twice as long.
    const GENERATION: Duration = Duration::from_ms(240_000);

    pub(super) fn insert(&mut self, now: Time, key: FlowKey, ack: u32) {
        if now >= self.generation_ends {
            std::mem::swap(&mut self.recent, &mut self.older);
            self.recent.clear();
            self.generation_ends = now + Self::GENERATION;
        }
        self.recent.insert(key, ack);
    }

    /// The last acknowledgement of a finished flow.
    pub(super) fn find(&mut self, now: Time, key: FlowKey) -> Option<u32> {
        if let Some(&ack) = self.recent.get(&key) {
            return Some(ack);
        }
        let ack = self.older.remove(&key)?;
        self.insert(now, key, ack);
        Some(ack)
    }
}
