//! The members of a communicator.

/// Ranks at a constant stride, from the view of one of these ranks: all ranks of a run, or a row or column of a grid of
/// ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    first: u32,
    stride: u32,
    size: u32,
    me: u32,
}

impl Group {
    /// Returns the group of all `ranks` ranks of a run, from the view of `rank`.
    #[must_use]
    pub fn world(rank: u32, ranks: u32) -> Self {
        Self { first: 0, stride: 1, size: ranks, me: rank }
    }

    /// Returns the group of `size` ranks that begins at rank `first` and has the given `stride`, from the
    /// view of the member at position `me`.
    #[must_use]
    pub fn every(stride: u32, first: u32, size: u32, me: u32) -> Self {
        Self { first, stride, size, me }
    }

    /// Returns the number of members.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns this member's position in the group, from 0.
    #[must_use]
    pub fn me(&self) -> u32 {
        self.me
    }

    /// Returns the rank of the member at position `place`. Positions wrap around at the size of the group.
    #[must_use]
    pub fn rank(&self, place: u32) -> u32 {
        self.first + self.stride * (place % self.size)
    }

    /// Returns the rank of the member `steps` positions after this member. The first member follows the last member.
    pub(super) fn after(&self, steps: u32) -> u32 {
        self.rank(self.me + steps)
    }

    /// Returns the rank of the member `steps` positions before this member. The last member precedes the first member.
    pub(super) fn before(&self, steps: u32) -> u32 {
        self.rank(self.me + self.size - steps % self.size)
    }
}
