//! Water-filling that keeps its flows: a change costs what it touches.
//!
//! Rates are a function of the set of flows and the capacities alone, **to the bit**, whatever flows came and went
//! before and in whatever order: every node of a rack gets the same rates from the same flows. Two things make it so.
//!
//! *Sums do not depend on order.* Capacities and levels are integers, multiples of a unit 2^-52 or so of the largest
//! capacity; a flow's weight times its traversals of a link is an integer, a multiple of 2^-40. A flow frozen at a
//! level takes level * weight of a link, exactly. The only rounding is that a link's level is rounded down, so that
//! levels rise as flows freeze (specification of R2C2, §4.3) without any tolerance.
//!
//! *The stops are unique.* Each flow has a [`Stop`]: the first of its links to fill up, or its demand. A link fills
//! up at the level at which what its flows that stop elsewhere before leave is divided among the rest
//! ([`Incremental::fills_at`]). By induction over the order of stops one assignment alone has every flow stop at
//! the first such level among its links, and water-filling from scratch finds it. So it does not matter how it is
//! found, and after a change it is found by repair: links whose level no longer is what their flows stop at are put
//! right, the lowest first. What a repair at one level changes lies above it, so this ends.
//!
//! Cost: a flow that comes, goes, or rises touches each of its links once, O(1) where the link has room; one that
//! falls too. Other links are looked at only if they are full.

mod stop;

use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BinaryHeap};
use stop::Stop;

/// Bits of the largest capacity, in units of rate.
const CAPACITY_BITS: u64 = 52;

/// Bits behind the point of weight times traversals.
const WEIGHT_BITS: u32 = 40;

/// Below this power of two of its capacity, what earlier classes leave of a link is nothing.
const NOTHING_BITS: u32 = 30;

/// Flows that come and go, and their weighted max-min rates.
#[derive(Debug, Clone)]
pub struct Incremental {
    /// A unit of rate in bit/s, a power of two.
    unit_bps: f64,
    /// Per link slot.
    links: Vec<Link>,
    /// Per flow slot: where it stops, if the repair has come so far.
    stops: Vec<Stop>,
    /// Per flow slot.
    flows: Vec<Member>,
    /// Flow slots that are free.
    vacant: Vec<u32>,
    /// Flows of each class, where there are any.
    classes: BTreeMap<u8, usize>,
    /// Links where flows may have to stop elsewhere than they do, each once.
    suspects: Vec<u32>,
    /// The first stop of each link and class that is wrong: there or missing.
    wrong: BinaryHeap<Reverse<Stop>>,
    /// Working memory: what stops before a link is full, with its weight there.
    before: Vec<(Stop, u64)>,
    /// Working memory: flows to be moved.
    moved: Vec<u32>,
}

/// A link and the flows on it.
#[derive(Debug, Clone)]
struct Link {
    /// Rate units times weight units.
    capacity: u128,
    /// What the capacity has left after all flows, [`NOTHING_BITS`] and a level's rounding: if it is not negative and
    /// no flow stops here, the link cannot be full.
    room: i128,
    /// Flows that stop here.
    stopping: u32,
    suspect: bool,
    uses: Vec<Use>,
}

/// A flow on a link: its weight times its traversals.
#[derive(Debug, Clone, Copy)]
struct Use {
    flow: u32,
    weight: u64,
}

/// A flow.
#[derive(Debug, Clone)]
struct Member {
    weight: f64,
    demand_bps: f64,
    /// Its links, with its weight times its traversals.
    row: Vec<(u32, u64)>,
}

impl Incremental {
    /// No flows over links with these usable capacities, in bit/s.
    #[must_use]
    pub fn new(links: &[f64]) -> Self {
        let unit_bps = unit(links.iter().copied().fold(0.0, f64::max));
        let links = links.iter().map(|&bps| {
            let capacity = u128::from((bps / unit_bps) as u64) << WEIGHT_BITS;
            let room = (capacity - (capacity >> NOTHING_BITS)) as i128;
            Link { capacity, room, stopping: 0, suspect: false, uses: Vec::new() }
        });
        Self {
            unit_bps,
            links: links.collect(),
            stops: Vec::new(),
            flows: Vec::new(),
            vacant: Vec::new(),
            classes: BTreeMap::new(),
            suspects: Vec::new(),
            wrong: BinaryHeap::new(),
            before: Vec::new(),
            moved: Vec::new(),
        }
    }

