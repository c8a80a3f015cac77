//! A leaf's two congestion tables (CONGA §3.3). The first table holds the congestion on the paths from this leaf to
//! each other leaf. The other leaves report this congestion as feedback. The second table holds the congestion on the
//! paths from each other leaf to this leaf. This leaf reads this congestion from the headers of arriving packets and
//! reports it as feedback.

use raddle_core::{Duration, Time};
use raddle_wire::conga::{Feedback, Overlay};

/// The tables of one leaf: one metric for each leaf and uplink.
#[derive(Debug)]
pub(super) struct Congestion {
    /// Number of uplinks per leaf.
    tags: usize,
    ageing: Duration,
    /// Congestion-To-Leaf, indexed by destination leaf and this leaf's uplink.
    to: Box<[Metric]>,
    /// Congestion-From-Leaf, indexed by source leaf and that leaf's uplink.
    from: Box<[Metric]>,
    /// The state of the feedback to each leaf.
    turns: Box<[Turn]>,
}

/// A load, and the time of its latest update.
#[derive(Debug, Clone, Copy, Default)]
struct Metric {
    load: u8,
    heard: Time,
}

impl Metric {
    fn is_fresh(self, now: Time, ageing: Duration) -> bool {
        now.since(self.heard) < ageing
    }
}

/// State for the choice of the next metric to feed back to a leaf. Each set of uplinks is a bit mask.
#[derive(Debug, Clone, Copy, Default)]
struct Turn {
    /// Uplinks of the leaf for which a metric is recorded. Some of these metrics can already be too old.
    seen: u16,
    /// The members of `seen` whose metric has changed since the last feedback about the uplink.
    changed: u16,
    /// The uplink at which the search for the next metric starts.
    next: u32,
}

impl Congestion {
    /// The tables for `leaves` leaves with `tags` uplinks each.
    pub(super) fn new(leaves: usize, tags: usize, ageing: Duration) -> Self {
        debug_assert!(tags <= Overlay::TAGS, "a leaf must have at most 16 uplinks");
        let table = || vec![Metric::default(); leaves * tags].into_boxed_slice();
        Self { tags, ageing, to: table(), from: table(), turns: vec![Turn::default(); leaves].into() }
    }

    /// The index of an uplink's metric; `None` if there is no such leaf or uplink.
    fn place(&self, leaf: usize, tag: u8) -> Option<usize> {
        (leaf < self.turns.len() && usize::from(tag) < self.tags).then(|| leaf * self.tags + usize::from(tag))
    }

    /// Records the load that a packet from `leaf` has met. `tag` is the uplink by which the packet left that leaf.
    pub(super) fn seen(&mut self, now: Time, leaf: usize, tag: u8, load: u8) {
        let Some(place) = self.place(leaf, tag) else { return };
        let (turn, bit) = (&mut self.turns[leaf], 1 << tag);
        if turn.seen & bit == 0 || self.from[place].load != load {
            turn.changed |= bit;
        }
        turn.seen |= bit;
        self.from[place] = Metric { load, heard: now };
    }

    /// The feedback for the next packet to `leaf`; `None` if no recorded metric is fresh. Uplinks take turns, and
    /// uplinks with changed metrics go first.
    #[allow(clippy::cast_possible_truncation, reason = "a tag is below 16")]
    pub(super) fn feedback(&mut self, now: Time, leaf: usize) -> Option<Feedback> {
        let turn = &mut self.turns[leaf];
        loop {
            let news = if turn.changed == 0 { turn.seen } else { turn.changed };
            let tag = first_from(news, turn.next)?;
            turn.changed &= !(1 << tag);
            let metric = self.from[leaf * self.tags + tag as usize];
            if metric.is_fresh(now, self.ageing) {
                turn.next = tag + 1;
                return Some(Feedback { tag: tag as u8, metric: metric.load });
            }
            turn.seen &= !(1 << tag);
        }
    }

    /// Records feedback from `leaf` about a path from this leaf to `leaf`.
    pub(super) fn told(&mut self, now: Time, leaf: usize, Feedback { tag, metric }: Feedback) {
        if let Some(place) = self.place(leaf, tag) {
            self.to[place] = Metric { load: metric, heard: now };
        }
    }

    /// The load of the path through one of this leaf's uplinks to `leaf`; 0 if the metric is missing or too old.
    #[inline]
    pub(super) fn towards(&self, now: Time, leaf: usize, tag: u8) -> u8 {
        let metric = self.to[leaf * self.tags + usize::from(tag)];
        if metric.is_fresh(now, self.ageing) { metric.load } else { 0 }
    }

