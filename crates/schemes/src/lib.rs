//! The schemes: sans-IO state machines, one folder each, and the registry that lists them.

pub mod adapter;
mod addresses;
pub mod cee;
pub mod clairvoyant;
pub mod conga;
pub mod dcqcn;
pub mod drill;
pub mod ecmp;
pub mod expeditus;
mod five_tuple;
mod flow_hash;
mod flowlets;
pub mod hula;
pub mod letflow;
mod lids;
pub mod next_hops;
pub mod parameter;
pub mod pfc;
pub mod pfq;
pub mod presto;
pub mod qcn;
pub mod r2c2;
pub mod r2c2_central;
mod ranges;
mod reassembly;
mod recovering_rate;
pub mod registry;
pub mod reordering;
mod rtt;
pub mod spray;
pub mod strict;
pub mod switch_ar;
pub mod tcp;
#[cfg(test)]
mod testing;
pub mod udp;
pub mod wcmp;
