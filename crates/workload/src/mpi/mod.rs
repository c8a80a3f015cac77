//! What message-passing programs ask of a fabric: collective operations as messages, and the communication skeletons of
//! known programs, generated for any number of ranks (specs/cee.md §6.5). A skeleton's ranks are [`crate::goal`] programs.

pub mod collectives;
mod lower;
mod step;
#[cfg(test)]
mod testing;

pub use step::{Message, Step, Steps};
