//! Refill: water-filling that starts at a given stop. A refill is used when a repair would take longer.
//!
//! As in [`WaterFill`](crate::WaterFill), links wait in a heap by the level at which they would be full, and
//! are examined again when they reach the top of the heap. The refill computes with the same integers as the
//! repair. Stops are unique, so the result is the same. A refill starts at the lowest stop that may be wrong,
//! and does not change the stops before it.

use super::full::{full_at, product};
use super::stop::Stop;
use super::{Crossing, Incremental};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Working memory of a refill.
#[derive(Debug, Clone, Default)]
pub(super) struct Refill {
    /// Flows whose stops are recomputed, in order of class.
    flows: Vec<u32>,
    /// Links that these flows use, for one class at a time.
    links: Vec<u32>,
    /// For each link, the stop at which it would be full if no more flows froze. This is never later than the
    /// actual stop.
    full: BinaryHeap<Reverse<Stop>>,
    /// The stops at which demands of the class are met, with their flows, in descending order.
    demands: Vec<(Stop, u32)>,
}

impl Incremental {
    /// Recomputes `from` and all later stops. If the class of `from` is not the first class, recomputes all stops of
    /// this class. All stops before `from` must be correct.
    pub(super) fn refill(&mut self, from: Stop) {
        // The capacity that earlier classes leave on a link can be determined only at level 0 of a class. A
        // refill of a class other than the first therefore starts at level 0.
        let from = if self.is_first(from.class()) { from } else { Stop::link(from.class(), 0, 0) };
        for Reverse(doubt) in self.doubts.drain() {
            self.links[doubt.slot() as usize].doubt = Stop::NONE;
        }
        let mut refill = std::mem::take(&mut self.refill);
        refill.flows.clear();
        refill.flows.extend((0..).zip(&self.stops).filter(|&(_, &stop)| stop >= from).map(|(flow, _)| flow));
        // A flow without links always stops at its demand. A free slot has no links either.
        refill.flows.retain(|&flow| !self.flows[flow as usize].row.is_empty());
        let are_most = self.are_most(&refill.flows);
        if are_most {
            self.lift_most(from, &refill.flows, &mut refill.links);
        } else {
            refill.flows.sort_by_key(|&flow| self.stops[flow as usize].class());
            for &flow in &refill.flows {
                self.lift(flow);
            }
        }
        let flows = std::mem::take(&mut refill.flows);
        let mut rest = &flows[..];
        while let Some(&flow) = rest.first() {
            let class = self.stops[flow as usize].class();
            let (flows, later) =
                rest.split_at(rest.partition_point(|&flow| self.stops[flow as usize].class() == class));
            if !are_most {
                self.enter(flows, &mut refill.links);
            }
            self.queue(class, flows, &mut refill);
            self.fill(class, flows.len(), &mut refill);
            rest = later;
        }
        refill.flows = flows;
        self.refill = refill;
    }

    /// True if all flows have one class, and lifting `flows` takes less time by [`lift_most`](Self::lift_most) than
    /// flow by flow.
    fn are_most(&self, flows: &[u32]) -> bool {
        let all = self.flows.len() - self.vacant.len();
        self.classes.len() == 1 && 2 * flows.len() > all && self.entries > self.links.len()
    }

    /// Does the same as [`lift`](Self::lift) and [`enter`](Self::enter) for `flows`, which are all flows except those
    /// whose stops are before `from`. The function adds up what these other flows use, which takes less time if they
    /// are few. All flows must have one class.
    fn lift_most(&mut self, from: Stop, flows: &[u32], links: &mut Vec<u32>) {
        for link in &mut self.links {
            link.room = (link.capacity - link.nothing()) as i128 - i128::from(link.weight);
            (link.rising, link.stopping) = (link.weight, 0);
        }
        for flow in 0..self.stops.len() {
            let stop = self.stops[flow];
            if stop < from {
                self.count(Stop::never(from.class()), stop);
                for &Crossing { link: slot, weight, .. } in &self.flows[flow].row {
                    let link = &mut self.links[slot as usize];
                    link.room -= product(stop.level(), weight) as i128;
                    link.rising -= weight;
                }
            }
        }
        for &flow in flows {
            self.touch(flow);
            self.stops[flow as usize] = self.demand(flow);
        }
        links.clear();
        links.extend((0..).zip(&self.links).filter(|(_, link)| link.rising > 0).map(|(slot, _)| slot));
    }

