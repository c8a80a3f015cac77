//! The schemes: sans-IO state machines, one folder each, and the registry that lists them.

pub mod conga;
pub mod ecmp;
pub mod expeditus;
mod flow_hash;
mod flowlets;
pub mod hula;
pub mod letflow;
mod lids;
pub mod next_hops;
pub mod parameter;
pub mod pfq;
pub mod r2c2;
pub mod r2c2_central;
mod reassembly;
pub mod registry;
mod rtt;
pub mod tcp;
