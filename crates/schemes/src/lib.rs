//! The schemes as sans-IO state machines in folders by role (`link`, `queue`, `routing` and `transport`), fluid models
//! of the schemes, and the registry that lists the schemes.

pub mod counter;
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
