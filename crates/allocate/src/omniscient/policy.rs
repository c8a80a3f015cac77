//! The omniscient scheduler as a fluid policy.

use super::{Task, most_on_time};
use crate::{Changes, Criticality, Fluid, FluidFlow, Measure, Probing, Rules};
use raddle_core::Time;

/// Serves classes in order. Within a class, serves flows in order of deadlines, then of remaining work. A flow gives up
/// when it can no longer meet its deadline. If one link carries all flows, a [largest set of flows that together meet
/// their deadlines](most_on_time) is served first within each class.
///
/// If all flows have one class, are limited only by one common link and are present from the start, the largest
/// possible number of flows meet their deadlines. If no flow has a deadline, the mean completion time of one class on
/// one link is the smallest possible, even if flows arrive later. For other cases no such simple optimum is known.
#[derive(Debug, Clone)]
pub struct Omniscient {
    schedule: Criticality,
    /// Indexed by link slot.
    links: Vec<Link>,
    /// Indexed by flow slot.
    flows: Vec<Member>,
    live: usize,
    /// Number of live flows with a deadline.
    with_deadline: usize,
    /// True if flows or capacities changed since the latest call of `settle`.
    changed: bool,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    capacity_bps: f64,
    flows: usize,
}

#[derive(Debug, Clone)]
struct Member {
    class: u8,
    due: Time,
    live: bool,
    row: Vec<(u32, f32)>,
}

impl Omniscient {
    /// Creates a policy without flows, over links with these usable capacities in bit/s.
    #[must_use]
    pub fn new(links: &[f64]) -> Self {
        let rules = Rules {
            measure: Measure::Remaining,
            gives_up: true,
            probing: Probing::Free,
            probe_bits: 0.0,
            least_share: 1e-6,
        };
        Self {
            schedule: Criticality::new(links, rules),
            links: links.iter().map(|&capacity_bps| Link { capacity_bps, flows: 0 }).collect(),
            flows: Vec::new(),
            live: 0,
            with_deadline: 0,
            changed: false,
        }
    }

    /// Returns the link with the lowest capacity among the links that all flows use; `None` if there is no such link.
    fn bottleneck(&self) -> Option<u32> {
        let any = self.flows.iter().find(|flow| flow.live)?;
        let common = any.row.iter().map(|&(link, _)| link);
        let common = common.filter(|&link| self.links[link as usize].flows == self.live);
        let capacity = |link: u32| self.links[link as usize].capacity_bps;
        common.min_by(|&a, &b| capacity(a).total_cmp(&capacity(b)))
    }

    /// Selects a largest set of flows that can meet their deadlines together. Flows without deadlines are always
    /// selected. If no link carries all flows, every flow is selected. Within each class, the other flows are served
    /// after the selected flows.
    fn choose(&mut self, now: Time) {
        const S_PER_PS: f64 = 1e-12;
        let bottleneck = self.bottleneck();
        let slots: Vec<usize> = (0..self.flows.len()).filter(|&slot| self.flows[slot].live).collect();
        let task = |&slot: &usize| {
            let flow = &self.flows[slot];
            let work = bottleneck.map_or(0.0, |link| {
                let share =
                    flow.row.iter().find(|&&(other, _)| other == link).map_or(0.0, |&(_, share)| share);
                let capacity_bps = self.links[link as usize].capacity_bps;
                self.schedule.remaining_bits(now, slot) * f64::from(share) / capacity_bps
            });
            let due = match flow.due {
                Time::NEVER => f64::INFINITY,
                due => due.since(now).as_ps() as f64 * S_PER_PS,
            };
            Task { work, due }
        };
        let on_time = most_on_time(&slots.iter().map(task).collect::<Vec<_>>());
        for (slot, on_time) in slots.into_iter().zip(on_time) {
            self.schedule.set_class(now, slot, 2 * self.flows[slot].class + u8::from(!on_time));
        }
    }

    /// Counts a flow that arrives.
    fn come(&mut self, slot: usize) {
        let flow = &self.flows[slot];
        for &(link, _) in &flow.row {
            self.links[link as usize].flows += 1;
        }
        self.live += 1;
        self.with_deadline += usize::from(flow.due != Time::NEVER);
        self.changed = true;
    }

    /// Counts a flow that leaves.
    fn go(&mut self, slot: usize) {
        let flow = &mut self.flows[slot];
        flow.live = false;
        for &(link, _) in &flow.row {
            self.links[link as usize].flows -= 1;
        }
        self.live -= 1;
        self.with_deadline -= usize::from(flow.due != Time::NEVER);
        self.changed = true;
    }
}

impl Fluid for Omniscient {
    fn insert(&mut self, now: Time, flow: FluidFlow<'_>) -> usize {
        debug_assert!(flow.class < u8::MAX / 2, "a flow's class must be below 127");
        let slot = self.schedule.insert(now, FluidFlow { class: 2 * flow.class, ..flow });
        let member = Member { class: flow.class, due: flow.due, live: true, row: flow.row.to_vec() };
        match self.flows.get_mut(slot) {
            Some(before) => *before = member,
            None => self.flows.push(member),
        }
        self.come(slot);
        slot
    }

    fn remove(&mut self, now: Time, slot: usize) {
        self.schedule.remove(now, slot);
        self.go(slot);
    }

    fn set_capacity(&mut self, now: Time, link: u32, bps: f64) {
        self.schedule.set_capacity(now, link, bps);
        self.links[link as usize].capacity_bps = bps;
        self.changed = true;
    }

    fn settle(&mut self, now: Time, changes: &mut Changes) -> Option<Time> {
        if std::mem::take(&mut self.changed) && self.with_deadline > 0 {
            self.choose(now);
        }
        let before = changes.given_up.len();
        let next = self.schedule.settle(now, changes);
        for at in before..changes.given_up.len() {
            self.go(changes.given_up[at]);
        }
        next
    }
}
