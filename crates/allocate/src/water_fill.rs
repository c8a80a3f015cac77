//! The efficient variant: links wait in a heap by the level at which they fill up, and are looked at again only when
//! their turn comes. Cost O(Z log L) for Z non-zero weights on L links touched; links not touched cost nothing.

use crate::{Allocate, Flows, NOTHING, TIE};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Below this share of its first value the weight still rising on a link is rounding error.
const EXHAUSTED: f64 = 1e-9;

/// Water-filling with working memory that is used again.
#[derive(Debug, Clone, Default)]
pub struct WaterFill {
    /// Per link slot: its place in `links`, valid if that place names the slot back.
    place: Vec<u32>,
    links: Vec<LinkState>,
    /// Per link in `links`: where its flows start in `users`.
    starts: Vec<u32>,
    users: Vec<(u32, f32)>,
    heap: BinaryHeap<Entry>,
    order: Vec<u32>,
    frozen: Vec<bool>,
}

#[derive(Debug, Clone, Copy)]
struct LinkState {
    slot: u32,
    /// Weight of the flows of the class that still rise.
    rising: f64,
    /// The first value of `rising`.
    first: f64,
    capacity: f64,
    /// Capacity that frozen flows leave.
    left: f64,
    flows: u32,
}

/// A level at which something stops: a link (by place), or a flow's demand.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Entry {
    level: f64,
    link: bool,
    index: u32,
}

impl Eq for Entry {}

impl Ord for Entry {
    /// The lowest level is the greatest entry, as the heap serves the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.level.total_cmp(&self.level).then(self.link.cmp(&other.link)).then(other.index.cmp(&self.index))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Allocate for WaterFill {
    fn allocate(&mut self, flows: &Flows, links: &[f64], rates: &mut Vec<f64>) {
        rates.clear();
        rates.resize(flows.len(), 0.0);
        self.frozen.clear();
        self.frozen.resize(flows.len(), false);
        if self.place.len() < links.len() {
            self.place.resize(links.len(), u32::MAX);
        }
        self.links.clear();
        self.touch(flows, links);
        self.order.clear();
        self.order.extend(0..u32::try_from(flows.len()).expect("fewer than 2^32 flows"));
        let mut order = std::mem::take(&mut self.order);
        order.sort_by_key(|&flow| flows.class(flow as usize));
        for class in order.chunk_by(|&a, &b| flows.class(a as usize) == flows.class(b as usize)) {
            self.fill(flows, class, rates);
        }
        self.order = order;
    }
}

impl WaterFill {
    /// Lists the links that flows use, and each link's flows.
    fn touch(&mut self, flows: &Flows, capacity: &[f64]) {
        for flow in 0..flows.len() {
            for &(slot, _) in flows.row(flow) {
                let place = self.place[slot as usize] as usize;
                if self.links.get(place).is_some_and(|link| link.slot == slot) {
                    self.links[place].flows += 1;
                } else {
                    self.place[slot as usize] =
                        u32::try_from(self.links.len()).expect("link slots fit 32 bits");
                    let capacity = capacity[slot as usize];
                    let fresh =
                        LinkState { slot, rising: 0.0, first: 0.0, capacity, left: capacity, flows: 1 };
                    self.links.push(fresh);
                }
            }
        }
        self.starts.clear();
        let mut start = 0;
        for link in &mut self.links {
            self.starts.push(start);
            start += link.flows;
            link.flows = 0;
        }
        self.users.clear();
        self.users.resize(start as usize, (0, 0.0));
        for flow in 0..flows.len() {
            for &(slot, weight) in flows.row(flow) {
                let place = self.place[slot as usize] as usize;
                let link = &mut self.links[place];
                self.users[(self.starts[place] + link.flows) as usize] = (flow as u32, weight);
                link.flows += 1;
            }
        }
    }

    /// Raises the level of one class until each of its flows is stopped.
    fn fill(&mut self, flows: &Flows, class: &[u32], rates: &mut [f64]) {
        for link in &mut self.links {
            link.rising = 0.0;
            if link.left < NOTHING * link.capacity {
                link.left = 0.0;
            }
        }
        self.heap.clear();
        for &flow in class {
            let weight = flows.weight(flow as usize);
            for &(slot, share) in flows.row(flow as usize) {
                self.links[self.place[slot as usize] as usize].rising += weight * f64::from(share);
            }
            let demand = flows.demand(flow as usize);
            if demand.is_finite() || flows.row(flow as usize).is_empty() {
                self.heap.push(Entry { level: demand / weight, link: false, index: flow });
            }
        }
        for (place, link) in self.links.iter_mut().enumerate() {
            link.first = link.rising;
            if link.rising > 0.0 {
                self.heap.push(Entry { level: link.left / link.rising, link: true, index: place as u32 });
            }
        }
        let mut to_go = class.len();
        let mut level = 0.0_f64;
        while to_go > 0 {
            let entry = self.heap.pop().expect("every flow uses a link or has a demand");
            if entry.link {
                let link = self.links[entry.index as usize];
                if link.rising <= EXHAUSTED * link.first {
                    continue;
                }
                let now = link.left.max(0.0) / link.rising;
                if now > entry.level * (1.0 + TIE) {
                    // Levels only rise, so a stale one is put back with what it is now.
                    self.heap.push(Entry { level: now, ..entry });
                    continue;
                }
                level = level.max(now.min(entry.level));
                let start = self.starts[entry.index as usize] as usize;
                for user in start..start + link.flows as usize {
                    let flow = self.users[user].0 as usize;
                    if !self.frozen[flow] && flows.class(flow) == flows.class(class[0] as usize) {
                        let rate = (level * flows.weight(flow)).min(flows.demand(flow));
                        self.freeze(flows, flow, rate, rates);
                        to_go -= 1;
                    }
                }
            } else if !self.frozen[entry.index as usize] {
                level = level.max(entry.level);
                let flow = entry.index as usize;
                self.freeze(flows, flow, flows.demand(flow), rates);
                to_go -= 1;
            }
        }
    }

    fn freeze(&mut self, flows: &Flows, flow: usize, rate: f64, rates: &mut [f64]) {
        self.frozen[flow] = true;
        rates[flow] = rate;
        for &(slot, share) in flows.row(flow) {
            let link = &mut self.links[self.place[slot as usize] as usize];
            link.rising -= flows.weight(flow) * f64::from(share);
            link.left -= rate * f64::from(share);
        }
    }
}
