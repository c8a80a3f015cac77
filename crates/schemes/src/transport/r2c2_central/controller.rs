//! The controller: knows all flows, and says which rates are to be told to whom.

use super::{Params, Push};
use crate::transport::r2c2::fabric::View;
use crate::transport::r2c2::{self, FlowTable, rates};
use raddle_core::{Duration, NodeId, Time};
use raddle_wire::r2c2::{Event, EventKind, FlowRate};

/// The rates of all flows that a node sends.
pub(super) type NodeRates = (NodeId, Vec<FlowRate>);

#[derive(Debug)]
pub(super) struct Controller {
    pub(super) table: FlowTable,
    push: Push,
    /// Flows or links have changed since rates were last told upon an event.
    is_news: bool,
    /// Computations so far; wraps.
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

    /// Takes in what a node says of a flow, if it is new.
    pub(super) fn take(&mut self, now: Time, event: &Event) {
        if event.kind == EventKind::Finish && self.table.get(event.flow()).is_none() {
            return; // said twice
        }
        let before = self.table.digest();
        self.table.apply(now, event);
        self.is_news |= self.table.digest() != before;
    }

    /// Takes in that links have changed: forgets the flows that are cut off, and those of nodes that node `at`, which
    /// is the controller's, no longer talks with.
    pub(super) fn renew(&mut self, now: Time, view: &View, at: NodeId) {
        let reaches = |from, to| view.routing.distance(from, to).is_some();
        self.table.retain(now, |entry| {
            let src = entry.src();
            reaches(src, NodeId(entry.dst.into())) && reaches(src, at) && reaches(at, src)
        });
        self.is_news = true;
    }

    /// Whether rates are to be told now, tick or no tick. The next answer is no, unless more happens.
    pub(super) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.is_news) && self.push == Push::Event
    }

    /// Whether rates are to be told at a tick.
    pub(super) fn tells_at_ticks(&self) -> bool {
        self.push == Push::Tick
    }

    /// Computes the rates of the flows that count: the computation's number, and the rates by node.
    pub(super) fn compute(&mut self, now: Time, params: &r2c2::Params, view: &View) -> (u32, Vec<NodeRates>) {
        self.table.age(now);
        let flows = self.table.counted();
        let rates = rates::rates(params, view, &flows);
        self.number = self.number.wrapping_add(1);
        let mut by_node: Vec<NodeRates> = Vec::new();
        for (flow, &rate) in flows.iter().zip(&*rates) {
            // Rounded down, so that no link is promised more than it has.
            let rate = FlowRate { lid: flow.key() as u16, kbps: (rate / 1e3) as u32 };
            match by_node.last_mut() {
                Some((node, rates)) if *node == flow.src() => rates.push(rate),
                _ => by_node.push((flow.src(), vec![rate])),
            }
        }
        (self.number, by_node)
    }
}
