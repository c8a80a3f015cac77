//! The rates that D3's routers settle on: reservations in order of arrival, and what is left shared out (Wilson, Ballani,
//! Karagiannis, Rowstron, SIGCOMM 2011; specification of PDQ, §6 and §11).
//!
//! A flow with a deadline asks for the rate at which it would just meet it. In order of arrival each is granted what it
//! asks for, or what its links have left. Then all flows, with deadlines or without, get max-min fair shares of the rest
//! on top of that. A flow that would need more than it can send gives up (quenching).
//!
//! What a flow asks for changes as it sends more or less than that, so all is worked out at each event, and every
//! [`REFRESH`] if some flow does not send what it asked for. Cost: flows with deadlines, and what their grants change; flows
//! without deadlines cost what they do under [`MaxMin`](crate::MaxMin).

use crate::{Changes, Fluid, FluidFlow, Incremental};
use raddle_core::{Duration, Time};
use std::collections::BTreeMap;

/// How long grants may last while nothing comes or goes (specification §11).
pub const REFRESH: Duration = Duration::from_ms(1);

/// Relative difference within which two rates are the same.
const SAME: f64 = 1e-9;

/// Reservations in order of arrival, and max-min fair shares of the rest.
#[derive(Debug, Clone)]
pub struct Reservation {
    /// Shares of what reservations leave. Its slots are the flows'.
    rest: Incremental,
    /// Per link slot.
    links: Vec<Link>,
    /// Per flow slot.
    flows: Vec<Member>,
    /// Slots of flows with deadlines, in order of arrival.
    urgent: BTreeMap<u64, usize>,
    /// Links with reservations at the last settle.
    reserved: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    capacity_bps: f64,
    /// At first, bit/s.
    line_bps: f64,
    reserved_bps: f64,
    /// What the rest of the flows is told to share.
    rest_bps: f64,
    /// Whether it is listed among those with reservations.
    listed: bool,
}

#[derive(Debug, Clone)]
struct Member {
    order: u64,
    due: Time,
    demand_bps: f64,
    /// The most it can send, bit/s.
    max_bps: f64,
    /// Bits left at `since`.
    remaining_bits: f64,
    since: Time,
    asked_bps: f64,
    granted_bps: f64,
    rate_bps: f64,
    row: Vec<(u32, f32)>,
}

impl Member {
    /// How long it can send nothing and still meet its deadline, in seconds; less than 0 if it cannot.
    fn slack_s(&self, now: Time) -> f64 {
        (self.due.as_ps() as f64 - now.as_ps() as f64) / 1e12 - self.remaining_bits / self.max_bps
    }
}

impl Reservation {
    /// No flows over links with these usable capacities, in bit/s.
    #[must_use]
    pub fn new(links: &[f64]) -> Self {
        let link = |&bps: &f64| Link {
            capacity_bps: bps,
            line_bps: bps,
            reserved_bps: 0.0,
            rest_bps: bps,
            listed: false,
        };
        Self {
            rest: Incremental::new(links),
            links: links.iter().map(link).collect(),
            flows: Vec::new(),
            urgent: BTreeMap::new(),
            reserved: Vec::new(),
        }
    }

    /// Works out what flows with deadlines ask for now, and has those give up for whom that is too much.
    fn ask(&mut self, now: Time, changes: &mut Changes) {
        let before = changes.given_up.len();
        for &slot in self.urgent.values() {
            let flow = &mut self.flows[slot];
            let sent = flow.rate_bps * now.since(flow.since).as_secs_f64();
            flow.remaining_bits = (flow.remaining_bits - sent).max(0.0);
            flow.since = now;
            if flow.slack_s(now) < -crate::fluid::GRACE_S {
                changes.given_up.push(slot);
            } else {
                let left_s = flow.due.since(now).as_secs_f64();
                flow.asked_bps = (flow.remaining_bits / left_s).min(flow.max_bps);
            }
        }
        for at in before..changes.given_up.len() {
            self.remove(now, changes.given_up[at]);
        }
    }

