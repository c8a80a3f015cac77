//! Measurements taken during a run.

pub(crate) mod capture;
pub(crate) mod gather;
mod intervals;
pub(crate) mod lossless;
pub(crate) mod queue_lengths;
pub(crate) mod rank_series;
pub(crate) mod ranks;
pub(crate) mod rate_series;
pub(crate) mod series;
pub(crate) mod throughput;
pub(crate) mod uplinks;
