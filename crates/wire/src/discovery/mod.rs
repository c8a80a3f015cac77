//! Topology discovery (specifications/live.md §4): packets in which neighbours report the state of links.
//!
//! A [`Hello`] shows that its sender is alive, and states whether packets from the receiver reach the sender. A
//! [`LinkStates`] packet lists links that have failed or recovered. A node floods such a packet after a change. A
//! [`Hello`] also carries a digest of all link states that its sender knows. Neighbours whose digests differ send each
//! other all link states that they know.

mod hello;
mod link_states;

pub use hello::Hello;
pub use link_states::{LinkState, LinkStates};
