//! The contents of messages in flight.

use super::rank::Message;
use raddle_core::FlowKey;
use rustc_hash::FxHashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The contents of messages in flight, keyed by the name on the wire of the message's flow.
///
/// Simulated packets do not carry application bytes. So the contents of a message are stored here
/// from the start of the message's flow until the delivery of the flow. No rank reads the contents
/// before the last byte has arrived.
pub(super) struct Payloads(Vec<Mutex<FxHashMap<FlowKey, Message>>>);

/// Number of locks. With this many locks, threads rarely wait for each other.
const SHARDS: usize = 64;

impl Payloads {
    pub(super) fn new() -> Self {
        Self((0..SHARDS).map(|_| Mutex::default()).collect())
    }

    #[allow(clippy::cast_possible_truncation, reason = "a `usize` has 64 bits")]
    fn shard(&self, key: FlowKey) -> MutexGuard<'_, FxHashMap<FlowKey, Message>> {
        // The high bits of a flow's name identify the sender, and the low bits identify the flow among the sender's
        // flows.
        let shard = (key.0 ^ (key.0 >> 16) ^ (key.0 >> 32)) as usize % SHARDS;
        self.0[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the message of a flow that begins.
    ///
    /// # Panics
    /// If a flow in flight already has that name.
    pub(super) fn put(&self, key: FlowKey, message: Message) {
        let before = self.shard(key).insert(key, message);
        assert!(before.is_none(), "two flows in flight have the same key {:#x}", key.0);
    }

    /// Removes and returns the message of a delivered flow; `None` if the flow is not a message of a rank.
    pub(super) fn take(&self, key: FlowKey) -> Option<Message> {
        self.shard(key).remove(&key)
    }
}
