//! State that a host rarely reads: completely received flows, flows that were given up, and open streams.

use crate::transport::time_wait::TimeWait;
use raddle_core::{Duration, FlowId, FlowKey};
use rustc_hash::FxHashMap;

/// Flows that a host has finished, and open streams that it sends.
#[derive(Debug)]
pub(super) struct Finished {
    /// Completely received flows with their last acknowledgement. Each is kept for at least twice the maximum segment
    /// lifetime (RFC 9293 §3.4.2).
    pub(super) received: TimeWait<u32>,
    /// Key and number of retransmissions of each flow that was given up.
    pub(super) given_up: Vec<(FlowKey, u32)>,
    /// Open streams that this host sends: the application has not closed them.
    pub(super) streams: FxHashMap<FlowId, FlowKey>,
}

impl Default for Finished {
    fn default() -> Self {
        let (given_up, streams) = Default::default();
        Self { received: TimeWait::new(Duration::from_ms(240_000)), given_up, streams }
    }
}
