//! The live flows of a host in one direction. Flows are found by key, are stored in reused slots, and have timers that
//! expire in order of time.

use raddle_core::{FlowKey, Time};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The flows of one direction, with state `T`, and their timers.
///
/// The heap entry of a flow has the earliest time for which the flow's timer was armed since the timer last expired. A
/// deadline that moves to a later time therefore costs nothing. The deadline of a retransmission timer moves at every
/// acknowledgement.
///
/// A packet of the flow that was found last accesses only this struct and the flow's slot. All other state is in
/// `index`, so that more hosts of a large fabric fit the cache.
#[derive(Debug)]
pub(super) struct Table<T> {
    slots: Vec<Slot<T>>,
    /// Key and slot of the flow that was found last. Most packets belong to the same flow as the previous packet.
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

/// A key that no flow has: the upper 32 bits of a flow key are a node number, which has at most 24 bits.
const NO_KEY: FlowKey = FlowKey(u64::MAX);

#[derive(Debug)]
#[repr(align(64))]
struct Slot<T> {
    flow: T,
    /// The time of the flow's valid heap entry. Other entries for this slot are stale.
    armed: Time,
}

impl<T> Table<T> {
    pub(super) fn new() -> Self {
        Self { slots: Vec::new(), last: (NO_KEY, 0), next_expiry: Time::NEVER, index: Box::default() }
    }

    /// The slot of the flow with key `key`; `None` if there is no such flow.
    pub(super) fn find(&mut self, key: FlowKey) -> Option<u32> {
        if self.last.0 != key {
            self.last = (key, *self.index.by_key.get(&key)?);
        }
        Some(self.last.1)
    }

    /// The flow in a slot. After a flow is removed, its last state stays in the slot until another flow uses the slot.
    pub(super) fn flow(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize].flow
    }

    /// The flows with their keys, sorted by key.
    pub(super) fn flows(&self) -> impl Iterator<Item = (FlowKey, &T)> {
        let mut slots: Vec<(FlowKey, u32)> =
            self.index.by_key.iter().map(|(&key, &slot)| (key, slot)).collect();
        slots.sort_unstable();
        slots.into_iter().map(|(key, slot)| (key, &self.slots[slot as usize].flow))
    }

    /// Adds a flow. Returns its slot.
    pub(super) fn insert(&mut self, key: FlowKey, flow: T) -> u32 {
        let state = Slot { flow, armed: Time::NEVER };
        let slot = if let Some(slot) = self.index.free.pop() {
            self.slots[slot as usize] = state;
            slot
        } else {
            if self.slots.len() == self.slots.capacity() {
                // The capacity grows by a quarter instead of doubling, because flows are large and there are many
                // hosts.
                self.slots.reserve_exact(self.slots.len() / 4 + 1);
            }
            self.slots.push(state);
            u32::try_from(self.slots.len() - 1).expect("a host must have at most 2^32 live flows")
        };
        self.index.by_key.insert(key, slot);
        slot
    }

    /// Removes the flow with key `key`, if there is one.
    pub(super) fn remove(&mut self, key: FlowKey) {
        if let Some(slot) = self.index.by_key.remove(&key) {
            self.last.0 = NO_KEY;
            self.slots[slot as usize].armed = Time::NEVER;
            self.index.free.push(slot);
        }
    }

    /// Arms the timer of the flow in a slot for time `at`. A timer that is armed for an earlier time keeps that time,
    /// and expires early.
    pub(super) fn arm(&mut self, slot: u32, at: Time) {
        let armed = &mut self.slots[slot as usize].armed;
        if at < *armed {
            *armed = at;
            self.index.timers.push(Reverse((at, slot)));
            self.next_expiry = self.next_expiry.min(at);
        }
    }

    /// Returns the slot of the next flow whose timer was armed for `now` or earlier, and disarms this timer.
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

    /// The time at which [`expired`](Self::expired) must be called next; [`Time::NEVER`] if the heap of timers has no
    /// entry.
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
        // A flow may take 512 B at both ends together, of which its loss state takes 160 B. The remaining 352 B must
        // suffice for one slot, one hash-map entry and one timer entry at each end. For every four slots in use, one
        // more slot may be unused, and the map may just have grown.
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
