//! Traffic between ranks. Computed figures of message sizes use it. Tests compare the traffic of a skeleton with the
//! traffic of a recorded trace.

use crate::goal::{Operation, Statement};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The number and the total size of some messages, for example of all messages from one rank to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// Number of messages.
    pub messages: u64,
    /// Number of bytes of these messages. A message of 0 bytes counts as one byte, because it is sent as one
    /// byte.
    pub bytes: u64,
}

/// The messages of programs, by pair of ranks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Messages by sender and receiver.
    pairs: BTreeMap<(u32, u32), Amount>,
    largest: u64,
}

/// A pair of ranks between which the traffic of two programs differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// Messages from `from` to `to` in the first program.
    pub here: Amount,
    /// Messages from `from` to `to` in the other program.
    pub there: Amount,
}

impl Traffic {
    /// Counts a statement of a rank's program if the statement is a send.
    pub fn count(&mut self, rank: u32, statement: &Statement) {
        if let Statement::Operation { operation: Operation::Send { bytes, to, .. }, .. } = *statement {
            let bytes = bytes.max(1);
            let pair = self.pairs.entry((rank, to)).or_default();
            pair.messages += 1;
            pair.bytes += bytes;
            self.largest = self.largest.max(bytes);
        }
    }

    /// Returns the pairs of ranks (sender, receiver) with at least one message, in order.
    pub fn pairs(&self) -> impl Iterator<Item = ((u32, u32), Amount)> {
        self.pairs.iter().map(|(&pair, &amount)| (pair, amount))
    }

    /// Returns the sum over all pairs.
    #[must_use]
    pub fn total(&self) -> Amount {
        self.pairs.values().fold(Amount::default(), |sum, amount| Amount {
            messages: sum.messages + amount.messages,
            bytes: sum.bytes + amount.bytes,
        })
    }

    /// Returns the mean bytes per message, 0 if there are no messages.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let Amount { messages, bytes } = self.total();
        if messages == 0 { 0.0 } else { bytes as f64 / messages as f64 }
    }

    /// Returns the number of bytes of the largest message, 0 if there are no messages.
    #[must_use]
    pub fn largest(&self) -> u64 {
        self.largest
    }

    /// Returns the pairs of ranks, in order, whose numbers of messages or of bytes differ by more than `tolerance`
    /// times the larger number.
    #[must_use]
    pub fn differences(&self, other: &Self, tolerance: f64) -> Vec<Difference> {
        let pairs: BTreeSet<_> = self.pairs.keys().chain(other.pairs.keys()).copied().collect();
        let of = |traffic: &Self, pair| traffic.pairs.get(&pair).copied().unwrap_or_default();
        let differ = |a: u64, b: u64| a.abs_diff(b) as f64 > tolerance * a.max(b) as f64;
        let compare = |pair: (u32, u32)| {
            let (here, there) = (of(self, pair), of(other, pair));
            let differs = differ(here.messages, there.messages) || differ(here.bytes, there.bytes);
            differs.then_some(Difference { from: pair.0, to: pair.1, here, there })
        };
        pairs.into_iter().filter_map(compare).collect()
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, here, there } = self;
        write!(
            f,
            "rank {from} to rank {to}: the first program sends {} messages with {} B in total",
            here.messages, here.bytes
        )?;
        write!(f, ", and the other program sends {} messages with {} B in total", there.messages, there.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(sends: &[(u32, u32, u64)]) -> Traffic {
        let mut traffic = Traffic::default();
        for &(from, to, bytes) in sends {
            let operation = Operation::Send { bytes, to, tag: None };
            traffic.count(from, &Statement::Operation { label: None, cpu: 0, operation });
        }
        traffic
    }

    #[test]
    fn only_sent_messages_count() {
        let mut traffic = traffic(&[(0, 1, 100), (0, 1, 0), (1, 0, 299)]);
        let receive = Operation::Recv { bytes: 5_000, from: None, tag: None };
        traffic.count(0, &Statement::Operation { label: None, cpu: 0, operation: receive });
        assert_eq!(traffic.total(), Amount { messages: 3, bytes: 400 });
        assert_eq!(traffic.pairs().next(), Some(((0, 1), Amount { messages: 2, bytes: 101 })));
        assert_eq!((traffic.largest(), Traffic::default().mean()), (299, 0.0));
        assert!((traffic.mean() - 400.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn pairs_differ_in_messages_in_bytes_or_in_being_there() {
        let here = traffic(&[(0, 1, 100), (1, 2, 100), (2, 3, 100), (3, 4, 50), (3, 4, 50)]);
        let there = traffic(&[(0, 1, 109), (1, 2, 112), (3, 4, 100), (4, 5, 1)]);
        let differ: Vec<_> = here.differences(&there, 0.1).iter().map(ToString::to_string).collect();
        let expected = [
            "rank 1 to rank 2: the first program sends 1 messages with 100 B in total, and the other program \
             sends 1 messages with 112 B in total",
            "rank 2 to rank 3: the first program sends 1 messages with 100 B in total, and the other program \
             sends 0 messages with 0 B in total",
            "rank 3 to rank 4: the first program sends 2 messages with 100 B in total, and the other program \
             sends 1 messages with 100 B in total",
            "rank 4 to rank 5: the first program sends 0 messages with 0 B in total, and the other program \
             sends 1 messages with 1 B in total",
        ];
        assert_eq!(differ, expected);
        assert!(here.differences(&here, 0.0).is_empty());
    }
}
