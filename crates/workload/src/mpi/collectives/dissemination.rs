//! Dissemination barrier (Hensgen, Finkel and Manber, 1988). After round k, counted from 0, each member knows that
//! 2^(k+1) members, or all members, have arrived.

use super::{Group, rounds, tag};
use crate::mpi::Step;

/// Barrier: no member leaves before all members have entered.
pub fn barrier(group: Group) -> impl Iterator<Item = Step> + Send {
    rounds(group.size()).map(move |round| {
        let distance = 1 << round;
        Step::default().receiving(group.before(distance), 1, tag(round)).sending(
            group.after(distance),
            1,
            tag(round),
        )
    })
}
