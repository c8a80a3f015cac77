//! The schedule to which PDQ's switches converge: flows in order of criticality, each as fast as the more critical
//! flows allow (Hong, Caesar, Godfrey, SIGCOMM 2012; specification of PDQ, §4.1 and §11).
//!
//! A flow gets the capacity that all more critical flows leave on its links, at most the maximum rate at which the flow
//! can send. If the flow would get less than the share [`Rules::least_share`] of its maximum rate (by default a
//! hundredth), the flow is paused. Of two flows, the flow with the lower class is more critical. If the classes are
//! equal, the earlier deadline decides, then the smaller [`Measure`], then the earlier arrival.
//!
//! # Cost
//! Work is done only where the schedule changes, in order of criticality ([repair]). A paused flow is listed only at
//! one link that has no capacity left for the flow. The flow is examined again when that link has capacity, so changes
//! at its other links take no time. Usually only few flows send on a link at a time, because each sending flow gets at
//! least a hundredth of its maximum rate. Sending flows are therefore stored unordered.
//!
//! # Time
//! Under [`Measure::Remaining`], flows become more critical as they send. If a flow overtakes a paused flow, no rate
//! changes: the paused flow stays blocked by the same link. If a flow overtakes another sending flow on a common link,
//! rates may change. The schedule is therefore [examined](look) at that time. If [`Rules::gives_up`] is set, the
//! schedule is also examined when a flow can no longer meet its deadline.
//!
//! # Differs from the specification
//! - Rates are assigned as if probes took no capacity. Afterwards, each link reduces the rates of its flows by the
//!   share of its capacity that probes take. The rates therefore depend only on the present flows. In the
//!   specification, the rates also depend on which flows probe, and which flows probe depends on the rates. With one
//!   sending flow, the result is the same as in the specification.
//! - Probes take at most half of a link. The reason is that a flow sends a probe only after the answer to its previous
//!   probe, which limits the probes on slow links with short round trips.
//! - How often a flow probes depends on its position in the order of a link's flows. The position is counted
//!   as if the sending flows came first.

mod look;
mod order;
mod probing;
mod repair;

pub use order::Measure;
pub use probing::Probing;

use crate::{Changes, Fluid, FluidFlow};
use look::Looks;
use order::Key;
use probing::Probes;
use raddle_core::Time;
use repair::Doubt;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The value in place of a link slot if there is no link.
const NONE: u32 = u32::MAX;

/// Two rates of a flow count as equal if they differ by at most this share of the flow's maximum rate. The difference
/// is then a rounding error.
const SAME: f64 = 1e-12;

/// Options of a schedule by criticality.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// The criterion that orders flows with the same deadline.
    pub measure: Measure,
    /// True if a flow gives up as soon as it could not meet its deadline even if it were alone on its links (Early
    /// Termination).
    pub gives_up: bool,
    /// The rate at which paused flows probe.
    pub probing: Probing,
    /// Size of a probe, in bits on the wire.
    pub probe_bits: f64,
    /// A flow is paused if its rate would be below this share of the rate at which it can send. The share must be above
    /// 1e-12.
    pub least_share: f64,
}

impl Default for Rules {
    /// PDQ(Full): shortest remaining time first, with Early Termination and Suppressed Probing.
    fn default() -> Self {
        Self {
            measure: Measure::Remaining,
            gives_up: true,
            probing: Probing::Suppressed,
            probe_bits: 320.0,
            least_share: 0.01,
        }
    }
}

/// Flows served in order of criticality.
#[derive(Debug, Clone)]
pub struct Criticality {
    rules: Rules,
    /// Indexed by link slot.
    links: Vec<Link>,
    /// Indexed by flow slot.
    flows: Vec<Member>,
    /// Free flow slots.
    vacant: Vec<u32>,
    /// Parts of the schedule that may be wrong, the most critical first.
    doubts: BinaryHeap<Reverse<(Key, Doubt)>>,
    /// Times at which flows must be examined.
    looks: Looks,
    probes: Probes,
    /// Flows whose rate may differ from the last reported rate, each listed once.
    touched: Vec<u32>,
    /// No flow inserted so far can send on a link that has less free capacity than this, in bit/s.
    least_left_bps: f64,
    /// Buffer for the flows that [`Criticality::doubt_after`] queues, kept between calls to save
    /// allocations.
    later: Vec<u32>,
}

