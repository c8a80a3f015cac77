//! Collective operations as messages between ranks, by their standard algorithms (specifications/cee.md §6.5; Thakur,
//! Rabenseifner and Gropp, "Optimization of Collective Communication Operations in MPICH", 2005). Each function returns
//! the steps of one member.

mod algorithm;
pub mod binomial;
pub mod bruck;
pub mod dissemination;
mod fold;
mod group;
pub mod pairwise;
pub mod recursive_doubling;
pub mod recursive_halving;
pub mod ring;
#[cfg(test)]
mod tests;

pub use algorithm::{ALGORITHMS, Algorithm, Collective};
pub use group::Group;

/// Collectives use tags from this value on.
pub const TAGS: u32 = 1_000_000;

/// Returns the tag of a round. Later collectives may use the same tags, because messages of one pair and tag keep their
/// order.
fn tag(round: u32) -> u32 {
    TAGS + round
}

/// Returns the numbers of the rounds, from 0, of an algorithm that doubles a quantity from 1 until it reaches `size`.
fn rounds(size: u32) -> std::ops::Range<u32> {
    0..size.next_power_of_two().trailing_zeros()
}
