//! Topology discovery (specifications/live.md §4): packets in which neighbours report the state of links.
//!
//! A [`Hello`] shows that its sender is alive, and states whether packets from the receiver reach
//! the sender. [`LinkStates`] list links that have failed or recovered. A node floods this packet
//! after a change. A node also sends its complete list to a neighbour that missed some changes.

mod hello;
mod link_states;

pub use hello::Hello;
pub use link_states::{LinkState, LinkStates};
