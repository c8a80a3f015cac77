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
//! A repair may come to the same links again and again. When it has looked at a part of all uses of links, what is left
//! is filled [from scratch](Incremental::refill), which looks at each link a few times. Since stops are unique, neither
//! this nor the moment matters to the rates.
//!
//! Cost: a flow that comes, goes, or rises touches each of its links once, O(1) where the link has room; one that
//! falls too. Other links are looked at only if they are full.

mod full;
mod rate_table;
mod refill;
mod stop;

pub use rate_table::RateTable;

use full::product;
use refill::Refill;
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

/// A repair is long when it has looked at one of this many of all uses of links (found by trial; 2 and 8 do nearly as
/// well).
const LONG: usize = 4;

/// Uses that a link has memory for at first.
const FEW_USES: usize = 4;

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
    /// Links to be looked at, by when: no stop there before that is wrong or missing.
    doubts: BinaryHeap<Reverse<Stop>>,
    /// Working memory: stops elsewhere of a link's flows, with their weight there.
    elsewhere: Vec<(Stop, u64)>,
    /// Working memory: flows to be moved.
    moved: Vec<u32>,
    /// Uses of links by flows.
    entries: usize,
    /// Uses that were looked at since the rates were right.
    looked_at: usize,
    /// The next refill is to stop all flows anew that do not stop before this; [`Stop::NONE`] if none is wanted.
    refill_from: Stop,
    /// Working memory.
    refill: Refill,
    /// Flows whose rate may not be what was last reported, each once.
    touched: Vec<u32>,
}

/// A link and the flows on it.
#[derive(Debug, Clone)]
struct Link {
    /// Rate units times weight units.
    capacity: u128,
    /// What the capacity has left after all flows, [`NOTHING_BITS`] and a level's rounding: if it is not negative and
    /// no flow stops here, the link cannot be full.
    room: i128,
    /// Of all its flows.
    weight: u64,
    /// Of those that a refill has not stopped yet.
    rising: u64,
    /// Number of flows whose rate this link limits.
    stopping: u32,
    /// No flow stops here before this, if any does.
    full: Stop,
    /// Its entry among the doubts, others being outdated, or [`Stop::NONE`].
    doubt: Stop,
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
    /// The rate that was last reported, bit/s.
    reported_bps: f64,
    /// Whether it is among the touched flows.
    touched: bool,
}

impl Link {
    /// What all flows leave of the capacity; it may be negative until the repair is done.
    fn left(&self) -> i128 {
        self.room + self.nothing() as i128 + i128::from(self.weight)
    }

    /// If earlier classes leave less, that is nothing.
    fn nothing(&self) -> u128 {
        self.capacity >> NOTHING_BITS
    }
}

