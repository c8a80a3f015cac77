//! What a host rarely looks at: flows received to the end, flows given up, and streams that are open.

use crate::transport::time_wait::TimeWait;
use raddle_core::{Duration, FlowId, FlowKey};
use rustc_hash::FxHashMap;

/// Flows that a host has finished with, and streams that it still sends.
#[derive(Debug)]
pub(super) struct Finished {
    /// Flows received to the end, with their last acknowledgement, for twice the maximum segment lifetime of RFC 9293
    /// §3.4.2 or longer.
    pub(super) received: TimeWait<u32>,
    /// Key and retransmissions of flows that were given up.
    pub(super) given_up: Vec<(FlowKey, u32)>,
    /// Streams sent from here that the application has not closed.
    pub(super) streams: FxHashMap<FlowId, FlowKey>,
}

impl Default for Finished {
    fn default() -> Self {
        let (given_up, streams) = Default::default();
        Self { received: TimeWait::new(Duration::from_ms(240_000)), given_up, streams }
    }
}
