//! The table of live flows by handle. An entry has 12 bytes. Every node of a rack stores every flow, so every node must
//! update its table for every broadcast event. An update causes one or two cache misses, and little other work.
//!
//! The table uses open addressing with linear probing. A flow is in the slot to which its handle hashes, or in a later
//! slot. All slots from the hashed slot to the flow's slot are in use.

use raddle_core::{NodeId, Time};
use raddle_wire::r2c2::{Event, EventKind, FlowState};

/// A live flow, as announced by its source. The order of entries ([`Ord`]) is the order of their handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(super) src: u16,
    /// The flow's number at its source. Zero marks an empty slot, because no sender uses the number 0.
    lid: u16,
    pub(crate) dst: u16,
    pub(super) weight: u8,
    /// The priority in the high nibble and the routing protocol in the low nibble, as in event headers.
    class: u8,
    pub(super) demand_kbps: u32,
}

const EMPTY: Entry = Entry { lid: 0, src: 0, dst: 0, weight: 0, class: 0, demand_kbps: 0 };

/// Number of slots of the smallest table.
const FEWEST_SLOTS: usize = 16;

impl Entry {
    pub(super) fn new(event: &Event) -> Self {
        debug_assert!(event.priority < 16 && event.protocol < 16, "{event:?}");
        Self {
            lid: event.lid,
            src: event.src,
            dst: event.dst,
            weight: event.weight,
            class: event.priority << 4 | event.protocol,
            demand_kbps: event.demand_kbps,
        }
    }

    /// The handle of the flow.
    pub(crate) fn key(&self) -> u32 {
        u32::from(self.src) << 16 | u32::from(self.lid)
    }

    /// The node that sends the flow.
    pub(crate) fn src(&self) -> NodeId {
        NodeId(self.src.into())
    }

    pub(super) fn lid(&self) -> u16 {
        self.lid
    }

    /// The event of kind `kind` that announces the flow's current state over broadcast tree `tree`.
    pub(super) fn event(&self, kind: EventKind, tree: u8) -> Event {
        Event {
            kind,
            tree,
            src: self.src,
            dst: self.dst,
            weight: self.weight,
            priority: self.priority(),
            protocol: self.protocol(),
            demand_kbps: self.demand_kbps,
            lid: self.lid,
        }
    }

    /// The flow in the format of a snapshot.
    pub(super) fn state(&self) -> FlowState {
        FlowState {
            lid: self.lid,
            dst: self.dst,
            weight: self.weight,
            priority: self.priority(),
            protocol: self.protocol(),
            demand_kbps: self.demand_kbps,
        }
    }

    pub(super) fn priority(&self) -> u8 {
        self.class >> 4
    }

    pub(super) fn protocol(&self) -> u8 {
        self.class & 0x0f
    }

    pub(super) fn set_protocol(&mut self, protocol: u8) {
        self.class = self.class & 0xf0 | protocol & 0x0f;
    }
}

/// The entries of one node's table.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// The number of slots is zero or a power of two. At least a quarter of the slots are empty.
    slots: Vec<Entry>,
    /// Indexed by slot: the time at which the flow was learned. These times are separate from the slots, because most
    /// broadcasts about known flows do not access them.
    learned: Vec<Time>,
    live: usize,
}

impl Entries {
    /// The flows that were learned at this time or earlier.
    pub(super) fn known_since(&self, time: Time) -> impl Iterator<Item = &Entry> {
        let slots = self.slots.iter().zip(&self.learned);
        slots.filter(move |&(entry, &learned)| entry.lid != 0 && learned <= time).map(|(entry, _)| entry)
    }

    /// Time at which a flow was learned; `None` if the flow is unknown.
    pub(super) fn learned(&self, key: u32) -> Option<Time> {
        self.get(key)?;
        Some(self.learned[self.place(key)])
    }

    pub(super) fn len(&self) -> usize {
        self.live
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.slots.iter().filter(|entry| entry.lid != 0)
    }

    /// Index of the slot at which probing for a handle begins.
    fn home(&self, key: u32) -> usize {
        let mixed = u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & (self.slots.len() - 1)
    }

    fn after(&self, place: usize) -> usize {
        (place + 1) & (self.slots.len() - 1)
    }

    /// Index of a flow's slot, or of the empty slot where the flow would go. The table must have slots.
    fn place(&self, key: u32) -> usize {
        let mut place = self.home(key);
        while self.slots[place].lid != 0 && self.slots[place].key() != key {
            place = self.after(place);
        }
        place
    }

