//! Rings between machines, filled by one-sided writes (specifications/live.md §§1, 2: Maze's data rings).
//!
//! - [`ring`] is the logic of a data ring: what its ends write, and what they believe. It knows no network.
//! - `fabric`, with the feature `libfabric`, are one-sided writes over libfabric, and the ring's ends on top of them.

#[cfg(feature = "libfabric")]
pub mod fabric;
pub mod ring;
mod words;

pub use words::{WORD, Words};
