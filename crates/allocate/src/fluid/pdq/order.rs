//! The order of flows: PDQ's comparator, and the criteria that replace the remaining time if flow sizes are not known.

use super::Criticality;
use raddle_core::{Stream, Time};

/// The criterion that orders flows of one class with the same deadline: the flow with the smaller value is more
/// critical.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure {
    /// Time that the flow would still need if it were alone: shortest remaining time first.
    Remaining,
    /// A random number, drawn once per flow.
    Random {
        /// The run's seed.
        seed: u64,
    },
    /// The number of whole steps of bits that the flow has sent: a flow counts as short until it has sent
    /// many bits.
    Sent {
        /// Size of a step in bits on the wire, above 0.
        step_bits: f64,
    },
}

impl Measure {
    /// Returns the initial value of `Member::measure` for a flow. [`Measure::Remaining`] does not use this value.
    pub(super) fn at_first(self, order: u64) -> u64 {
        match self {
            Self::Remaining | Self::Sent { .. } => 0,
            Self::Random { seed } => Stream::new(seed, order, "criticality").bits(),
        }
    }
}

/// A flow's position in the order at a given time, unique to the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    class: u8,
    due: Time,
    measure: u64,
    order: u64,
}

impl Key {
    /// A key that is ordered before the keys of all flows.
    pub(super) const FIRST: Self = Self { class: 0, due: Time::ZERO, measure: 0, order: 0 };
}

impl Criticality {
    /// Returns a flow's position in the order at `now`. While a flow is paused, its position does not change.
    pub(super) fn key(&self, now: Time, flow: u32) -> Key {
        let flow = &self.flows[flow as usize];
        let measure = match self.rules.measure {
            // Non-negative floats have the same order as their bits, read as integers.
            Measure::Remaining => flow.alone_s(now).to_bits(),
            Measure::Random { .. } | Measure::Sent { .. } => flow.measure,
        };
        Key { class: flow.class, due: flow.due, measure, order: flow.order }
    }
}
