//! Stops of flows, and their order: the order in which water-filling freezes flows.

#![allow(
    clippy::cast_possible_truncation,
    reason = "each cast extracts one field of a packed stop: the class, the level or the link slot"
)]

/// The value in place of a link slot if the stop is a flow's demand.
const DEMAND: u32 = u32::MAX;

/// The limit that stops a flow as the level (rate divided by weight) of its class rises: a link that fills
/// up, or the flow's demand.
///
/// Stops are ordered by class, level and link slot: links of equal level fill up one after another, in order of slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stop(u128);

impl Stop {
    /// A value that is ordered after all stops.
    pub(super) const NONE: Self = Self(u128::MAX);

    /// Returns the stop at which a link is full.
    pub(super) fn link(class: u8, level: u64, link: u32) -> Self {
        Self(u128::from(class) << 96 | u128::from(level) << 32 | u128::from(link))
    }

    /// Returns the stop at which a demand is met. The level [`u64::MAX`] stands for a demand that is never met.
    pub(super) fn demand(class: u8, level: u64) -> Self {
        Self::link(class, level, DEMAND)
    }

    /// Returns the last stop of a class, which stands for a demand that is never met.
    pub(super) fn never(class: u8) -> Self {
        Self::demand(class, u64::MAX)
    }

    pub(super) fn class(self) -> u8 {
        (self.0 >> 96) as u8
    }

    pub(super) fn level(self) -> u64 {
        (self.0 >> 32) as u64
    }

    /// Returns the slot of the link; `None` for a demand.
    pub(super) fn at(self) -> Option<u32> {
        Some(self.slot()).filter(|&slot| slot != DEMAND)
    }

    /// Returns the slot of the link, or [`DEMAND`], which is greater than all link slots.
    pub(super) fn slot(self) -> u32 {
        self.0 as u32
    }
}
