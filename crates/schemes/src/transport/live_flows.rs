//! The flows that pass a link, each with its controller's state. The count is exact although packets that open and
//! close flows are repeated and lost.
//!
//! A flow without packets for a long time is forgotten, because its sender may be dead. If the sender is alive, its
//! next packet adds the flow again. Cost: a hash-map look-up per packet, and occasionally a walk through the map.

use raddle_core::{Duration, FlowKey, Time};
use rustc_hash::FxHashMap;

/// The flows that pass a link, by their keys on the wire.
#[derive(Debug)]
pub(crate) struct LiveFlows<A> {
    flows: FxHashMap<FlowKey, Seen<A>>,
    /// Time of the last sweep.
    swept: Time,
}

#[derive(Debug)]
struct Seen<A> {
    at: Time,
    account: A,
}

impl<A> LiveFlows<A> {
    /// Creates an empty set.
    pub(crate) fn new() -> Self {
        Self { flows: FxHashMap::default(), swept: Time::ZERO }
    }

    /// Number of flows.
    pub(crate) fn len(&self) -> usize {
        self.flows.len()
    }

    /// Records a packet of a flow, and sets the flow's account. Returns the flow's previous account, if the flow was
    /// known.
    pub(crate) fn put(&mut self, now: Time, flow: FlowKey, account: A) -> Option<A> {
        self.flows.insert(flow, Seen { at: now, account }).map(|seen| seen.account)
    }

    /// The account of a flow, if the flow is known.
    pub(crate) fn get(&self, flow: FlowKey) -> Option<&A> {
        self.flows.get(&flow).map(|seen| &seen.account)
    }

    /// Removes a flow that has ended. Returns its account.
    pub(crate) fn remove(&mut self, flow: FlowKey) -> Option<A> {
        self.flows.remove(&flow).map(|seen| seen.account)
    }

    /// Removes the flows without packets for `span`, unless the last sweep was less than `span` ago. Calls `forgotten`
    /// with the account of each removed flow, in no order.
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
