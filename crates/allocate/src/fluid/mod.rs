//! The interface between the flow engine and an allocation: the engine adds and removes flows, and the allocation
//! returns the rates that changed.
//!
//! An engine knows flows by the slots that [`Fluid::insert`] gives them. It holds their rates, and so knows when they
//! end; between its own events a policy may have changes of its own (a flow overtakes another, a deadline can no longer
//! be met), so each [`settle`](Fluid::settle) says when to settle again at the latest.

pub(crate) mod d3;
pub(crate) mod multipath;
pub(crate) mod pdq;
#[cfg(test)]
pub(crate) mod run;

use raddle_core::{Duration, Time};

/// A flow is given up if it would be late by more than this, in seconds: less is the rounding of times to picoseconds.
pub(crate) const GRACE_S: f64 = 1e-9;

/// A flow as it enters the fluid world.
#[derive(Debug, Clone, Copy)]
pub struct FluidFlow<'a> {
    /// Its place in the order of arrivals, which breaks ties; no two live flows have the same.
    pub order: u64,
    /// Its share relative to others, above 0.
    pub weight: f64,
    /// Its class, 0 first.
    pub class: u8,
    /// The most it can send, in bit/s on the wire (its interface, its application), or infinity.
    pub demand_bps: f64,
    /// Size of the flow, in bits on the wire, above 0.
    pub size_bits: f64,
    /// When it should be complete; [`Time::NEVER`] if that does not matter.
    pub due: Time,
    /// The round-trip time of its path, above 0 where the policy has flows that probe.
    pub rtt: Duration,
    /// The links that it uses, with the expected traversals a packet (above 0).
    pub row: &'a [(u32, f32)],
}

/// The changes of a [`settle`](Fluid::settle).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// Slots with their new rates, in bit/s on the wire, each slot once.
    pub rates: Vec<(usize, f64)>,
    /// Slots of flows that gave up as they cannot meet their deadlines. They are no longer there: their slots are free.
    pub given_up: Vec<usize>,
}

impl Changes {
    /// Forgets all changes and keeps the memory.
    pub fn clear(&mut self) {
        self.rates.clear();
        self.given_up.clear();
    }
}

/// Rates of flows that come, go, and shrink as they send.
///
/// The times given to a policy never decrease. After flows have come or gone, a settle follows at the same time. Equal
/// histories give rates that are equal bit by bit.
pub trait Fluid {
    /// Adds a flow and returns its slot, which stays its own until it is removed or gives up. It has rate 0 until the
    /// next [`settle`](Self::settle), which reports its rate if that is not 0.
    fn insert(&mut self, now: Time, flow: FluidFlow<'_>) -> usize;

    /// Removes the flow in a slot because it is complete.
    ///
    /// # Panics
    /// If there is no flow in the slot.
    fn remove(&mut self, now: Time, slot: usize);

    /// Sets a link's capacity, in bit/s. It may not exceed the largest capacity of any link at the start.
    fn set_capacity(&mut self, now: Time, link: u32, bps: f64);

    /// Computes the rates as of now, and adds to `changes` those that differ from the last reported rates. Returns the time
    /// of the next settle if no flow comes or goes before; `None` if the rates then stay the same.
    fn settle(&mut self, now: Time, changes: &mut Changes) -> Option<Time>;
}
