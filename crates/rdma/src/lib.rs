//! Data rings between machines. One-sided writes fill these rings (specifications/live.md §§1, 2: Maze's data rings).
//!
//! - [`ring`] is the logic of a data ring: the words that each end writes, and the checks of the words that each end
//!   reads. This logic is independent of the network.
//! - `fabric`, with the feature `libfabric`, implements one-sided writes over libfabric, and the ends of a ring that
//!   use these writes.

#[cfg(feature = "libfabric")]
pub mod fabric;
pub mod ring;
mod words;

pub use words::{WORD, Words};
