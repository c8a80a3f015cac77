//! The rates to which D3's routers converge: reservations in order of arrival, and fair shares of the unreserved
//! capacity (Wilson, Ballani, Karagiannis, Rowstron, SIGCOMM 2011; specification of PDQ, §6 and §11).
//!
//! A flow with a deadline asks for the rate at which it would just meet the deadline. In order of arrival, each flow
//! gets a grant: its request, or less if its links have less capacity left ([grants]). In addition, all flows, with
//! deadlines or without, get max-min fair shares of the remaining capacity. A flow gives up if it needs a higher rate
//! than its maximum rate (quenching).
//!
//! # Times of requests
//! The rate that a flow needs changes continuously while the flow sends faster or slower than this rate. A flow with a
//! deadline updates its request when it arrives, when another flow arrives or leaves on one of its links, and when the
//! capacity of such a link changes. At multiples of [`REFRESH`], a flow that does not send at the requested rate also
//! updates its request. Between updates the request stays the same, as a request of D3 does for a round trip.
//!
//! # Cost
//! When a flow arrives or leaves, the policy examines the flows with deadlines on its links, and the flows whose grants
//! may change as a result. At multiples of [`REFRESH`], the policy goes through all flows to find those that update
//! their requests. Apart from this, flows without deadlines take as much time as under [`MaxMin`](crate::MaxMin).

#![allow(clippy::cast_possible_truncation, reason = "there are fewer than 2^32 flows")]

mod grants;

use crate::work::Work;
use crate::{Changes, Fluid, FluidFlow, Incremental};
use grants::Link;
use raddle_core::{Duration, Time};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// At multiples of this time, flows with deadlines that do not send at the requested rate update their requests
/// (specification §11).
pub const REFRESH: Duration = Duration::from_ms(1);

/// A flow's rate is treated as equal to its request if they differ by at most this share of the flow's maximum rate.
const SAME: f64 = 1e-9;

/// Reservations in order of arrival, and max-min fair shares of the unreserved capacity.
#[derive(Debug, Clone)]
pub struct Reservation {
    /// Max-min shares of the capacity that reservations leave. A flow has the same slot here as in `flows`.
    rest: Incremental,
    /// The unit in which links count capacity, in bit/s.
    unit_bps: f64,
    /// Indexed by link slot.
    links: Vec<Link>,
    /// Indexed by flow slot.
    flows: Vec<Member>,
    /// Times from which flows can no longer meet their deadlines even at their maximum rates, if they keep their
    /// current rates until then. Each time comes with the flow's slot.
    late: BTreeSet<(Time, u32)>,
    /// The next time at which all flows with deadlines that do not send at the requested rate update their requests.
    refresh_at: Time,
    /// Links whose flows or capacity changed, each listed once. The flows on these links update their
    /// requests.
    disturbed: Vec<u32>,
    /// Flows whose grants may be wrong, each listed once, in order of arrival.
    doubts: BinaryHeap<Reverse<(u64, u32)>>,
    /// Links whose grants were examined in this call of `settle`, each listed once.
    visited: Vec<u32>,
    /// Flows with deadlines whose rates may differ from the last reported rates, each listed once.
    touched: Vec<u32>,
}

/// A flow. If it has no deadline, its work, request and grant are not updated.
#[derive(Debug, Clone)]
struct Member {
    order: u64,
    /// The flow's remaining work. In a free slot, its deadline is [`Time::NEVER`].
    work: Work,
    /// The maximum rate at which the flow can send, bit/s. Infinity if this rate is not below the rate of the
    /// flow's links.
    demand_bps: f64,
    asked_bps: f64,
    granted_bps: f64,
    /// True if the flow's grant is less than its request. The flow's links then count the flow in
    /// `Link::short`.
    short: bool,
    /// Time from which the flow can no longer meet its deadline even at its maximum rate, if it keeps its current rate
    /// until then; [`Time::NEVER`] if there is no such time.
    late_at: Time,
    /// True if the flow is listed in `Reservation::doubts`, or gives up.
    doubted: bool,
    /// True if the flow is listed in `Reservation::touched`.
    touched: bool,
    row: Vec<(u32, f32)>,
}

impl Member {
    fn is_urgent(&self) -> bool {
        self.work.due != Time::NEVER
    }

    /// True if the flow sends at the rate that it asked for, so that it would ask for the same rate again.
    fn is_steady(&self) -> bool {
        (self.work.rate_bps - self.asked_bps).abs() <= SAME * self.work.max_bps
    }
}

impl Reservation {
    /// Creates a policy without flows, over links with these usable capacities in bit/s.
    #[must_use]
    pub fn new(links: &[f64]) -> Self {
        let rest = Incremental::new(links);
        let unit_bps = rest.unit_bps();
        Self {
            rest,
            unit_bps,
            links: links.iter().map(|&bps| Link::new(bps, unit_bps)).collect(),
            flows: Vec::new(),
            late: BTreeSet::new(),
            refresh_at: Time::NEVER,
            disturbed: Vec::new(),
            doubts: BinaryHeap::new(),
            visited: Vec::new(),
            touched: Vec::new(),
        }
    }

    /// Marks a link so that its flows update their requests.
    fn disturb(&mut self, link: u32) {
        if !std::mem::replace(&mut self.links[link as usize].disturbed, true) {
            self.disturbed.push(link);
        }
    }

