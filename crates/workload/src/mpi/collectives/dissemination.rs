//! The barrier by dissemination (Hensgen, Finkel and Manber, 1988): after round k everybody has heard of 2^(k+1) members.

use super::{Group, rounds, tag};
use crate::mpi::Step;

/// Nobody leaves before everybody has come.
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
