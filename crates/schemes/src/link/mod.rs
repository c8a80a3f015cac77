//! Control at the ports of links: flow control and congestion points.

pub(crate) mod addresses;
pub mod pfc;
pub(crate) mod qcn;
