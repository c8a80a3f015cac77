//! Incremental water-filling: the flows are kept between calls, so the computing time of a change depends mainly on the
//! number of links and flows that it affects.
//!
//! Rates depend only on the set of flows and on the capacities, **bit by bit**. They do not depend on which
//! flows arrived and left before, nor on the order of these events. Every node of a rack therefore gets the
//! same rates from the same flows. Two properties ensure this.
//!
//! *Sums do not depend on order.* Capacities and levels are integers. Their unit is about 2^-52 of the largest
//! capacity. A flow's weight times its traversals of a link is an integer too, in units of 2^-40. The capacity that a
//! frozen flow uses on the link is exactly this product times the level at which the flow froze. After the inputs are
//! converted to integers, only the levels at which links fill up and demands are met are rounded, and always down.
//! Comparisons of levels therefore need no tolerance: even with rounding, a flow that freezes never lowers the level at
//! which a link fills up (specification of R2C2, §4.3).
//!
//! *The stops are unique.* Each flow has a [`Stop`], which ends the rise of its rate: the first of its links to fill
//! up, or its demand. Some flows of a link stop earlier, at other links or at their demands. The other flows rise until
//! they use up the remaining capacity. The level that they reach is the level at which the link fills up
//! ([`Incremental::fills_at`]). By induction over the order of stops, exactly one assignment of stops is consistent:
//! each flow stops at the first of its links to fill up, or at its demand. Every method of water-filling therefore
//! finds the same stops.
//!
//! After a change, a repair finds these stops. At each link whose level differs from the stops of its flows,
//! the repair corrects these stops, the lowest level first. A correction at one level changes only higher
//! levels, so the repair ends.
//!
//! A repair may examine the same links repeatedly. When a repair takes too long ([`LONG`]), a
//! [refill](Incremental::refill) computes the remaining stops from scratch. A refill examines each link only
//! a few times. After a repair that took too long, the next calls of `settle` do not try a repair ([`MOST_SKIPS`]).
//! Since stops are unique, neither the refill nor the stop at which it starts affects the rates.
//!
//! Cost: if all flows have one class, the arrival of a flow, or a change of its demand, takes O(1) time for each of the
//! flow's links that has room. For a flow that leaves, the list of flows of each of its links is also searched. A link
//! without room is examined, which takes time proportional to the number of its flows or longer.

#![allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]

mod full;
mod rate_table;
mod refill;
mod stop;

pub use rate_table::RateTable;

use full::{full_at, product};
use refill::Refill;
use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BinaryHeap};
use stop::Stop;

/// Number of bits of the largest capacity, counted in units of rate.
const CAPACITY_BITS: u64 = 52;

/// Number of fraction bits of a flow's weight times its traversals of a link.
const WEIGHT_BITS: u32 = 40;

/// If earlier classes leave less than 2^-`NOTHING_BITS` of a link's capacity, the remainder counts as zero.
const NOTHING_BITS: u32 = 30;

/// A repair takes too long when it has examined more than 1 / `LONG` of all uses of links by flows. The value 4 was
/// found by trial. The values 2 and 8 are nearly as good.
const LONG: usize = 4;

/// The largest number of calls of [`Incremental::settle`] in a row that skip the repair. The number grows with each
/// repair in a row that takes too long. The value 3 was found by trial.
const MOST_SKIPS: u32 = 3;

/// Number of flows for which each link's list of flows has memory from the start.
const FEW_USES: usize = 4;

