//! The algorithms of Bruck, Ho, Kipnis, Upfal and Weathersby (1997), which need the fewest rounds for any
//! number of members.

use super::{Group, rounds, tag};
use crate::mpi::Step;

/// All-gather: each member receives `bytes` bytes from every member. The data that a member holds doubles in each
/// round, except that the last round may add less.
pub fn allgather(group: Group, bytes: u64) -> impl Iterator<Item = Step> + Send {
    rounds(group.size()).map(move |round| {
        let distance: u32 = 1 << round;
        let bytes = bytes * u64::from(distance.min(group.size() - distance));
        let (from, to) = (group.after(distance), group.before(distance));
        Step::default().receiving(from, bytes, tag(round)).sending(to, bytes, tag(round))
    })
}

/// All-to-all: each member sends `bytes` bytes to every other member. A block is the data of one pair of members. The
/// distance of a block is the number of positions from its original sender to its receiver. In round k, counted from 0,
/// a member forwards the blocks whose distance has bit k set.
pub fn alltoall(group: Group, bytes: u64) -> impl Iterator<Item = Step> + Send {
    rounds(group.size()).map(move |round| {
        let distance: u32 = 1 << round;
        let blocks = (0..group.size()).filter(|block| block & distance != 0).count() as u64;
        let (from, to) = (group.before(distance), group.after(distance));
        Step::default().receiving(from, bytes * blocks, tag(round)).sending(to, bytes * blocks, tag(round))
    })
}