/// A link and the flows on it.
#[derive(Debug, Clone, Default)]
struct Link {
    /// Current capacity, bit/s.
    capacity_bps: f64,
    /// The link's capacity at the start, bit/s.
    line_bps: f64,
    /// Flows that send over this link, each with the expected number of times that one of its packets traverses the
    /// link.
    senders: Vec<(u32, f32)>,
    /// Paused flows that wait at this link, which has too little capacity left for them.
    waiting: BTreeMap<Key, u32>,
    probed: probing::Probed,
}

/// A flow.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each flag is an independent property of the flow")]
struct Member {
    class: u8,
    due: Time,
    order: u64,
    /// The flow's measure, which is compared before the order of arrival. Not used for [`Measure::Remaining`], whose
    /// value is computed for each [`Key`].
    measure: u64,
    /// Maximum rate at which the flow can send, bit/s.
    max_bps: f64,
    size_bits: f64,
    /// Bits left at `since`.
    remaining_bits: f64,
    since: Time,
    /// The rate that the schedule gives the flow, bit/s.
    granted_bps: f64,
    /// The part of `granted_bps` that remains after probes, bit/s.
    rate_bps: f64,
    /// Probes per second if the flow is paused and probes once per round trip.
    probes_per_s: u64,
    /// The link at which the flow waits; [`NONE`] if the flow does not wait.
    waits_at: u32,
    /// Incremented when scheduled examinations of the flow become outdated.
    version: u32,
    live: bool,
    /// True if the flow's probes are counted on its links.
    probes: bool,
    /// True if the flow is queued in `Criticality::doubts`.
    doubted: bool,
    /// True if the flow is listed in `Criticality::touched`.
    touched: bool,
    row: Vec<(u32, f32)>,
}

impl Member {
    /// Returns the number of bits left to send.
    fn remaining_bits(&self, now: Time) -> f64 {
        if self.rate_bps > 0.0 {
            (self.remaining_bits - self.rate_bps * now.since(self.since).as_secs_f64()).max(0.0)
        } else {
            self.remaining_bits
        }
    }

    /// Returns the seconds that the flow would still need if it were alone on its links.
    fn alone_s(&self, now: Time) -> f64 {
        self.remaining_bits(now) / self.max_bps
    }
}

impl Criticality {
    /// Creates a policy without flows, over links with these usable capacities in bit/s.
    #[must_use]
    pub fn new(links: &[f64], rules: Rules) -> Self {
        debug_assert!(
            rules.least_share > SAME,
            "`least_share` must be greater than 1e-12, the tolerance for rounding errors"
        );
        let link = |&bps: &f64| Link { capacity_bps: bps, line_bps: bps, ..Link::default() };
        Self {
            rules,
            links: links.iter().map(link).collect(),
            flows: Vec::new(),
            vacant: Vec::new(),
            doubts: BinaryHeap::new(),
            looks: Looks::default(),
            probes: Probes::new(rules.probing, rules.probe_bits),
            touched: Vec::new(),
            least_left_bps: f64::INFINITY,
            later: Vec::new(),
        }
    }

    /// Moves a flow to another class.
    #[allow(clippy::cast_possible_truncation, reason = "there are fewer than 2^32 flows")]
    pub(crate) fn set_class(&mut self, now: Time, slot: usize, class: u8) {
        if self.flows[slot].class != class {
            self.rekey(now, slot as u32, |flow| flow.class = class);
        }
    }

    /// Returns the number of bits that the flow in a slot has left to send.
    pub(crate) fn remaining_bits(&self, now: Time, slot: usize) -> f64 {
        self.flows[slot].remaining_bits(now)
    }

    /// Returns the rate, in bit/s, of a flow that is alone on these links while they have their initial
    /// capacities.
    pub(crate) fn line_bps(&self, row: &[(u32, f32)]) -> f64 {
        let line = |&(link, share): &(u32, f32)| self.links[link as usize].line_bps / f64::from(share);
        row.iter().map(line).fold(f64::INFINITY, f64::min)
    }

    /// Returns the rate of the flow in a slot as of the latest [`settle`](Fluid::settle), in bit/s.
    pub(crate) fn rate_bps(&self, slot: usize) -> f64 {
        self.flows[slot].rate_bps
    }

    /// Returns the links of the flow in a slot.
    #[cfg(test)]
    pub(crate) fn row(&self, slot: usize) -> &[(u32, f32)] {
        &self.flows[slot].row
    }

    /// Adds `bits` to the bits that the flow in a slot has to send.
    #[allow(clippy::cast_possible_truncation, reason = "there are fewer than 2^32 flows")]
    pub(crate) fn add_bits(&mut self, now: Time, slot: usize, bits: f64) {
        self.rekey(now, slot as u32, |flow| {
            flow.remaining_bits = flow.remaining_bits(now) + bits;
            flow.size_bits += bits;
            flow.since = now;
        });
    }