/// Flows that arrive and leave, and their weighted max-min rates.
#[derive(Debug, Clone)]
pub struct Incremental {
    /// A unit of rate in bit/s, a power of two.
    unit_bps: f64,
    /// Indexed by link slot.
    links: Vec<Link>,
    /// Indexed by flow slot: the stop of the flow. After a change, a stop may be wrong until the next
    /// [`settle`](Self::settle).
    stops: Vec<Stop>,
    /// Indexed by flow slot.
    flows: Vec<Member>,
    /// Free flow slots.
    vacant: Vec<u32>,
    /// Number of flows of each class. Only classes with flows have an entry.
    classes: BTreeMap<u8, usize>,
    /// The links to be examined. An entry is a stop at one of these links. All earlier stops at this link are correct.
    doubts: BinaryHeap<Reverse<Stop>>,
    /// Working memory for one link. Each flow of the link whose stop is another link or the flow's demand has an entry:
    /// this stop, and the flow's weight on the link.
    elsewhere: Vec<(Stop, u64)>,
    /// Working memory: flows whose stops change.
    moved: Vec<u32>,
    /// Number of uses of links by flows.
    entries: usize,
    /// Number of uses examined since the latest [`settle`](Self::settle).
    looked_at: usize,
    /// Number of further calls of [`settle`](Self::settle) that skip the repair.
    skips: u32,
    /// The value of `skips` after the next repair that takes too long.
    next_skips: u32,
    /// The next refill recomputes at least this stop and all later stops; [`Stop::NONE`] if no refill is pending.
    refill_from: Stop,
    /// Working memory.
    refill: Refill,
    /// Flows whose rate may differ from the last reported rate, each listed once.
    touched: Vec<u32>,
}

/// A link and the flows on it.
#[derive(Debug, Clone)]
struct Link {
    /// The link's capacity, in rate units times weight units.
    capacity: u128,
    /// The unused capacity, minus the remainder that counts as zero (`nothing()`), minus the capacity that all flows use
    /// if their level rises by one unit (`weight`). If `room` is not negative and no flow stops at the link, the link
    /// cannot be full.
    room: i128,
    /// Total weight of all flows on the link.
    weight: u64,
    /// During a refill: total weight of the link's flows that have not stopped yet.
    rising: u64,
    /// Number of flows that stop at this link: the link limits their rates.
    stopping: u32,
    /// No flow that stops at this link has a stop before this value. The value is valid only if `stopping`
    /// is not 0.
    full: Stop,
    /// The link's current entry in `doubts`, or [`Stop::NONE`]. Other entries of the link are outdated.
    doubt: Stop,
    uses: Vec<Use>,
}

/// A flow's use of a link, in the link's list. `weight` is the flow's weight times its traversals.
#[derive(Debug, Clone, Copy)]
struct Use {
    flow: u32,
    /// Index of the crossing in the flow's row.
    crossing: u32,
    weight: u64,
}

/// A flow's use of a link, in the flow's row. `weight` is the flow's weight times its traversals.
#[derive(Debug, Clone, Copy)]
struct Crossing {
    link: u32,
    /// Index of the use in the link's list.
    place: u32,
    weight: u64,
}

/// A flow.
#[derive(Debug, Clone)]
struct Member {
    weight: f64,
    demand_bps: f64,
    /// The flow's links.
    row: Vec<Crossing>,
    /// The latest reported rate, bit/s.
    reported_bps: f64,
    /// True if the flow is listed in `Incremental::touched`.
    touched: bool,
}

impl Link {
    /// Returns the capacity that all flows leave; may be negative until the repair is complete.
    fn left(&self) -> i128 {
        self.room + self.nothing() as i128 + i128::from(self.weight)
    }

    /// If earlier classes leave less than the returned capacity, the remainder counts as zero.
    fn nothing(&self) -> u128 {
        self.capacity >> NOTHING_BITS
    }
}