    /// Time since the latest feedback from `leaf` about the path through one of this leaf's uplinks. Without any
    /// feedback, this is the time since the start of the run.
    pub(super) fn age(&self, now: Time, leaf: usize, tag: u8) -> Duration {
        now.since(self.to[leaf * self.tags + usize::from(tag)].heard)
    }
}

/// The first member of `set` in the cyclic order that begins with `from`; `None` if `set` is empty. `set` has one bit
/// for each number below 16.
fn first_from(set: u16, from: u32) -> Option<u32> {
    let turned = set.rotate_right(from);
    (set != 0).then(|| (turned.trailing_zeros() + from) % u16::BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAF: usize = 1;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// Three leaves with four uplinks each.
    fn tables() -> Congestion {
        Congestion::new(3, 4, Duration::from_ms(10))
    }

    fn fed_back(tables: &mut Congestion, us: u64) -> Option<(u8, u8)> {
        tables.feedback(at(us), LEAF).map(|feedback| (feedback.tag, feedback.metric))
    }

    /// specifications/expeditus.md §6.3: the uplinks' tags (LBTag) take turns, and changed values go first.
    #[test]
    fn oracle_6_3_feedback_takes_turns_and_prefers_news() {
        let mut tables = tables();
        assert_eq!(fed_back(&mut tables, 0), None, "nothing seen yet");
        for (tag, load) in [(0, 5), (2, 1), (3, 0)] {
            tables.seen(at(1), LEAF, tag, load);
        }
        let turns: Vec<_> = (0..5).filter_map(|_| fed_back(&mut tables, 2)).collect();
        assert_eq!(turns, [(0, 5), (2, 1), (3, 0), (0, 5), (2, 1)], "all are news, then all are old");
        tables.seen(at(3), LEAF, 0, 5);
        tables.seen(at(3), LEAF, 2, 4);
        let turns: Vec<_> = (0..3).filter_map(|_| fed_back(&mut tables, 3)).collect();
        assert_eq!(turns, [(2, 4), (3, 0), (0, 5)], "2 has changed and goes before 3");
        assert_eq!(tables.feedback(at(3), 2), None, "of another leaf nothing is known");
    }

    #[test]
    fn aged_metrics_are_not_fed_back() {
        let mut tables = tables();
        tables.seen(at(0), LEAF, 0, 5);
        tables.seen(at(5_000), LEAF, 1, 6);
        let turns = [9_999, 10_000, 14_999, 15_000].map(|us| fed_back(&mut tables, us));
        assert_eq!(turns, [Some((0, 5)), Some((1, 6)), Some((1, 6)), None]);
        tables.seen(at(20_000), LEAF, 0, 5);
        assert_eq!(fed_back(&mut tables, 20_001), Some((0, 5)), "the same load is news again");
    }

    /// specifications/expeditus.md §6.3: a remote metric counts as 0 if it was not refreshed for 10 ms.
    #[test]
    fn oracle_6_3_metrics_age() {
        let mut tables = tables();
        tables.told(at(100), LEAF, Feedback { tag: 3, metric: 6 });
        let towards = |tables: &Congestion, us| tables.towards(at(us), LEAF, 3);
        assert_eq!([100, 10_099, 10_100].map(|us| towards(&tables, us)), [6, 6, 0]);
        tables.told(at(11_000), LEAF, Feedback { tag: 3, metric: 2 });
        assert_eq!([11_000, 20_999, 21_000].map(|us| towards(&tables, us)), [2, 2, 0]);
        assert_eq!((tables.towards(at(100), LEAF, 2), tables.towards(at(100), 2, 3)), (0, 0));
    }

    #[test]
    fn uplinks_that_no_leaf_has_are_ignored() {
        let mut tables = tables();
        tables.seen(at(0), LEAF, 4, 7);
        tables.told(at(0), LEAF, Feedback { tag: 15, metric: 7 });
        tables.seen(at(0), 3, 0, 7);
        assert!((0..3).all(|leaf| tables.feedback(at(0), leaf).is_none()));
        assert!((0..4).all(|tag| tables.towards(at(0), LEAF, tag) == 0));
    }

    #[test]
    fn the_turn_among_sixteen_tags_wraps_around() {
        assert_eq!([0, 3, 4, 15, 16].map(|from| first_from(1 << 3 | 1, from)), [0, 3, 0, 0, 0].map(Some));
        assert_eq!(first_from(1 << 15, 15), Some(15));
        assert_eq!(first_from(0, 5), None);
    }
}
