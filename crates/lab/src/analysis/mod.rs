//! Analyses of experiments other than running them: comparisons between engines and between runs, and studies of one
//! paper.

pub mod agree;
pub(crate) mod compare;
pub mod rate_overhead;
pub mod select;
