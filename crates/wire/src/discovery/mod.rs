//! Topology discovery (specs/live.md §4): what neighbours tell each other of links.
//!
//! A [`Hello`] says that its sender is alive and whether it hears the receiver. [`LinkStates`] say which links have failed
//! or recovered: a change that floods the fabric, or all that a node knows for a neighbour that missed some of it.

mod hello;
mod link_states;

pub use hello::Hello;
pub use link_states::{LinkState, LinkStates};
