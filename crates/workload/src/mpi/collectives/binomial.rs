//! Collectives along a binomial tree. Members are numbered from the root, which is member 0. The parent of member `r`
//! is the member whose number is `r` with the lowest set bit cleared.

use super::{Group, tag};
use crate::mpi::Step;

/// A member's position in the tree.
#[derive(Clone, Copy)]
struct Place {
    group: Group,
    root: u32,
    /// Number of positions from the root to the member, modulo the size of the group.
    relative: u32,
    /// Number of children. There is one child for each bit below the lowest set bit of `relative` (at the root, for
    /// each bit), provided that the child's number is less than the size of the group.
    children: u32,
}

/// The other end of an edge of the tree.
struct Edge {
    rank: u32,
    /// Number of members in the subtree at the edge's lower end.
    members: u64,
    tag: u32,
}

impl Place {
    #[allow(clippy::cast_possible_truncation, reason = "there are at most 31 children")]
    fn of(group: Group, root: u32) -> Self {
        let relative = (group.me() + group.size() - root) % group.size();
        let bits = if relative == 0 { u32::BITS } else { relative.trailing_zeros() };
        let children =
            (0..bits.min(31)).take_while(|bit| relative + (1 << bit) < group.size()).count() as u32;
        Self { group, root, relative, children }
    }

    /// Returns the edge to the child whose `relative` is this member's `relative` plus 2^`bit`.
    fn child(self, bit: u32) -> Edge {
        let child = self.relative + (1 << bit);
        self.edge(child, child, bit)
    }

    fn parent(self) -> Option<Edge> {
        let bit = (self.relative > 0).then(|| self.relative.trailing_zeros())?;
        Some(self.edge(self.relative - (1 << bit), self.relative, bit))
    }

    fn edge(self, end: u32, lower: u32, bit: u32) -> Edge {
        let members = (1 << bit).min(self.group.size() - lower);
        Edge { rank: self.group.rank(self.root + end), members: u64::from(members), tag: tag(bit) }
    }

    /// Returns the steps of a transfer to the root: the member receives from its children, the nearest position first,
    /// then sends to its parent.
    fn up(self, bytes: impl Fn(u64) -> u64 + Copy + Send) -> impl Iterator<Item = Step> + Send {
        let hear = move |bit| {
            let edge = self.child(bit);
            Step::default().receiving(edge.rank, bytes(edge.members), edge.tag)
        };
        let tell = move |edge: Edge| Step::default().sending(edge.rank, bytes(edge.members), edge.tag);
        (0..self.children).map(hear).chain(self.parent().map(tell))
    }

    /// Returns the steps of a transfer from the root: the member receives from its parent, then sends to its children,
    /// the most distant position first.
    fn down(self, bytes: impl Fn(u64) -> u64 + Copy + Send) -> impl Iterator<Item = Step> + Send {
        let hear = move |edge: Edge| Step::default().receiving(edge.rank, bytes(edge.members), edge.tag);
        let tell = move |bit| {
            let edge = self.child(bit);
            Step::default().sending(edge.rank, bytes(edge.members), edge.tag)
        };
        self.parent().map(hear).into_iter().chain((0..self.children).rev().map(tell))
    }
}

/// Broadcast: the member at position `root` sends the same `bytes` bytes to all members.
pub fn broadcast(group: Group, root: u32, bytes: u64) -> impl Iterator<Item = Step> + Send {
    Place::of(group, root).down(move |_| bytes)
}

/// Reduce: each member contributes `bytes` bytes. The contributions are combined on the way to the member at
/// position `root`.
pub fn reduce(group: Group, root: u32, bytes: u64) -> impl Iterator<Item = Step> + Send {
    Place::of(group, root).up(move |_| bytes)
}

/// Gather: the member at position `root` collects `bytes` bytes from each member.
pub fn gather(group: Group, root: u32, bytes: u64) -> impl Iterator<Item = Step> + Send {
    Place::of(group, root).up(move |members| members * bytes)
}

/// Scatter: the member at position `root` sends different data to each member, `bytes` bytes per member.
pub fn scatter(group: Group, root: u32, bytes: u64) -> impl Iterator<Item = Step> + Send {
    Place::of(group, root).down(move |members| members * bytes)
}
