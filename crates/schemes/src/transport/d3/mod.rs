//! D3, deadline-driven delivery: flows request from the switches the rate that meets their deadline.
//!
//! Source: C. Wilson, H. Ballani, T. Karagiannis, A. Rowstron, "Better Never than Late: Meeting Deadlines in Datacenter
//! Networks", SIGCOMM 2011, §4 and §5, with the change that PDQ's authors made: no negative fair shares
//! (specifications/pdq.md §6).
//!
//! Once per round trip a sender puts a [request](raddle_wire::d3::Request) into a packet. Each [port](D3Port) on the
//! path writes its [grant](Controller) into the request. The sender paces the flow at the least of the grants that come
//! back. With the parameter `quench`, a flow that can no longer meet its deadline ends at once. If no flow has a
//! deadline, D3 works as RCP does.

mod controller;
mod port;
mod protocol;
mod scheme;

pub use crate::transport::adapted_capacity::Gains;
pub use controller::{Controller, Memory, Sums};
pub use port::D3Port;
pub(crate) use protocol::D3;
pub use scheme::TRANSPORT;
