//! The schedule that PDQ's switches settle on: flows in order of criticality, each as fast as more critical ones let it
//! (Hong, Caesar, Godfrey, SIGCOMM 2012; specification of PDQ, §4.1 and §11).
//!
//! A flow gets the capacity that all more critical flows leave on its links, at most the rate at which it can send. If
//! that is less than a hundredth of the latter, the flow is paused. A flow is more critical than another, in this
//! order, by a lower class, an earlier deadline, a smaller [`Measure`], or an earlier arrival.
//!
//! # Cost
//! Work is done where the schedule changes, in order of criticality ([repair]). A paused flow is listed only at one
//! link that has no capacity left for it, and is examined again when that link has capacity: changes at its other links
//! cost nothing. The flows that send on a link are few, because each takes at least a hundredth of the link or all that
//! it can send. They are therefore kept in no order.
//!
//! # Time
//! As flows send, their criticality rises. If one passes another that is paused, no rate changes: the other stays paused
//! by the same link. If it passes one that sends, slower and on a common link, rates may change, so the schedule is
//! [looked at](look) then; so it is when a deadline gets out of reach.
//!
//! # Differs from the specification
//! - Probes of paused flows reduce rates, not what links have left when rates are given out: links reduce the rates of
//!   their flows by the share of their capacity that probes take. With one sending flow, this is the same. Rates become
//!   a function of the present flows; by the specification their definition is circular.
//! - Probes take at most half of a link: where links are slow and round trips short, probes wait for each other's answers.
//! - The place of a flow in a link's list, by which it probes less often, is counted as if the sending flows came first.

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

/// No link.
const NONE: u32 = u32::MAX;

/// Relative difference within which two rates are the same: rounding.
const SAME: f64 = 1e-12;

/// Options of a schedule by criticality.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// The criterion that orders flows with the same deadline.
    pub measure: Measure,
    /// True if a flow gives up as soon as it could not meet its deadline even alone (Early Termination).
    pub gives_up: bool,
    /// The rate at which paused flows probe.
    pub probing: Probing,
    /// Bits of a probe on the wire.
    pub probe_bits: f64,
    /// A flow is paused if its rate would be below this share of the rate at which it can send; above 0.
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
    /// Per link slot.
    links: Vec<Link>,
    /// Per flow slot.
    flows: Vec<Member>,
    /// Flow slots that are free.
    vacant: Vec<u32>,
    /// Parts of the schedule that may be wrong, the most critical first.
    doubts: BinaryHeap<Reverse<(Key, Doubt)>>,
    /// When to look at what.
    looks: Looks,
    probes: Probes,
    /// Flows whose rate may differ from the last reported rate, each once.
    touched: Vec<u32>,
    /// No flow ever needed less than this of a link to send, bit/s.
    least_left_bps: f64,
    /// Working memory: less critical flows.
    later: Vec<u32>,
}

/// A link and the flows on it.
#[derive(Debug, Clone, Default)]
struct Link {
    /// Now, bit/s.
    capacity_bps: f64,
    /// The link's capacity at the start, bit/s.
    line_bps: f64,
    /// Flows that send, with their traversals a packet.
    senders: Vec<(u32, f32)>,
    /// Paused flows for which this link has no capacity left.
    waiting: BTreeMap<Key, u32>,
    probed: probing::Probed,
}

/// A flow.
#[derive(Debug, Clone)]
struct Member {
    class: u8,
    due: Time,
    order: u64,
    /// The flow's measure, which counts before the order of arrival. Not used for [`Measure::Remaining`], which changes
    /// with time.
    measure: u64,
    /// The most it can send, bit/s.
    max_bps: f64,
    size_bits: f64,
    /// Bits left at `since`.
    remaining_bits: f64,
    since: Time,
    /// The rate that the schedule gives the flow, bit/s.
    granted_bps: f64,
    /// The part of `granted_bps` that probes leave, bit/s.
    rate_bps: f64,
    /// Probes a second if the flow is paused and probes once a round trip.
    probes_per_s: u64,
    /// The link where it waits; [`NONE`] if it sends, or is new.
    waits_at: u32,
    /// Counts what makes looks at it outdated.
    version: u32,
    live: bool,
    /// True if its links count its probes.
    probes: bool,
    /// True if the flow is among the doubts.
    doubted: bool,
    /// True if the flow is among the touched flows.
    touched: bool,
    row: Vec<(u32, f32)>,
}

impl Member {
    /// Bits left to send.
    fn remaining_bits(&self, now: Time) -> f64 {
        if self.rate_bps > 0.0 {
            (self.remaining_bits - self.rate_bps * now.since(self.since).as_secs_f64()).max(0.0)
        } else {
            self.remaining_bits
        }
    }

    /// Seconds that the flow would take alone.
    fn alone_s(&self, now: Time) -> f64 {
        self.remaining_bits(now) / self.max_bps
    }
}

impl Criticality {
    /// No flows over links with these usable capacities, in bit/s.
    #[must_use]
    pub fn new(links: &[f64], rules: Rules) -> Self {
        debug_assert!(rules.least_share > SAME, "rounding is no rate");
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
    pub(crate) fn set_class(&mut self, now: Time, slot: usize, class: u8) {
        if self.flows[slot].class != class {
            self.rekey(now, slot as u32, |flow| flow.class = class);
        }
    }

    /// Bits that the flow in a slot has left to send.
    pub(crate) fn remaining_bits(&self, now: Time, slot: usize) -> f64 {
        self.flows[slot].remaining_bits(now)
    }

    /// The most that a flow alone on these links could send at first, in bit/s.
    pub(crate) fn line_bps(&self, row: &[(u32, f32)]) -> f64 {
        let line = |&(link, share): &(u32, f32)| self.links[link as usize].line_bps / f64::from(share);
        row.iter().map(line).fold(f64::INFINITY, f64::min)
    }

    /// The rate of the flow in a slot as of the last [`settle`](Fluid::settle), in bit/s.
    pub(crate) fn rate_bps(&self, slot: usize) -> f64 {
        self.flows[slot].rate_bps
    }

    /// The links of the flow in a slot.
    #[cfg(test)]
    pub(crate) fn row(&self, slot: usize) -> &[(u32, f32)] {
        &self.flows[slot].row
    }

    /// Adds `bits` to the bits that the flow in a slot has to send.
    pub(crate) fn add_bits(&mut self, now: Time, slot: usize, bits: f64) {
        self.rekey(now, slot as u32, |flow| {
            flow.remaining_bits = flow.remaining_bits(now) + bits;
            flow.size_bits += bits;
            flow.since = now;
        });
    }

    /// Notes that a flow's rate may change.
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

    /// Sets the rates that probes leave, and updates the looks that depend on them.
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
        // All rates first, as looks compare them.
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
            u32::try_from(self.flows.len() - 1).expect("fewer than 2^32 flows")
        });
        // State of the flow that had the slot before: its looks are outdated, and it may be among the touched flows.
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
        assert!(self.flows[slot].live, "there is a flow in the slot");
        self.leave(now, u32::try_from(slot).expect("a slot that was given out"));
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
