//! Analyses that go beyond the results of a single run. Two analyses compare runs and engines. Two analyses are of
//! R2C2: the cost of rate computations, and the selection of routing protocols for flows. Another analysis is of the
//! time that Expeditus takes to select paths.

pub mod agree;
pub(crate) mod compare;
pub(crate) mod path_selection;
pub mod rate_overhead;
pub mod select;
