//! Collectives around a ring, in which each member sends to the next member. These algorithms send the fewest
//! bytes per link, but their number of rounds grows in proportion to the number of members.

use super::{Group, tag};
use crate::mpi::Step;

/// All-gather: each member receives `bytes` bytes from every member. In the first round a member sends its own block.
/// In each later round it forwards the block that it received in the round before.
pub fn allgather(group: Group, bytes: u64) -> impl Iterator<Item = Step> + Send {
    (1..group.size()).map(move |round| pass(group, round, bytes, bytes))
}

/// All-reduce: each member contributes `bytes` bytes, and receives the combination of all contributions. The data is
/// divided into one part per member. The parts are combined during the first pass around the ring and distributed
/// during the second pass.
pub fn allreduce(group: Group, bytes: u64) -> impl Iterator<Item = Step> + Send {
    passes(group, bytes, 2 * group.size().saturating_sub(1), 0)
}

/// Reduce-scatter: each member contributes `bytes` bytes, and receives its own part of the combination of all
/// contributions. The parts are combined during one pass around the ring.
pub fn reduce_scatter(group: Group, bytes: u64) -> impl Iterator<Item = Step> + Send {
    passes(group, bytes, group.size().saturating_sub(1), 1)
}

/// In round r, a member sends the part that is r + `behind` positions before its own part. It receives the part
/// that precedes the sent part.
#[allow(clippy::cast_possible_truncation, reason = "a part is at most as large as the data")]
fn passes(group: Group, bytes: u64, rounds: u32, behind: u32) -> impl Iterator<Item = Step> + Send {
    let members = u64::from(group.size());
    let part = move |place: u64| {
        let end = |part: u64| (u128::from(bytes) * u128::from(part) / u128::from(members)) as u64;
        let part = place % members;
        end(part + 1) - end(part)
    };
    (0..rounds).map(move |round| {
        let sent = u64::from(group.me()) + 2 * members - u64::from(round + behind);
        pass(group, round, part(sent), part(sent - 1))
    })
}

fn pass(group: Group, round: u32, sent: u64, heard: u64) -> Step {
    Step::default().receiving(group.before(1), heard, tag(round)).sending(group.after(1), sent, tag(round))
}
