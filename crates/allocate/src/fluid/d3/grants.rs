//! Grants of capacity to flows with deadlines: first come, first served.
//!
//! Links count capacity in integers, so the reserved part of a link is exactly the sum of its grants, whatever the
//! order of additions. A grant depends only on the flow's request, on the capacities, and on the grants of flows that
//! arrived earlier. Grants that may be wrong are therefore repaired in order of arrival, with a running sum for each
//! link.

use super::Reservation;
use std::cmp::Reverse;

/// A link and its reservations.
#[derive(Debug, Clone, Default)]
pub(super) struct Link {
    /// Current capacity, in units of `unit_bps`.
    pub(super) capacity: u64,
    /// The link's capacity at the start, bit/s.
    pub(super) line_bps: f64,
    /// Sum of the grants, in units of `unit_bps`.
    reserved: u64,
    /// The capacity left by the grants, in units of `unit_bps`, as most recently reported to `Reservation::rest`, which
    /// shares this capacity among all flows.
    rest: u64,
    /// The link's grants, in order of the flows' arrival.
    pub(super) grants: Vec<Grant>,
    /// Number of flows on the link whose grant is less than their request. A flow is counted on all of its
    /// links, whichever link limits its grant.
    short: u32,
    /// The grants at the start of `grants` that are already final in the current call of `settle`: their number, and
    /// their sum in units of `unit_bps`.
    passed: (usize, u64),
    /// True if the current call of `settle` has already added the flows of all grants that are not final (see
    /// `passed`) to `Reservation::doubts`.
    pub(super) doubted: bool,
    /// True if the link is listed in `Reservation::visited`.
    visited: bool,
    /// True if the link is listed in `Reservation::disturbed`.
    pub(super) disturbed: bool,
}

/// A link's grant to a flow with a deadline.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grant {
    order: u64,
    pub(super) slot: u32,
    /// The capacity granted on this link, in units of `unit_bps`.
    has: u64,
}

impl Link {
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    pub(super) fn new(line_bps: f64, unit_bps: f64) -> Self {
        let capacity = (line_bps / unit_bps) as u64;
        Self { capacity, line_bps, rest: capacity, ..Self::default() }
    }

    /// Returns the link's capacity minus the grants of flows with a lower `order`, in units of `unit_bps`; 0 if these
    /// grants exceed the capacity. Within one `settle`, this function must be called in ascending `order`.
    fn left(&mut self, order: u64) -> u64 {
        let (mut count, mut sum) = self.passed;
        while let Some(grant) = self.grants.get(count).filter(|grant| grant.order < order) {
            sum += grant.has;
            count += 1;
        }
        self.passed = (count, sum);
        self.capacity.saturating_sub(sum)
    }

    /// Sets the grant of the flow with this `order` to `grants` units, or to the capacity that earlier flows leave, if
    /// that is less. Returns true if later grants may have to change: this grant grew and all grants together exceed
    /// the capacity, or it shrank and some flow on the link has less than its request.
    fn set(&mut self, order: u64, grants: u64) -> bool {
        let has = grants.min(self.left(order));
        let (count, sum) = self.passed;
        let had = std::mem::replace(&mut self.grants[count].has, has);
        self.passed = (count + 1, sum + has);
        self.reserved = self.reserved - had + has;
        if has > had { self.reserved > self.capacity } else { has < had && self.short > 0 }
    }

    /// Returns the index at which a flow's grant is or would be inserted.
    fn place(&self, order: u64) -> usize {
        self.grants.partition_point(|grant| grant.order < order)
    }
}

impl Reservation {
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    fn units(&self, bps: f64) -> u64 {
        (bps / self.unit_bps) as u64
    }

    pub(super) fn bps(&self, units: u64) -> f64 {
        units as f64 * self.unit_bps
    }

    /// Adds a flow with a deadline to its links, with a grant of 0.
    pub(super) fn enlist(&mut self, slot: u32) {
        let flow = &self.flows[slot as usize];
        for &(link, _) in &flow.row {
            let link = &mut self.links[link as usize];
            let place = link.place(flow.order);
            link.grants.insert(place, Grant { order: flow.order, slot, has: 0 });
        }
    }

    /// Removes a flow with a deadline from its links.
    pub(super) fn delist(&mut self, slot: u32) {
        let flow = &self.flows[slot as usize];
        for &(link, _) in &flow.row {
            let link = &mut self.links[link as usize];
            let gone = link.grants.remove(link.place(flow.order));
            link.reserved -= gone.has;
            link.short -= u32::from(flow.short);
        }
    }

    /// Sets a link's capacity, given in bit/s.
    pub(super) fn resize(&mut self, link: u32, bps: f64) {
        self.links[link as usize].capacity = self.units(bps);
    }

    /// Marks a link as examined in this call of `settle`.
    pub(super) fn visit(&mut self, link: u32) {
        if !std::mem::replace(&mut self.links[link as usize].visited, true) {
            self.visited.push(link);
        }
    }

    /// Corrects the grants that may be wrong: each flow gets its request, or less if flows that arrived earlier leave
    /// too little capacity on its links.
    pub(super) fn grant(&mut self) {
        while let Some(Reverse((order, slot))) = self.doubts.pop() {
            let row = std::mem::take(&mut self.flows[slot as usize].row);
            let asked_bps = self.flows[slot as usize].asked_bps;
            let mut granted_bps = asked_bps;
            for &(link, share) in &row {
                self.visit(link);
                let left = self.links[link as usize].left(order);
                granted_bps = granted_bps.min(self.bps(left) / f64::from(share));
            }
            let flow = &mut self.flows[slot as usize];
            flow.doubted = false;
            let short = granted_bps < asked_bps;
            let was_short = std::mem::replace(&mut flow.short, short);
            let had_bps = std::mem::replace(&mut flow.granted_bps, granted_bps);
            if flow.demand_bps.is_finite() && had_bps.to_bits() != granted_bps.to_bits() {
                self.rest.set_demand(slot as usize, (flow.demand_bps - granted_bps).max(0.0));
            }
            if !std::mem::replace(&mut flow.touched, true) {
                self.touched.push(slot);
            }
            for &(link, share) in &row {
                let granted = self.units(granted_bps * f64::from(share));
                let at = &mut self.links[link as usize];
                at.short = at.short + u32::from(short) - u32::from(was_short);
                if at.set(order, granted) {
                    self.doubt_after(link);
                }
            }
            self.flows[slot as usize].row = row;
        }
    }

    /// Adds to `doubts` the flows of the link's grants that are not final (see `Link::passed`), because these grants
    /// may be wrong. Has no effect if the current call of `settle` has already done this for the link.
    fn doubt_after(&mut self, link: u32) {
        let link = &mut self.links[link as usize];
        if std::mem::replace(&mut link.doubted, true) {
            return;
        }
        for &Grant { order, slot, .. } in &link.grants[link.passed.0..] {
            if !std::mem::replace(&mut self.flows[slot as usize].doubted, true) {
                self.doubts.push(Reverse((order, slot)));
            }
        }
    }

    /// Updates the capacities that reservations leave for max-min sharing on the visited links, and resets these links
    /// for the next `settle`.
    pub(super) fn leave(&mut self) {
        while let Some(slot) = self.visited.pop() {
            let link = &mut self.links[slot as usize];
            (link.visited, link.doubted, link.passed) = (false, false, (0, 0));
            let rest = link.capacity - link.reserved;
            if std::mem::replace(&mut link.rest, rest) != rest {
                let rest_bps = self.bps(rest);
                self.rest.set_capacity(slot, rest_bps);
            }
        }
    }
}
