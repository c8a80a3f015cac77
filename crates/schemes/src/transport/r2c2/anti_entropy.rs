//! Anti-entropy (R2C2 §3.2): after a broadcast is lost, nodes detect that their flow tables differ, and make the tables
//! equal again.
//!
//! A node is the authority on its own flows. While the tables may differ, each node runs one anti-entropy round per
//! period. In a round, the node broadcasts a digest of its flows. A node whose table disagrees with the digest requests
//! a snapshot from the sender of the digest. The snapshot replaces the table's entries of that sender. A node without
//! flows sends digests only after one of its own broadcasts was dropped. Therefore, a node also requests a snapshot if
//! no digest has confirmed its entries of another node for some rounds. If an event of the sender arrives between the
//! request and the snapshot, the node ignores the snapshot, because the event may be newer. Rounds end by themselves.
//! Under [`Doubt::Always`], they end when no node has flows. Under [`Doubt::AfterFaults`], they end some rounds after
//! the last fault, when no entry is in doubt. If a digest, a request or a snapshot is lost, a later round repairs the
//! loss.

use crate::choices;
use raddle_core::{Duration, Stream, Time};
use std::collections::{BTreeMap, BTreeSet};

choices! {
    /// When nodes compare their flow tables.
    pub enum Doubt {
        /// For some rounds after a failure, a repair, or a notice of a dropped broadcast. This is enough if every loss
        /// of a broadcast is detected.
        AfterFaults = "after_faults",
        /// As long as there are flows. This is for links that may lose packets without notice.
        Always = "always",
    }
}

/// Least number of rounds after a fault. This number is greater than [`SETTLING`], so that the last rounds run after
/// all earlier broadcasts have arrived.
const ROUNDS: u32 = 4;
/// Number of periods after a topology change during which earlier broadcasts may still arrive.
const SETTLING: u64 = 2;
/// Number of periods without a confirming digest after which a snapshot is requested. This number is more than one,
/// because a digest may be lost.
const PATIENCE: u64 = 3;

/// The actions of one anti-entropy round.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Round {
    /// The nodes to ask for a snapshot.
    pub(super) ask: BTreeSet<u16>,
    /// True if the node must broadcast a digest.
    pub(super) speak: bool,
}

/// The anti-entropy rounds of one node.
#[derive(Debug)]
pub(super) struct AntiEntropy {
    doubt: Doubt,
    /// Time between rounds. Zero turns rounds off.
    period: Duration,
    /// Random offset of the first round, so that nodes do not run their rounds at the same time.
    phase: Duration,
    next: Time,
    /// Number of rounds that this node must still run after the latest fault.
    left: u32,
    /// True from the loss of a broadcast of this node until the rounds after this loss have run. This node must then
    /// send digests even without flows, because other nodes may not know that their entries are wrong.
    must_speak: bool,
    /// Time of the latest topology change; `None` before the first change.
    changed: Option<Time>,
    /// By source node: the time of the last confirmation of this node's table entries for that source. The first round
    /// with such entries and each topology change also set this time.
    confirmed: BTreeMap<u16, Time>,
    /// Source nodes whose digest disagreed with this node's table, and whose entries have not been confirmed since. A
    /// topology change empties this set.
    contradicted: BTreeSet<u16>,
    /// By source node: the number of the open snapshot request. An event of the source removes the entry.
    asked: BTreeMap<u16, u32>,
    requests: u32,
}

impl AntiEntropy {
    /// The initial state, without scheduled rounds. `period` is the time between rounds.
    pub(super) fn new(doubt: Doubt, period: Duration, node: u16, seed: u64) -> Self {
        let phase = match period {
            Duration::ZERO => 0,
            period => Stream::new(seed, node.into(), "r2c2/rounds").below(period.as_ps()),
        };
        Self {
            doubt,
            period,
            phase: Duration::from_ps(phase),
            next: Time::NEVER,
            left: 0,
            must_speak: false,
            changed: None,
            confirmed: BTreeMap::new(),
            contradicted: BTreeSet::new(),
            asked: BTreeMap::new(),
            requests: 0,
        }
    }

