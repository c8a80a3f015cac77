//! Transports: the behaviour of hosts, and of the controllers, queues and forwarders that some transports add to ports
//! and nodes. There is one folder for each transport. The other modules are shared by several transports.

pub(crate) mod adapted_capacity;
pub(crate) mod adapter;
pub(crate) mod cee;
pub mod d3;
pub(crate) mod dcqcn;
pub(crate) mod explicit;
pub(crate) mod five_tuple;
pub(crate) mod go_back_n;
pub(crate) mod lids;
pub(crate) mod live_flows;
pub(crate) mod omniscient;
pub(crate) mod pdq;
pub(crate) mod pfq;
pub mod r2c2;
pub mod r2c2_central;
pub(crate) mod ranges;
pub mod rcp;
pub(crate) mod reassembly;
pub(crate) mod recovering_rate;
pub(crate) mod rtt;
pub(crate) mod tcp;
pub(crate) mod time_wait;
pub(crate) mod udp;
