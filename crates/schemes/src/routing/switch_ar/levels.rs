//! Congestion levels: a switch's estimate of the congestion of each up port, per destination (specifications/cee.md
//! §5.6).
//!
//! Only up ports have levels: downwards there is a single port to each host, so there is no choice. The levels for one
//! destination are adjacent in memory, 16 bytes for each port, so that a choice among four ports reads one or two cache
//! lines.

use crate::choices;
use raddle_core::{Duration, NodeId, Time};

/// The rules by which notices change levels and levels expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rule {
    /// The rule by which a notice changes a level.
    pub(super) update: Update,
    /// The rule for notices from the switch's own congestion points.
    pub(super) local: Local,
    /// A level expires this long after the last notice that counted.
    pub(super) timer: Duration,
}

choices! {
    /// The rule by which a notice with feedback q changes a level.
    pub(super) enum Update {
        /// The level grows by q.
        Accumulate = "accumulate",
        /// The level grows by q times the number of notices that have counted since the level last expired, including
        /// this notice.
        CountTimesFeedback = "count-times-feedback",
        /// The level grows by one.
        Count = "count",
        /// The level becomes q.
        Last = "last",
        /// The level moves towards q by an eighth of the distance. The level is stored in units of 1/256.
        Ewma = "ewma",
        /// The level becomes q if q is greater than the level.
        Max = "max",
    }
}

choices! {
    /// The rule for notices from the switch's own congestion points (local notices), compared with notices from other
    /// switches.
    ///
    /// In the benchmark of specifications/cee.md §6.4, with [`Update::Accumulate`], the throughput is 0.59 of the link
    /// rate under `Lock` and 0.74 under `Alike` (§5.6). The paper reports about 0.6, so the paper's rule probably is
    /// `Lock`.
    pub(super) enum Local {
        /// Local notices count. After the first local notice for a port and a destination, only local notices count for
        /// this port and destination, until the level expires.
        Lock = "lock",
        /// Local notices count like notices from other switches.
        Alike = "alike",
        /// Local notices do not count.
        Ignore = "ignore",
    }
}

/// The origin of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// This switch's own congestion point at the port.
    Here,
    /// Another switch, whose notice arrived at the port.
    Elsewhere,
}

/// The congestion levels of one switch.
#[derive(Debug, Clone)]
pub(super) struct Levels {
    /// For each destination, one entry per up port.
    entries: Box<[Entry]>,
    ups: usize,
    rule: Rule,
}

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    level: u32,
    count: u16,
    local: bool,
    /// Time of the last notice that counted.
    last: Time,
}

impl Levels {
    /// Levels for a switch with `ups` up ports in a fabric of `hosts` hosts. All levels are zero.
    pub(super) fn new(hosts: usize, ups: usize, rule: Rule) -> Self {
        Self { entries: vec![Entry::default(); hosts * ups].into(), ups, rule }
    }

    /// Applies a notice to the level of the up port `up` for the destination `to`. For a local notice, `up` is the port
    /// of the congestion point. For a notice from another switch, `up` is the port at which the notice arrived.
    ///
    /// # Panics
    /// If there is no such destination or up port.
    pub(super) fn notice(&mut self, now: Time, to: NodeId, up: usize, feedback: u8, origin: Origin) {
        let Rule { update, local, timer } = self.rule;
        let entry = &mut self.entries[to.index() * self.ups..][..self.ups][up];
        if now.since(entry.last) > timer {
            *entry = Entry::default();
        }
        match (local, origin) {
            (Local::Ignore, Origin::Here) => return,
            (Local::Lock, Origin::Here) => entry.local = true,
            (Local::Lock, Origin::Elsewhere) if entry.local => return,
            _ => (),
        }
        let feedback = u32::from(feedback);
        entry.count = entry.count.saturating_add(1);
        entry.last = now;
        entry.level = match update {
            Update::Accumulate => entry.level.saturating_add(feedback),
            Update::CountTimesFeedback => entry.level.saturating_add(u32::from(entry.count) * feedback),
            Update::Count => entry.level.saturating_add(1),
            Update::Last => feedback,
            Update::Ewma => entry.level - entry.level / 8 + 256 / 8 * feedback,
            Update::Max => entry.level.max(feedback),
        };
    }

    /// The up port with the least level towards `to`. Among ports with equal levels, the first port in cyclic order
    /// from `first` is taken.
    #[inline]
    pub(super) fn least(&self, now: Time, to: NodeId, first: usize) -> usize {
        let row = self.row(to);
        let (before, from) = row.split_at(first);
        let ports = (first..self.ups).chain(0..first).zip(from.iter().chain(before));
        let levels = ports.map(|(port, entry)| (entry.level_at(now, self.rule.timer), port));
        levels.min_by_key(|&(level, _)| level).map_or(first, |(_, port)| port)
    }

    /// True if some up port other than `up` has level zero towards `to`.
    pub(super) fn others_clear(&self, now: Time, to: NodeId, up: usize) -> bool {
        let mut others = self.row(to).iter().enumerate().filter(|&(port, _)| port != up);
        others.any(|(_, entry)| entry.level_at(now, self.rule.timer) == 0)
    }

    /// The level of an up port towards `to`.
    #[cfg(test)]
    pub(super) fn level(&self, now: Time, to: NodeId, up: usize) -> u32 {
        self.row(to)[up].level_at(now, self.rule.timer)
    }