    /// Time of the next round, or [`Time::NEVER`].
    pub(super) fn next(&self) -> Time {
        self.next
    }

    fn begin(&mut self, now: Time) {
        if self.next == Time::NEVER && self.period > Duration::ZERO {
            self.next = now + self.period + self.phase;
        }
    }

    /// Called after a topology change. `sources` are the nodes whose flows are in this node's table.
    pub(super) fn fabric_changed(&mut self, now: Time, sources: impl Iterator<Item = u16>) {
        self.changed = Some(now);
        self.left = ROUNDS;
        self.confirmed = sources.map(|source| (source, now)).collect();
        self.contradicted.clear(); // the reachable nodes will broadcast new digests
        self.begin(now);
    }

    /// Called when a broadcast of this node was dropped.
    pub(super) fn own_dropped(&mut self, now: Time) {
        self.left = ROUNDS;
        self.must_speak = true;
        self.begin(now);
    }

    /// Called when this node's table may have flows. Returns true under [`Doubt::Always`] if no round is scheduled. It
    /// then schedules the first round, unless the period is zero.
    pub(super) fn flows_known(&mut self, now: Time) -> bool {
        let begins = self.doubt == Doubt::Always && self.next == Time::NEVER;
        if begins {
            self.begin(now);
        }
        begins
    }

    /// Records that the table's entries of a source node are correct. Has no effect while no round is scheduled.
    pub(super) fn confirm(&mut self, now: Time, source: u16) {
        if self.next < Time::NEVER {
            self.confirmed.insert(source, now);
            self.contradicted.remove(&source);
        }
    }

    /// Records that the table's entries of a source node are wrong. Schedules a round if none is scheduled, unless the
    /// period is zero.
    pub(super) fn contradict(&mut self, now: Time, source: u16) {
        self.contradicted.insert(source);
        self.begin(now);
    }

    /// The number of a request for the snapshot of node `source`. If an earlier request is still open, the new request
    /// has the same number.
    pub(super) fn ask(&mut self, source: u16) -> u32 {
        *self.asked.entry(source).or_insert_with(|| {
            self.requests = self.requests.wrapping_add(1);
            self.requests
        })
    }

    /// Called when an event of node `source` has arrived. Cancels the open request to `source`, because the snapshot
    /// may be older than the event and would undo the event.
    pub(super) fn heard(&mut self, source: u16) {
        if !self.asked.is_empty() {
            self.asked.remove(&source);
        }
    }

    /// True if this request is still open, so that its answer can be used.
    pub(super) fn is_news(&self, source: u16, request: u32) -> bool {
        self.asked.get(&source) == Some(&request)
    }

