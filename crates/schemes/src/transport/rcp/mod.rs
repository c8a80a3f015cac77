//! RCP, the Rate Control Protocol: a switch assigns the same rate to all flows of a link.
//!
//! Source: N. Dukkipati, "Rate Control Protocol (RCP)", 2008, in the variant that the authors of PDQ (SIGCOMM 2012,
//! §5.1) made for their comparison: switches count flows exactly instead of estimating their number
//! (specifications/pdq.md §7).
//!
//! A sender writes the greatest rate that it can use into each packet. Every [port](RcpPort) on the path lowers the
//! rate to its [share](Controller). The receiver sends the resulting rate back, and the sender paces at that rate at
//! once. The rates are close to max-min fair.

mod controller;
mod port;
mod protocol;
mod scheme;

pub use crate::transport::adapted_capacity::Gains;
pub use controller::Controller;
pub use port::RcpPort;
pub(crate) use protocol::Rcp;
pub use scheme::TRANSPORT;
