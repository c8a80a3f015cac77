//! What the two ends of a link tell each other: flow control and congestion points.

pub(crate) mod addresses;
pub mod pfc;
pub(crate) mod qcn;