    /// Adds a flow, as [`Flows::push`](crate::Flows::push) does, and returns its slot, which stays its own until it is
    /// removed. A flow that changes is removed and added again.
    ///
    /// Weight times traversals is kept in multiples of 2^-40 and must stay below 2^24, summed over a link; a flow's rate over its
    /// weight, below 2^12 times the largest capacity.
    pub fn insert(
        &mut self,
        weight: f64,
        class: u8,
        demand_bps: f64,
        row: impl IntoIterator<Item = (u32, f32)>,
    ) -> usize {
        debug_assert!(weight > 0.0 && demand_bps >= 0.0);
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.flows.push(Member { weight, demand_bps, row: Vec::new() });
            self.stops.push(Stop::never(class));
            u32::try_from(self.flows.len() - 1).expect("fewer than 2^32 flows")
        });
        let flow = &mut self.flows[slot as usize];
        (flow.weight, flow.demand_bps) = (weight, demand_bps);
        let fine = weight * f64::from(1 << (WEIGHT_BITS / 2)) * f64::from(1 << (WEIGHT_BITS / 2));
        flow.row.clear();
        flow.row.extend(
            row.into_iter().map(|(link, share)| (link, ((fine * f64::from(share)).round() as u64).max(1))),
        );
        for &(link, weight) in &flow.row {
            let link = &mut self.links[link as usize];
            link.uses.push(Use { flow: slot, weight });
            link.room -= i128::from(weight);
        }
        *self.classes.entry(class).or_default() += 1;
        self.stops[slot as usize] = Stop::demand(class, 0);
        self.raise(slot);
        slot as usize
    }

    /// Removes the flow in a slot.
    ///
    /// # Panics
    /// If there never was one.
    pub fn remove(&mut self, slot: usize) {
        let flow = u32::try_from(slot).expect("a slot that was given out");
        self.lower(flow, Stop::demand(self.stops[slot].class(), 0));
        for &(link, weight) in &self.flows[slot].row {
            let link = &mut self.links[link as usize];
            let at = link.uses.iter().position(|using| using.flow == flow).expect("it is on its links");
            link.uses.swap_remove(at);
            link.room += i128::from(weight);
        }
        if let Entry::Occupied(mut of_class) = self.classes.entry(self.stops[slot].class()) {
            *of_class.get_mut() -= 1;
            if *of_class.get() == 0 {
                of_class.remove();
            }
        }
        self.flows[slot].row.clear();
        self.vacant.push(flow);
    }

    /// Works out the rates of the flows that there are.
    pub fn settle(&mut self) {
        self.examine_suspects();
        while let Some(Reverse(stop)) = self.wrong.pop() {
            let link = stop.slot();
            let full = self.fills_at(link, stop.class());
            let Some(first) = self.first_wrong(link, full) else { continue };
            if first > stop {
                self.wrong.push(Reverse(first));
                continue;
            }
            let mut moved = std::mem::take(&mut self.moved);
            let here = self.links[link as usize].uses.iter().map(|using| using.flow);
            moved.extend(here.filter(|&flow| is_wrong(self.stops[flow as usize], link, full)));
            for flow in moved.drain(..) {
                if self.stops[flow as usize] > full {
                    self.lower(flow, full);
                } else {
                    self.raise(flow);
                }
            }
            self.moved = moved;
            self.examine_suspects();
        }
    }

    /// The rate of the flow in a slot as of the last [`settle`](Self::settle), in bit/s.
    ///
    /// # Panics
    /// If there never was one.
    #[must_use]
    pub fn rate(&self, slot: usize) -> f64 {
        let (flow, stop) = (&self.flows[slot], self.stops[slot]);
        match stop.at() {
            Some(_) => (stop.level() as f64 * self.unit_bps * flow.weight).min(flow.demand_bps),
            None => flow.demand_bps,
        }
    }

    /// The level at which a link is full for a class, if what stops its flows elsewhere does: these freeze in their
    /// order for as long as the link's own level is above theirs.
    fn fills_at(&mut self, slot: u32, class: u8) -> Stop {
        let link = &self.links[slot as usize];
        let mut left = link.capacity;
        let (mut rising, mut earlier) = (0, false);
        self.before.clear();
        for &Use { flow, weight } in &link.uses {
            let stop = self.stops[flow as usize];
            if stop.class() < class {
                // Before the repair is done, earlier classes may take more than there is.
                left = left.saturating_sub(u128::from(stop.level()) * u128::from(weight));
                earlier = true;
            } else if stop.class() == class {
                rising += weight;
                if stop.slot() != slot {
                    self.before.push((stop, weight));
                }
            }
        }
        if earlier && left < link.capacity >> NOTHING_BITS {
            left = 0;
        }
        self.before.sort_unstable();
        for &(stop, weight) in &self.before {
            // Whether (left / rising, rounded down, and this slot) comes before the stop.
            let least = u128::from(stop.level()) + u128::from(slot < stop.slot());
            if left < least * u128::from(rising) {
                break;
            }
            left -= u128::from(stop.level()) * u128::from(weight);
            rising -= weight;
        }
        if rising == 0 {
            return Stop::never(class);
        }
        let level = left / u128::from(rising);
        Stop::link(class, u64::try_from(level).map_or(u64::MAX - 1, |level| level.min(u64::MAX - 1)), slot)
    }

    /// The first level at which a link has flows stop that should not, or fails to stop flows that it should.
    fn first_wrong(&self, link: u32, full: Stop) -> Option<Stop> {
        let stops = self.links[link as usize].uses.iter().map(|using| self.stops[using.flow as usize]);
        stops.filter(|&stop| is_wrong(stop, link, full)).map(|stop| stop.min(full)).min()
    }

    /// Looks at the links that changes have cast doubt on.
    fn examine_suspects(&mut self) {
        while let Some(link) = self.suspects.pop() {
            self.links[link as usize].suspect = false;
            let mut class = self.class_from(link, 0);
            while let Some(this) = class {
                let full = self.fills_at(link, this);
                self.wrong.extend(self.first_wrong(link, full).map(Reverse));
                class = this.checked_add(1).and_then(|next| self.class_from(link, next));
            }
        }
    }

    /// The first class from this one on that a link carries.
    fn class_from(&self, link: u32, least: u8) -> Option<u8> {
        let uses = self.links[link as usize].uses.iter();
        uses.map(|using| self.stops[using.flow as usize].class()).filter(|&class| class >= least).min()
    }

    /// Lets a flow stop earlier. Links that have room and stop nobody keep it.
    fn lower(&mut self, flow: u32, stop: Stop) {
        let old = std::mem::replace(&mut self.stops[flow as usize], stop);
        self.count(old, stop);
        let fall = i128::from(old.level() - stop.level());
        for &(slot, weight) in &self.flows[flow as usize].row {
            let link = &mut self.links[slot as usize];
            link.room += fall * i128::from(weight);
            if link.stopping > 0 {
                suspect(slot, link, &mut self.suspects);
            }
        }
    }

    /// Lets a flow rise until its demand or the first of its links stops it.
    fn raise(&mut self, flow: u32) {
        let at = flow as usize;
        let old = self.stops[at];
        let class = old.class();
        let Member { weight, demand_bps, .. } = self.flows[at];
        let demand = demand_bps / (weight * self.unit_bps);
        let mut stop = Stop::demand(class, if demand.is_finite() { demand as u64 } else { u64::MAX });
        self.stops[at] = stop;
        let many_classes = self.classes.len() > 1;
        let row = std::mem::take(&mut self.flows[at].row);
        for &(slot, weight) in &row {
            let link = &mut self.links[slot as usize];
            let more = i128::from(stop.level()) - i128::from(old.level());
            if many_classes {
                suspect(slot, link, &mut self.suspects);
            } else if link.stopping == 0 && more * i128::from(weight) <= link.room {
                continue;
            }
            let full = self.fills_at(slot, class);
            if full.at().is_some() {
                // Whether it is full changes with where this flow stops in the end.
                suspect(slot, &mut self.links[slot as usize], &mut self.suspects);
            }
            if full < stop {
                stop = full;
                self.stops[at] = stop;
            }
        }
        self.count(old, stop);
        let more = i128::from(stop.level()) - i128::from(old.level());
        for &(slot, weight) in &row {
            self.links[slot as usize].room -= more * i128::from(weight);
        }
        self.flows[at].row = row;
    }

    /// Counts a flow where it stops now.
    fn count(&mut self, old: Stop, new: Stop) {
        if let Some(link) = old.at() {
            self.links[link as usize].stopping -= 1;
        }
        if let Some(link) = new.at() {
            self.links[link as usize].stopping += 1;
        }
    }
}

/// The power of two of which the largest capacity has [`CAPACITY_BITS`] bits.
fn unit(largest_bps: f64) -> f64 {
    const FRACTION_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    let exponent = largest_bps.to_bits() >> FRACTION_BITS;
    f64::from_bits((exponent + 1).saturating_sub(CAPACITY_BITS).max(1) << FRACTION_BITS)
}

/// Whether a flow on a link should stop elsewhere than it does, given when the link is full.
fn is_wrong(stop: Stop, link: u32, full: Stop) -> bool {
    stop.class() == full.class() && (stop > full || (stop.slot() == link && stop != full))
}

/// Puts a link among the suspects unless it is there.
fn suspect(slot: u32, link: &mut Link, suspects: &mut Vec<u32>) {
    if !link.suspect {
        link.suspect = true;
        suspects.push(slot);
    }
}

#[cfg(test)]
mod tests;
