//! The credits of one link, in both directions, as recorded at one end. The ledger recovers lost credits.
//!
//! Credits are numbered. Each credit also names the flow of the credit before it, so the next credit repairs a single
//! loss. A credit also acknowledges the credits of the other direction, by their number. At each tick, a node sends
//! again the unacknowledged credits that are at least two ticks old. A node that has taken credits but has sent none
//! since sends an acknowledgement at the next tick. A neighbour that is silent for long counts as gone, so that a
//! fabric that has lost a link becomes idle.
//!
//! Memory: the credits of about two ticks. Cost per credit: a few words.

use raddle_core::Credit;
use std::collections::VecDeque;

/// Number of ticks of silence after which the neighbour counts as gone, and credits are no longer sent again.
const PATIENCE: u32 = 100;

/// Credits given to the neighbour at a port, and credits taken from it. Numbers are modulo 2^32.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger {
    /// The last credit given.
    last: Credit,
    /// Number of credits that the neighbour has acknowledged.
    acknowledged: u32,
    /// The flows of the credits given, in order; the last flow belongs to credit number `last.given`. Acknowledged
    /// entries are removed at the next tick.
    open: VecDeque<u32>,
    /// Number of credits given by the last tick, and by the tick before.
    given_by_tick: [u32; 2],
    /// True if the neighbour may not know which credits have been taken.
    owes_word: bool,
    /// Number of ticks since the neighbour's last message or this end's last new credit.
    silent: u32,
}

impl Ledger {
    /// Gives a credit for a flow.
    #[inline]
    pub(super) fn give(&mut self, flow: u32) -> Credit {
        self.last.give(flow);
        self.open.push_back(flow);
        self.owes_word = false;
        self.silent = 0;
        self.last
    }

