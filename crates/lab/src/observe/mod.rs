//! Measurements taken during a run.

pub(crate) mod capture;
pub(crate) mod gather;
mod intervals;
pub(crate) mod lossless;
pub(crate) mod queue_lengths;
pub(crate) mod ranks;
pub(crate) mod series;
pub(crate) mod throughput;
pub(crate) mod uplinks;
