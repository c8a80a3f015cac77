//! Flows that send on several paths at once, as in Multipath PDQ (Hong, Caesar, Godfrey, SIGCOMM 2012; specification of
//! PDQ, §5 and §11).
//!
//! A flow is divided into equal subflows, one per path. The schedule by [criticality](Criticality) treats the
//! subflows as separate flows. As soon as a subflow sends, it takes over the remaining bits of the flow's
//! paused subflows, which then end. If several subflows send, the subflow with the fewest remaining bits
//! takes over these bits. If all subflows are paused, no bits move. If [`Rules::gives_up`] is set, a flow gives up,
//! with all its subflows, once it could not meet its deadline even if it were alone on all its paths.
//!
//! # Cost
//! A flow takes about as much computing time as its subflows take in the schedule.
//!
//! # Differs from the specification
//! - The application or the receiver may limit a flow to less than the rate of a path. The subflow on this path is then
//!   limited to the flow's limit divided by the number of subflows.

use crate::work::Work;
use crate::{Changes, Criticality, Fluid, FluidFlow, Rules};
use raddle_core::{Duration, Time};
use std::collections::BTreeSet;

/// Flows of at most 256 subflows each, served in order of criticality.
#[derive(Debug, Clone)]
pub struct Subflows {
    /// The schedule of the subflows.
    schedule: Criticality,
    gives_up: bool,
    /// Indexed by link slot: the node at which the link starts.
    from: Vec<u32>,
    /// Indexed by flow slot.
    flows: Vec<Parent>,
    vacant: Vec<u32>,
    /// Indexed by subflow slot in `schedule`: the slot of the subflow's flow.
    parents: Vec<u32>,
    /// Times at which flows must be examined, with the slots of these flows.
    looks: BTreeSet<(Time, u32)>,
    /// Flows whose subflows may have changed, each listed once.
    touched: Vec<u32>,
    /// Working memory: the changes of the schedule, and the path of a subflow.
    changes: Changes,
    path: Vec<(u32, f32)>,
}

/// A flow.
#[derive(Debug, Clone)]
struct Parent {
    work: Work,
    /// Indices of the flow's subflows in the schedule. Empty if this entry is free.
    subflows: Vec<usize>,
    /// The time at which the flow must be examined next: when one of its subflows ends before the others, or when the
    /// flow can no longer meet its deadline (only if flows give up). [`Time::NEVER`] if there is no such time.
    look_at: Time,
    touched: bool,
}

/// Size of the range of order numbers that is reserved for the subflows of each flow.
const MOST_SUBFLOWS: u64 = 1 << 8;

/// A subflow is complete if it needs at most this time, in seconds, to send its remaining bits at its rate.
/// The reason is that times are rounded to picoseconds.
const DONE_S: f64 = 1e-12;

impl Subflows {
    /// Creates a policy without flows, over links with these usable capacities in bit/s. Link `i` starts at node
    /// `from[i]`.
    ///
    /// The row of a flow must be a sequence of paths, all of which start at the same node.
    #[must_use]
    pub fn new(links: &[f64], from: Vec<u32>, rules: Rules) -> Self {
        Self {
            schedule: Criticality::new(links, Rules { gives_up: false, ..rules }),
            gives_up: rules.gives_up,
            from,
            flows: Vec::new(),
            vacant: Vec::new(),
            parents: Vec::new(),
            looks: BTreeSet::new(),
            touched: Vec::new(),
            changes: Changes::default(),
            path: Vec::new(),
        }
    }

    fn touch(&mut self, flow: u32) {
        if !std::mem::replace(&mut self.flows[flow as usize].touched, true) {
            self.touched.push(flow);
        }
    }

    /// Handles the events up to `now`: flows that give up, and subflows that end.
    fn look(&mut self, now: Time, changes: &mut Changes) {
        while let Some(&(at, slot)) = self.looks.first()
            && at <= now
        {
            let flow = &mut self.flows[slot as usize];
            flow.work.advance(now);
            if self.gives_up && flow.work.is_late() {
                changes.given_up.push(slot as usize);
                self.remove(now, slot as usize);
                continue;
            }
            self.looks.pop_first();
            flow.look_at = Time::NEVER;
            let mut subflows = std::mem::take(&mut flow.subflows);
            let done =
                |of: usize| self.schedule.remaining_bits(now, of) <= self.schedule.rate_bps(of) * DONE_S;
            // Even if all subflows are done, one subflow stays: the last subflow ends when the flow ends.
            let last = subflows.iter().copied().find(|&of| !done(of)).unwrap_or(subflows[0]);
            let gone: Vec<usize> = subflows.iter().copied().filter(|&of| of != last && done(of)).collect();
            subflows.retain(|of| !gone.contains(of));
            self.flows[slot as usize].subflows = subflows;
            gone.into_iter().for_each(|of| self.schedule.remove(now, of));
            self.touch(slot);
        }
    }

    /// Moves the remaining bits of a flow's paused subflows to a sending subflow. Returns true if any subflow
    /// was paused while another subflow sent.
    fn shift(&mut self, now: Time, slot: u32) -> bool {
        let schedule = &mut self.schedule;
        let subflows = &mut self.flows[slot as usize].subflows;
        let sending = subflows.iter().copied().filter(|&of| schedule.rate_bps(of) > 0.0);
        let left = |of: &usize| schedule.remaining_bits(now, *of);
        let Some(target) = sending.min_by(|a, b| left(a).total_cmp(&left(b))) else { return false };
        let count = subflows.len();
        let mut bits = 0.0;
        subflows.retain(|&of| {
            let sends = schedule.rate_bps(of) > 0.0;
            if !sends {
                bits += schedule.remaining_bits(now, of);
                schedule.remove(now, of);
            }
            sends
        });
        if subflows.len() == count {
            return false;
        }
        schedule.add_bits(now, target, bits);
        true
    }