    /// The slot at which probing for a flow begins. The flow's entry is in this slot or in one of the next slots.
    /// `None` if the table has no slots.
    pub(super) fn whereabouts(&self, key: u32) -> Option<&Entry> {
        (!self.slots.is_empty()).then(|| &self.slots[self.home(key)])
    }

    pub(super) fn get(&self, key: u32) -> Option<&Entry> {
        if self.slots.is_empty() {
            return None;
        }
        Some(&self.slots[self.place(key)]).filter(|entry| entry.lid != 0)
    }

    /// Inserts or replaces a flow, and returns its previous entry. A known flow keeps the time at which it was learned.
    pub(super) fn insert(&mut self, now: Time, entry: Entry) -> Option<Entry> {
        if (self.live + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        let place = self.place(entry.key());
        let before = std::mem::replace(&mut self.slots[place], entry);
        if before.lid != 0 {
            return Some(before);
        }
        self.learned[place] = now;
        self.live += 1;
        None
    }

    fn grow(&mut self) {
        let slots = (2 * self.slots.len()).max(FEWEST_SLOTS);
        let learned = std::mem::replace(&mut self.learned, vec![Time::ZERO; slots]);
        for (entry, learned) in
            std::mem::replace(&mut self.slots, vec![EMPTY; slots]).into_iter().zip(learned)
        {
            if entry.lid != 0 {
                let place = self.place(entry.key());
                (self.slots[place], self.learned[place]) = (entry, learned);
            }
        }
    }

    /// Removes a flow, and returns its entry.
    pub(super) fn remove(&mut self, key: u32) -> Option<Entry> {
        if self.slots.is_empty() {
            return None;
        }
        let mut gap = self.place(key);
        let removed = std::mem::replace(&mut self.slots[gap], EMPTY);
        if removed.lid == 0 {
            return None;
        }
        self.live -= 1;
        // A later entry moves into the gap, unless the gap is before the slot at which probing for this entry begins.
        let mut next = self.after(gap);
        while self.slots[next].lid != 0 {
            let home = self.home(self.slots[next].key());
            let mask = self.slots.len() - 1;
            if next.wrapping_sub(home) & mask >= next.wrapping_sub(gap) & mask {
                self.slots.swap(gap, next);
                self.learned[gap] = self.learned[next];
                gap = next;
            }
            next = self.after(next);
        }
        Some(removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::{Duration, Stream};
    use std::collections::BTreeMap;

    #[test]
    fn an_entry_is_twelve_bytes() {
        assert_eq!(size_of::<Entry>(), 12);
    }

    #[test]
    fn entries_are_those_of_a_map() {
        let mut stream = Stream::new(1, 0, "entries");
        let mut draw = |below: u64| u16::try_from(stream.below(below)).expect("small");
        let at = |round: u64| Time::ZERO + Duration::from_us(round);
        let (mut map, mut learned) = (BTreeMap::new(), BTreeMap::new());
        let mut entries = Entries::default();
        assert_eq!(entries.get(1), None);
        assert_eq!(entries.remove(1), None);
        for round in 0..20_000_u64 {
            // The table mostly grows in the first half, and mostly shrinks in the second half.
            let entry = Entry { src: draw(64), lid: 1 + draw(64), dst: draw(500), ..EMPTY };
            if usize::from(draw(10)) < if round < 10_000 { 7 } else { 3 } {
                assert_eq!(entries.insert(at(round), entry), map.insert(entry.key(), entry));
                learned.entry(entry.key()).or_insert(at(round));
            } else {
                assert_eq!(entries.remove(entry.key()), map.remove(&entry.key()));
                learned.remove(&entry.key());
            }
            assert_eq!(entries.len(), map.len());
            let key = u32::from(draw(64)) << 16 | u32::from(1 + draw(64));
            assert_eq!((entries.get(key), entries.learned(key)), (map.get(&key), learned.get(&key).copied()));
            if round % 100 == 0 {
                let since = at(round.saturating_sub(300));
                let mut known: Vec<u32> = entries.known_since(since).map(Entry::key).collect();
                known.sort_unstable();
                let expected = learned.iter().filter(|&(_, &at)| at <= since).map(|(&key, _)| key);
                assert!(expected.eq(known));
            }
        }
        let mut left: Vec<Entry> = entries.iter().copied().collect();
        left.sort_unstable_by_key(Entry::key);
        assert_eq!(left, map.into_values().collect::<Vec<_>>());
    }
}
