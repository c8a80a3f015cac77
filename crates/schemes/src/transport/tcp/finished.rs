//! State that a host rarely reads: flows that were received completely, flows that were given up, and open streams.

use crate::transport::time_wait::TimeWait;
use raddle_core::{Duration, FlowId, FlowKey};
use rustc_hash::FxHashMap;

/// The finished flows of a host, and the open streams that the host sends.
#[derive(Debug)]
pub(super) struct Finished {
    /// The flows that were received completely, with the last acknowledgement of each flow. A flow is kept for at least
    /// twice the maximum segment lifetime (RFC 9293 §3.4.2).
    pub(super) received: TimeWait<u32>,
    /// The key and the number of retransmissions of each flow that was given up.
    pub(super) given_up: Vec<(FlowKey, u32)>,
    /// The streams that this host sends and that the application has not closed.
    pub(super) streams: FxHashMap<FlowId, FlowKey>,
}

impl Default for Finished {
    fn default() -> Self {
        let (given_up, streams) = Default::default();
        Self { received: TimeWait::new(Duration::from_ms(240_000)), given_up, streams }
    }
}
