//! Collectives round a ring, each member sending to the next: the least bytes a link, in as many rounds as members.

use super::{Group, tag};
use crate::mpi::Step;

/// Everybody has the `bytes` of all: in each round a member passes on what it last heard.
pub fn allgather(group: Group, bytes: u64) -> impl Iterator<Item = Step> + Send {
    (1..group.size()).map(move |round| pass(group, round, bytes, bytes))
}

/// Everybody has `bytes` combined from all: they are cut into a part a member, the parts are combined on one way round,
/// and handed out on another.
pub fn allreduce(group: Group, bytes: u64) -> impl Iterator<Item = Step> + Send {
    let members = u64::from(group.size());
    let part = move |place: u64| {
        let end = |part: u64| (u128::from(bytes) * u128::from(part) / u128::from(members)) as u64;
        let part = place % members;
        end(part + 1) - end(part)
    };
    (0..2 * group.size().saturating_sub(1)).map(move |round| {
        // In round r a member passes on the part r places before its own, and hears the one before that.
        let sent = u64::from(group.me()) + 2 * members - u64::from(round);
        pass(group, round, part(sent), part(sent - 1))
    })
}

fn pass(group: Group, round: u32, sent: u64, heard: u64) -> Step {
    Step::default().receiving(group.before(1), heard, tag(round)).sending(group.after(1), sent, tag(round))
}
