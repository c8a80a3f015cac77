//! The path selection table: for each flow, the selected uplink, or a mark that the answer to the flow's request is
//! pending (Expeditus §4.1; specifications/expeditus.md §3).
//!
//! An entry expires when it has been idle for the timeout, or for one to two timeouts with age bits ([`Clock`]). After
//! an entry with a selected uplink expires, the flow's next packet selects a path again. A pending entry expires too,
//! so that a flow whose request was lost can then select again (specifications/expeditus.md §3.6). Expiry is checked
//! when a look-up finds an entry. From time to time, as the table grows, a sweep removes the other expired entries.

use super::counters::Counters;
use super::flow_id::FlowId;
use crate::choices;
use raddle_core::{Duration, PortId, Time};
use rustc_hash::FxHashMap;
use std::sync::Arc;

choices! {
    /// The rule that decides when an idle entry expires.
    pub(crate) enum Clock {
        /// An entry expires when it has been idle for more than the timeout, to the picosecond.
        Exact = "exact",
        /// An age bit decides (CONGA §3.4): each tick of a timer, whose period is the timeout, sets the bit, and
        /// packets clear the bit. The entry expires at the second tick without a packet, which is after one to two
        /// timeouts of idleness.
        AgeBit = "age_bit",
    }
}

choices! {
    /// The key by which a flow's entry is found.
    pub(crate) enum Lookup {
        /// The whole flow id.
        Exact = "exact",
        /// The lower log2(capacity) bits of the flow id: flows with the same lower bits share an entry.
        Hardware = "hw",
    }
}

/// The result of a look-up for a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Path {
    /// The flow takes this uplink.
    Done(PortId),
    /// A selection has begun, and its answer has not arrived.
    Pending,
    /// The table has no entry, or the entry has expired.
    Unknown,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Time of the last packet that used the entry.
    used: Time,
    /// `None` while the answer is pending.
    port: Option<PortId>,
}

/// The path selection table of one switch.
#[derive(Debug)]
pub(crate) struct PathTable {
    entries: FxHashMap<u64, Entry>,
    /// Greatest number of entries.
    capacity: usize,
    /// Number of entries at which the next sweep removes expired entries.
    sweep_at: usize,
    /// Earliest time of the next sweep.
    sweep_from: Time,
    timeout: Duration,
    clock: Clock,
    lookup: Lookup,
    counters: Arc<Counters>,
}

/// A table that holds fewer entries than this is not searched for expired entries, unless it is full.
const FEW: usize = 256;

impl PathTable {
    /// A table for `capacity` entries. `clock` and `timeout` decide when an idle entry expires. For
    /// [`Lookup::Hardware`] the capacity is rounded up to a power of two.
    pub(crate) fn new(
        capacity: usize,
        timeout: Duration,
        clock: Clock,
        lookup: Lookup,
        counters: &Arc<Counters>,
    ) -> Self {
        let capacity = match lookup {
            Lookup::Exact => capacity,
            Lookup::Hardware => capacity.next_power_of_two(),
        };
        Self {
            entries: FxHashMap::default(),
            capacity,
            sweep_at: FEW.min(capacity),
            sweep_from: Time::ZERO,
            timeout,
            clock,
            lookup,
            counters: Arc::clone(counters),
        }
    }

    #[inline]
    fn key(&self, flow: FlowId) -> u64 {
        match self.lookup {
            Lookup::Exact => flow.0,
            Lookup::Hardware => flow.0 & (self.capacity as u64 - 1),
        }
    }

    /// Looks up the path for a packet of the flow, and restarts the entry's timeout.
    #[inline]
    pub(crate) fn find(&mut self, now: Time, flow: FlowId) -> Path {
        let key = self.key(flow);
        let Some(entry) = self.entries.get_mut(&key) else { return Path::Unknown };
        if now.since(entry.used) > self.timeout && self.clock.has_expired(now, entry.used, self.timeout) {
            self.entries.remove(&key);
            self.counters.expired.count();
            return Path::Unknown;
        }
        entry.used = now;
        entry.port.map_or(Path::Pending, Path::Done)
    }