impl Incremental {
    /// No flows over links with these usable capacities, in bit/s.
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
            refill_from: Stop::NONE,
            refill: Refill::default(),
            touched: Vec::new(),
        }
    }

    /// What rates are multiples of but for weights and demands, in bit/s: the largest capacity at first has 52 bits of it.
    pub(crate) fn unit_bps(&self) -> f64 {
        self.unit_bps
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
            self.flows.push(Member {
                weight,
                demand_bps,
                row: Vec::new(),
                reported_bps: 0.0,
                touched: false,
            });
            self.stops.push(Stop::never(class));
            u32::try_from(self.flows.len() - 1).expect("fewer than 2^32 flows")
        });
        let flow = &mut self.flows[slot as usize];
        (flow.weight, flow.demand_bps) = (weight, demand_bps);
        let fine = weight * f64::from(1 << (WEIGHT_BITS / 2)) * f64::from(1 << (WEIGHT_BITS / 2));
        flow.row.clear();
        flow.row.extend(
            row.into_iter().map(|(link, share)| (link, ((fine * f64::from(share) + 0.5) as u64).max(1))),
        );
        for &(link, weight) in &flow.row {
            let link = &mut self.links[link as usize];
            link.uses.push(Use { flow: slot, weight });
            link.weight += weight;
            link.room -= i128::from(weight);
        }
        self.entries += flow.row.len();
        *self.classes.entry(class).or_default() += 1;
        self.stops[slot as usize] = Stop::demand(class, 0);
        self.start(slot);
        slot as usize
    }

    /// Has a flow rise that has level 0.
    fn start(&mut self, flow: u32) {
        self.touch(flow);
        if self.repair_is_long() {
            // It keeps level 0 until then.
            self.refill_from = self.refill_from.min(Stop::link(self.stops[flow as usize].class(), 0, 0));
        } else {
            self.raise(flow);
        }
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
            link.weight -= weight;
            link.room += i128::from(weight);
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
        // It has this rate, so that it will not be among the changes.
        (gone.demand_bps, gone.reported_bps) = (0.0, 0.0);
        self.vacant.push(flow);
    }

    /// Sets the demand of the flow in a slot, in bit/s (or infinity).
    ///
    /// # Panics
    /// If there never was one.
    pub fn set_demand(&mut self, slot: usize, demand_bps: f64) {
        debug_assert!(demand_bps >= 0.0);
        let flow = u32::try_from(slot).expect("a slot that was given out");
        self.lower(flow, Stop::demand(self.stops[slot].class(), 0));
        self.flows[slot].demand_bps = demand_bps;
        self.start(flow);
    }

    /// Sets the usable capacity of a link, in bit/s, which may not be above the largest that there was at first.
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

    /// Works out the rates of the flows that there are.
    pub fn settle(&mut self) {
        if self.refill_from == Stop::NONE {
            self.repair();
        }
        if self.refill_from != Stop::NONE {
            let doubt = self.doubts.peek().map_or(Stop::NONE, |&Reverse(doubt)| doubt);
            self.refill(doubt.min(self.refill_from));
            self.refill_from = Stop::NONE;
        }
        self.looked_at = 0;
    }

    /// Puts doubtful links right, the lowest first, unless that takes long.
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

    /// Whether a refill is likely to take less time than to go on with repairs.
    fn repair_is_long(&self) -> bool {
        self.looked_at > self.entries / LONG
    }

    /// Puts right where a link stops the flows of a class, unless something may have to be put right before.
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

    /// Slots of the flows whose rates, as of the last [`settle`](Self::settle), are not what they were when this was
    /// last asked, with these rates in bit/s. A flow that is new had rate 0.
    pub fn changes(&mut self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let mut touched = std::mem::take(&mut self.touched);
        touched.retain(|&flow| {
            let rate = self.rate(flow as usize);
            let flow = &mut self.flows[flow as usize];
            flow.touched = false;
            // Equal levels give equal bits.
            std::mem::replace(&mut flow.reported_bps, rate).to_bits() != rate.to_bits()
        });
        self.touched = touched;
        self.touched.drain(..).map(|flow| (flow as usize, self.flows[flow as usize].reported_bps))
    }

    /// Notes that a flow's rate may change.
    fn touch(&mut self, flow: u32) {
        let touched = &mut self.flows[flow as usize].touched;
        if !std::mem::replace(touched, true) {
            self.touched.push(flow);
        }
    }

    /// Has a link looked at for a stop that may be wrong.
    fn doubt(&mut self, slot: u32, stop: Stop) {
        let doubt = &mut self.links[slot as usize].doubt;
        if stop < *doubt {
            *doubt = stop;
            self.doubts.push(Reverse(stop));
        }
    }

    /// Has a link looked at for the next class that it carries after this one.
    fn doubt_class_after(&mut self, slot: u32, class: u8) {
        if self.classes.keys().next_back().is_some_and(|&last| last > class) {
            let uses = self.links[slot as usize].uses.iter();
            let classes = uses.map(|using| self.stops[using.flow as usize].class());
            if let Some(next) = classes.filter(|&other| other > class).min() {
                self.doubt(slot, Stop::link(next, 0, slot));
            }
        }
    }

    /// Lets a flow stop earlier. Links that stop nobody have had room, and keep it.
    fn lower(&mut self, flow: u32, stop: Stop) {
        self.touch(flow);
        let old = std::mem::replace(&mut self.stops[flow as usize], stop);
        self.count(old, stop);
        let fall = old.level() - stop.level();
        let row = std::mem::take(&mut self.flows[flow as usize].row);
        for &(slot, weight) in &row {
            let link = &mut self.links[slot as usize];
            link.room += product(fall, weight) as i128;
            if link.stopping > 0 {
                let full = link.full;
                self.doubt(slot, full);
            }
        }
        self.flows[flow as usize].row = row;
    }

    /// Lets a flow rise until its demand or the first of its links stops it.
    fn raise(&mut self, flow: u32) {
        self.touch(flow);
        let at = flow as usize;
        let old = self.stops[at];
        let class = old.class();
        let carries_later = self.classes.keys().next_back() > Some(&class);
        let mut stop = self.demand(flow);
        self.stops[at] = stop;
        let row = std::mem::take(&mut self.flows[at].row);
        for &(slot, weight) in &row {
            let link = &self.links[slot as usize];
            let more = i128::from(stop.level()) - i128::from(old.level());
            if link.stopping > 0 || more * i128::from(weight) > link.room {
                let full = self.fills_at(slot, class);
                if full.at().is_some() {
                    // This flow may stop elsewhere before, but that only makes it later.
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
        for &(slot, weight) in &row {
            self.links[slot as usize].room -= more * i128::from(weight);
        }
        self.flows[at].row = row;
    }

    /// When a flow's demand is met.
    fn demand(&self, flow: u32) -> Stop {
        let Member { weight, demand_bps, .. } = self.flows[flow as usize];
        let level = demand_bps / (weight * self.unit_bps);
        let class = self.stops[flow as usize].class();
        Stop::demand(class, if level.is_finite() { level as u64 } else { u64::MAX })
    }

    /// Counts a flow where it stops now.
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

/// A capacity in rate units times weight units.
fn capacity(bps: f64, unit_bps: f64) -> u128 {
    u128::from((bps / unit_bps) as u64) << WEIGHT_BITS
}

/// The power of two of which the largest capacity has [`CAPACITY_BITS`] bits.
fn unit(largest_bps: f64) -> f64 {
    const FRACTION_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    let exponent = largest_bps.to_bits() >> FRACTION_BITS;
    f64::from_bits((exponent + 1).saturating_sub(CAPACITY_BITS).max(1) << FRACTION_BITS)
}

#[cfg(test)]
mod tests;
