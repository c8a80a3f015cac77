//! What stops a flow, and when: the order in which water-filling freezes flows.

/// The link of a stop that is a flow's demand.
const DEMAND: u32 = u32::MAX;

/// What stops a flow as its class's level rises: a link that fills up, or its own demand.
///
/// Stops are ordered by class, level and link slot: links of equal level fill one after the other, by slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stop(u128);

impl Stop {
    /// After all stops.
    pub(super) const NONE: Self = Self(u128::MAX);

    /// A link is full at a level.
    pub(super) fn link(class: u8, level: u64, link: u32) -> Self {
        Self(u128::from(class) << 96 | u128::from(level) << 32 | u128::from(link))
    }

    /// A demand is met at a level; [`u64::MAX`] stands for a demand that never is.
    pub(super) fn demand(class: u8, level: u64) -> Self {
        Self::link(class, level, DEMAND)
    }

    /// After all stops of a class.
    pub(super) fn never(class: u8) -> Self {
        Self::demand(class, u64::MAX)
    }

    pub(super) fn class(self) -> u8 {
        (self.0 >> 96) as u8
    }

    pub(super) fn level(self) -> u64 {
        (self.0 >> 32) as u64
    }

    /// The slot of the link; `None` if it is a demand.
    pub(super) fn at(self) -> Option<u32> {
        Some(self.slot()).filter(|&slot| slot != DEMAND)
    }

    /// The slot of the link, or what stands for a demand, after all links.
    pub(super) fn slot(self) -> u32 {
        self.0 as u32
    }
}
