//! The table of all flows (R2C2 §3.2; specifications/r2c2.md §7.4). Each node has a copy of the table.

use super::entries::{Entries, Entry};
use raddle_core::{Duration, NodeId, Time, prefetch};
use raddle_wire::r2c2::{Event, EventKind, SnapshotBody};
use std::collections::{BTreeSet, VecDeque};

/// Time for which a node remembers the FINISH of a flow that its table does not have. The START of this flow may arrive
/// later, and must then be ignored.
pub(super) const TOMBSTONE: Duration = Duration::from_ms(10);

/// All live flows that a node knows. The flows are found by handle.
#[derive(Debug, Default)]
pub struct FlowTable {
    entries: Entries,
    /// A flow is eligible for rate computations when it has been known for this time.
    lasting: Duration,
    /// Rate computations include the flows that were learned at this time or earlier.
    counts_since: Time,
    finished_early: VecDeque<(Time, u32)>,
    digest: u64,
    /// Latest time at which a flow may have been added, changed or removed.
    changed: Time,
}

/// The handle of an event's flow.
pub(super) fn handle(event: &Event) -> u32 {
    u32::from(event.src) << 16 | u32::from(event.lid)
}

impl FlowTable {
    /// An empty table. A flow is eligible for rate computations when it has been known for `lasting`.
    pub(crate) fn new(lasting: Duration) -> Self {
        Self { lasting, ..Self::default() }
    }

    /// Prefetches the entry of an event that will soon be applied.
    #[inline]
    pub(super) fn foresee(&self, event: &Event) {
        if let Some(entry) = self.entries.whereabouts(handle(event)) {
            prefetch(entry);
        }
    }

    /// Applies a broadcast event. If an event is applied twice in succession, the second application changes no flow.
    pub(crate) fn apply(&mut self, now: Time, event: &Event) {
        let key = handle(event);
        if event.lid == 0 {
            return; // no sender uses the number 0
        }
        if event.kind == EventKind::Finish {
            match self.entries.remove(key) {
                Some(entry) => {
                    self.digest = self.digest.wrapping_sub(entry.digest());
                    self.changed = now;
                }
                None if self.is_finished(now, key) => {}
                None => self.finished_early.push_back((now, key)),
            }
            return;
        }
        if self.is_finished(now, key) {
            return;
        }
        let mut entry = Entry::new(event);
        if event.kind == EventKind::Demand
            && let Some(known) = self.entries.get(key)
        {
            // The event may have an outdated protocol: the source may not know yet that routing selection has chosen
            // another protocol.
            entry.set_protocol(known.protocol());
        }
        // A flow that is announced again keeps the time at which it was learned, even if it has changed.
        if let Some(before) = self.entries.insert(now, entry) {
            self.digest = self.digest.wrapping_sub(before.digest());
        }
        self.digest = self.digest.wrapping_add(entry.digest());
        self.changed = now;
    }

    /// Sets the routing protocol of a flow, if the table has the flow.
    pub(super) fn reroute(&mut self, now: Time, key: u32, protocol: u8) {
        if let Some(&before) = self.entries.get(key)
            && before.protocol() != protocol
        {
            let mut entry = before;
            entry.set_protocol(protocol);
            self.entries.insert(now, entry);
            self.digest = self.digest.wrapping_sub(before.digest()).wrapping_add(entry.digest());
            self.changed = now;
        }
    }

    fn is_finished(&mut self, now: Time, key: u32) -> bool {
        while self.finished_early.front().is_some_and(|&(at, _)| at + TOMBSTONE < now) {
            self.finished_early.pop_front();
        }
        self.finished_early.iter().any(|&(_, finished)| finished == key)
    }

    /// Removes the flows for which `keep` is false.
    pub(crate) fn retain(&mut self, now: Time, mut keep: impl FnMut(&Entry) -> bool) {
        self.changed = now;
        let gone: Vec<Entry> = self.entries.iter().copied().filter(|entry| !keep(entry)).collect();
        for entry in gone {
            self.entries.remove(entry.key());
            self.digest = self.digest.wrapping_sub(entry.digest());
        }
    }

