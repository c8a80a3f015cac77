//! What is measured while a run goes on.

pub(crate) mod capture;
pub(crate) mod gather;
pub(crate) mod lossless;
pub(crate) mod queue_lengths;
pub(crate) mod ranks;
pub(crate) mod throughput;
pub(crate) mod uplinks;
