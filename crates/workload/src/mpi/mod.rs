//! What message-passing programs ask of a fabric: collective operations as messages, and the communication skeletons of
//! known programs, generated for any number of ranks (specs/cee.md §6.5). A skeleton's ranks are [`crate::goal`] programs.

mod application;
pub mod collectives;
mod lower;
pub mod nas;
mod step;
#[cfg(test)]
mod testing;

pub use application::Application;
pub use step::{Message, Step, Steps};
