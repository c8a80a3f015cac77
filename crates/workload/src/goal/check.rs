//! Checks a GOAL file in one pass before the simulation starts.

use super::order::Order;
use super::parse::{Block, read_head, read_rank};
use super::trace::{Counts, Place, Trace};
use super::{Line, Operation, Statement};
use raddle_core::text::Misread;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Checks the whole file, and stores in `trace` the position of each rank's block and the counts of operations and
/// messages.
pub(super) fn check(trace: &mut Trace, window: u64) -> Result<(), Misread> {
    let mut lexer = trace.lexer(Place { offset: 0, line: 1, column: 1 });
    let ranks = read_head(&mut lexer)?;
    let mut balance = Balance::default();
    for rank in 0..ranks {
        read_rank(&mut lexer, rank)?;
        trace.blocks.push(Place { offset: lexer.offset, line: lexer.line, column: lexer.column });
        let mut block = Block::new(lexer, rank, ranks);
        let counted = block.by_ref().inspect(|line| {
            if let Ok(Line { statement: Statement::Operation { operation, .. }, .. }) = line {
                trace.counts.count(operation);
                balance.count(rank, operation);
            }
        });
        run_alone(counted, window)
            .map_err(|error| Misread { problem: format!("in rank {rank}: {}", error.problem), ..error })?;
        lexer = block.lexer;
    }
    match balance.uneven() {
        None => Ok(()),
        Some(uneven) => Err(explain(trace, uneven)),
    }
}

/// Runs a rank's program as if every operation finished as soon as it begins. This finds all errors that do not depend
/// on the programs of other ranks.
fn run_alone(program: impl Iterator<Item = Result<Line, Misread>>, window: u64) -> Result<(), Misread> {
    let mut order = Order::new(program, window);
    while let Some((slot, _)) = order.begin()? {
        order.finish(slot);
    }
    match order.unfinished().first() {
        None => Ok(()),
        Some(step) => {
            let problem = "this operation can never begin: it is part of a cycle of dependencies, or waits \
                           for an operation in a cycle"
                .to_owned();
            Err(Misread { line: step.line, column: 1, problem })
        }
    }
}

impl Counts {
    fn count(&mut self, operation: &Operation) {
        self.operations += 1;
        if let Operation::Send { bytes, .. } = *operation {
            self.messages += 1;
            self.bytes = self.bytes.saturating_add(bytes);
            self.largest = self.largest.max(bytes);
        }
    }
}

/// Balance of sends and receives: for each pair of ranks, and for receives that accept any sender (`from -1`).
#[derive(Debug, Default)]
struct Balance {
    /// The balance of each pair of ranks, keyed by receiver and sender.
    pairs: FxHashMap<(u32, u32), Pair>,
    /// Number of receives that accept any sender, by receiver.
    from_any: BTreeMap<u32, i64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Pair {
    messages: i64,
    /// Sum of the fingerprints of the sends' tags minus the sum of the fingerprints of the receives' tags.
    /// The difference is 0 if each tag occurs equally often in sends and receives.
    tags: u64,
    /// True if at least one of the sends and receives has the tag -1, which matches every tag.
    any_tag: bool,
}

/// The ranks whose sends and receives do not match.
#[derive(Debug, Clone, Copy)]
enum Uneven {
    Pair { receiver: u32, sender: u32 },
    FromAny { receiver: u32 },
}

impl Balance {
    fn count(&mut self, rank: u32, operation: &Operation) {
        let (receiver, sender, tag, sign) = match *operation {
            Operation::Calc { .. } => return,
            Operation::Send { to, tag, .. } => (to, rank, tag, 1),
            Operation::Recv { from: Some(from), tag, .. } => (rank, from, tag, -1),
            Operation::Recv { from: None, .. } => {
                *self.from_any.entry(rank).or_default() += 1;
                return;
            }
        };
        let pair = self.pairs.entry((receiver, sender)).or_default();
        pair.messages += sign;
        match tag {
            None => pair.any_tag = true,
            Some(tag) if sign > 0 => pair.tags = pair.tags.wrapping_add(fingerprint(tag)),
            Some(tag) => pair.tags = pair.tags.wrapping_sub(fingerprint(tag)),
        }
    }