    /// Reports the changed rates of touched flows, and computes when to examine each touched flow next.
    #[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
    fn report(&mut self, now: Time, changes: &mut Changes) {
        for slot in self.touched.drain(..) {
            let flow = &mut self.flows[slot as usize];
            flow.touched = false;
            if flow.subflows.is_empty() {
                continue;
            }
            flow.work.advance(now);
            let rate_bps = flow.subflows.iter().map(|&of| self.schedule.rate_bps(of)).sum();
            if std::mem::replace(&mut flow.work.rate_bps, rate_bps).to_bits() != rate_bps.to_bits() {
                changes.rates.push((slot as usize, rate_bps));
            }
            let ends = |&of: &usize| {
                let rate_bps = self.schedule.rate_bps(of);
                let in_s = self.schedule.remaining_bits(now, of) / rate_bps;
                (rate_bps > 0.0).then(|| now + Duration::from_ps((in_s * 1e12) as u64 + 1))
            };
            let several = flow.subflows.len() > 1;
            let first_end = flow.subflows.iter().filter(|_| several).filter_map(ends).min();
            let late_at = self.gives_up.then(|| flow.work.late_at());
            let look_at = first_end.into_iter().chain(late_at).min().unwrap_or(Time::NEVER);
            self.looks.remove(&(flow.look_at, slot));
            flow.look_at = look_at;
            if look_at != Time::NEVER {
                self.looks.insert((look_at, slot));
            }
        }
    }
}

impl Fluid for Subflows {
    fn insert(&mut self, now: Time, flow: FluidFlow<'_>) -> usize {
        let first = flow.row.first().map_or(0, |&(link, _)| self.from[link as usize]);
        let starts = |&(link, _): &(u32, f32)| self.from[link as usize] == first;
        let count = flow.row.iter().filter(|&at| starts(at)).count();
        let slot = self.vacant.pop().unwrap_or_else(|| {
            let work = Work::new(now, 0.0, Time::NEVER, 0.0);
            self.flows.push(Parent { work, subflows: Vec::new(), look_at: Time::NEVER, touched: false });
            u32::try_from(self.flows.len() - 1).expect("there must be fewer than 2^32 flows")
        });
        let mut path = std::mem::take(&mut self.path);
        let mut rest = flow.row;
        let mut lines_bps = 0.0;
        for number in 0..count {
            let links = 1 + rest[1..].iter().position(starts).unwrap_or(rest.len() - 1);
            let (these, others) = rest.split_at(links);
            rest = others;
            path.clear();
            path.extend(these.iter().map(|&(link, _)| (link, 1.0)));
            let line_bps = self.schedule.line_bps(&path);
            lines_bps += line_bps;
            let limited = flow.demand_bps < line_bps;
            let subflow = self.schedule.insert(
                now,
                FluidFlow {
                    order: flow.order * MOST_SUBFLOWS + number as u64,
                    size_bits: flow.size_bits / count as f64,
                    demand_bps: if limited { flow.demand_bps / count as f64 } else { f64::INFINITY },
                    row: &path,
                    ..flow
                },
            );
            self.parents.resize(self.parents.len().max(subflow + 1), slot);
            self.parents[subflow] = slot;
            self.flows[slot as usize].subflows.push(subflow);
        }
        self.path = path;
        let parent = &mut self.flows[slot as usize];
        parent.work = Work::new(now, flow.size_bits, flow.due, flow.demand_bps.min(lines_bps));
        if self.gives_up && parent.work.is_late() {
            // The flow arrived too late to meet its deadline.
            parent.look_at = now;
            self.looks.insert((now, slot));
        }
        self.touch(slot);
        slot as usize
    }

    #[allow(clippy::cast_possible_truncation, reason = "there are fewer than 2^32 flows")]
    fn remove(&mut self, now: Time, slot: usize) {
        let flow = &mut self.flows[slot];
        assert!(!flow.subflows.is_empty(), "the slot must contain a flow");
        for of in flow.subflows.drain(..) {
            self.schedule.remove(now, of);
        }
        self.looks.remove(&(std::mem::replace(&mut flow.look_at, Time::NEVER), slot as u32));
        self.vacant.push(slot as u32);
    }

    fn set_capacity(&mut self, now: Time, link: u32, bps: f64) {
        self.schedule.set_capacity(now, link, bps);
    }

    fn settle(&mut self, now: Time, changes: &mut Changes) -> Option<Time> {
        self.look(now, changes);
        let next = loop {
            let mut of_subflows = std::mem::take(&mut self.changes);
            of_subflows.clear();
            let next = self.schedule.settle(now, &mut of_subflows);
            for &(subflow, _) in &of_subflows.rates {
                self.touch(self.parents[subflow]);
            }
            self.changes = of_subflows;
            let mut shifted = false;
            for at in 0..self.touched.len() {
                shifted |= self.shift(now, self.touched[at]);
            }
            if !shifted {
                break next;
            }
        };
        self.report(now, changes);
        next.into_iter().chain(self.looks.first().map(|&(at, _)| at)).min()
    }
}

#[cfg(test)]
mod tests;
