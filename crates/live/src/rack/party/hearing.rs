//! The record of the events that nodes report, in the process whose observer receives the events. The record orders the
//! events by the time at which they were reported, and detects when the rack is at rest.
//!
//! An event of one process may be the consequence of an event that another process has not sent yet. So during a run,
//! the record releases an event only when it has received, from every process, a look (a collection of new events) that
//! began after the event was reported. All earlier events have then arrived. At the end of the run, the record releases
//! all remaining events.

use super::super::told::Word;
use super::message::{Count, Heard, Known, Look};
use raddle_core::{Observer, Progress, Time};

/// The reported events of all processes, and the progress of each process.
#[derive(Debug)]
pub(crate) struct Hearing {
    /// Indexed by process: the start, in ns, of the process's latest look, and the process's progress at that time.
    /// `None` before the process's first look.
    last: Vec<Option<(u64, Count)>>,
    /// Events that are not released yet.
    kept: Vec<Word>,
    /// The check whether the rack [is at rest](Self::is_at_rest) compares new counts with these counts. The number
    /// before the counts is the start, in ns, of the latest look that the counts include. `None` while no counts are
    /// stored.
    before: Option<(u64, Settled)>,
    rack: Known,
}

/// Counts that no longer change once a rack is at rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Settled {
    put: u64,
    taken: u64,
    flows_delivered: u64,
}

impl Hearing {
    /// A record for a rack that `processes` processes share.
    pub(crate) fn new(processes: usize, rack: Known) -> Self {
        Self { last: vec![None; processes], kept: Vec::new(), before: None, rack }
    }

    /// Adds the new events and the progress of this process.
    pub(crate) fn add_own(&mut self, own: usize, look: Look) {
        let Look { began_ns, count, words } = look;
        self.kept.extend(words);
        self.last[own] = Some((began_ns, count));
    }

    /// Adds a message with new events of another process. A [`Look`] can take several messages. Only the last of these
    /// messages updates the process's progress.
    pub(crate) fn add(&mut self, process: usize, heard: Heard) {
        let Heard { began_ns, count, goes_on, .. } = heard;
        self.kept.extend(heard.words(&self.rack));
        if !goes_on {
            self.last[process] = Some((began_ns, count));
        }
    }

    /// Passes events to the observer, in the order in which they were reported. An event is passed on if the latest
    /// received look of every process began no earlier than the event was reported.
    pub(crate) fn let_go(&mut self, observer: &mut impl Observer) {
        let looked = self.last.iter().map(|last| last.map_or(0, |(began, _)| began)).min().unwrap_or(0);
        let mut free: Vec<Word> = self.kept.extract_if(.., |word| word.said_ns <= looked).collect();
        free.sort_by_key(|word| word.said_ns);
        free.iter().for_each(|word| word.tell(observer));
    }

    /// Passes all remaining events to the observer.
    pub(crate) fn let_all_go(&mut self, observer: &mut impl Observer) {
        self.kept.sort_by_key(|word| word.said_ns);
        self.kept.drain(..).for_each(|word| word.tell(observer));
    }

    fn counts(&self) -> impl Iterator<Item = Count> {
        self.last.iter().flatten().map(|&(_, count)| count)
    }

    /// Progress of all processes together.
    pub(crate) fn progress(&self) -> Progress {
        let sum = |of: fn(&Count) -> u64| self.counts().map(|count| of(&count)).fold(0, u64::wrapping_add);
        Progress {
            now: Time::from_ps(self.counts().map(|count| count.now).max().unwrap_or(0)),
            packet_hops: sum(|count| count.packet_hops),
            flows_delivered: sum(|count| count.flows_delivered),
        }
    }

    /// Returns true if nothing more will happen: no program uses the rack, no packet waits or is in flight, and either
    /// all `all_flows` flows are delivered or all processes are [quiet](Count::is_quiet). Two looks of every process
    /// must have found the same total counts. The second look of each process must begin after the first looks of all
    /// processes.
    pub(crate) fn is_at_rest(&mut self, all_flows: u64) -> bool {
        if self.last.iter().any(Option::is_none) || self.counts().any(|count| count.has_programs) {
            return false;
        }
        let sum = |of: fn(&Count) -> u64| self.counts().map(|count| of(&count)).fold(0, u64::wrapping_add);
        let now = Settled {
            put: sum(|count| count.put),
            taken: sum(|count| count.taken),
            flows_delivered: sum(|count| count.flows_delivered),
        };
        let looks = || self.last.iter().flatten().map(|&(at, _)| at);
        let (first, last) = (looks().min().unwrap_or(0), looks().max().unwrap_or(0));
        match self.before {
            Some((at, before)) if first > at => {
                self.before = Some((last, now));
                let is_quiet = self.counts().all(|count| count.is_quiet);
                now == before && now.put == now.taken && (now.flows_delivered >= all_flows || is_quiet)
            }
            Some(_) => false,
            None => {
                self.before = Some((last, now));
                false
            }
        }
    }