    /// Applies a part of the snapshot of node `src`. Among the flows from `src`, those with numbers (lids) in the
    /// part's range are replaced by the flows in the part.
    pub(super) fn replace(&mut self, now: Time, src: u16, snapshot: &SnapshotBody) {
        let range = snapshot.first..=snapshot.last;
        let named: BTreeSet<u16> = snapshot.flows.iter().map(|flow| flow.lid).collect();
        self.retain(now, |entry| {
            entry.src() != NodeId(src.into()) || !range.contains(&entry.lid()) || named.contains(&entry.lid())
        });
        for flow in &snapshot.flows {
            let event = Event {
                kind: EventKind::Refresh,
                tree: 0,
                src,
                dst: flow.dst,
                weight: flow.weight,
                priority: flow.priority,
                protocol: flow.protocol,
                demand_kbps: flow.demand_kbps,
                lid: flow.lid,
            };
            self.apply(now, &event);
        }
    }

    /// All flows of a source, in order of their numbers at the source (lids).
    pub(super) fn of(&self, src: NodeId) -> Vec<Entry> {
        let mut flows: Vec<Entry> = self.entries.iter().filter(|entry| entry.src() == src).copied().collect();
        flows.sort_unstable_by_key(Entry::lid);
        flows
    }

    /// A hash of the table's flows from one source. The source broadcasts the same hash of its flows in a digest. The
    /// hash is 0 if the table has no flow of the source.
    pub(super) fn digest_of(&self, src: NodeId) -> u64 {
        let flows = self.entries.iter().filter(|entry| entry.src() == src);
        flows.fold(0, |sum: u64, entry| sum.wrapping_add(entry.digest()))
    }

    /// The sources of all flows in the table.
    pub(super) fn sources(&self) -> BTreeSet<u16> {
        self.entries.iter().map(|entry| (entry.key() >> 16) as u16).collect()
    }

    /// Makes the flows that have been known for long enough at `now` eligible for rate computations.
    pub(crate) fn age(&mut self, now: Time) {
        self.counts_since = Time::from_ps(now.as_ps().saturating_sub(self.lasting.as_ps()));
    }

    /// True if the table has the flow, and the flow was eligible at the last call of [`age`](Self::age).
    pub(super) fn counts(&self, key: u32) -> bool {
        self.entries.learned(key).is_some_and(|learned| learned <= self.counts_since)
    }

    /// The flows that were eligible at the last call of [`age`](Self::age), in order of handle. All nodes compute rates
    /// in this order.
    pub(crate) fn counted(&self) -> Vec<Entry> {
        let mut counted: Vec<Entry> = self.entries.known_since(self.counts_since).copied().collect();
        counted.sort_unstable_by_key(Entry::key);
        counted
    }

    /// The flow `newcomer`, and the flows that were eligible at `then` and have not ended, in order of handle.
    pub(super) fn batch(&self, then: Time, newcomer: u32) -> Vec<Entry> {
        let since = Time::from_ps(then.as_ps().saturating_sub(self.lasting.as_ps()));
        let others = self.entries.known_since(since).filter(|entry| entry.key() != newcomer);
        let mut batch: Vec<Entry> = others.chain(self.entries.get(newcomer)).copied().collect();
        batch.sort_unstable_by_key(Entry::key);
        batch
    }

    /// All flows, in order of handle.
    pub(crate) fn all(&self) -> Vec<Entry> {
        let mut all: Vec<Entry> = Vec::with_capacity(self.entries.len());
        all.extend(self.entries.iter());
        all.sort_unstable_by_key(Entry::key);
        all
    }

    /// Latest time at which a flow may have been added, changed or removed.
    pub(super) fn changed(&self) -> Time {
        self.changed
    }

    pub(crate) fn get(&self, key: u32) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// Number of known live flows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if no live flow is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A hash of the flows in the table, which does not depend on the order of changes. When all events have arrived,
    /// the hash is equal on all nodes.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest
    }
}

