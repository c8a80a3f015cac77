//! All-to-all by pairwise exchange: each member exchanges data with each other member in a separate round.

use super::{Group, tag};
use crate::mpi::Step;

/// Each member sends each other member `bytes`.
pub fn alltoall(group: Group, bytes: u64) -> impl Iterator<Item = Step> + Send {
    alltoallv(group, move |_, _| bytes)
}

/// The member at place `a` sends the member at place `b` `bytes(a, b)`. If the number of members is a power of two, the
/// partner in round r is the place xor r. Otherwise a member sends to the place r further on and receives from the
/// place r before (specifications/cee.md §6.5).
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
