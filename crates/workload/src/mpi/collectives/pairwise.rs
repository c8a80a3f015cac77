//! All-to-all by pairwise exchange: in each round, a member sends to one member and receives from one member.

use super::{Group, tag};
use crate::mpi::Step;

/// All-to-all: each member sends `bytes` bytes to every other member.
pub fn alltoall(group: Group, bytes: u64) -> impl Iterator<Item = Step> + Send {
    alltoallv(group, move |_, _| bytes)
}

/// All-to-all with unequal sizes: the member at position `a` sends `bytes(a, b)` bytes to the member at
/// position `b`. Rounds are counted from 1. If the number of members is a power of two, the members at positions `a`
/// and `a` xor r exchange data in round r. Otherwise a member sends to the member r positions after it and receives
/// from the member r positions before it (specifications/cee.md §6.5).
pub fn alltoallv(group: Group, bytes: impl Fn(u32, u32) -> u64 + Send) -> impl Iterator<Item = Step> + Send {
    let (me, size) = (group.me(), group.size());
    (1..size).map(move |round| {
        let (from, to) = if size.is_power_of_two() {
            (me ^ round, me ^ round)
        } else {
            ((me + size - round) % size, (me + round) % size)
        };
        Step::default().receiving(group.rank(from), bytes(from, me), tag(round)).sending(
            group.rank(to),
            bytes(me, to),
            tag(round),
        )
    })
}
