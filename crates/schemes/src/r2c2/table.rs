//! The global flow table, one a node (§3.2, §7.4 of the reconstruction).

use crate::lids::QUARANTINE;
use raddle_core::{Duration, Time};
use raddle_wire::r2c2::{Event, EventKind};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// How long a FINISH that came before its START is remembered: as long as its flow's number rests.
pub(super) const TOMBSTONE: Duration = QUARANTINE;

/// A live flow, as its source announced it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) dst: u16,
    pub(super) weight: u8,
    pub(super) priority: u8,
    pub(super) protocol: u8,
    pub(super) demand_kbps: u32,
    /// When this node first heard of the flow.
    pub(super) learned: Time,
}

/// All flows that a node knows to be alive, by handle.
#[derive(Debug, Default)]
pub struct FlowTable {
    flows: FxHashMap<u32, Entry>,
    finished_early: VecDeque<(Time, u32)>,
    digest: u64,
    /// When a flow was last added, changed or removed.
    changed: Time,
}

/// The handle of an event's flow.
pub(super) fn handle(event: &Event) -> u32 {
    u32::from(event.src) << 16 | u32::from(event.lid)
}

impl FlowTable {
    /// Applies a broadcast event. Applying it again changes nothing.
    pub(super) fn apply(&mut self, now: Time, event: &Event) {
        let key = handle(event);
        if event.kind == EventKind::Finish {
            match self.flows.remove(&key) {
                Some(entry) => {
                    self.digest = self.digest.wrapping_sub(entry.digest(key));
                    self.changed = now;
                }
                None => self.finished_early.push_back((now, key)),
            }
            return;
        }
        if self.is_finished(now, key) {
            return;
        }
        let fresh = Entry {
            dst: event.dst,
            weight: event.weight,
            priority: event.priority,
            protocol: event.protocol,
            demand_kbps: event.demand_kbps,
            learned: now,
        };
        let entry = self.flows.entry(key).or_insert(Entry { learned: Time::NEVER, ..fresh });
        if entry.learned == Time::NEVER {
            *entry = fresh;
        } else {
            self.digest = self.digest.wrapping_sub(entry.digest(key));
            // Said again or changed, a flow keeps its age.
            *entry = Entry { learned: entry.learned, ..fresh };
        }
        self.digest = self.digest.wrapping_add(entry.digest(key));
        self.changed = now;
    }

    fn is_finished(&mut self, now: Time, key: u32) -> bool {
        while self.finished_early.front().is_some_and(|&(at, _)| at + TOMBSTONE < now) {
            self.finished_early.pop_front();
        }
        self.finished_early.iter().any(|&(_, finished)| finished == key)
    }

    /// Forgets the flows for which `keep` is false.
    pub(super) fn retain(&mut self, now: Time, mut keep: impl FnMut(u32, &Entry) -> bool) {
        let digest = &mut self.digest;
        self.changed = now;
        self.flows.retain(|&key, entry| {
            let kept = keep(key, entry);
            if !kept {
                *digest = digest.wrapping_sub(entry.digest(key));
            }
            kept
        });
    }

    /// The flows for which `keep` holds, in order of handle, the order in which all nodes compute.
    pub(super) fn select(&self, keep: impl Fn(&Entry) -> bool) -> Vec<(u32, Entry)> {
        let kept = self.flows.iter().filter(|(_, entry)| keep(entry));
        let mut selected: Vec<_> = kept.map(|(&key, &entry)| (key, entry)).collect();
        selected.sort_unstable_by_key(|&(key, _)| key);
        selected
    }

    /// When a flow was last added, changed or removed.
    pub(super) fn changed(&self) -> Time {
        self.changed
    }

    pub(super) fn get(&self, key: u32) -> Option<&Entry> {
        self.flows.get(&key)
    }

    /// Live flows known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Whether no live flow is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// A hash of the table's content, whatever its history: equal on all nodes at quiescence.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest
    }
}

impl Entry {
    fn digest(&self, key: u32) -> u64 {
        let low = u64::from(key) << 32 | u64::from(self.demand_kbps);
        let high = u64::from(self.dst) << 24
            | u64::from(self.weight) << 16
            | u64::from(self.priority) << 8
            | u64::from(self.protocol);
        let mixed = (low ^ low >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ high;
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: EventKind, lid: u16) -> Event {
        Event {
            kind,
            tree: 0,
            src: 5,
            dst: 9,
            weight: 1,
            priority: 8,
            protocol: 0,
            demand_kbps: u32::MAX,
            lid,
        }
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    #[test]
    fn events_are_idempotent_and_a_flow_keeps_its_age() {
        let mut table = FlowTable::default();
        table.apply(at(1), &event(EventKind::Start, 1));
        let digest = table.digest();
        table.apply(at(2), &event(EventKind::Start, 1));
        table.apply(at(3), &event(EventKind::Refresh, 1));
        assert_eq!((table.len(), table.digest()), (1, digest));
        assert_eq!(table.get(5 << 16 | 1).map(|entry| entry.learned), Some(at(1)));
    }

    #[test]
    fn a_finish_that_overtakes_its_start_keeps_the_flow_dead() {
        let mut table = FlowTable::default();
        table.apply(at(1), &event(EventKind::Finish, 1));
        table.apply(at(2), &event(EventKind::Start, 1));
        assert!(table.is_empty());
        table.apply(at(10_002), &event(EventKind::Start, 1));
        assert_eq!(table.len(), 1, "the handle may be used again after 10 ms");
    }

    #[test]
    fn the_digest_forgets_history() {
        let mut one = FlowTable::default();
        let mut other = FlowTable::default();
        for lid in [1, 2, 3] {
            one.apply(at(1), &event(EventKind::Start, lid));
        }
        one.apply(at(2), &event(EventKind::Finish, 2));
        for lid in [3, 1] {
            other.apply(at(7), &event(EventKind::Start, lid));
        }
        assert_eq!(one.digest(), other.digest());
        other.retain(at(8), |key, _| key != 5 << 16 | 1);
        assert_ne!(one.digest(), other.digest());
    }
}
