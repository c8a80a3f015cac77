//! The routing schemes, one folder each, and the modules that several of them share.

pub mod clairvoyant;
pub mod conga;
pub(crate) mod d_mod_k;
pub(crate) mod drill;
pub mod ecmp;
pub mod expeditus;
pub mod flow_hash;
pub(crate) mod flowlets;
pub(crate) mod hashed;
pub mod hula;
pub(crate) mod letflow;
pub mod next_hops;
pub(crate) mod pinned;
pub(crate) mod presto;
pub(crate) mod random_up;
pub mod reordering;
pub(crate) mod s_mod_k;
pub(crate) mod spray;
pub(crate) mod switch_ar;
pub(crate) mod up_down;
pub(crate) mod wcmp;
