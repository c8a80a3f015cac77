//! Where switches send packets: routings, a folder each, and the parts that several of them share.

pub mod clairvoyant;
pub mod conga;
pub mod d_mod_k;
pub mod drill;
pub mod ecmp;
pub mod expeditus;
pub(crate) mod flow_hash;
pub(crate) mod flowlets;
pub mod hashed;
pub mod hula;
pub mod letflow;
pub mod next_hops;
pub mod pinned;
pub mod presto;
pub mod random_up;
pub mod reordering;
pub mod s_mod_k;
pub mod spray;
pub mod switch_ar;
pub(crate) mod up_down;
pub mod wcmp;
