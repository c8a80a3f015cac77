//! The schemes: sans-IO state machines, a folder each, by the role that they play in a node, and the registry that lists them.

pub mod fluid;
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
