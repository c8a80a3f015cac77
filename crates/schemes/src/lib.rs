//! The schemes as sans-IO state machines, one folder each, grouped by their role in a node, and the registry that lists
//! them.

pub mod fluid;
pub mod halt;
pub mod link;
pub mod parameter;
pub mod profile;
pub mod queue;
pub mod registry;
pub mod routing;
pub mod scheme;
#[cfg(test)]
mod testing;
pub mod transport;
