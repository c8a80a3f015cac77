//! What the host has heard of all nodes: words in the order in which they were said, and whether the rack is at rest.
//!
//! A word that one process heard may be the consequence of one that another process has not passed on yet. So a word is let go only
//! when every process has begun to look after the word was said: all that had been said before it is then there.

use super::super::told::Word;
use super::message::{Count, Heard, Known, Look};
use raddle_core::{Observer, Progress, Time};

/// The words of all processes, and how far each is.
#[derive(Debug)]
pub(crate) struct Hearing {
    /// By process, when its last look began, and what it said then; nothing yet at the begin.
    last: Vec<Option<(u64, Count)>>,
    /// Words that are not let go yet.
    kept: Vec<Word>,
    /// When all were as [`settled`](Self::settled) has it: the latest look of them, in ns.
    before: Option<(u64, Settled)>,
    rack: Known,
}

/// What does not change any more when a rack is at rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Settled {
    put: u64,
    taken: u64,
    flows_delivered: u64,
}

impl Hearing {
    /// Of so many processes that share a rack.
    pub(crate) fn new(processes: usize, rack: Known) -> Self {
        Self { last: vec![None; processes], kept: Vec::new(), before: None, rack }
    }

    /// What this process has heard at a look.
    pub(crate) fn add_own(&mut self, own: usize, look: Look) {
        let Look { began_ns, count, words } = look;
        self.kept.extend(words);
        self.last[own] = Some((began_ns, count));
    }

    /// What another process has heard.
    pub(crate) fn add(&mut self, process: usize, heard: Heard) {
        let Heard { began_ns, count, goes_on, .. } = heard;
        self.kept.extend(heard.words(&self.rack));
        if !goes_on {
            self.last[process] = Some((began_ns, count));
        }
    }

    /// Tells the words that were said before the latest look of every process, in the order in which they were said.
    pub(crate) fn let_go(&mut self, observer: &mut impl Observer) {
        let looked = self.last.iter().map(|last| last.map_or(0, |(began, _)| began)).min().unwrap_or(0);
        let mut free: Vec<Word> = self.kept.extract_if(.., |word| word.said_ns <= looked).collect();
        free.sort_by_key(|word| word.said_ns);
        free.iter().for_each(|word| word.tell(observer));
    }

    /// Tells all words that are left.
    pub(crate) fn let_all_go(&mut self, observer: &mut impl Observer) {
        self.kept.sort_by_key(|word| word.said_ns);
        self.kept.drain(..).for_each(|word| word.tell(observer));
    }

    fn counts(&self) -> impl Iterator<Item = Count> {
        self.last.iter().flatten().map(|&(_, count)| count)
    }

    /// How far all are together.
    pub(crate) fn progress(&self) -> Progress {
        let sum = |of: fn(&Count) -> u64| self.counts().map(|count| of(&count)).fold(0, u64::wrapping_add);
        Progress {
            now: Time::from_ps(self.counts().map(|count| count.now).max().unwrap_or(0)),
            packet_hops: sum(|count| count.packet_hops),
            flows_delivered: sum(|count| count.flows_delivered),
        }
    }

    /// Whether nothing will happen any more: nothing is under way, and all of so many flows are delivered or no node wants to be
    /// woken. So it is if two looks of every process, the second after all of the first, found the same.
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

    /// Whether the time limit has come at a process.
    pub(crate) fn is_over(&self) -> bool {
        self.counts().any(|count| count.is_over)
    }

    /// The process that has been silent longest when the system's clock shows so many ns, and for how many ns.
    pub(crate) fn silent_for(&self, now_ns: u64) -> Option<(usize, u64)> {
        let silent = |(process, last): (usize, &Option<(u64, Count)>)| {
            last.map(|(at, _)| (process, now_ns.saturating_sub(at)))
        };
        self.last.iter().enumerate().filter_map(silent).max_by_key(|&(_, silent)| silent)
    }
}

#[cfg(test)]
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
        assert!(told.0.is_empty(), "the other has looked before the words were said");
        hearing.add(1, guest(101, vec![word(10, 98), word(40, 103)]));
        hearing.let_go(&mut told);
        assert_eq!(told.0, [10, 20], "what both have said by 100");
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
        assert!(!look(&mut hearing, 1, 2, still(0, 2)), "the first look of all");
        assert!(!look(&mut hearing, 0, 3, still(3, 1)), "the other has not looked since");
        assert!(look(&mut hearing, 1, 4, still(0, 2)));
        assert!(
            !look(&mut hearing, 0, 5, still(4, 1)) && !look(&mut hearing, 1, 6, still(0, 2)),
            "one is under way"
        );
        let waits = Count { is_quiet: false, ..still(4, 1) };
        assert!(!look(&mut hearing, 0, 7, waits) && !look(&mut hearing, 1, 8, still(0, 3)));
        assert!(
            !look(&mut hearing, 0, 9, waits) && !look(&mut hearing, 1, 10, still(0, 3)),
            "a node wants to be woken"
        );
        let delivered = Count { flows_delivered: 5, ..waits };
        assert!(!look(&mut hearing, 0, 11, delivered) && !look(&mut hearing, 1, 12, still(0, 3)));
        assert!(
            !look(&mut hearing, 0, 13, delivered) && look(&mut hearing, 1, 14, still(0, 3)),
            "all is delivered"
        );
    }
}
