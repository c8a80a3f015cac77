//! The flows of a link, the most critical first.

use super::params::Parameters;
use raddle_core::{Duration, FlowKey, Time};
use raddle_wire::pdq::Scheduling;
use rustc_hash::FxHashMap;

/// What decides between flows, the less the more critical (specs/pdq.md §4.1): the earlier deadline (EDF), then the shorter
/// expected transmission time (SJF), then the smaller name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Criticality {
    /// As in [`Scheduling::deadline`].
    pub deadline: u32,
    /// As in [`Scheduling::expected`].
    pub expected: u32,
    /// The subflow's name.
    pub key: FlowKey,
}

/// What a link remembers of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its place.
    pub criticality: Criticality,
    /// Its round-trip time; zero if it has measured none.
    pub rtt: Duration,
    /// The rate at which it sends, bit/s: as of its last acknowledgement.
    pub rate: u64,
    /// When a packet of it passed last.
    pub seen: Time,
    /// How long after that it may send its next probe.
    pub silence: Duration,
}

/// The flows of a link, sorted.
#[derive(Debug, Default)]
pub(crate) struct FlowList {
    entries: Vec<Entry>,
    places: FxHashMap<FlowKey, Criticality>,
}

impl FlowList {
    /// How many there are.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// They, the most critical first.
    #[must_use]
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How many are more critical than the flow of that name, if it is there.
    #[must_use]
    pub(crate) fn index(&self, key: FlowKey) -> Option<usize> {
        let at = *self.places.get(&key)?;
        let index = self.entries.binary_search_by(|entry| entry.criticality.cmp(&at));
        Some(index.expect("what has a place is there"))
    }

    /// The flow at a place.
    pub(crate) fn get_mut(&mut self, index: usize) -> &mut Entry {
        &mut self.entries[index]
    }

    /// Puts a flow in, in its place. Returns how many are more critical.
    ///
    /// # Panics
    /// In debug builds, if it is there.
    pub(crate) fn insert(&mut self, entry: Entry) -> usize {
        debug_assert!(!self.places.contains_key(&entry.criticality.key), "a flow is there once");
        let index = self.entries.partition_point(|other| other.criticality < entry.criticality);
        self.entries.insert(index, entry);
        self.places.insert(entry.criticality.key, entry.criticality);
        index
    }

    /// Takes a flow out, if it is there.
    pub(crate) fn remove(&mut self, key: FlowKey) -> Option<Entry> {
        let index = self.index(key)?;
        self.places.remove(&key);
        Some(self.entries.remove(index))
    }

    /// Moves the flow at a place to where it belongs by now. Returns how many are more critical.
    pub(crate) fn move_to(&mut self, index: usize, criticality: Criticality) -> usize {
        let entries = &mut self.entries;
        entries[index].criticality = criticality;
        self.places.insert(criticality.key, criticality);
        // Mostly it stays, or goes a few places up.
        let up = entries[..index].iter().rev().take_while(|other| other.criticality > criticality).count();
        let down = entries[index + 1..].iter().take_while(|other| other.criticality < criticality).count();
        let to = index - up + down;
        if up > 0 {
            entries[to..=index].rotate_right(1);
        } else {
            entries[index..=to].rotate_left(1);
        }
        to
    }

    /// Takes out the least critical ones beyond `most`, but not the one at `keep`. Returns where that is then.
    pub(crate) fn trim(&mut self, most: usize, mut keep: usize) -> usize {
        while self.entries.len() > most.max(1) {
            let last = self.entries.len() - 1;
            let out = if keep == last { last - 1 } else { last };
            keep = keep.min(last - 1);
            let entry = self.entries.remove(out);
            self.places.remove(&entry.criticality.key);
        }
        keep
    }

    /// Takes out those not seen for longer than `silence`, or than four times the interval between their probes: their
    /// hosts are dead, or all their TERMs were lost.
    pub(crate) fn forget(&mut self, now: Time, silence: Duration) {
        let places = &mut self.places;
        self.entries.retain(|entry| {
            let is_alive = now.since(entry.seen) <= silence.max(entry.silence * 4);
            if !is_alive {
                places.remove(&entry.criticality.key);
            }
            is_alive
        });
    }

    /// The rates of all together, bit/s.
    #[must_use]
    pub(crate) fn granted(&self) -> u64 {
        self.entries.iter().map(|entry| entry.rate).sum()
    }

    /// What the flows before `index` leave of `capacity` (Availbw, specs/pdq.md §4.2). With Early Start those that are nearly
    /// complete do not count, as long as all of these together would not send for more than about 2K round trips. Who has
    /// measured no round trip has `rtt`.
    #[must_use]
    pub(crate) fn available(&self, index: usize, capacity: u64, rtt: Duration, rules: &Parameters) -> u64 {
        let mut ignored = 0.0;
        let mut taken = 0;
        for entry in &self.entries[..index] {
            if rules.early_start() && ignored < rules.k {
                let rtt = if entry.rtt == Duration::ZERO { rtt } else { entry.rtt };
                let round_trips = expected(entry.criticality.expected).as_ps() as f64 / rtt.as_ps() as f64;
                if round_trips < rules.k {
                    ignored += round_trips;
                    continue;
                }
            }
            taken += entry.rate;
            if taken >= capacity {
                return 0;
            }
        }
        capacity - taken
    }
}

/// The expected transmission time that the header's field says.
fn expected(field: u32) -> Duration {
    Duration::from_ns(u64::from(field) * Scheduling::TICK_NS)
}