    /// Frees the capacity that a flow uses on its links, and sets its stop to its demand.
    fn lift(&mut self, flow: u32) {
        self.touch(flow);
        let old = self.stops[flow as usize];
        let demand = self.demand(flow);
        self.count(old, demand);
        self.stops[flow as usize] = demand;
        for &Crossing { link: slot, weight, .. } in &self.flows[flow as usize].row {
            self.links[slot as usize].room += product(old.level(), weight) as i128;
        }
    }

    /// Adds the flows of a class to their links as rising flows. Sets `links` to these links.
    fn enter(&mut self, flows: &[u32], links: &mut Vec<u32>) {
        links.clear();
        for &flow in flows {
            for &Crossing { link: slot, weight, .. } in &self.flows[flow as usize].row {
                let link = &mut self.links[slot as usize];
                if link.rising == 0 {
                    links.push(slot);
                }
                link.rising += weight;
            }
        }
    }

    /// Queues the demands of the flows of a class, and the links of `refill.links`.
    fn queue(&mut self, class: u8, flows: &[u32], refill: &mut Refill) {
        refill.demands.clear();
        let demands = flows.iter().map(|&flow| (self.stops[flow as usize], flow));
        refill.demands.extend(demands.filter(|&(stop, _)| stop != Stop::never(class)));
        refill.demands.sort_unstable_by_key(|&demand| Reverse(demand));
        let mut full = std::mem::take(&mut refill.full).into_vec();
        full.clear();
        full.extend(refill.links.iter().map(|&slot| Reverse(self.full_if_no_more_freeze(slot, class, 0))));
        refill.full = full.into();
    }

    /// Raises the level until all `to_go` flows are stopped.
    fn fill(&mut self, class: u8, mut to_go: usize, refill: &mut Refill) {
        let mut stopped = std::mem::take(&mut self.moved);
        while to_go > 0 {
            let met = refill.demands.last().map_or(Stop::NONE, |&(demand, _)| demand);
            let next = refill.full.peek_mut().filter(|full| full.0 < met);
            if let Some(mut next) = next {
                let Reverse(stop) = *next;
                let full = self.full_if_no_more_freeze(stop.slot(), class, stop.level());
                if full > stop {
                    *next = Reverse(full);
                    continue;
                }
                PeekMut::pop(next);
                let flows = self.links[stop.slot() as usize].uses.iter().map(|using| using.flow);
                stopped.extend(flows.filter(|&flow| {
                    let other = self.stops[flow as usize];
                    other.class() == class && other > stop
                }));
                for flow in stopped.drain(..) {
                    self.freeze(flow, stop);
                    to_go -= 1;
                }
            } else {
                let (demand, flow) =
                    refill.demands.pop().expect("every flow must use a link or have a demand");
                if self.stops[flow as usize] == demand {
                    self.freeze(flow, demand);
                    to_go -= 1;
                }
            }
        }
        self.moved = stopped;
    }

    /// Returns the stop at which a link will be full if no more of its flows freeze before it is full. The
    /// link must not be full below `level`.
    fn full_if_no_more_freeze(&self, slot: u32, class: u8, level: u64) -> Stop {
        let link = &self.links[slot as usize];
        // At level 0 the class has used nothing, so the remaining capacity is the capacity that earlier
        // classes leave.
        let left = link.left().unsigned_abs();
        let nothing = level == 0 && !self.is_first(class) && left < link.nothing();
        full_at(slot, class, if nothing { 0 } else { left }, link.rising)
    }

    pub(super) fn is_first(&self, class: u8) -> bool {
        self.classes.keys().next() == Some(&class)
    }

    /// Stops a rising flow.
    fn freeze(&mut self, flow: u32, stop: Stop) {
        let demand = std::mem::replace(&mut self.stops[flow as usize], stop);
        self.count(demand, stop);
        for &Crossing { link: slot, weight, .. } in &self.flows[flow as usize].row {
            let link = &mut self.links[slot as usize];
            link.rising -= weight;
            link.room -= product(stop.level(), weight) as i128;
        }
    }
}