    /// Records that the flow's selection has begun. Returns false if the flow has no entry and the table is full.
    pub(crate) fn begin(&mut self, now: Time, flow: FlowId) -> bool {
        self.insert(now, flow, None)
    }

    /// Stores the flow's selected uplink. Returns false if the flow has no entry and the table is full.
    pub(crate) fn install(&mut self, now: Time, flow: FlowId, port: PortId) -> bool {
        self.insert(now, flow, Some(port))
    }

    /// Stores the answer to a request. Returns false, and stores nothing, if the flow has no entry.
    pub(crate) fn answer(&mut self, now: Time, flow: FlowId, port: PortId) -> bool {
        let is_known = self.find(now, flow) != Path::Unknown;
        is_known && self.insert(now, flow, Some(port))
    }

    fn insert(&mut self, now: Time, flow: FlowId, port: Option<PortId>) -> bool {
        let (key, entry) = (self.key(flow), Entry { used: now, port });
        if let Some(old) = self.entries.get_mut(&key) {
            *old = entry;
            return true;
        }
        if self.entries.len() >= self.sweep_at && now >= self.sweep_from {
            self.sweep(now);
        }
        if self.entries.len() >= self.capacity {
            self.counters.refused.count();
            return false;
        }
        self.entries.insert(key, entry);
        self.counters.most_entries.raise(self.entries.len() as u64);
        true
    }

    /// Removes expired entries. The next sweep follows when the number of entries has doubled and is at least [`FEW`],
    /// or the table is full, but at the earliest after 1/16 of the timeout.
    fn sweep(&mut self, now: Time) {
        let before = self.entries.len();
        let (clock, timeout) = (self.clock, self.timeout);
        self.entries.retain(|_, entry| !clock.has_expired(now, entry.used, timeout));
        self.counters.expired.add((before - self.entries.len()) as u64);
        self.sweep_at = (2 * self.entries.len()).clamp(FEW, self.capacity.max(FEW)).min(self.capacity);
        self.sweep_from = now + Duration::from_ps(timeout.as_ps() / 16);
    }

    /// Removes the entries of a port that went down, and counts them as expired.
    pub(crate) fn forget(&mut self, port: PortId) {
        let before = self.entries.len();
        self.entries.retain(|_, entry| entry.port != Some(port));
        self.counters.expired.add((before - self.entries.len()) as u64);
    }
}