    fn row(&self, to: NodeId) -> &[Entry] {
        &self.entries[to.index() * self.ups..][..self.ups]
    }
}

impl Entry {
    #[inline]
    fn level_at(&self, now: Time, timer: Duration) -> u32 {
        if self.level > 0 && now.since(self.last) > timer { 0 } else { self.level }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Origin::{Elsewhere, Here};

    const RULE: Rule = Rule { update: Update::Accumulate, local: Local::Lock, timer: Duration::from_ms(250) };
    const D: NodeId = NodeId(6);

    fn levels(rule: Rule) -> Levels {
        Levels::new(8, 2, rule)
    }

    fn at_ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    fn both(levels: &Levels, now: Time) -> [u32; 2] {
        [0, 1].map(|up| levels.level(now, D, up))
    }

    #[test]
    fn oracle_8_12_frames_leave_by_the_port_of_least_level() {
        let mut levels = levels(RULE);
        let choice = |levels: &Levels, ms| levels.least(at_ms(ms), D, 0);
        assert_eq!(choice(&levels, 0), 0);
        levels.notice(at_ms(1), D, 0, 30, Elsewhere);
        assert_eq!(choice(&levels, 1), 1);
        levels.notice(at_ms(2), D, 1, 40, Elsewhere);
        assert_eq!((choice(&levels, 2), both(&levels, at_ms(2))), (0, [30, 40]));
        let others = (0..8).map(NodeId).filter(|&to| to != D);
        assert!(others.map(|to| levels.least(at_ms(2), to, 1)).all(|up| up == 1), "other destinations");
        // The level of port 0 expires first, then the level of port 1. A level still counts exactly 250 ms after its
        // last notice.
        assert_eq!(both(&levels, at_ms(251)), [30, 40]);
        assert_eq!(both(&levels, at_ms(252)), [0, 40]);
        assert_eq!((choice(&levels, 253), both(&levels, at_ms(253))), (0, [0, 0]));
    }

    #[test]
    fn oracle_8_12_a_local_event_locks_out_notices_that_pass() {
        let mut levels = levels(RULE);
        levels.notice(at_ms(1), D, 0, 12, Elsewhere);
        levels.notice(at_ms(2), D, 0, 20, Here);
        levels.notice(at_ms(200), D, 0, 63, Elsewhere);
        assert_eq!(both(&levels, at_ms(200)), [32, 0], "unchanged, and its timer with it");
        levels.notice(at_ms(200), D, 1, 63, Elsewhere);
        levels.notice(at_ms(201), D, 0, 5, Here);
        assert_eq!(both(&levels, at_ms(201)), [37, 63], "its own port alone is locked");
        levels.notice(at_ms(452), D, 0, 7, Elsewhere);
        assert_eq!(both(&levels, at_ms(452)), [7, 0], "until it is forgotten");
    }

    #[test]
    fn oracle_5_6_rules() {
        let after = |update, local, notices: &[(u8, Origin)]| {
            let mut levels = levels(Rule { update, local, ..RULE });
            notices.iter().for_each(|&(feedback, origin)| levels.notice(at_ms(1), D, 0, feedback, origin));
            levels.level(at_ms(1), D, 0)
        };
        let passing = [(10, Elsewhere), (63, Elsewhere), (20, Elsewhere)];
        let by = |update| after(update, Local::Lock, &passing);
        assert_eq!(by(Update::Accumulate), 93);
        assert_eq!(by(Update::CountTimesFeedback), 10 + 2 * 63 + 3 * 20);
        assert_eq!(by(Update::Count), 3);
        assert_eq!(by(Update::Last), 20);
        assert_eq!(by(Update::Max), 63);
        // The level in units of 1/256, after each notice: 320; 280 + 2,016 = 2,296; 2,009 + 640 = 2,649.
        assert_eq!(by(Update::Ewma), 2_649);
        let mixed = [(10, Elsewhere), (20, Here), (30, Elsewhere)];
        let with = |local| after(Update::Accumulate, local, &mixed);
        assert_eq!([Local::Lock, Local::Alike, Local::Ignore].map(with), [30, 60, 40]);
    }

    #[test]
    fn equal_levels_are_taken_round_from_the_first() {
        let mut levels = Levels::new(8, 4, RULE);
        let chosen = |levels: &Levels| [0, 1, 2, 3].map(|first| levels.least(at_ms(1), D, first));
        assert_eq!(chosen(&levels), [0, 1, 2, 3]);
        levels.notice(at_ms(1), D, 2, 5, Elsewhere);
        assert_eq!(chosen(&levels), [0, 1, 3, 3]);
        levels.notice(at_ms(1), D, 3, 5, Elsewhere);
        assert_eq!(chosen(&levels), [0, 1, 0, 0]);
    }

    #[test]
    fn another_port_is_clear_if_never_marked_or_forgotten() {
        let mut levels = levels(RULE);
        levels.notice(at_ms(1), D, 0, 5, Elsewhere);
        assert!(levels.others_clear(at_ms(1), D, 0) && !levels.others_clear(at_ms(1), D, 1));
        levels.notice(at_ms(2), D, 1, 5, Elsewhere);
        assert!(!levels.others_clear(at_ms(2), D, 0));
        assert!(levels.others_clear(at_ms(252), D, 1), "port 0 is forgotten");
    }

    #[test]
    fn an_entry_is_small() {
        assert_eq!(size_of::<Entry>(), 16);
    }
}
