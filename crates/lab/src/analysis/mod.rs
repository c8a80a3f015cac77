//! Analyses that go beyond the results of a single run: comparisons of runs and of engines, the cost of R2C2's rate
//! computations, R2C2's selection of routing protocols for flows, and the time that Expeditus takes to select paths.

pub mod agree;
pub(crate) mod compare;
pub(crate) mod path_selection;
pub mod rate_overhead;
pub mod select;
