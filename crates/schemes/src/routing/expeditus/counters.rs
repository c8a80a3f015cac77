//! Counts of selection events, summed over all switches of a run.

use crate::counter::Counter;

/// Counts of selection events. With the paper's protocol and TCP, UDP or RoCEv2 packets, once all selections have
/// ended, `requests`, `responses` and `answered` are equal, and `measured`, `merged` and `installed` equal the number
/// of selections between pods (specifications/expeditus.md §10.12). This holds if there are no losses, no failures, no
/// full path tables, and no entries that expire while they wait.
#[derive(Debug, Default)]
pub struct Counters {
    /// Packets that edge switches tagged as Exp-requests; in mode `authsim`, SYNs that they tagged.
    pub requests: Counter,
    /// Exp-responses that edge switches made; in mode `authsim`, SYN-ACKs that they tagged.
    pub responses: Counter,
    /// Exp-responses (in mode `authsim`, tagged SYN-ACKs) into which aggregation switches of the destination's pod
    /// wrote their loads.
    pub measured: Counter,
    /// Exp-responses (in mode `authsim`, tagged SYN-ACKs) whose loads aggregation switches of the source's pod merged
    /// with their own loads.
    pub merged: Counter,
    /// Selections of an uplink by load, at edge switches and at aggregation switches.
    pub choices: Counter,
    /// Choices among uplinks that all had the same effective load, which is the greater of the loads that the switches
    /// at both ends of the path measure.
    pub even_choices: Counter,
    /// Path table entries that aggregation switches stored.
    pub installed: Counter,
    /// Answers that edge switches stored in path table entries; in mode `authsim`, SYN-ACKs from which the source's
    /// edge switch learned or selected an uplink.
    pub answered: Counter,
    /// Exp-responses that reached an edge switch whose path table has no matching entry.
    pub void: Counter,
    /// Path table entries that expired, or that were removed because their port went down.
    pub expired: Counter,
    /// New entries that a full path table refused.
    pub refused: Counter,
    /// Greatest number of entries that one path table held at once, including expired entries not yet removed.
    pub most_entries: Counter,
    /// Packets that left an edge switch by hash because their flow's selection was under way, or could not begin; not
    /// counted in mode `authsim`.
    pub fallbacks: Counter,
    /// Tags whose number of loads differs from the switch's number of uplinks.
    pub malformed: Counter,
    /// Tagged packets that arrived from hosts and were dropped.
    pub from_hosts: Counter,
}
