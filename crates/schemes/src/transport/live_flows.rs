//! The flows that pass a link, each with what its controller keeps of it: what makes counts exact although packets that
//! open and close flows are repeated and lost.
//!
//! A flow that nothing has been seen of for long is forgotten: its sender may be dead. If it is not, the next packet brings
//! it back. Cost: a look-up in a hash map; now and then a walk through it.

use raddle_core::{Duration, FlowKey, Time};
use rustc_hash::FxHashMap;

/// The flows that pass a link, by their names on the wire.
#[derive(Debug)]
pub(crate) struct LiveFlows<A> {
    flows: FxHashMap<FlowKey, Seen<A>>,
    /// When all were last looked at.
    swept: Time,
}

#[derive(Debug)]
struct Seen<A> {
    at: Time,
    account: A,
}

impl<A> LiveFlows<A> {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self { flows: FxHashMap::default(), swept: Time::ZERO }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.flows.len()
    }

    /// A packet of a flow passes. Returns what is kept of it, if it was known; keeps `account` from now on.
    pub(crate) fn put(&mut self, now: Time, flow: FlowKey, account: A) -> Option<A> {
        self.flows.insert(flow, Seen { at: now, account }).map(|seen| seen.account)
    }

    /// The account of a flow, if the flow is known.
    pub(crate) fn get(&self, flow: FlowKey) -> Option<&A> {
        self.flows.get(&flow).map(|seen| &seen.account)
    }

    /// The flow is over. Returns what was kept of it.
    pub(crate) fn remove(&mut self, flow: FlowKey) -> Option<A> {
        self.flows.remove(&flow).map(|seen| seen.account)
    }

    /// Forgets flows of which nothing has been seen for `span`, if it is that long since it last did. Says what was kept of
    /// them, in no order.
    pub(crate) fn sweep(&mut self, now: Time, span: Duration, mut forgotten: impl FnMut(&A)) {
        if now.since(self.swept) < span {
            return;
        }
        self.swept = now;
        self.flows.retain(|_, seen| {
            let is_live = now.since(seen.at) < span;
            if !is_live {
                forgotten(&seen.account);
            }
            is_live
        });
    }
}