    /// Returns the first pair of ranks, in order of receiver and then of sender, whose sends and receives do not match.
    /// If the receiver has receives that accept any sender, a pair matches if it has no more receives than sends.
    /// Otherwise the numbers must be equal, also for each tag unless a send or receive has the tag -1. If all pairs
    /// match, returns the first receiver whose total number of receives differs from the number of messages sent to it.
    fn uneven(&self) -> Option<Uneven> {
        let mut left = self.from_any.clone();
        let mut pairs: Vec<_> = self.pairs.iter().collect();
        pairs.sort_unstable_by_key(|&(&ranks, _)| ranks);
        for (&(receiver, sender), pair) in pairs {
            let is_wrong = match left.get_mut(&receiver) {
                Some(left) => {
                    *left -= pair.messages;
                    pair.messages < 0
                }
                None => pair.messages != 0 || (pair.tags != 0 && !pair.any_tag),
            };
            if is_wrong {
                return Some(Uneven::Pair { receiver, sender });
            }
        }
        left.into_iter().find(|&(_, left)| left != 0).map(|(receiver, _)| Uneven::FromAny { receiver })
    }
}

/// Returns a pseudo-random number that depends only on the tag (SplitMix64). Sums over different sets of tags
/// are therefore almost certainly different.
fn fingerprint(tag: u32) -> u64 {
    let mut bits = (u64::from(tag) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Number of sends and receives with one tag between two ranks.
#[derive(Debug, Default)]
struct Tally {
    sends: u64,
    receives: u64,
    /// Line of the last send with the tag.
    send_line: usize,
    /// Line of the last receive with the tag.
    receive_line: usize,
}

/// Returns the error for a mismatch. The programs of a mismatched pair are read again to find the line to report.
fn explain(trace: &Trace, uneven: Uneven) -> Misread {
    let (receiver, sender) = match uneven {
        Uneven::FromAny { receiver } => {
            let Place { line, column, .. } = trace.blocks[receiver as usize];
            let problem =
                format!("rank {receiver} must receive as many messages as are sent to rank {receiver}");
            return Misread { line, column, problem };
        }
        Uneven::Pair { receiver, sender } => (receiver, sender),
    };
    let mut tags = BTreeMap::<Option<u32>, Tally>::new();
    let mut ranks = vec![sender, receiver];
    ranks.dedup();
    for rank in ranks {
        for line in trace.program(rank).map_while(Result::ok) {
            let Statement::Operation { operation, .. } = line.statement else { continue };
            match operation {
                Operation::Send { to, tag, .. } if rank == sender && to == receiver => {
                    let tally = tags.entry(tag).or_default();
                    tally.sends += 1;
                    tally.send_line = line.number;
                }
                Operation::Recv { from, tag, .. } if rank == receiver && from == Some(sender) => {
                    let tally = tags.entry(tag).or_default();
                    tally.receives += 1;
                    tally.receive_line = line.number;
                }
                _ => {}
            }
        }
    }
    let differs = tags.iter().find(|(_, tally)| tally.sends != tally.receives);
    let (&tag, &Tally { sends, receives, send_line, receive_line }) =
        differs.expect("at least one tag must have different numbers of sends and receives");
    let tag = tag.map_or_else(|| "any tag".to_owned(), |tag| format!("tag {tag}"));
    let line = if sends > receives { send_line } else { receive_line };
    let problem = format!(
        "rank {sender} sends {sends} messages with {tag} to rank {receiver}, but rank {receiver} receives \
         {receives}"
    );
    Misread { line, column: 1, problem }
}
