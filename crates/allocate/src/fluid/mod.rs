//! What the flow engine asks of an allocation: flows come and go, and it hears whose rates changed.
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
    /// What it has to send, in bits on the wire, above 0.
    pub size_bits: f64,
    /// When it should be complete; [`Time::NEVER`] if that does not matter.
    pub due: Time,
    /// The round-trip time of its path, above 0 where the policy has flows that probe.
    pub rtt: Duration,
    /// The links that it uses, with the expected traversals a packet (above 0).
    pub row: &'a [(u32, f32)],
}

/// What a [`settle`](Fluid::settle) changed.
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
/// Times given to one policy never fall, and a settle at the same time follows what comes and goes. Equal histories give
/// equal bits.
pub trait Fluid {
    /// Adds a flow and returns its slot, which stays its own until it is removed or gives up. It has rate 0 until the
    /// next [`settle`](Self::settle), which reports its rate if that is not 0.
    fn insert(&mut self, now: Time, flow: FluidFlow<'_>) -> usize;

    /// Removes the flow in a slot: it is complete.
    ///
    /// # Panics
    /// If there is none.
    fn remove(&mut self, now: Time, slot: usize);

    /// Sets what a link can carry, in bit/s. No capacity may be larger than the largest was at first.
    fn set_capacity(&mut self, now: Time, link: u32, bps: f64);

    /// Works out the rates as of now, and adds to `changes` those that differ from what was last reported. Returns when
    /// to settle again if nothing comes or goes before; `None` if rates then stay what they are.
    fn settle(&mut self, now: Time, changes: &mut Changes) -> Option<Time>;
}