impl Incremental {
    /// Creates an allocation without flows, over links with these usable capacities in bit/s.
    #[must_use]
    pub fn new(links: &[f64]) -> Self {
        let unit_bps = unit(links.iter().copied().fold(0.0, f64::max));
        let links = links.iter().map(|&bps| {
            let capacity = capacity(bps, unit_bps);
            Link {
                capacity,
                room: (capacity - (capacity >> NOTHING_BITS)) as i128,
                weight: 0,
                rising: 0,
                stopping: 0,
                full: Stop::never(0),
                doubt: Stop::NONE,
                uses: Vec::with_capacity(FEW_USES),
            }
        });
        Self {
            unit_bps,
            links: links.collect(),
            stops: Vec::new(),
            flows: Vec::new(),
            vacant: Vec::new(),
            classes: BTreeMap::new(),
            doubts: BinaryHeap::new(),
            elsewhere: Vec::new(),
            moved: Vec::new(),
            entries: 0,
            looked_at: 0,
            skips: 0,
            next_skips: 0,
            refill_from: Stop::NONE,
            refill: Refill::default(),
            touched: Vec::new(),
        }
    }

    /// Returns the unit of rates, in bit/s. A rate divided by the flow's weight is a multiple of this unit, unless the
    /// flow's demand limits the rate. The largest initial capacity has 52 bits in this unit.
    pub(crate) fn unit_bps(&self) -> f64 {
        self.unit_bps
    }

