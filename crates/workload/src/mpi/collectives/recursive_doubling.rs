//! Collectives by recursive doubling: in round k, counted from 0, members whose positions differ only in bit k
//! exchange all the data that they hold.

use super::fold::Fold;
use super::{Group, rounds, tag};
use crate::mpi::Step;

/// All-reduce: each member contributes `bytes` bytes, and receives the combination of all contributions. If the number
/// of members is not a power of two, some of the first members give their data to a neighbour. This neighbour takes
/// part for both members and returns the result.
pub fn allreduce(group: Group, bytes: u64) -> impl Iterator<Item = Step> + Send {
    let fold = Fold::of(group);
    let exchange = move |round| {
        let peer = fold.rank(fold.place ^ (1_u32 << round));
        Step::default().receiving(peer, bytes, tag(round)).sending(peer, bytes, tag(round))
    };
    fold.around(bytes, rounds(fold.members).map(exchange))
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