    /// Updates the requests of the flows with deadlines on marked links, and of the flows whose `late_at` has come. If
    /// `refresh_at` has come, also updates the requests of all flows with deadlines that do not send at the requested
    /// rate. A flow gives up if it can no longer meet its deadline even at its maximum rate.
    fn ask(&mut self, now: Time, changes: &mut Changes) {
        let mut gone = changes.given_up.len();
        while let Some(&(at, slot)) = self.late.first()
            && at <= now
        {
            self.late.pop_first();
            self.flows[slot as usize].late_at = Time::NEVER;
            self.ask_for(now, slot, changes);
        }
        if self.refresh_at <= now {
            self.refresh_at = Time::NEVER;
            for slot in 0..self.flows.len() {
                let flow = &self.flows[slot];
                if flow.is_urgent() && !flow.is_steady() {
                    self.ask_for(now, slot as u32, changes);
                }
            }
        }
        loop {
            for at in gone..changes.given_up.len() {
                self.remove(now, changes.given_up[at]);
            }
            gone = changes.given_up.len();
            let Some(link) = self.disturbed.pop() else { break };
            self.visit(link);
            let disturbed = &mut self.links[link as usize];
            (disturbed.disturbed, disturbed.doubted) = (false, true);
            for at in 0..self.links[link as usize].grants.len() {
                let slot = self.links[link as usize].grants[at].slot;
                self.ask_for(now, slot, changes);
            }
        }
    }

    /// Computes a flow's request, unless it was already computed in this call of `settle`. The flow gives up if it can
    /// no longer meet its deadline.
    fn ask_for(&mut self, now: Time, slot: u32, changes: &mut Changes) {
        let flow = &mut self.flows[slot as usize];
        if std::mem::replace(&mut flow.doubted, true) {
            return;
        }
        flow.work.advance(now);
        if flow.work.is_late() {
            changes.given_up.push(slot as usize);
        } else {
            flow.asked_bps = flow.work.needs_bps();
            self.doubts.push(Reverse((flow.order, slot)));
        }
    }

    /// Reports rates that have changed, and updates the times that depend on them.
    fn report(&mut self, now: Time, changes: &mut Changes) {
        let next = now.as_ps() / REFRESH.as_ps() + 1;
        for (slot, share_bps) in self.rest.changes() {
            let flow = &mut self.flows[slot];
            if !flow.is_urgent() {
                changes.rates.push((slot, share_bps));
            } else if !std::mem::replace(&mut flow.touched, true) {
                self.touched.push(slot as u32);
            }
        }
        for slot in self.touched.drain(..) {
            let flow = &mut self.flows[slot as usize];
            flow.touched = false;
            flow.work.advance(now);
            let rate_bps = flow.granted_bps + self.rest.rate(slot as usize);
            if std::mem::replace(&mut flow.work.rate_bps, rate_bps).to_bits() != rate_bps.to_bits() {
                changes.rates.push((slot as usize, rate_bps));
            }
            let late_at = flow.work.late_at();
            let before = std::mem::replace(&mut flow.late_at, late_at);
            if late_at != before {
                self.late.remove(&(before, slot));
                if late_at != Time::NEVER {
                    self.late.insert((late_at, slot));
                }
            }
            if !flow.is_steady() {
                self.refresh_at = self.refresh_at.min(Time::from_ps(next * REFRESH.as_ps()));
            }
        }
    }
}

impl Fluid for Reservation {
    fn insert(&mut self, now: Time, flow: FluidFlow<'_>) -> usize {
        let line = |&(link, share): &(u32, f32)| self.links[link as usize].line_bps / f64::from(share);
        let line_bps = flow.row.iter().map(line).fold(f64::INFINITY, f64::min);
        let demand_bps = if flow.demand_bps < line_bps { flow.demand_bps } else { f64::INFINITY };
        let slot = self.rest.insert(flow.weight, flow.class, demand_bps, flow.row.iter().copied());
        let member = Member {
            order: flow.order,
            work: Work::new(now, flow.size_bits, flow.due, line_bps.min(flow.demand_bps)),
            demand_bps,
            asked_bps: 0.0,
            granted_bps: 0.0,
            short: false,
            late_at: Time::NEVER,
            doubted: false,
            touched: false,
            row: flow.row.to_vec(),
        };
        match self.flows.get_mut(slot) {
            Some(before) => *before = member,
            None => self.flows.push(member),
        }
        if flow.due != Time::NEVER {
            self.enlist(slot as u32);
        }
        flow.row.iter().for_each(|&(link, _)| self.disturb(link));
        slot
    }

    fn remove(&mut self, _: Time, slot: usize) {
        self.rest.remove(slot);
        if self.flows[slot].is_urgent() {
            self.delist(slot as u32);
            self.late.remove(&(self.flows[slot].late_at, slot as u32));
        }
        let flow = &mut self.flows[slot];
        flow.work.due = Time::NEVER;
        let row = std::mem::take(&mut flow.row);
        row.iter().for_each(|&(link, _)| self.disturb(link));
    }

    fn set_capacity(&mut self, _: Time, link: u32, bps: f64) {
        self.resize(link, bps);
        self.disturb(link);
    }

    fn settle(&mut self, now: Time, changes: &mut Changes) -> Option<Time> {
        self.ask(now, changes);
        self.grant();
        self.leave();
        self.rest.settle();
        self.report(now, changes);
        let late_at = self.late.first().map_or(Time::NEVER, |&(at, _)| at);
        Some(self.refresh_at.min(late_at)).filter(|&next| next != Time::NEVER)
    }
}

#[cfg(test)]
mod tests;
