//! Control between the two ends of a link: flow control and congestion points.

pub(crate) mod addresses;
pub mod pfc;
pub(crate) mod qcn;
