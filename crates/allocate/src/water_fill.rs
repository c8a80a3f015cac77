//! The efficient variant of water-filling, which raises the level (rate divided by weight) of all flows of a
//! class together. A flow stops rising, or freezes, when one of its links is full or its demand is met.
//!
//! The links and demands that stop flows wait in an unordered list. Whenever the heap is empty, the waiting links and
//! demands with the lowest levels move into it. The heap is ordered by level. A link is examined again only when it
//! reaches the top of the heap. The time is typically O(Z log L), where Z is the total number of links in the rows of
//! all flows, and L is the number of different links among them. Unused links add nothing.

use crate::{Allocate, Flows, NOTHING, TIE};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// If the weight of the rising flows on a link falls below this share of its initial value, the remainder is
/// rounding error.
const EXHAUSTED: f64 = 1e-9;

/// Links and demands whose levels are within this factor of the lowest level enter the heap together. Most links never
/// enter the heap.
const STEP: f64 = 4.0;

/// Marks the end of a list of entries.
const NONE: u32 = u32::MAX;

/// Water-filling with working memory that is reused between calls.
#[derive(Debug, Clone, Default)]
pub struct WaterFill {
    /// Index in `links` of each link slot; valid only if the link at this index refers back to the slot.
    place: Vec<u32>,
    links: Vec<Link>,
    /// For each link in `links`: the value of `rising` before any flow of the current class has stopped.
    first: Vec<f64>,
    /// One entry for each pair of a flow and a link that the flow uses.
    entries: Vec<Entry>,
    heap: BinaryHeap<Reverse<Stop>>,
    /// Links and demands that stop flows at a higher level than all stops in the heap, unordered.
    later: Vec<Stop>,
    order: Vec<u32>,
    on_it: Vec<u32>,
    frozen: Vec<bool>,
}

/// A link that some flow uses. The struct is small, because each entry of a row causes a random access to it.
#[derive(Debug, Clone, Copy)]
struct Link {
    slot: u32,
    /// Index in `entries` of the latest entry of the current class on the link; [`NONE`] if there is none.
    last: u32,
    /// Sum of weight times expected traversals of the link, over the flows of the class that still rise.
    rising: f64,
    /// Capacity that the flows frozen so far leave, in bit/s.
    left: f64,
}

impl Link {
    /// Returns the level at which the link is full if no more flows freeze.
    fn level(&self) -> f64 {
        self.left.max(0.0) / self.rising
    }
}

/// A flow's use of a link.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    flow: u32,
    place: u32,
    /// Index of the previous entry of the class on the same link; [`NONE`] if there is none.
    before: u32,
}

/// A limit that stops flows at a level: a full link (by index), or the demand of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Stop {
    /// The bits of the level. Levels are not negative, so their bits, read as integers, have the same order as the
    /// levels.
    level: u64,
    demand: bool,
    index: u32,
}

impl Allocate for WaterFill {
    fn allocate(&mut self, flows: &Flows, links: &[f64], rates: &mut Vec<f64>) {
        rates.clear();
        rates.resize(flows.len(), 0.0);
        self.frozen.clear();
        self.frozen.resize(flows.len(), false);
        if self.place.len() < links.len() {
            self.place.resize(links.len(), 0);
        }
        self.links.clear();
        self.entries.resize(flows.entries(), Entry::default());
        self.order.clear();
        self.order.extend(0..u32::try_from(flows.len()).expect("there must be fewer than 2^32 flows"));
        let mut order = std::mem::take(&mut self.order);
        order.sort_by_key(|&flow| flows.class(flow as usize));
        for class in order.chunk_by(|&a, &b| flows.class(a as usize) == flows.class(b as usize)) {
            self.enter(flows, class, links);
            self.fill(flows, class.len(), rates);
        }
        self.order = order;
    }
}

