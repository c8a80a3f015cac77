//! What hosts do: transports, a folder each, and the parts that several of them share.

pub mod adapted_capacity;
pub mod adapter;
pub mod cee;
pub mod d3;
pub mod dcqcn;
pub mod explicit;
pub(crate) mod five_tuple;
pub(crate) mod lids;
pub(crate) mod live_flows;
pub mod omniscient;
pub mod pdq;
pub mod pfq;
pub mod r2c2;
pub mod r2c2_central;
pub(crate) mod ranges;
pub mod rcp;
pub(crate) mod reassembly;
pub(crate) mod recovering_rate;
pub(crate) mod rtt;
pub mod tcp;
pub mod udp;
