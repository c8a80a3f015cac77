//! D3, deadline-driven delivery: flows ask the switches for the rate that meets their deadline.
//!
//! Source: C. Wilson, H. Ballani, T. Karagiannis, A. Rowstron, "Better Never than Late: Meeting Deadlines in Datacenter
//! Networks", SIGCOMM 2011, §4 and §5, with the change of PDQ's authors (specifications/pdq.md §6).
//!
//! Once per round trip a sender puts a [request](raddle_wire::d3::Request) into a packet. Each [port](D3Port) on the
//! path writes its [grant](Controller) into the request. The sender paces at the least grant that comes back. A flow
//! that cannot meet its deadline any more ends at once. Without deadlines D3 is RCP.

mod controller;
mod port;
mod protocol;
mod scheme;

pub use crate::transport::adapted_capacity::Gains;
pub use controller::{Controller, Memory, Sums};
pub use port::D3Port;
pub(crate) use protocol::D3;
pub use scheme::TRANSPORT;