impl WaterFill {
    /// Adds the flows of a class to their links and computes the levels at which these links would fill up.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the rows of all flows have fewer than 2^32 entries in total"
    )]
    fn enter(&mut self, flows: &Flows, class: &[u32], capacity: &[f64]) {
        for link in &mut self.links {
            link.last = NONE;
            link.rising = 0.0;
            if link.left < NOTHING * capacity[link.slot as usize] {
                link.left = 0.0;
            }
        }
        self.heap.clear();
        self.later.clear();
        for &flow in class {
            let weight = flows.weight(flow as usize);
            let span = flows.span(flow as usize);
            let demand = flows.demand(flow as usize);
            if demand.is_finite() || span.is_empty() {
                self.later.push(Stop { level: (demand / weight).to_bits(), demand: true, index: flow });
            }
            let start = span.start as u32;
            let row = flows.row(flow as usize).iter().zip(&mut self.entries[span]);
            for (at, (&(slot, share), entry)) in (start..).zip(row) {
                let known = self.place[slot as usize];
                let place = match self.links.get(known as usize) {
                    Some(link) if link.slot == slot => known,
                    _ => {
                        let left = capacity[slot as usize];
                        let place = u32::try_from(self.links.len()).expect("a link slot must fit 32 bits");
                        self.links.push(Link { slot, last: NONE, rising: 0.0, left });
                        self.place[slot as usize] = place;
                        place
                    }
                };
                let link = &mut self.links[place as usize];
                *entry = Entry { flow, place, before: link.last };
                link.last = at;
                link.rising += weight * f64::from(share);
            }
        }
        self.first.clear();
        self.first.extend(self.links.iter().map(|link| link.rising));
        let rising = (0..).zip(&self.links).filter(|(_, link)| link.rising > 0.0);
        self.later.extend(rising.map(|(index, link)| Stop {
            level: link.level().to_bits(),
            demand: false,
            index,
        }));
    }

    /// Raises the level until all `to_go` flows are stopped.
    fn fill(&mut self, flows: &Flows, mut to_go: usize, rates: &mut [f64]) {
        let mut level = 0.0_f64;
        let mut horizon = 0;
        while to_go > 0 {
            let Some(Reverse(stop)) = self.heap.pop() else {
                horizon = self.next_horizon();
                continue;
            };
            let stop_level = f64::from_bits(stop.level);
            if stop.demand {
                let flow = stop.index as usize;
                if !self.frozen[flow] {
                    level = level.max(stop_level);
                    self.freeze(flows, flow, flows.demand(flow), rates);
                    to_go -= 1;
                }
                continue;
            }
            let link = self.links[stop.index as usize];
            if link.rising <= EXHAUSTED * self.first[stop.index as usize] {
                continue;
            }
            let now = link.level();
            if now > stop_level * (1.0 + TIE) {
                // Levels only rise, so a link with an outdated level is put back with its current level.
                let stop = Stop { level: now.to_bits(), ..stop };
                if stop.level > horizon {
                    self.later.push(stop);
                } else {
                    self.heap.push(Reverse(stop));
                }
                continue;
            }
            level = level.max(now.min(stop_level));
            let mut on_it = std::mem::take(&mut self.on_it);
            let mut at = link.last;
            while at != NONE {
                let entry = self.entries[at as usize];
                on_it.push(entry.flow);
                at = entry.before;
            }
            for flow in on_it.drain(..).rev() {
                let flow = flow as usize;
                if !self.frozen[flow] {
                    let rate = (level * flows.weight(flow)).min(flows.demand(flow));
                    self.freeze(flows, flow, rate, rates);
                    to_go -= 1;
                }
            }
            self.on_it = on_it;
        }
    }

    /// Moves the lowest stops of `later` into the heap, which is empty. Returns a level, as the bits of its `f64`. All
    /// stops that remain in `later` are above this level.
    fn next_horizon(&mut self) -> u64 {
        let lowest = self.later.iter().map(|stop| stop.level).min();
        let lowest = lowest.expect("every flow must use a link or have a demand");
        let horizon = (f64::from_bits(lowest) * STEP).to_bits();
        let mut at = 0;
        while at < self.later.len() {
            if self.later[at].level <= horizon {
                self.heap.push(Reverse(self.later.swap_remove(at)));
            } else {
                at += 1;
            }
        }
        horizon
    }

    fn freeze(&mut self, flows: &Flows, flow: usize, rate: f64, rates: &mut [f64]) {
        self.frozen[flow] = true;
        rates[flow] = rate;
        let weight = flows.weight(flow);
        for (&(_, share), entry) in flows.row(flow).iter().zip(&self.entries[flows.span(flow)]) {
            let link = &mut self.links[entry.place as usize];
            link.rising -= weight * f64::from(share);
            link.left -= rate * f64::from(share);
        }
    }
}
