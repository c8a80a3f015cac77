//! All-to-all by pairwise exchange: every member meets every other in a round of its own.

use super::{Group, tag};
use crate::mpi::Step;

/// Everybody gives everybody `bytes` of their own.
pub fn alltoall(group: Group, bytes: u64) -> impl Iterator<Item = Step> + Send {
    alltoallv(group, move |_, _| bytes)
}

/// The member at one place gives the member at another `bytes(one, other)`. Round r: among powers of two the member whose
/// place differs by an exclusive or with r, else r places on and r places back (specs/cee.md §6.5).
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
