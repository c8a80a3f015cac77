//! The fold, by which an algorithm for a power of two serves any number of members: some of the first members give their
//! data to a neighbour. This neighbour takes part for both members and returns the result.

use super::{Group, tag};
use crate::mpi::Step;

/// Numbers of the two extra rounds. Members that do not take part send their data in round `FOLD`, and receive the
/// result in round `UNFOLD`.
const FOLD: u32 = 30;
const UNFOLD: u32 = 31;

/// The members that take part in the exchanges, from the view of one member.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fold {
    group: Group,
    /// Number of members that do not take part. Among the first `2 * folded` members, the members at even positions
    /// give their data to those at odd positions.
    folded: u32,
    /// Number of members that take part, a power of two.
    pub(super) members: u32,
    /// This member's place among those that take part. It has no meaning for a member that does not take part.
    pub(super) place: u32,
}

impl Fold {
    pub(super) fn of(group: Group) -> Self {
        let members = 1 << group.size().ilog2();
        let folded = group.size() - members;
        let me = group.me();
        let place = if me < 2 * folded { me / 2 } else { me - folded };
        Self { group, folded, members, place }
    }

    /// Returns the rank of the member at a place among those that take part.
    pub(super) fn rank(self, place: u32) -> u32 {
        self.group.rank(if place < self.folded { 2 * place + 1 } else { place + self.folded })
    }

    /// Returns the steps of this member: the exchanges, if it takes part, and what it gives to or takes from its
    /// neighbour before and after. These two messages have `bytes` bytes.
    pub(super) fn around(
        self,
        bytes: u64,
        exchanges: impl Iterator<Item = Step> + Send,
    ) -> impl Iterator<Item = Step> + Send {
        let (me, group) = (self.group.me(), self.group);
        let told = |peer: u32, round| Step::default().receiving(group.rank(peer), bytes, tag(round));
        let tells = |peer: u32, round| Step::default().sending(group.rank(peer), bytes, tag(round));
        let is_in_pair = me < 2 * self.folded;
        let hands_over = is_in_pair && me.is_multiple_of(2);
        let (before, after) = match (is_in_pair, hands_over) {
            (false, _) => (None, None),
            (true, true) => (Some(tells(me + 1, FOLD)), Some(told(me + 1, UNFOLD))),
            (true, false) => (Some(told(me - 1, FOLD)), Some(tells(me - 1, UNFOLD))),
        };
        let exchanges = (!hands_over).then_some(exchanges).into_iter().flatten();
        before.into_iter().chain(exchanges).chain(after)
    }
}
