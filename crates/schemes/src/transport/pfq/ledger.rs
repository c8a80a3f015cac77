//! The record of the credits of one link, in both directions, at one end of the link. The ledger recovers lost credits.
//!
//! Credits are numbered. Each new credit also names the flow of the previous credit, so the next credit repairs a
//! single loss. A credit also acknowledges the credits of the other direction by their number. At each tick, a node
//! resends the unacknowledged credits that are at least two ticks old. If a node has received credits and has sent no
//! credit since, it sends an acknowledgement at the next tick. A neighbour that is silent for a long time is presumed
//! gone, so that a fabric with a failed link becomes idle.
//!
//! Memory: 4 bytes for each credit of about the last two ticks.

use raddle_core::Credit;
use std::collections::VecDeque;

/// Number of ticks after which the neighbour is presumed gone, if it has sent no message and this end has sent no new
/// credit. The ledger then no longer resends credits.
const PATIENCE: u32 = 100;

/// The credits given to the neighbour at one port (sent), and the credits taken from this neighbour (received). All
/// numbers of credits are modulo 2^32.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger {
    /// The last credit that was sent. Its field `taken` is the number of the last credit that was received.
    last: Credit,
    /// Number of the last credit that the neighbour has acknowledged.
    acknowledged: u32,
    /// The flows of the credits sent, in order. The last entry is the flow of credit number `last.given`. Entries of
    /// acknowledged credits are removed at the next tick.
    open: VecDeque<u32>,
    /// Number of the last credit that had been sent at each of the last two ticks. The later tick comes first.
    given_by_tick: [u32; 2],
    /// True if this end has received credits that it has not acknowledged.
    owes_word: bool,
    /// Number of ticks since the neighbour last sent a message or this end last sent a new credit, whichever is later.
    silent: u32,
}

impl Ledger {
    /// Makes the next credit for a flow, to be sent to the neighbour.
    #[inline]
    pub(super) fn give(&mut self, flow: u32) -> Credit {
        self.last.give(flow);
        self.open.push_back(flow);
        self.owes_word = false;
        self.silent = 0;
        self.last
    }

    /// Handles a received credit. Returns the flows that gain credit, the latest first. Returns no flow if the credit
    /// is a duplicate, or if more credits were lost than this credit can repair.
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

    /// Number of credits sent that the neighbour has not acknowledged.
    #[inline]
    fn unacknowledged(&self) -> u32 {
        self.last.given.wrapping_sub(self.acknowledged)
    }

    /// Resends the credits that are at least two ticks old and still unacknowledged. If there are no such credits,
    /// or if the neighbour is presumed gone, sends the acknowledgement that this end owes to the neighbour, if any.
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

    /// True if this end has no acknowledgement to send, and either awaits no acknowledgement or presumes that the
    /// neighbour is gone.
    #[inline]
    pub(super) fn is_settled(&self) -> bool {
        !self.owes_word && (self.unacknowledged() == 0 || self.silent >= PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::Stream;

    /// The credits and acknowledgements that a ledger sends at a tick.
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
        assert_eq!(far.take(&credits[2]), [0; 0], "a duplicate");
        assert_eq!(far.take(&credits[1]), [0; 0], "an outdated credit");
        assert_eq!(far.take(&credits[3]), [13]);
    }

    #[test]
    fn more_losses_are_repaired_at_the_third_tick() {
        let (mut near, mut far) = (Ledger::default(), Ledger::default());
        let credits: Vec<Credit> = (10..16).map(|flow| near.give(flow)).collect();
        assert_eq!(far.take(&credits[5]), [0; 0], "the credit does not name the first four flows");
        assert_eq!(
            (said(&mut near), said(&mut near)),
            (vec![], vec![]),
            "an acknowledgement of the neighbour may be in flight"
        );
        assert!(!near.is_settled());
        let again = said(&mut near);
        let taken: Vec<u32> =
            again.iter().flat_map(|credit| far.take(credit).iter().copied().rev()).collect();
        assert_eq!(taken, [10, 11, 12, 13, 14, 15]);
        let [word] = said(&mut far)[..] else { panic!("not one acknowledgement") };
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

    /// Two ends send credits for hundreds of flows over a link that loses half of all messages. The numbers of the
    /// credits wrap. Each end receives each credit once, in order.
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