    /// Takes a credit. Returns the flows that it gives credit to, the latest first. Returns none if the credit was
    /// taken before, or if earlier credits were lost that this credit does not name.
    #[inline]
    pub(super) fn take<'a>(&mut self, credit: &'a Credit) -> &'a [u32] {
        self.silent = 0;
        if self.last.given.wrapping_sub(credit.taken) < self.unacknowledged() {
            self.acknowledged = credit.taken;
        }
        let flows = credit.flows();
        self.owes_word |= !flows.is_empty();
        let new = credit.given.wrapping_sub(self.last.taken) as usize;
        let Some(flows) = flows.get(..new) else { return &[] };
        self.last.taken = credit.given;
        flows
    }

    /// Number of credits that the neighbour has not acknowledged.
    #[inline]
    fn unacknowledged(&self) -> u32 {
        self.last.given.wrapping_sub(self.acknowledged)
    }

    /// Sends again the credits that the neighbour should have taken by now, or else sends an acknowledgement that is
    /// due.
    #[allow(clippy::cast_possible_truncation, reason = "sequence numbers are modulo 2^32")]
    pub(super) fn tick(&mut self, mut say: impl FnMut(Credit)) {
        self.silent = (self.silent + 1).min(PATIENCE);
        let given = self.last.given;
        let [last, before] = self.given_by_tick;
        self.given_by_tick = [given, last];
        self.open.drain(..self.open.len() - self.unacknowledged() as usize);
        let overdue = self.open.len().saturating_sub(given.wrapping_sub(before) as usize);
        if overdue > 0 && self.silent < PATIENCE {
            for first in (0..overdue).step_by(Credit::MOST) {
                let end = (first + Credit::MOST).min(overdue);
                let number = given.wrapping_sub((self.open.len() - end) as u32);
                say(Credit::new(number, self.last.taken, self.open.range(first..end).rev().copied()));
            }
        } else if self.owes_word {
            say(Credit::new(given, self.last.taken, []));
        } else {
            return;
        }
        self.owes_word = false;
    }

    /// True if this end owes no acknowledgement, and either awaits none or counts the neighbour as gone.
    #[inline]
    pub(super) fn is_settled(&self) -> bool {
        !self.owes_word && (self.unacknowledged() == 0 || self.silent >= PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::Stream;

    /// The messages of a ledger at a tick.
    fn said(ledger: &mut Ledger) -> Vec<Credit> {
        let mut said = Vec::new();
        ledger.tick(|credit| said.push(credit));
        said
    }

    #[test]
    fn the_next_credit_repairs_a_loss() {
        let (mut near, mut far) = (Ledger::default(), Ledger::default());
        let credits: Vec<Credit> = (10..19).map(|flow| near.give(flow)).collect();
        assert_eq!(far.take(&credits[0]), [10]);
        assert_eq!(far.take(&credits[2]), [12, 11]);
        assert_eq!(far.take(&credits[2]), [0; 0], "once");
        assert_eq!(far.take(&credits[1]), [0; 0], "late");
        assert_eq!(far.take(&credits[3]), [13]);
    }

    #[test]
    fn more_losses_are_repaired_at_the_third_tick() {
        let (mut near, mut far) = (Ledger::default(), Ledger::default());
        let credits: Vec<Credit> = (10..16).map(|flow| near.give(flow)).collect();
        assert_eq!(far.take(&credits[5]), [0; 0], "it does not name the first four");
        assert_eq!(
            (said(&mut near), said(&mut near)),
            (vec![], vec![]),
            "a word of the neighbour may be on its way"
        );
        assert!(!near.is_settled());
        let again = said(&mut near);
        let taken: Vec<u32> =
            again.iter().flat_map(|credit| far.take(credit).iter().copied().rev()).collect();
        assert_eq!(taken, [10, 11, 12, 13, 14, 15]);
        let [word] = said(&mut far)[..] else { panic!("one word") };
        assert_eq!((word.taken, word.flows().len()), (6, 0));
        assert_eq!(near.take(&word), [0; 0]);
        assert!(near.is_settled() && far.is_settled());
        assert_eq!((said(&mut near), said(&mut far)), (vec![], vec![]));
    }

    #[test]
    fn a_silent_neighbour_counts_as_down_until_it_sends_a_packet() {
        let mut near = Ledger::default();
        near.give(1);
        let times = (0..2 * PATIENCE).filter(|_| !said(&mut near).is_empty()).count();
        assert_eq!(times, PATIENCE as usize - 3);
        assert!(near.is_settled());
        near.take(&Credit::new(0, 0, []));
        assert!(!near.is_settled());
        assert_eq!(said(&mut near).len(), 1);
    }

    /// Two ends give credits for hundreds of flows over links that lose half of all messages; numbers wrap. Each credit
    /// is taken once, in order.
    #[test]
    fn every_credit_counts_once_under_any_losses() {
        for seed in 0..20 {
            let mut random = Stream::new(seed, 0, "ledger");
            let at_end = |given: u32, taken: u32| Ledger {
                last: Credit::new(given, taken, []),
                acknowledged: given,
                given_by_tick: [given; 2],
                ..Ledger::default()
            };
            let mut ends = [at_end(u32::MAX - 100, 5), at_end(5, u32::MAX - 100)];
            let (mut given, mut taken): ([u32; 2], [Vec<u32>; 2]) = Default::default();
            for step in 0..20_000 {
                let of = random.index(2);
                let mut credits = Vec::new();
                if step % 20 == 19 {
                    ends[of].tick(|credit| credits.push(credit));
                } else if given[of] < 500 {
                    credits.push(ends[of].give(given[of]));
                    given[of] += 1;
                }
                for credit in credits.into_iter().filter(|_| random.coin()) {
                    taken[1 - of].extend(ends[1 - of].take(&credit).iter().rev());
                }
            }
            assert_eq!(given, [500; 2]);
            assert!(taken.iter().all(|taken| taken.iter().copied().eq(0..500)), "seed {seed}: {taken:?}");
            assert!(ends.iter().all(Ledger::is_settled), "seed {seed}: {ends:?}");
        }
    }
}
