//! RCP, the Rate Control Protocol: switches tell every flow of a link the same rate.
//!
//! Source: N. Dukkipati, "Rate Control Protocol (RCP)", 2008, as the authors of PDQ (SIGCOMM 2012, §5.1) optimised it for
//! their comparison: switches count flows exactly rather than estimate how many there are (specs/pdq.md §7). A sender
//! writes the most that it could use into each packet, every [port](RcpPort) on the way lowers that to its
//! [share](Controller), and the receiver sends back what is left, at which the sender paces at once. What comes near is
//! max-min fair.

mod controller;
mod port;
mod protocol;
mod scheme;

pub use crate::transport::adapted_capacity::Gains;
pub use controller::Controller;
pub use port::RcpPort;
pub(crate) use protocol::Rcp;
pub use scheme::TRANSPORT;