    /// Grants what is asked for, first come first served, and leaves the rest to be shared.
    fn grant(&mut self) {
        for &link in &self.reserved {
            self.links[link as usize].reserved_bps = 0.0;
        }
        for &slot in self.urgent.values() {
            let flow = &mut self.flows[slot];
            let left = |&(link, share): &(u32, f32)| {
                let Link { capacity_bps, reserved_bps, .. } = self.links[link as usize];
                (capacity_bps - reserved_bps).max(0.0) / f64::from(share)
            };
            let granted_bps = flow.row.iter().map(left).fold(flow.asked_bps, f64::min);
            for &(link, share) in &flow.row {
                let at = &mut self.links[link as usize];
                at.reserved_bps += granted_bps * f64::from(share);
                if !std::mem::replace(&mut at.listed, true) {
                    self.reserved.push(link);
                }
            }
            let had_bps = std::mem::replace(&mut flow.granted_bps, granted_bps);
            if flow.demand_bps.is_finite() && had_bps.to_bits() != granted_bps.to_bits() {
                self.rest.set_demand(slot, (flow.demand_bps - granted_bps).max(0.0));
            }
        }
        let (links, rest) = (&mut self.links, &mut self.rest);
        self.reserved.retain(|&link| {
            let at = &mut links[link as usize];
            let rest_bps = (at.capacity_bps - at.reserved_bps).max(0.0);
            if std::mem::replace(&mut at.rest_bps, rest_bps).to_bits() != rest_bps.to_bits() {
                rest.set_capacity(link, rest_bps);
            }
            at.listed = at.reserved_bps > 0.0;
            at.listed
        });
    }
}

impl Fluid for Reservation {
    fn insert(&mut self, now: Time, flow: FluidFlow<'_>) -> usize {
        let slot = self.rest.insert(flow.weight, flow.class, flow.demand_bps, flow.row.iter().copied());
        let line = |&(link, share): &(u32, f32)| self.links[link as usize].line_bps / f64::from(share);
        let max_bps = flow.row.iter().map(line).fold(flow.demand_bps, f64::min);
        let member = Member {
            order: flow.order,
            due: flow.due,
            demand_bps: flow.demand_bps,
            max_bps,
            remaining_bits: flow.size_bits,
            since: now,
            asked_bps: 0.0,
            granted_bps: 0.0,
            rate_bps: 0.0,
            row: flow.row.to_vec(),
        };
        if flow.due != Time::NEVER {
            self.urgent.insert(flow.order, slot);
        }
        match self.flows.get_mut(slot) {
            Some(before) => *before = member,
            None => self.flows.push(member),
        }
        slot
    }

    fn remove(&mut self, _: Time, slot: usize) {
        self.rest.remove(slot);
        self.urgent.remove(&self.flows[slot].order);
    }

    fn set_capacity(&mut self, _: Time, link: u32, bps: f64) {
        let at = &mut self.links[link as usize];
        at.capacity_bps = bps;
        // Told with the next grants.
        if !std::mem::replace(&mut at.listed, true) {
            self.reserved.push(link);
        }
    }

    fn settle(&mut self, now: Time, changes: &mut Changes) -> Option<Time> {
        self.ask(now, changes);
        self.grant();
        self.rest.settle();
        let is_urgent = |flow: &Member| flow.due != Time::NEVER;
        changes.rates.extend(self.rest.changes().filter(|&(slot, _)| !is_urgent(&self.flows[slot])));
        let mut next_s = f64::INFINITY;
        for &slot in self.urgent.values() {
            let flow = &mut self.flows[slot];
            let rate_bps = flow.granted_bps + self.rest.rate(slot);
            if std::mem::replace(&mut flow.rate_bps, rate_bps).to_bits() != rate_bps.to_bits() {
                changes.rates.push((slot, rate_bps));
            }
            if (rate_bps - flow.asked_bps).abs() > SAME * flow.max_bps {
                next_s = next_s.min(REFRESH.as_secs_f64());
            }
            if rate_bps < flow.max_bps {
                let until_late_s = flow.slack_s(now) / (1.0 - rate_bps / flow.max_bps);
                next_s = next_s.min(until_late_s.max(0.0) + 2.0 * crate::fluid::GRACE_S);
            }
        }
        next_s.is_finite().then(|| now + Duration::from_ps((next_s * 1e12) as u64 + 1))
    }
}

#[cfg(test)]
mod tests;
