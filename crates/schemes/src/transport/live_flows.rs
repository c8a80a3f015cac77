//! The flows that cross a link, with the state that the link's controller keeps about each flow (its account). A
//! repeated packet that opens or closes a flow does not change the number of flows.
//!
//! A flow without packets for a long time is forgotten, because its sender may be dead, or the packet that closes the
//! flow may be lost. If the sender is alive, the flow's next packet adds the flow again. Cost: one hash-map look-up per
//! operation, and occasionally a walk through all flows.

use raddle_core::{Duration, FlowKey, Time};
use rustc_hash::FxHashMap;

/// The flows that cross a link, with the account `A` of each flow.
#[derive(Debug)]
pub(crate) struct LiveFlows<A> {
    flows: FxHashMap<FlowKey, Seen<A>>,
    /// Time of the last search for flows without recent packets.
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

    /// Records the arrival of a packet of a flow, and sets the flow's account. Returns the previous account, or `None`
    /// if the flow is new.
    pub(crate) fn put(&mut self, now: Time, flow: FlowKey, account: A) -> Option<A> {
        self.flows.insert(flow, Seen { at: now, account }).map(|seen| seen.account)
    }

    /// The account of a flow; `None` if the flow is unknown or forgotten.
    pub(crate) fn get(&self, flow: FlowKey) -> Option<&A> {
        self.flows.get(&flow).map(|seen| &seen.account)
    }

    /// Removes a flow that has ended. Returns its account.
    pub(crate) fn remove(&mut self, flow: FlowKey) -> Option<A> {
        self.flows.remove(&flow).map(|seen| seen.account)
    }

    /// Removes the flows that had no packet for `span`. Does nothing if the last sweep was less than `span` ago. Calls
    /// `forgotten` with the account of each removed flow, in an unspecified order.
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
