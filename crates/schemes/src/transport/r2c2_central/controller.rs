//! The controller: keeps the table of all flows, and computes the rates to send to each node.

use super::{Params, Push};
use crate::transport::r2c2::fabric::View;
use crate::transport::r2c2::{self, FlowTable, rates};
use raddle_core::{Duration, NodeId, Time};
use raddle_wire::r2c2::{Event, EventKind, FlowRate};

/// A node, and the rates of the eligible flows that the node sends.
pub(super) type NodeRates = (NodeId, Vec<FlowRate>);

#[derive(Debug)]
pub(super) struct Controller {
    pub(super) table: FlowTable,
    push: Push,
    /// True if flows or links have changed since the last call of [`take_news`](Self::take_news).
    is_news: bool,
    /// Number of computations, modulo 2^32.
    number: u32,
}

impl Controller {
    pub(super) fn new(params: &Params) -> Self {
        let lasting = match params.push {
            Push::Tick if params.r2c2.only_lasting => params.r2c2.rho,
            Push::Tick | Push::Event => Duration::ZERO,
        };
        Self { table: FlowTable::new(lasting), push: params.push, is_news: false, number: 0 }
    }

    /// Applies an event that a node has reported. A repeated event has no effect.
    pub(super) fn take(&mut self, now: Time, event: &Event) {
        if event.kind == EventKind::Finish && self.table.get(event.flow()).is_none() {
            return; // the table does not have the flow, for example because its FINISH has already been reported
        }
        let before = self.table.digest();
        self.table.apply(now, event);
        self.is_news |= self.table.digest() != before;
    }

    /// Called after a topology change: removes flows that are cut off, and flows of nodes that cannot exchange messages
    /// with the controller at node `at`.
    pub(super) fn renew(&mut self, now: Time, view: &View, at: NodeId) {
        let reaches = |from, to| view.routing.distance(from, to).is_some();
        self.table.retain(now, |entry| {
            let src = entry.src();
            reaches(src, NodeId(entry.dst.into())) && reaches(src, at) && reaches(at, src)
        });
        self.is_news = true;
    }

    /// True if the controller sends rates at every event, and flows or links have changed since the last call.
    pub(super) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.is_news) && self.push == Push::Event
    }

    /// True if the controller sends rates at ticks.
    pub(super) fn tells_at_ticks(&self) -> bool {
        self.push == Push::Tick
    }

    /// Computes the rates of the flows that are eligible at `now`. Returns the number of the computation, and the rates
    /// for each node.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a flow's number is the lower 16 bits of its key, and the cast of a rate saturates"
    )]
    pub(super) fn compute(&mut self, now: Time, params: &r2c2::Params, view: &View) -> (u32, Vec<NodeRates>) {
        self.table.age(now);
        let flows = self.table.counted();
        let rates = rates::rates(params, view, &flows);
        self.number = self.number.wrapping_add(1);
        let mut by_node: Vec<NodeRates> = Vec::new();
        for (flow, &rate) in flows.iter().zip(&*rates) {
            // The rate is rounded down, so that the total of the rates never exceeds a link's capacity.
            let rate = FlowRate { lid: flow.key() as u16, kbps: (rate / 1e3) as u32 };
            match by_node.last_mut() {
                Some((node, rates)) if *node == flow.src() => rates.push(rate),
                _ => by_node.push((flow.src(), vec![rate])),
            }
        }
        (self.number, by_node)
    }
}
