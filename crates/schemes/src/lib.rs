//! The schemes: sans-IO state machines, one folder each, and the registry that lists them.

pub mod clairvoyant;
pub mod conga;
pub mod d_mod_k;
pub mod drill;
pub mod ecmp;
pub mod expeditus;
mod five_tuple;
mod flow_hash;
mod flowlets;
pub mod hashed;
pub mod hula;
pub mod letflow;
mod lids;
pub mod next_hops;
pub mod parameter;
pub mod pfq;
pub mod presto;
pub mod qcn;
pub mod r2c2;
pub mod r2c2_central;
pub mod random_up;
mod ranges;
mod reassembly;
pub mod registry;
pub mod reordering;
mod rtt;
pub mod s_mod_k;
pub mod spray;
pub mod tcp;
#[cfg(test)]
mod testing;
pub mod udp;
mod up_down;
pub mod wcmp;
