//! What messages say while they are under way.

use super::rank::Message;
use raddle_core::FlowKey;
use rustc_hash::FxHashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The contents of messages under way, by the flow's name on the wire.
///
/// Packets count application bytes and do not keep them. What a message says is application bytes, so it stands here from
/// the moment in which its flow begins until it has been delivered: nobody learns of it before its last byte is there.
pub(super) struct Payloads(Vec<Mutex<FxHashMap<FlowKey, Message>>>);

/// Enough for threads not to meet.
const SHARDS: usize = 64;

impl Payloads {
    pub(super) fn new() -> Self {
        Self((0..SHARDS).map(|_| Mutex::default()).collect())
    }

    fn shard(&self, key: FlowKey) -> MutexGuard<'_, FxHashMap<FlowKey, Message>> {
        // Names begin with the sender and end with its flow's number.
        let shard = (key.0 ^ (key.0 >> 16) ^ (key.0 >> 32)) as usize % SHARDS;
        self.0[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes down what a flow that begins will say.
    ///
    /// # Panics
    /// If a flow under way has that name.
    pub(super) fn put(&self, key: FlowKey, message: Message) {
        let before = self.shard(key).insert(key, message);
        assert!(before.is_none(), "two flows under way share the name {:#x}", key.0);
    }

    /// What a flow says that has been delivered; `None` if it is none of the ranks'.
    pub(super) fn take(&self, key: FlowKey) -> Option<Message> {
        self.shard(key).remove(&key)
    }
}
