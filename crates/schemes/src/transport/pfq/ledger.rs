//! The credits of one link, in both directions, at one end: what makes up for those that are lost.
//!
//! Credits are numbered, and each names the flow of the one before, too, so that the next one repairs a loss. It also says how
//! many credits of the other direction have been taken. What the neighbour has not said it has taken by the third tick is
//! given again, and who has taken credits and has had none to give since says so at the next tick. A neighbour that says
//! nothing for long is taken to be gone: a fabric that lost a link comes to rest.
//!
//! Memory follows the credits of two ticks. Cost a credit: a few words.

use raddle_core::Credit;
use std::collections::VecDeque;

/// Ticks in which the neighbour may say nothing before credits are no longer given again.
const PATIENCE: u32 = 100;

/// Credits given to the neighbour at a port, and taken from it. Numbers are modulo 2^32.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger {
    /// The last credit given.
    last: Credit,
    /// Credits that the neighbour has said it has taken.
    acknowledged: u32,
    /// The flows of the credits given, in order, of which the last is that of the number `last.given`. Those that were
    /// acknowledged go at the next tick.
    open: VecDeque<u32>,
    /// Credits given up to the last tick, and up to the one before.
    given_by_tick: [u32; 2],
    /// Whether the neighbour may not know what has been taken.
    owes_word: bool,
    /// Ticks since the neighbour said something, or was given a new credit.
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

    /// Takes a credit. Returns the flows that it is for, the last first: none if it was taken before, or if a credit between
    /// was lost that this one does not name.
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

    /// Credits that the neighbour is not known to have.
    #[inline]
    fn unacknowledged(&self) -> u32 {
        self.last.given.wrapping_sub(self.acknowledged)
    }

    /// Gives again what the neighbour should have taken by now, or tells it what has been taken.
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

    /// Whether both ends know all that there is to know, or the other one is gone.
    #[inline]
    pub(super) fn is_settled(&self) -> bool {
        !self.owes_word && (self.unacknowledged() == 0 || self.silent >= PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::Stream;

    /// What a ledger says at a tick.
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
    fn a_neighbour_that_says_nothing_is_taken_to_be_gone_until_it_says_something() {
        let mut near = Ledger::default();
        near.give(1);
        let times = (0..2 * PATIENCE).filter(|_| !said(&mut near).is_empty()).count();
        assert_eq!(times, PATIENCE as usize - 3);
        assert!(near.is_settled());
        near.take(&Credit::new(0, 0, []));
        assert!(!near.is_settled());
        assert_eq!(said(&mut near).len(), 1);
    }

    /// Two ends give credits for hundreds of flows over links that lose half of all, also when numbers wrap: each credit is
    /// taken once, in order.
    #[test]
    fn every_credit_is_taken_once_whatever_is_lost() {
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
                let of = random.below(2) as usize;
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