    /// Marks a flow whose rate may change.
    fn touch(&mut self, flow: u32) {
        if !std::mem::replace(&mut self.flows[flow as usize].touched, true) {
            self.touched.push(flow);
        }
    }

    /// Removes a flow from its links, and frees its capacity for other flows.
    fn leave(&mut self, now: Time, flow: u32) {
        self.stop(now, flow);
        let mut row = std::mem::take(&mut self.flows[flow as usize].row);
        self.probes.go(&mut self.links, &mut self.flows[flow as usize], &row);
        row.clear();
        let gone = &mut self.flows[flow as usize];
        gone.row = row;
        gone.live = false;
        gone.version = gone.version.wrapping_add(1);
        self.vacant.push(flow);
    }

    /// Computes the rates that remain after probes, reports the changes, and schedules the next examinations
    /// of the flows concerned.
    fn report(&mut self, now: Time, changes: &mut Changes) {
        self.probes.recount(&mut self.links);
        while let Some(link) = self.probes.pop_changed() {
            for at in 0..self.links[link as usize].senders.len() {
                self.touch(self.links[link as usize].senders[at].0);
            }
        }
        let mut touched = std::mem::take(&mut self.touched);
        touched.retain(|&slot| {
            self.flows[slot as usize].touched = false;
            self.flows[slot as usize].live
        });
        // All rates are set before any examination is scheduled, because the time of an examination depends
        // on the rates of several flows.
        for &slot in &touched {
            let flow = &mut self.flows[slot as usize];
            let kept = flow.row.iter().map(|&(link, _)| self.links[link as usize].probed.kept);
            let rate = flow.granted_bps * kept.fold(1.0, f64::min);
            flow.remaining_bits = flow.remaining_bits(now);
            flow.since = now;
            let old = std::mem::replace(&mut flow.rate_bps, rate);
            if old.to_bits() != rate.to_bits() {
                changes.rates.push((slot as usize, rate));
            }
        }
        for slot in touched.drain(..) {
            self.look_later(now, slot);
        }
        self.touched = touched;
    }
}

impl Fluid for Criticality {
    fn insert(&mut self, now: Time, flow: FluidFlow<'_>) -> usize {
        let max_bps = self.line_bps(flow.row).min(flow.demand_bps);
        let least_share = flow.row.iter().map(|&(_, share)| f64::from(share)).fold(1.0, f64::min);
        self.least_left_bps = self.least_left_bps.min(max_bps * self.rules.least_share * least_share);
        let member = Member {
            class: flow.class,
            due: flow.due,
            order: flow.order,
            measure: self.rules.measure.at_first(flow.order),
            max_bps,
            size_bits: flow.size_bits,
            remaining_bits: flow.size_bits,
            since: now,
            granted_bps: 0.0,
            rate_bps: 0.0,
            probes_per_s: self.probes.per_second(flow.rtt),
            waits_at: NONE,
            version: 0,
            live: true,
            probes: false,
            doubted: false,
            touched: false,
            row: Vec::new(),
        };
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.flows.push(member.clone());
            u32::try_from(self.flows.len() - 1).expect("there must be fewer than 2^32 flows")
        });
        // The slot keeps two values of its previous flow. Because of `version`, examinations that were scheduled for
        // that flow stay outdated. The flag `touched` is true if the list `self.touched` still contains the slot. The
        // memory of `row` is reused.
        let before = &mut self.flows[slot as usize];
        let (version, touched, mut row) = (before.version, before.touched, std::mem::take(&mut before.row));
        row.extend_from_slice(flow.row);
        *before = Member { version, touched, row, ..member };
        self.probes.come(&mut self.links, flow.row);
        self.touch(slot);
        self.doubt(now, slot);
        self.look_at_first(now, slot);
        slot as usize
    }

    fn remove(&mut self, now: Time, slot: usize) {
        assert!(self.flows[slot].live, "the slot must contain a flow");
        self.leave(now, u32::try_from(slot).expect("a slot must fit 32 bits"));
    }

    fn set_capacity(&mut self, now: Time, link: u32, bps: f64) {
        self.links[link as usize].capacity_bps = bps;
        self.probes.touch(&mut self.links, link);
        self.doubt_after(now, link, Key::FIRST);
        self.doubt_waiting(link, Key::FIRST);
    }

    fn settle(&mut self, now: Time, changes: &mut Changes) -> Option<Time> {
        self.look(now, changes);
        self.repair(now);
        self.report(now, changes);
        self.next_look(now)
    }
}

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
