//! Anti-entropy (§3.2): when broadcasts have been lost, nodes find out that they know different things, and agree again.
//!
//! A node is the authority on its own flows. While there is reason for doubt, each node takes rounds, one a period. In a
//! round it broadcasts a digest of its flows. Whoever knows other flows of it asks for a snapshot, which replaces them.
//! Whoever has known flows of a node for some rounds and heard no digest that confirms them asks too: the node may have
//! no flows any more, and then it sends no digests. An event that comes between request and snapshot may be newer than
//! the snapshot, which is then ignored. So rounds end by themselves where nobody has flows, and whatever is
//! lost, of digests, requests or snapshots, a later round makes good for.

use crate::choices;
use raddle_core::{Duration, Stream, Time};
use std::collections::{BTreeMap, BTreeSet};

choices! {
    /// When nodes doubt that they know the same flows.
    pub enum Doubt {
        /// For some rounds after a failure, a repair, or a notice that a broadcast was dropped: enough where every loss is
        /// noticed.
        AfterFaults = "after_faults",
        /// As long as there are flows: for links that lose packets.
        Always = "always",
    }
}

/// Rounds that a fault is followed by: some of them after [`SETTLING`].
const ROUNDS: u32 = 4;
/// Periods after a change of the fabric in which broadcasts from before may still come in.
const SETTLING: u64 = 2;
/// A node is asked when nothing has confirmed what is known of it for so many periods: one digest may be lost.
const PATIENCE: u64 = 3;

/// What is to be done in a round.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Round {
    /// The nodes to ask for a snapshot.
    pub(super) ask: BTreeSet<u16>,
    /// Whether to broadcast a digest.
    pub(super) speak: bool,
}

/// The rounds of one node.
#[derive(Debug)]
pub(super) struct AntiEntropy {
    doubt: Doubt,
    /// Zero if there are no rounds at all.
    period: Duration,
    /// Nodes take their rounds apart from each other.
    phase: Duration,
    next: Time,
    /// Rounds that are due after the last fault.
    left: u32,
    /// Whether it was an own broadcast that was lost: the others may not know that there is anything to ask for.
    must_speak: bool,
    /// When the fabric last changed, if it ever has.
    changed: Option<Time>,
    /// When what is known of the flows of a node was confirmed, or learned.
    confirmed: BTreeMap<u16, Time>,
    /// The nodes that have said that something else is right, and nothing since that it is not so.
    contradicted: BTreeSet<u16>,
    /// The number of the requests to each node of which no event has come since the first of them.
    asked: BTreeMap<u16, u32>,
    requests: u32,
}

impl AntiEntropy {
    /// At rest, with a round a `period`.
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

    /// When the next round is due, if ever.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    fn begin(&mut self, now: Time) {
        if self.next == Time::NEVER && self.period > Duration::ZERO {
            self.next = now + self.period + self.phase;
        }
    }

    /// The fabric has changed, while flows of these nodes were known.
    pub(super) fn fabric_changed(&mut self, now: Time, sources: impl Iterator<Item = u16>) {
        self.changed = Some(now);
        self.left = ROUNDS;
        self.confirmed = sources.map(|source| (source, now)).collect();
        self.contradicted.clear(); // who can still be reached speaks anew
        self.begin(now);
    }

    /// An own broadcast was dropped.
    pub(super) fn own_dropped(&mut self, now: Time) {
        self.left = ROUNDS;
        self.must_speak = true;
        self.begin(now);
    }

    /// There are flows. Returns whether rounds begin with that.
    pub(super) fn flows_known(&mut self, now: Time) -> bool {
        let begins = self.doubt == Doubt::Always && self.next == Time::NEVER;
        if begins {
            self.begin(now);
        }
        begins
    }

    /// What is known of a node's flows is right.
    pub(super) fn confirm(&mut self, now: Time, source: u16) {
        if self.next < Time::NEVER {
            self.confirmed.insert(source, now);
            self.contradicted.remove(&source);
        }
    }

    /// What is known of a node's flows is wrong.
    pub(super) fn contradict(&mut self, now: Time, source: u16) {
        self.contradicted.insert(source);
        self.begin(now);
    }

    /// A node is being asked for a snapshot. Returns the number of the request, which is that of an earlier one if that
    /// may still be answered.
    pub(super) fn ask(&mut self, source: u16) -> u32 {
        *self.asked.entry(source).or_insert_with(|| {
            self.requests = self.requests.wrapping_add(1);
            self.requests
        })
    }

    /// An event of a node has come. A snapshot asked for before may be older, and would undo it.
    pub(super) fn heard(&mut self, source: u16) {
        if !self.asked.is_empty() {
            self.asked.remove(&source);
        }
    }

    /// Whether the answer to a request is news.
    pub(super) fn is_news(&self, source: u16, request: u32) -> bool {
        self.asked.get(&source) == Some(&request)
    }

    /// Takes a round, with flows of its own or not, and knowing flows of the other nodes in `sources`.
    pub(super) fn round(&mut self, now: Time, has_flows: bool, sources: &BTreeSet<u16>) -> Round {
        self.confirmed.retain(|source, _| sources.contains(source));
        for &source in sources {
            self.confirmed.entry(source).or_insert(now);
        }
        // What was on its way when the fabric changed may speak of flows that nobody will ever end.
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

    /// Takes the rounds that are due until `end`, and says in which nodes were asked.
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
        assert_eq!(rounds(&mut node, true, &[7, 9], at(5_000)).len(), 1, "everybody agrees");
        assert_eq!(node.next(), Time::NEVER);
    }

    #[test]
    fn flows_learned_just_after_a_change_are_doubted_too() {
        let mut node = node(Doubt::AfterFaults);
        node.fabric_changed(at(0), std::iter::empty());
        let taken = rounds(&mut node, false, &[7], at(450));
        let asked: Vec<Time> =
            taken.into_iter().filter(|(_, round)| round.ask == [7].into()).map(|(now, _)| now).collect();
        assert_eq!(asked, [at(400)], "first seen at 100, and three periods later not confirmed");
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
        assert_eq!(node.ask(7), first, "the first may yet be answered");
        assert!(node.is_news(7, first) && !node.is_news(9, first));
        node.heard(9);
        assert!(node.is_news(7, first));
        node.heard(7);
        assert!(!node.is_news(7, first));
        assert_ne!(node.ask(7), first);
    }
}