    /// Runs a round. `has_flows` is true if this node sends flows. `sources` are the other nodes whose flows are in
    /// this node's table.
    pub(super) fn round(&mut self, now: Time, has_flows: bool, sources: &BTreeSet<u16>) -> Round {
        self.confirmed.retain(|source, _| sources.contains(source));
        for &source in sources {
            self.confirmed.entry(source).or_insert(now);
        }
        // An event that was in flight during a topology change may announce a flow whose FINISH this node never
        // receives. Therefore a digest must confirm entries again after the settling time.
        let settled = self.changed.map(|changed| changed + self.period * SETTLING);
        let doubted = |at: Time| self.doubt == Doubt::Always || settled.is_some_and(|settled| at <= settled);
        let overdue = |&(_, &at): &(&u16, &Time)| doubted(at) && at + self.period * PATIENCE <= now;
        let mut ask = self.contradicted.clone();
        ask.extend(self.confirmed.iter().filter(overdue).map(|(source, _)| source));
        let speak = has_flows || self.must_speak;
        self.left = self.left.saturating_sub(1);
        self.must_speak &= self.left > 0;
        let goes_on = self.left > 0
            || !self.contradicted.is_empty()
            || self.confirmed.values().any(|&at| doubted(at))
            || has_flows && self.doubt == Doubt::Always;
        self.next = if goes_on { now + self.period } else { Time::NEVER };
        Round { ask, speak }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_us(100);

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// Runs the rounds that are due until `end`, and returns each with its time.
    fn rounds(node: &mut AntiEntropy, has_flows: bool, sources: &[u16], end: Time) -> Vec<(Time, Round)> {
        let sources = sources.iter().copied().collect();
        let mut taken = Vec::new();
        while node.next() <= end {
            let now = node.next();
            taken.push((now, node.round(now, has_flows, &sources)));
        }
        taken
    }

    fn node(doubt: Doubt) -> AntiEntropy {
        AntiEntropy { phase: Duration::ZERO, ..AntiEntropy::new(doubt, PERIOD, 1, 1) }
    }

    #[test]
    fn nodes_that_nothing_confirms_are_asked_until_something_does() {
        let mut node = node(Doubt::AfterFaults);
        node.fabric_changed(at(0), [7, 9].into_iter());
        assert_eq!(rounds(&mut node, true, &[7, 9], at(250)).len(), 2);
        node.confirm(at(260), 7);
        let asked: Vec<BTreeSet<u16>> =
            rounds(&mut node, true, &[7, 9], at(650)).into_iter().map(|(_, round)| round.ask).collect();
        assert_eq!(asked, [[9]; 4].map(BTreeSet::from));
        node.confirm(at(660), 9);
        assert_eq!(rounds(&mut node, true, &[7, 9], at(5_000)).len(), 1, "all tables agree");
        assert_eq!(node.next(), Time::NEVER);
    }

    #[test]
    fn flows_learned_just_after_a_change_are_doubted_too() {
        let mut node = node(Doubt::AfterFaults);
        node.fabric_changed(at(0), std::iter::empty());
        let taken = rounds(&mut node, false, &[7], at(450));
        let asked: Vec<Time> =
            taken.into_iter().filter(|(_, round)| round.ask == [7].into()).map(|(now, _)| now).collect();
        assert_eq!(
            asked,
            [at(400)],
            "the entries were first seen at 100 us and not confirmed for three periods"
        );
    }

    #[test]
    fn a_node_whose_broadcast_was_dropped_speaks_for_some_rounds_even_without_flows() {
        let mut node = node(Doubt::AfterFaults);
        node.own_dropped(at(0));
        let spoken: Vec<bool> =
            rounds(&mut node, false, &[7], at(5_000)).iter().map(|(_, round)| round.speak).collect();
        assert_eq!(spoken, [true; ROUNDS as usize]);
    }

    #[test]
    fn a_node_that_contradicts_is_asked_until_it_agrees() {
        let mut node = node(Doubt::AfterFaults);
        node.contradict(at(0), 7);
        let taken = rounds(&mut node, false, &[], at(350));
        assert!(taken.len() == 3 && taken.iter().all(|(_, round)| round.ask == [7].into()), "{taken:?}");
        node.confirm(at(360), 7);
        assert_eq!(rounds(&mut node, false, &[7], at(5_000)).len(), 1);
    }

    #[test]
    fn in_lasting_doubt_rounds_go_on_as_long_as_there_are_flows() {
        let mut node = node(Doubt::Always);
        assert!(node.flows_known(at(0)));
        assert!(!node.flows_known(at(1)));
        assert_eq!(rounds(&mut node, true, &[], at(5_000)).len(), 50);
        assert_eq!(rounds(&mut node, false, &[7], at(6_000)).len(), 10);
        assert_eq!(rounds(&mut node, false, &[], at(9_000)).len(), 1);
    }

    #[test]
    fn a_snapshot_is_news_unless_an_event_has_come_since_the_first_request() {
        let mut node = node(Doubt::Always);
        let first = node.ask(7);
        assert_eq!(node.ask(7), first, "the first request may still be answered");
        assert!(node.is_news(7, first) && !node.is_news(9, first));
        node.heard(9);
        assert!(node.is_news(7, first));
        node.heard(7);
        assert!(!node.is_news(7, first));
        assert_ne!(node.ask(7), first);
    }
}
