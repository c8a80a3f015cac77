//! The flows of a link, the most critical first.

use super::params::Parameters;
use raddle_core::{Duration, FlowKey, Time};
use raddle_wire::pdq::Scheduling;
use rustc_hash::FxHashMap;

/// The criticality of a flow (specifications/pdq.md §4.1). A smaller value is more critical. Flows are compared by
/// deadline (EDF), then by expected transmission time (SJF), then by key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Criticality {
    /// The deadline, in the format of [`Scheduling::deadline`].
    pub deadline: u32,
    /// The expected transmission time, in the format of [`Scheduling::expected`].
    pub expected: u32,
    /// The subflow's key.
    pub key: FlowKey,
}

/// A link's state of one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The flow's criticality, which determines its index in the list.
    pub criticality: Criticality,
    /// The flow's round-trip time; zero if the flow has not measured it.
    pub rtt: Duration,
    /// The flow's rate in bit/s, as set by its last acknowledgement. In profile F: as set by its last request or
    /// acknowledgement.
    pub rate: u64,
    /// Arrival time of the flow's last packet.
    pub seen: Time,
    /// Interval between the flow's probes, as the last acknowledgement states it.
    pub silence: Duration,
}

/// The flows of a link, sorted by criticality.
#[derive(Debug, Default)]
pub(crate) struct FlowList {
    entries: Vec<Entry>,
    places: FxHashMap<FlowKey, Criticality>,
}

impl FlowList {
    /// Number of flows.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The flows, the most critical first.
    #[must_use]
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The index of the flow with this key, which is the number of more critical flows. `None` if the list does not
    /// contain the flow.
    #[must_use]
    pub(crate) fn index(&self, key: FlowKey) -> Option<usize> {
        let at = *self.places.get(&key)?;
        let index = self.entries.binary_search_by(|entry| entry.criticality.cmp(&at));
        Some(index.expect("the list must contain every flow of `places`"))
    }

    /// The flow at index `index`.
    pub(crate) fn get_mut(&mut self, index: usize) -> &mut Entry {
        &mut self.entries[index]
    }

    /// Inserts a flow in order of criticality. Returns its index.
    ///
    /// # Panics
    /// In debug builds, if the flow is already in the list.
    pub(crate) fn insert(&mut self, entry: Entry) -> usize {
        debug_assert!(
            !self.places.contains_key(&entry.criticality.key),
            "the list must not already contain the flow"
        );
        let index = self.entries.partition_point(|other| other.criticality < entry.criticality);
        self.entries.insert(index, entry);
        self.places.insert(entry.criticality.key, entry.criticality);
        index
    }

    /// Removes a flow, if it is in the list.
    pub(crate) fn remove(&mut self, key: FlowKey) -> Option<Entry> {
        let index = self.index(key)?;
        self.places.remove(&key);
        Some(self.entries.remove(index))
    }

    /// Sets the criticality of the flow at `index`, and moves the flow to its new index. Returns the new index.
    pub(crate) fn move_to(&mut self, index: usize, criticality: Criticality) -> usize {
        let entries = &mut self.entries;
        entries[index].criticality = criticality;
        self.places.insert(criticality.key, criticality);
        // A flow usually keeps its index, or moves a few indices towards the front.
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

    /// Removes the least critical flows until `most` flows are left, but never the flow at index `keep`. Returns the
    /// new index of this flow.
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

    /// Removes each flow of which no packet has arrived for longer than both `silence` and four times the flow's probe
    /// interval. Such a flow's sender is dead, or all packets that end the flow (TERMs) were lost.
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

    /// The total rate of all flows, bit/s.
    #[must_use]
    pub(crate) fn granted(&self) -> u64 {
        self.entries.iter().map(|entry| entry.rate).sum()
    }

    /// The part of `capacity`, in bit/s, that the flows before `index` leave free (Availbw,
    /// specifications/pdq.md §4.2). Early Start ignores flows that need less than K round trips to complete, until the
    /// ignored flows together need K round trips. A flow that has not measured its round trip is assumed to have round
    /// trip `rtt`.
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

/// The expected transmission time that a header field represents.
fn expected(field: u32) -> Duration {
    Duration::from_ns(u64::from(field) * Scheduling::TICK_NS)
}