impl Clock {
    /// True if an entry that was last used at `used` has expired at `now`.
    fn has_expired(self, now: Time, used: Time, timeout: Duration) -> bool {
        match self {
            Self::Exact => now.since(used) > timeout,
            Self::AgeBit => now.as_ps() / timeout.as_ps() - used.as_ps() / timeout.as_ps() >= 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: FlowId = FlowId(0xbb8a_24c0_b2f0_14b5);

    fn table(capacity: usize, clock: Clock, lookup: Lookup) -> PathTable {
        PathTable::new(capacity, Duration::from_ms(100), clock, lookup, &Arc::default())
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// The entry of a flow is last used at `used`. Returns the first time at which the entry has expired, in steps of
    /// 0.1 ms from `used`.
    fn expires(clock: Clock, used: Time) -> Time {
        let known = |now| {
            let mut table = table(16, clock, Lookup::Exact);
            table.install(used, FLOW, PortId(3));
            table.find(now, FLOW) == Path::Done(PortId(3))
        };
        (0..10_000)
            .map(|tenth| used + Duration::from_us(100 * tenth))
            .find(|&now| !known(now))
            .expect("it expires")
    }

    /// Oracle of specifications/expeditus.md §11.4: with age bits and a timeout of 100 ms, an entry expires at the
    /// second tick after its last use.
    #[test]
    fn oracle_11_4_age_bit() {
        for (used, expiry) in [(30_000, 200_000), (99_900, 200_000), (100_100, 300_000), (199_000, 300_000)] {
            assert_eq!(expires(Clock::AgeBit, at(used)), at(expiry), "used at {used} us");
        }
        let mut table = table(16, Clock::AgeBit, Lookup::Exact);
        table.install(at(30_000), FLOW, PortId(3));
        assert_eq!(table.find(at(199_000), FLOW), Path::Done(PortId(3)));
        assert_eq!(table.find(at(299_900), FLOW), Path::Done(PortId(3)), "kept alive through 200");
    }

    /// specifications/expeditus.md §3.5, exact timestamps: an entry expires when it has been idle for more than the
    /// timeout.
    #[test]
    fn oracle_3_5_exact_timestamps() {
        assert_eq!(expires(Clock::Exact, at(30_000)), at(130_100));
    }

    /// specifications/expeditus.md §3.6: an answer that never arrives does not block the flow. An answer that arrives
    /// too late has no effect.
    #[test]
    fn oracle_3_6_pending_entries_die() {
        for clock in [Clock::Exact, Clock::AgeBit] {
            let mut table = table(16, clock, Lookup::Exact);
            assert_eq!(table.find(at(0), FLOW), Path::Unknown);
            assert!(table.begin(at(0), FLOW));
            assert_eq!(table.find(at(90_000), FLOW), Path::Pending);
            assert_eq!(table.find(at(350_000), FLOW), Path::Unknown, "{clock:?}");
            assert!(!table.answer(at(350_000), FLOW, PortId(1)), "nobody waits");
            assert!(table.begin(at(350_000), FLOW));
            assert!(table.answer(at(350_030), FLOW, PortId(1)));
            assert_eq!(table.find(at(350_040), FLOW), Path::Done(PortId(1)));
            assert_eq!((table.counters.expired.get(), table.entries.len()), (1, 1));
        }
    }

    /// specifications/expeditus.md §3.7: in hardware mode, flows with equal low 16 bits of the flow id share an entry.
    /// In exact mode, each flow has its own entry.
    #[test]
    fn oracle_3_7_hardware_shares_slots() {
        let alike = FlowId(FLOW.0 ^ 0xFFFF_0000);
        let other = FlowId(FLOW.0 ^ 1);
        for (lookup, shared) in [(Lookup::Exact, Path::Unknown), (Lookup::Hardware, Path::Done(PortId(3)))] {
            let mut table = table(1 << 16, Clock::Exact, lookup);
            table.install(at(0), FLOW, PortId(3));
            assert_eq!(table.find(at(90_000), alike), shared);
            assert_eq!(table.find(at(150_000), FLOW) == Path::Unknown, lookup == Lookup::Exact);
            assert_eq!(table.find(at(0), other), Path::Unknown);
        }
    }

    #[test]
    fn a_full_table_refuses_until_something_expires() {
        let mut table = table(2, Clock::Exact, Lookup::Exact);
        let flow = FlowId;
        assert!(table.begin(at(0), flow(1)) && table.begin(at(50_000), flow(2)));
        assert!(!table.begin(at(60_000), flow(3)));
        assert!(table.install(at(60_000), flow(2), PortId(1)), "what is there may change");
        assert!(table.begin(at(120_000), flow(3)));
        assert_eq!((table.counters.refused.get(), table.counters.expired.get()), (1, 1));
        assert_eq!(table.find(at(120_000), flow(2)), Path::Done(PortId(1)));
    }

    #[test]
    fn flows_that_ended_take_no_room_for_ever() {
        let mut table = table(1 << 16, Clock::AgeBit, Lookup::Exact);
        for n in 0..1_000_000 {
            table.install(at(10 * n), FlowId(n), PortId(0));
        }
        // 20,000 entries were used within the last two timeouts. All other entries have expired.
        assert!(table.entries.len() < 50_000, "{}", table.entries.len());
        assert_eq!(table.counters.expired.get() + table.entries.len() as u64, 1_000_000);
    }

    #[test]
    fn a_dead_port_expires_its_entries_and_no_others() {
        let mut table = table(16, Clock::Exact, Lookup::Exact);
        let flow = FlowId;
        table.install(at(0), flow(1), PortId(1));
        table.install(at(0), flow(2), PortId(2));
        table.begin(at(0), flow(3));
        table.forget(PortId(1));
        let found = [1, 2, 3].map(|n| table.find(at(1), flow(n)));
        assert_eq!(found, [Path::Unknown, Path::Done(PortId(2)), Path::Pending]);
    }
}
