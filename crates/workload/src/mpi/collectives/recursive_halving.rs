//! Collectives by recursive halving: members exchange half of the data that they still combine, first with the member
//! farthest away.

use super::fold::Fold;
use super::{Group, rounds, tag};
use crate::mpi::Step;

/// All-reduce, also known as Rabenseifner's algorithm: each member contributes `bytes` bytes, and receives the combination
/// of all contributions. The data is divided into one block per member. A reduce-scatter combines one block at each
/// member. Then the same exchanges in the opposite order give each member all blocks. If the number of members is not a
/// power of two, some of the first members give their data to a neighbour. This neighbour takes part for both members
/// and returns the result.
///
/// MPICH and Open MPI use this algorithm for long messages, because each member sends less than twice the data.
pub fn allreduce(group: Group, bytes: u64) -> impl Iterator<Item = Step> + Send {
    let fold = Fold::of(group);
    fold.around(bytes, exchanges(fold, bytes, 2 * rounds(fold.members).end))
}

/// Reduce-scatter: each member contributes `bytes` bytes, and receives its own block of the combination of all
/// contributions.
///
/// # Panics
/// If the number of members is not a power of two. The ring has no such limit.
pub fn reduce_scatter(group: Group, bytes: u64) -> impl Iterator<Item = Step> + Send {
    let members = group.size();
    assert!(members.is_power_of_two(), "the number of members must be a power of two (got {members})");
    exchanges(Fold::of(group), bytes, rounds(members).end)
}

/// The first `number` exchanges of an all-reduce.
#[allow(clippy::cast_possible_truncation, reason = "a part is at most as large as the data")]
fn exchanges(fold: Fold, bytes: u64, number: u32) -> impl Iterator<Item = Step> + Send {
    let half = rounds(fold.members).end;
    let end = move |block: u32| (u128::from(bytes) * u128::from(block) / u128::from(fold.members)) as u64;
    // Bytes of the `blocks` blocks, a power of two, among which is the block of the member at `place`.
    let part = move |place: u32, blocks: u32| {
        let first = place & !(blocks - 1);
        end(first + blocks) - end(first)
    };
    (0..number).map(move |round| {
        let is_halving = round < half;
        let distance = 1_u32 << if is_halving { half - 1 - round } else { round - half };
        let partner = fold.place ^ distance;
        let [mine, theirs] = [fold.place, partner].map(|place| part(place, distance));
        let (sent, heard) = if is_halving { (theirs, mine) } else { (mine, theirs) };
        let peer = fold.rank(partner);
        Step::default().receiving(peer, heard, tag(round)).sending(peer, sent, tag(round))
    })
}