impl Entry {
    /// A hash of the entry. The table's digest is the sum of the hashes of all entries. Changes of two flows must not
    /// cancel in the sum, for example if two flows swap their protocols. Every input bit therefore affects every output
    /// bit (the finalizer of SplitMix64).
    fn digest(&self) -> u64 {
        let low = u64::from(self.key()) << 32 | u64::from(self.demand_kbps);
        let high = u64::from(self.dst) << 24
            | u64::from(self.weight) << 16
            | u64::from(self.priority()) << 8
            | u64::from(self.protocol());
        let mixed = (low ^ low >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ high;
        let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
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
        let mut table = FlowTable::new(Duration::from_us(10));
        table.apply(at(1), &event(EventKind::Start, 1));
        let digest = table.digest();
        table.apply(at(2), &event(EventKind::Start, 1));
        table.apply(at(3), &event(EventKind::Refresh, 1));
        assert_eq!((table.len(), table.digest()), (1, digest));
        table.age(at(10));
        assert_eq!((table.counts(5 << 16 | 1), table.counted().len()), (false, 0));
        table.age(at(11));
        assert_eq!((table.counts(5 << 16 | 1), table.counted().len()), (true, 1));
    }

    #[test]
    fn a_flow_forgotten_and_learned_again_is_young_again() {
        let mut table = FlowTable::new(Duration::from_us(10));
        table.apply(at(1), &event(EventKind::Start, 2));
        table.apply(at(1), &event(EventKind::Start, 1));
        table.retain(at(5), |entry| entry.key() != 5 << 16 | 1);
        table.apply(at(5), &event(EventKind::Refresh, 1));
        table.age(at(11));
        let counted: Vec<u32> = table.counted().iter().map(Entry::key).collect();
        assert_eq!(counted, [5 << 16 | 2]);
        table.age(at(15));
        assert_eq!(table.counted(), table.all());
    }

    #[test]
    fn a_flow_without_a_number_is_ignored() {
        let mut table = FlowTable::default();
        table.apply(at(1), &event(EventKind::Start, 0));
        table.apply(at(1), &event(EventKind::Finish, 0));
        assert_eq!((table.len(), table.digest()), (0, 0));
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
        other.retain(at(8), |entry| entry.key() != 5 << 16 | 1);
        assert_ne!(one.digest(), other.digest());
    }

    #[test]
    fn a_snapshot_replaces_the_flows_of_its_source_in_its_range() {
        let mut table = FlowTable::default();
        for lid in [1, 2, 7, 9] {
            table.apply(at(1), &event(EventKind::Start, lid));
        }
        let other = Event { src: 6, ..event(EventKind::Start, 2) };
        table.apply(at(1), &other);
        let mut state = table.get(5 << 16 | 7).expect("known").state();
        state.demand_kbps = 3;
        let body = SnapshotBody { hash: 0, first: 2, last: 8, flows: vec![state] };
        table.replace(at(2), 5, &body);
        let known: Vec<u32> = table.all().iter().map(Entry::key).collect();
        assert_eq!(known, [5 << 16 | 1, 5 << 16 | 7, 5 << 16 | 9, 6 << 16 | 2]);
        assert_eq!(table.get(5 << 16 | 7).map(|entry| entry.demand_kbps), Some(3));
        let sum = table.digest_of(NodeId(5)).wrapping_add(table.digest_of(NodeId(6)));
        assert_eq!((sum, table.digest_of(NodeId(4))), (table.digest(), 0));
        assert_eq!(table.sources(), [5, 6].into());
        assert_eq!(table.of(NodeId(5)).iter().map(Entry::lid).collect::<Vec<_>>(), [1, 7, 9]);
    }

    #[test]
    fn changes_of_two_flows_do_not_cancel_in_the_digest() {
        let digest = |protocols: [u8; 8]| {
            let mut table = FlowTable::default();
            for (lid, protocol) in (1..).zip(protocols) {
                table.apply(at(1), &Event { protocol, ..event(EventKind::Start, lid) });
            }
            table.digest()
        };
        // Each of the eight flows has one of two protocols, which gives 256 different tables.
        let mut digests: Vec<u64> = (0..256)
            .map(|set| digest(std::array::from_fn(|i| if set >> i & 1 == 1 { 2 } else { 0 })))
            .collect();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), 256);
    }
}
