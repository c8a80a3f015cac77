//! Collectives by recursive doubling: in round k, counted from 0, members whose positions differ only in bit k
//! exchange all the data that they hold.

use super::{Group, rounds, tag};
use crate::mpi::Step;

/// All-reduce: each member contributes `bytes` bytes, and receives the combination of all contributions. If the number
/// of members is not a power of two, some of the first members give their data to a neighbour. This neighbour takes
/// part for both members and returns the result.
#[allow(clippy::cast_possible_truncation, reason = "there are at most 32 rounds")]
pub fn allreduce(group: Group, bytes: u64) -> impl Iterator<Item = Step> + Send {
    /// Numbers of the two extra rounds for members that do not take part in the exchanges. They send their
    /// data in round `FOLD` and receive the result in round `UNFOLD`.
    const FOLD: u32 = 30;
    const UNFOLD: u32 = 31;
    let doubled: u32 = 1 << group.size().ilog2();
    let folded = group.size() - doubled;
    let me = group.me();
    // Among the first 2 x `folded` members, the members at even positions give their data to those
    // at odd positions.
    let hands_over = me < 2 * folded && me.is_multiple_of(2);
    let takes_over = me < 2 * folded && !me.is_multiple_of(2);
    let told = |peer: u32, round| Step::default().receiving(group.rank(peer), bytes, tag(round));
    let tells = |peer: u32, round| Step::default().sending(group.rank(peer), bytes, tag(round));
    let before = hands_over.then(|| tells(me + 1, FOLD)).or_else(|| takes_over.then(|| told(me - 1, FOLD)));
    let after =
        hands_over.then(|| told(me + 1, UNFOLD)).or_else(|| takes_over.then(|| tells(me - 1, UNFOLD)));
    let place = if takes_over { me / 2 } else { me.saturating_sub(folded) };
    let exchanges = if hands_over { 0 } else { rounds(doubled).len() as u32 };
    let exchange = move |round| {
        let partner = place ^ (1_u32 << round);
        let peer = group.rank(if partner < folded { 2 * partner + 1 } else { partner + folded });
        Step::default().receiving(peer, bytes, tag(round)).sending(peer, bytes, tag(round))
    };
    before.into_iter().chain((0..exchanges).map(exchange)).chain(after)
}

/// All-gather: each member receives `bytes` bytes from every member.
///
/// # Panics
/// If the number of members is not a power of two. Bruck's algorithm and the ring have no such limit.
pub fn allgather(group: Group, bytes: u64) -> impl Iterator<Item = Step> + Send {
    assert!(
        group.size().is_power_of_two(),
        "the number of members must be a power of two (got {})",
        group.size()
    );
    rounds(group.size()).map(move |round| {
        let peer = group.rank(group.me() ^ (1 << round));
        let bytes = bytes << round;
        Step::default().receiving(peer, bytes, tag(round)).sending(peer, bytes, tag(round))
    })
}