    /// Returns true if the time limit has passed in any process.
    pub(crate) fn is_over(&self) -> bool {
        self.counts().any(|count| count.is_over)
    }

    /// Of the processes that have sent a look: the process whose latest look began first, and the time in ns from the
    /// start of this look to the time `now_ns` of the system's clock. `None` if no look has arrived.
    pub(crate) fn silent_for(&self, now_ns: u64) -> Option<(usize, u64)> {
        let silent = |(process, last): (usize, &Option<(u64, Count)>)| {
            last.map(|(at, _)| (process, now_ns.saturating_sub(at)))
        };
        self.last.iter().enumerate().filter_map(silent).max_by_key(|&(_, silent)| silent)
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "these tests use only small numbers")]
mod tests {
    use super::*;
    use crate::rack::party::message::tests::known;
    use crate::rack::told::Told;
    use raddle_core::{FlowId, FlowKey, NodeId, Report};

    fn word(at: u64, said_ns: u64) -> Word {
        let report = Report::Opened { flow: FlowId(at as u32), key: FlowKey(at) };
        Word { at: Time::from_ps(at), said_ns, told: Told::Report(NodeId(0), report) }
    }

    #[derive(Default)]
    struct Times(Vec<u64>);

    impl Observer for Times {
        fn report(&mut self, now: Time, _: NodeId, _: Report) {
            self.0.push(now.as_ps());
        }
    }

    fn look(began_ns: u64, count: Count, words: Vec<Word>) -> Look {
        Look { began_ns, count, words }
    }

    #[test]
    fn a_consequence_is_not_told_before_its_cause() {
        let mut hearing = Hearing::new(2, known());
        let mut told = Times::default();
        let own = |began, words| look(began, Count::default(), words);
        let guest = |began, words| Heard::new(&look(began, Count::default(), words));
        hearing.add_own(0, own(100, vec![word(20, 99), word(30, 102)]));
        hearing.let_go(&mut told);
        hearing.add(1, guest(98, vec![]));
        hearing.let_go(&mut told);
        assert!(
            told.0.is_empty(),
            "no event may be passed on: the guest last collected events at time 98, before both events"
        );
        hearing.add(1, guest(101, vec![word(10, 98), word(40, 103)]));
        hearing.let_go(&mut told);
        assert_eq!(told.0, [10, 20], "exactly the events reported by time 100 must be passed on");
        hearing.add_own(0, own(110, vec![word(25, 104)]));
        hearing.let_go(&mut told);
        hearing.add(1, guest(111, vec![]));
        hearing.let_go(&mut told);
        assert_eq!(told.0, [10, 20, 30, 40, 25]);
    }

    #[test]
    fn a_rack_is_at_rest_when_two_looks_of_all_find_the_same() {
        let mut hearing = Hearing::new(2, known());
        let still = |put, taken| Count { put, taken, is_quiet: true, ..Count::default() };
        let look = |hearing: &mut Hearing, process, at, count| {
            hearing.add(process, Heard::new(&look(at, count, vec![])));
            hearing.is_at_rest(5)
        };
        assert!(!look(&mut hearing, 0, 1, still(3, 1)));
        assert!(!look(&mut hearing, 1, 2, still(0, 2)), "each process has reported its progress only once");
        assert!(!look(&mut hearing, 0, 3, still(3, 1)), "process 1 has reported its progress only once");
        assert!(look(&mut hearing, 1, 4, still(0, 2)));
        assert!(
            !look(&mut hearing, 0, 5, still(4, 1)) && !look(&mut hearing, 1, 6, still(0, 2)),
            "one packet is still in flight"
        );
        let waits = Count { is_quiet: false, ..still(4, 1) };
        assert!(!look(&mut hearing, 0, 7, waits) && !look(&mut hearing, 1, 8, still(0, 3)));
        assert!(
            !look(&mut hearing, 0, 9, waits) && !look(&mut hearing, 1, 10, still(0, 3)),
            "a node of process 0 still has work to do"
        );
        let delivered = Count { flows_delivered: 5, ..waits };
        assert!(!look(&mut hearing, 0, 11, delivered) && !look(&mut hearing, 1, 12, still(0, 3)));
        assert!(
            !look(&mut hearing, 0, 13, delivered) && look(&mut hearing, 1, 14, still(0, 3)),
            "all is delivered"
        );
    }
}
