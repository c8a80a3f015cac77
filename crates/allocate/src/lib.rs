//! Algorithms that compute rates: weighted max-min allocation of flows with a fixed split over links, and the
//! [selection] of the routing protocols that determine this split.
//!
//! On each link, a flow uses its rate times the expected number of times that one of its packets traverses the link.
//! Classes are served in order. Within a class, rates are max-min fair relative to the flows' weights, and no rate
//! exceeds the flow's demand (Costa et al., SIGCOMM 2015, §3.3; Bertsekas and Gallager, Data Networks, §6.5).

mod check;
mod flows;
mod fluid;
mod incremental;
mod max_min;
pub mod omniscient;
mod reference;
pub mod selection;
mod water_fill;
mod work;

pub use check::{Violation, check};
pub use flows::Flows;
pub use fluid::d3::{REFRESH, Reservation};
pub use fluid::multipath::Subflows;
pub use fluid::pdq::{Criticality, Measure, Probing, Rules};
pub use fluid::{Changes, Fluid, FluidFlow};
pub use incremental::{Incremental, RateTable};
pub use max_min::MaxMin;
pub use omniscient::Omniscient;
pub use reference::Reference;
pub use water_fill::WaterFill;

use raddle_core::Rate;

/// An algorithm that allocates rates.
pub trait Allocate {
    /// Sets `rates`, in bit/s and in the order of `flows`. `links` holds the usable capacity of each link
    /// slot, in bit/s.
    ///
    /// Equal inputs give bit-identical results. Nodes that must agree therefore have to put the flows in the same
    /// order. A flow that uses no link gets its demand.
    fn allocate(&mut self, flows: &Flows, links: &[f64], rates: &mut Vec<f64>);
}

/// Returns each link's capacity, in bit/s, if the share `headroom` of its rate is kept free.
#[must_use]
pub fn usable(links: &[Rate], headroom: f64) -> Vec<f64> {
    links.iter().map(|rate| rate.as_bps_f64() * (1.0 - headroom)).collect()
}

/// Relative difference within which two fill levels count as equal.
const TIE: f64 = 1e-9;

/// If earlier classes leave less than this share of a link's capacity, the remainder is rounding error.
const NOTHING: f64 = 1e-9;

#[cfg(test)]
mod tests;
