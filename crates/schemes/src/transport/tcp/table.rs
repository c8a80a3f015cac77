//! The live flows of one direction: found by key, kept in reused slots, woken in order of time.

use raddle_core::{FlowKey, Time};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Flows of kind `T` and their timers.
///
/// A flow's heap entry is lazy: it stands for the earliest wish made since it last expired, so a deadline that moves
/// later, as a retransmission timer does at every acknowledgement, costs nothing.
///
/// A packet of the flow found last needs what is here and the flow's slot; the rest is elsewhere, so that the hosts of a
/// large fabric stay in the cache.
#[derive(Debug)]
pub(super) struct Table<T> {
    slots: Vec<Slot<T>>,
    /// The flow found last and its slot: packets come in trains.
    last: (FlowKey, u32),
    next_expiry: Time,
    index: Box<Index>,
}

#[derive(Debug, Default)]
struct Index {
    by_key: FxHashMap<FlowKey, u32>,
    free: Vec<u32>,
    timers: BinaryHeap<Reverse<(Time, u32)>>,
}

/// A key that no flow has: a flow's key begins with a node number of 24 bits.
const NO_KEY: FlowKey = FlowKey(u64::MAX);

#[derive(Debug)]
#[repr(align(64))]
struct Slot<T> {
    flow: T,
    /// The flow's valid heap entry; any other entry for this slot is stale.
    armed: Time,
}

impl<T> Table<T> {
    pub(super) fn new() -> Self {
        Self { slots: Vec::new(), last: (NO_KEY, 0), next_expiry: Time::NEVER, index: Box::default() }
    }

    /// The slot of the flow called `key`.
    pub(super) fn find(&mut self, key: FlowKey) -> Option<u32> {
        if self.last.0 != key {
            self.last = (key, *self.index.by_key.get(&key)?);
        }
        Some(self.last.1)
    }

    /// The flow in a slot; of one already removed, its last state until the slot is used again.
    pub(super) fn flow(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize].flow
    }

    /// The flows and their keys, in order of key.
    pub(super) fn flows(&self) -> impl Iterator<Item = (FlowKey, &T)> {
        let mut slots: Vec<(FlowKey, u32)> =
            self.index.by_key.iter().map(|(&key, &slot)| (key, slot)).collect();
        slots.sort_unstable();
        slots.into_iter().map(|(key, slot)| (key, &self.slots[slot as usize].flow))
    }

    /// Adds a flow.
    pub(super) fn insert(&mut self, key: FlowKey, flow: T) -> u32 {
        let state = Slot { flow, armed: Time::NEVER };
        let slot = if let Some(slot) = self.index.free.pop() {
            self.slots[slot as usize] = state;
            slot
        } else {
            if self.slots.len() == self.slots.capacity() {
                // Flows are large and hosts many: grow by a quarter, not to twice the size.
                self.slots.reserve_exact(self.slots.len() / 4 + 1);
            }
            self.slots.push(state);
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 live flows")
        };
        self.index.by_key.insert(key, slot);
        slot
    }

    /// Removes the flow called `key`, if it is there.
    pub(super) fn remove(&mut self, key: FlowKey) {
        if let Some(slot) = self.index.by_key.remove(&key) {
            self.last.0 = NO_KEY;
            self.slots[slot as usize].armed = Time::NEVER;
            self.index.free.push(slot);
        }
    }

    /// Has the flow expire at `at`, or a little earlier, but not again before it does.
    pub(super) fn arm(&mut self, slot: u32, at: Time) {
        let armed = &mut self.slots[slot as usize].armed;
        if at < *armed {
            *armed = at;
            self.index.timers.push(Reverse((at, slot)));
            self.next_expiry = self.next_expiry.min(at);
        }
    }

    /// The next flow that was armed for `now` or before; it is then no longer armed.
    pub(super) fn expired(&mut self, now: Time) -> Option<u32> {
        while self.next_expiry <= now
            && let Some(Reverse((at, slot))) = self.index.timers.pop()
        {
            self.next_expiry = self.index.timers.peek().map_or(Time::NEVER, |&Reverse((at, _))| at);
            let armed = &mut self.slots[slot as usize].armed;
            if *armed == at {
                *armed = Time::NEVER;
                return Some(slot);
            }
        }
        None
    }

    /// When to ask for expired flows again; [`Time::NEVER`] if no flow is armed.
    pub(super) fn next_expiry(&self) -> Time {
        self.next_expiry
    }
}

#[cfg(test)]
mod tests {
    use super::super::control::{cubic::Cubic, dctcp::Dctcp, newreno::NewReno};
    use super::super::receiver::Receiver;
    use super::super::sender::Sender;
    use super::*;

    #[test]
    fn a_later_deadline_costs_no_entry_and_an_earlier_one_wins() {
        let mut table = Table::new();
        let slot = table.insert(FlowKey(7), ());
        table.arm(slot, Time::from_ps(10));
        table.arm(slot, Time::from_ps(20));
        assert_eq!(table.index.timers.len(), 1);
        table.arm(slot, Time::from_ps(5));
        assert_eq!(table.next_expiry(), Time::from_ps(5));
        assert_eq!(table.expired(Time::from_ps(30)), Some(slot));
        assert_eq!(table.expired(Time::from_ps(30)), None, "the entry at 10 is stale");
        assert_eq!(table.next_expiry(), Time::NEVER);
    }

    #[test]
    fn a_flow_takes_three_cache_lines_and_an_entry_at_each_end() {
        assert_eq!(size_of::<Slot<Sender<NewReno>>>(), 128);
        assert_eq!(size_of::<Slot<Sender<Cubic>>>(), 192);
        assert_eq!(size_of::<Slot<Sender<Dctcp>>>(), 192);
        assert_eq!(size_of::<Slot<Receiver>>(), 64);
        // Entries of a hash map that has just grown, and of the timers, which may have: 512 B with what losses add.
        let map_entry = (size_of::<(u64, u32)>() + 1) * 16 / 7;
        assert!((128 + 64) * 5 / 4 + 2 * map_entry + 2 * size_of::<Reverse<(Time, u32)>>() <= 352);
    }

    #[test]
    fn slots_grow_by_little() {
        let mut table = Table::new();
        for key in 0..1_000 {
            table.insert(FlowKey(key), ());
            assert!(table.slots.capacity() <= table.slots.len() * 5 / 4 + 1);
        }
    }

    #[test]
    fn a_reused_slot_does_not_inherit_timers() {
        let mut table = Table::new();
        let slot = table.insert(FlowKey(7), 'a');
        table.arm(slot, Time::from_ps(10));
        table.remove(FlowKey(7));
        assert_eq!(table.find(FlowKey(7)), None);
        assert_eq!(table.insert(FlowKey(8), 'b'), slot);
        table.arm(slot, Time::from_ps(15));
        assert_eq!(table.expired(Time::from_ps(12)), None);
        assert_eq!(table.expired(Time::from_ps(15)), Some(slot));
        assert_eq!(*table.flow(slot), 'b');
    }
}