    /// Adds a flow, as [`Flows::push`](crate::Flows::push) does. Returns the flow's slot, which belongs to the flow
    /// until the flow is removed. To change more than the flow's [demand](Self::set_demand), remove the flow and add it
    /// again.
    ///
    /// Weight times traversals is stored in multiples of 2^-40. The sum of these values over a link must stay below
    /// 2^24. A flow's rate divided by its weight must stay below 2^12 times the largest capacity.
    ///
    /// # Panics
    /// If there are 2^32 flows or more, or `row` names a link that does not exist.
    pub fn insert(
        &mut self,
        weight: f64,
        class: u8,
        demand_bps: f64,
        row: impl IntoIterator<Item = (u32, f32)>,
    ) -> usize {
        debug_assert!(weight > 0.0 && demand_bps >= 0.0);
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.flows.push(Member {
                weight,
                demand_bps,
                row: Vec::new(),
                reported_bps: 0.0,
                touched: false,
            });
            self.stops.push(Stop::never(class));
            u32::try_from(self.flows.len() - 1).expect("there must be fewer than 2^32 flows")
        });
        let flow = &mut self.flows[slot as usize];
        (flow.weight, flow.demand_bps) = (weight, demand_bps);
        let fine = weight * f64::from(1 << (WEIGHT_BITS / 2)) * f64::from(1 << (WEIGHT_BITS / 2));
        flow.row.clear();
        for (crossing, (link, share)) in (0..).zip(row) {
            let weight = ((fine * f64::from(share) + 0.5) as u64).max(1);
            let at = &mut self.links[link as usize];
            flow.row.push(Crossing { link, place: at.uses.len() as u32, weight });
            at.uses.push(Use { flow: slot, crossing, weight });
            at.weight += weight;
            at.room -= i128::from(weight);
        }
        self.entries += flow.row.len();
        *self.classes.entry(class).or_default() += 1;
        self.stops[slot as usize] = Stop::demand(class, 0);
        self.start(slot);
        slot as usize
    }

    /// Lets a flow at level 0 rise to its stop, now or in the next refill.
    fn start(&mut self, flow: u32) {
        self.touch(flow);
        if !self.repair_is_long() {
            self.raise(flow);
            return;
        }
        // Until the refill, the flow keeps a level that it will reach in any case.
        let (least, demand) = (self.least_stop(flow), self.demand(flow));
        let level = least.min(demand).level();
        self.stops[flow as usize] = Stop::demand(demand.class(), level);
        for &Crossing { link: slot, weight, .. } in &self.flows[flow as usize].row {
            self.links[slot as usize].room -= product(level, weight) as i128;
        }
        self.refill_from = self.refill_from.min(least);
    }

    /// Returns a stop before which none of the flow's links is full: the lowest level at which one of the links would be
    /// full if none of its flows stopped before. Flows that stop earlier only leave more capacity to the others.
    fn least_stop(&self, flow: u32) -> Stop {
        let class = self.stops[flow as usize].class();
        // Only the first class has all of a link's capacity.
        let is_first = self.is_first(class);
        let fills = self.flows[flow as usize].row.iter().map(|&Crossing { link, .. }| {
            let link = &self.links[link as usize];
            if is_first { full_at(0, class, link.capacity, link.weight) } else { Stop::link(class, 0, 0) }
        });
        fills.min().unwrap_or(Stop::NONE)
    }

    /// Removes the flow in a slot.
    ///
    /// # Panics
    /// If the slot never had a flow.
    pub fn remove(&mut self, slot: usize) {
        let flow = u32::try_from(slot).expect("a slot must fit 32 bits");
        self.lower(flow, Stop::demand(self.stops[slot].class(), 0));
        for i in 0..self.flows[slot].row.len() {
            let Crossing { link, place, weight } = self.flows[slot].row[i];
            let link = &mut self.links[link as usize];
            link.uses.swap_remove(place as usize);
            link.weight -= weight;
            link.room += i128::from(weight);
            // The last use of the list has moved to the place of the removed use.
            if let Some(moved) = link.uses.get(place as usize) {
                self.flows[moved.flow as usize].row[moved.crossing as usize].place = place;
            }
        }
        self.entries -= self.flows[slot].row.len();
        if let Entry::Occupied(mut of_class) = self.classes.entry(self.stops[slot].class()) {
            *of_class.get_mut() -= 1;
            if *of_class.get() == 0 {
                of_class.remove();
            }
        }
        let gone = &mut self.flows[slot];
        gone.row.clear();
        // The removed flow's rate is 0. The reported rate is set to 0 too, so that no change is reported for the slot.
        (gone.demand_bps, gone.reported_bps) = (0.0, 0.0);
        self.vacant.push(flow);
    }

    /// Sets the demand of the flow in a slot, in bit/s (or infinity).
    ///
    /// # Panics
    /// If the slot never had a flow.
    pub fn set_demand(&mut self, slot: usize, demand_bps: f64) {
        debug_assert!(demand_bps >= 0.0);
        let flow = u32::try_from(slot).expect("a slot must fit 32 bits");
        self.lower(flow, Stop::demand(self.stops[slot].class(), 0));
        self.flows[slot].demand_bps = demand_bps;
        self.start(flow);
    }

    /// Sets the usable capacity of a link, in bit/s. The capacity may not exceed the largest initial capacity.
    ///
    /// # Panics
    /// If there is no such link.
    pub fn set_capacity(&mut self, link: u32, bps: f64) {
        let at = &mut self.links[link as usize];
        let left = at.left();
        let old = std::mem::replace(&mut at.capacity, capacity(bps, self.unit_bps));
        at.room = left + at.capacity as i128 - old as i128 - at.nothing() as i128 - i128::from(at.weight);
        if at.stopping > 0 || at.room < 0 {
            let classes = at.uses.iter().map(|using| self.stops[using.flow as usize].class());
            if let Some(first) = classes.min() {
                self.doubt(link, Stop::link(first, 0, link));
            }
        }
    }

    /// Computes the rates of the current flows.
    pub fn settle(&mut self) {
        if self.refill_from == Stop::NONE {
            self.repair();
        }
        let is_repaired = self.refill_from == Stop::NONE;
        if !is_repaired {
            let doubt = self.doubts.peek().map_or(Stop::NONE, |&Reverse(doubt)| doubt);
            self.refill(doubt.min(self.refill_from));
            self.refill_from = Stop::NONE;
        }
        if self.skips > 0 {
            self.skips -= 1;
        } else if is_repaired {
            self.next_skips = 0;
        } else {
            self.skips = self.next_skips;
            self.next_skips = (2 * self.next_skips + 1).min(MOST_SKIPS);
        }
        self.looked_at = 0;
    }

    /// Corrects the stops that may be wrong, the lowest first. If this takes too long, requests a refill
    /// instead.
    fn repair(&mut self) {
        while let Some(Reverse(doubt)) = self.doubts.pop() {
            let slot = doubt.slot();
            if self.links[slot as usize].doubt == doubt {
                self.links[slot as usize].doubt = Stop::NONE;
                if self.repair_is_long() {
                    self.refill_from = doubt;
                    return;
                }
                self.look_at(slot, doubt);
            }
        }
    }

    /// True if a refill is likely to take less time than further repairs.
    fn repair_is_long(&self) -> bool {
        self.skips > 0 || self.looked_at > self.entries / LONG
    }

    /// Corrects the stops of a class's flows at a link. If the first stop to be corrected is later than `doubt`, the
    /// function only queues the link again for that stop, because earlier stops at other links must be corrected first.
    fn look_at(&mut self, slot: u32, doubt: Stop) {
        let class = doubt.class();
        let full = self.fills_at(slot, class);
        let mut moved = std::mem::take(&mut self.moved);
        let mut first = Stop::NONE;
        for &Use { flow, .. } in &self.links[slot as usize].uses {
            let stop = self.stops[flow as usize];
            if stop.class() == class && (stop > full || stop.slot() == slot && stop < full) {
                first = first.min(stop.min(full));
                moved.push(flow);
            }
        }
        if first > doubt && first != Stop::NONE {
            moved.clear();
            self.doubt(slot, first);
        } else {
            for flow in moved.drain(..) {
                if self.stops[flow as usize] > full {
                    self.lower(flow, full);
                } else {
                    self.raise(flow);
                }
            }
            let link = &mut self.links[slot as usize];
            if first == Stop::NONE && full.at().is_some() && link.full.class() == class {
                link.full = full;
            }
            self.doubt_class_after(slot, class);
        }
        self.moved = moved;
    }

    /// Returns the rate of the flow in a slot as of the latest [`settle`](Self::settle), in bit/s.
    ///
    /// # Panics
    /// If the slot never had a flow.
    #[must_use]
    pub fn rate(&self, slot: usize) -> f64 {
        let (flow, stop) = (&self.flows[slot], self.stops[slot]);
        match stop.at() {
            Some(_) => (stop.level() as f64 * self.unit_bps * flow.weight).min(flow.demand_bps),
            None => flow.demand_bps,
        }
    }

    /// Returns the slots of the flows whose rates have changed since the previous call, with these rates in bit/s as of
    /// the latest [`settle`](Self::settle). A new flow had rate 0 before.
    pub fn changes(&mut self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let mut touched = std::mem::take(&mut self.touched);
        touched.retain(|&flow| {
            let rate = self.rate(flow as usize);
            let flow = &mut self.flows[flow as usize];
            flow.touched = false;
            // Equal levels give identical bits, so the comparison needs no tolerance.
            std::mem::replace(&mut flow.reported_bps, rate).to_bits() != rate.to_bits()
        });
        self.touched = touched;
        self.touched.drain(..).map(|flow| (flow as usize, self.flows[flow as usize].reported_bps))
    }

    /// Marks a flow whose rate may have changed.
    fn touch(&mut self, flow: u32) {
        let touched = &mut self.flows[flow as usize].touched;
        if !std::mem::replace(touched, true) {
            self.touched.push(flow);
        }
    }

    /// Queues a link to be examined for a stop that may be wrong.
    fn doubt(&mut self, slot: u32, stop: Stop) {
        let doubt = &mut self.links[slot as usize].doubt;
        if stop < *doubt {
            *doubt = stop;
            self.doubts.push(Reverse(stop));
        }
    }

    /// Queues a link to be examined for the first class on the link that comes after `class`.
    fn doubt_class_after(&mut self, slot: u32, class: u8) {
        if self.classes.keys().next_back().is_some_and(|&last| last > class) {
            let uses = self.links[slot as usize].uses.iter();
            let classes = uses.map(|using| self.stops[using.flow as usize].class());
            if let Some(next) = classes.filter(|&other| other > class).min() {
                self.doubt(slot, Stop::link(next, 0, slot));
            }
        }
    }

    /// Moves a flow to an earlier stop. Links at which no flow stops need no repair: they had room before and
    /// have more now.
    fn lower(&mut self, flow: u32, stop: Stop) {
        self.touch(flow);
        let old = std::mem::replace(&mut self.stops[flow as usize], stop);
        self.count(old, stop);
        let fall = old.level() - stop.level();
        let row = std::mem::take(&mut self.flows[flow as usize].row);
        for &Crossing { link: slot, weight, .. } in &row {
            let link = &mut self.links[slot as usize];
            link.room += product(fall, weight) as i128;
            if link.stopping > 0 {
                let full = link.full;
                self.doubt(slot, full);
            }
        }
        self.flows[flow as usize].row = row;
    }

    /// Raises a flow until its demand or one of its links stops it.
    fn raise(&mut self, flow: u32) {
        self.touch(flow);
        let at = flow as usize;
        let old = self.stops[at];
        let class = old.class();
        let carries_later = self.classes.keys().next_back() > Some(&class);
        let mut stop = self.demand(flow);
        self.stops[at] = stop;
        let row = std::mem::take(&mut self.flows[at].row);
        for &Crossing { link: slot, weight, .. } in &row {
            let link = &self.links[slot as usize];
            let more = i128::from(stop.level()) - i128::from(old.level());
            if link.stopping > 0 || more * i128::from(weight) > link.room {
                let full = self.fills_at(slot, class);
                if full.at().is_some() {
                    // If this flow stops earlier at another link, this link fills up later than at `full`.
                    let link = &self.links[slot as usize];
                    let first = if link.stopping > 0 { full.min(link.full) } else { full };
                    self.doubt(slot, first);
                }
                stop = stop.min(full);
                self.stops[at] = stop;
            }
            if carries_later {
                self.doubt_class_after(slot, class);
            }
        }
        self.count(old, stop);
        let more = i128::from(stop.level()) - i128::from(old.level());
        for &Crossing { link: slot, weight, .. } in &row {
            self.links[slot as usize].room -= more * i128::from(weight);
        }
        self.flows[at].row = row;
    }

    /// Returns the stop at which a flow's demand is met.
    fn demand(&self, flow: u32) -> Stop {
        let Member { weight, demand_bps, .. } = self.flows[flow as usize];
        let level = demand_bps / (weight * self.unit_bps);
        let class = self.stops[flow as usize].class();
        Stop::demand(class, if level.is_finite() { level as u64 } else { u64::MAX })
    }

    /// Updates `stopping` and `full` of the links when a flow's stop changes from `old` to `new`.
    fn count(&mut self, old: Stop, new: Stop) {
        if let Some(link) = old.at() {
            self.links[link as usize].stopping -= 1;
        }
        if let Some(link) = new.at() {
            let link = &mut self.links[link as usize];
            link.full = if link.stopping > 0 { link.full.min(new) } else { new };
            link.stopping += 1;
        }
    }
}

/// Converts a capacity in bit/s to rate units times weight units.
fn capacity(bps: f64, unit_bps: f64) -> u128 {
    u128::from((bps / unit_bps) as u64) << WEIGHT_BITS
}

/// Returns the power of two that serves as the unit of rate: the largest capacity has [`CAPACITY_BITS`] bits
/// in this unit.
fn unit(largest_bps: f64) -> f64 {
    const FRACTION_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    let exponent = largest_bps.to_bits() >> FRACTION_BITS;
    f64::from_bits((exponent + 1).saturating_sub(CAPACITY_BITS).max(1) << FRACTION_BITS)
}

#[cfg(test)]
mod tests;
