//! Sets the rate limits of the flows that a node sends, at the start of each flow and at every tick (§3.3).

use super::super::entries::Entry;
use super::super::outgoing::Outgoing;
use super::super::policy::is_news;
use super::super::{Policy, StartPolicy, rates};
use super::R2c2Node;
use raddle_core::{Duration, Time};
use raddle_wire::r2c2::{EventKind, flow_handle};

impl R2c2Node {
    /// Applies the start policy to a flow that this node has just announced.
    pub(super) fn limit_at_start(&mut self, now: Time, outgoing: &mut Outgoing) {
        let key = self.plane.sender.handle(outgoing.lid);
        let mtu = self.params().mtu;
        let rate = match self.params().start {
            StartPolicy::Line => return,
            StartPolicy::Local => self.compute_all().into_iter().find(|&(other, _)| other == key),
            StartPolicy::Batch => {
                let batch = self.table.batch(self.plane.ticks.latest(now), key);
                let rates = rates::rates(self.plane.params(), &self.plane.view, &batch);
                batch.binary_search_by_key(&key, Entry::key).ok().map(|place| (key, rates[place]))
            }
            StartPolicy::Link => Some((key, self.plane.view.fastest_link(self.plane.id).as_bps_f64())),
            StartPolicy::Residual => {
                let mut others = self.table.all();
                others.retain(|other| other.key() != key);
                self.table.get(key).map(|newcomer| {
                    (key, rates::residual(self.plane.params(), &self.plane.view, &others, newcomer))
                })
            }
        };
        if let Some((_, rate)) = rate {
            outgoing.limit(now, rate, mtu);
            self.plane.outbox.paced(key, rate);
        }
    }

    /// Runs a tick (§3.3.1): announces changed demands and weights, and makes flows eligible. Then computes the rates
    /// of the eligible flows, and sets the rate limits of the flows that this node sends. Skips the computation if its
    /// result is known or not needed.
    #[allow(clippy::cast_possible_truncation, reason = "R2C2 supports at most 2^16 nodes")]
    pub(super) fn tick(&mut self, now: Time) {
        let rho = self.params().rho;
        for event in self.plane.end_demand_period(now) {
            self.broadcast(now, event);
        }
        self.follow_deadlines(now);
        self.table.age(now);
        let before = std::mem::replace(&mut self.computed, now);
        if self.params().only_lasting && rho > Duration::ZERO && self.table.changed() + rho <= before {
            return; // the same flows were eligible at the last computation
        }
        let counts = |flow: &Outgoing| self.table.counts(self.plane.sender.handle(flow.lid));
        if !self.params().computes_idle && !self.plane.sender.flows().iter().any(counts) {
            return;
        }
        let eligible = self.table.counted();
        let rates = rates::rates_at_tick(self.plane.params(), &self.plane.view, &eligible);
        let mtu = self.params().mtu;
        for flow in self.plane.sender.flows_mut() {
            let key = flow_handle(self.plane.id.0 as u16, flow.lid);
            let Ok(place) = eligible.binary_search_by_key(&key, Entry::key) else { continue };
            let rate = rates[place];
            if flow.rate().is_none_or(|old| old.to_bits() != rate.to_bits()) {
                flow.limit(now, rate, mtu);
                self.plane.outbox.paced(key, rate);
            }
        }
    }

    /// Under [`Policy::Deadline`], computes the weights of this node's flows that are not cut off. If a weight differs
    /// by enough from the announced weight (`is_news`), updates the flow's weight and announces it.
    fn follow_deadlines(&mut self, now: Time) {
        if self.params().policy != Policy::Deadline {
            return;
        }
        let (mtu, link) = (self.params().mtu, self.plane.view.fastest_link(self.plane.id));
        let mut announce = Vec::new();
        for flow in self.plane.sender.flows_mut().iter_mut().filter(|flow| !flow.cut_off) {
            let weight = flow.urgency(now, mtu, link);
            if is_news(weight, flow.weight) {
                flow.weight = weight;
                announce.push(flow.event(EventKind::Demand));
            }
        }
        for event in announce {
            self.broadcast(now, event);
        }
    }
}
