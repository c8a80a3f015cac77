//! The interface between the flow engine and an allocation: the engine adds and removes flows, and the allocation
//! returns the rates that changed.
//!
//! An engine refers to flows by the slots that [`Fluid::insert`] returns. The engine stores the flows' rates and
//! computes when the flows end. Rates may also change between the engine's events: a flow overtakes another flow, or
//! can no longer meet its deadline. Each [`settle`](Fluid::settle) therefore returns the time at which the engine must
//! call it again, if there is such a time.

pub(crate) mod d3;
pub(crate) mod multipath;
pub(crate) mod pdq;
#[cfg(test)]
pub(crate) mod run;

use raddle_core::{Duration, Time};

/// A flow gives up if it would be late by more than this number of seconds. Smaller delays are rounding errors of times
/// in picoseconds.
pub(crate) const GRACE_S: f64 = 1e-9;

/// A flow as the engine inserts it into a policy.
#[derive(Debug, Clone, Copy)]
pub struct FluidFlow<'a> {
    /// The flow's position in the order of arrivals, which breaks ties; distinct for all live flows.
    pub order: u64,
    /// The flow's weight relative to other flows, above 0.
    pub weight: f64,
    /// The flow's class; class 0 is served first.
    pub class: u8,
    /// The maximum rate at which the flow can send, in bit/s on the wire (limited by its interface or application),
    /// or infinity.
    pub demand_bps: f64,
    /// Size of the flow, in bits on the wire, above 0.
    pub size_bits: f64,
    /// Deadline; [`Time::NEVER`] if the flow has none.
    pub due: Time,
    /// The round-trip time of the flow's path; above 0 if the policy lets flows probe.
    pub rtt: Duration,
    /// The links that the flow uses, with the expected traversals per packet (above 0).
    pub row: &'a [(u32, f32)],
}

/// The changes that a call of [`settle`](Fluid::settle) reports.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// Slots with their new rates, in bit/s on the wire, each slot once.
    pub rates: Vec<(usize, f64)>,
    /// Slots of flows that gave up because they cannot meet their deadlines. They have been removed, and their slots
    /// are free.
    pub given_up: Vec<usize>,
}

impl Changes {
    /// Removes all changes and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.rates.clear();
        self.given_up.clear();
    }
}

/// A policy that assigns rates to flows, which arrive, shrink as they send, and leave.
///
/// The times given to a policy never decrease. Changes of flows and capacities affect the rates from the next
/// [`settle`](Self::settle) on. Equal sequences of calls give bit-identical rates.
pub trait Fluid {
    /// Adds a flow and returns its slot. The slot belongs to the flow until the flow is removed or gives up.
    /// The rate is 0 until the next [`settle`](Self::settle), which reports the rate if it is not 0.
    fn insert(&mut self, now: Time, flow: FluidFlow<'_>) -> usize;

    /// Removes the flow in a slot because it is complete. The slot must contain a flow.
    ///
    /// # Panics
    /// May panic if there is no flow in the slot.
    fn remove(&mut self, now: Time, slot: usize);

    /// Sets a link's capacity, in bit/s. The capacity may not exceed the largest capacity of any link at the start.
    fn set_capacity(&mut self, now: Time, link: u32, bps: f64);

    /// Computes the rates at `now`. Adds to `changes` the rates that differ from the last reported rates, and the slots
    /// of flows that give up. Returns the next time at which the rates may change although no flow arrives or leaves
    /// and no capacity changes; `None` if there is no such time.
    fn settle(&mut self, now: Time, changes: &mut Changes) -> Option<Time>;
}
