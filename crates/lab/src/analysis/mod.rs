//! Analyses that go beyond a single run: comparisons of engines, comparisons of runs, and two studies of R2C2 (the cost
//! of rate computations and the selection of routing).

pub mod agree;
pub(crate) mod compare;
pub(crate) mod path_selection;
pub mod rate_overhead;
pub mod select;
