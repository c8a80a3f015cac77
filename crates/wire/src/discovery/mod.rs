//! Topology discovery (specifications/live.md §4): packets in which neighbours report the state of links.
//!
//! A [`Hello`] says that its sender is alive, and whether the sender hears the receiver. [`LinkStates`] say which links
//! have failed or recovered. They flood a change through the fabric, or tell a neighbour that missed some changes
//! everything that a node knows.

mod hello;
mod link_states;

pub use hello::Hello;
pub use link_states::{LinkState, LinkStates};
