//! Skeletons of NAS Parallel Benchmarks 3.4 (MPI): the timed main loop alone, without set-up, the untimed first iteration
//! and verification. Partners and sizes follow the benchmarks' own decompositions; problem sizes and iterations are those
//! of their classes. How long a rank computes is measured: the median over the ranks of class B (BT: A) at 64 ranks on
//! cores of 2026, taken in proportion to the work of a rank.

mod bt;
mod cg;
mod ft;
mod is;
mod keys;
mod mg;
#[cfg(test)]
mod tests;

pub use bt::Bt;
pub use cg::Cg;
pub use ft::Ft;
pub use is::Is;
pub use mg::Mg;

use crate::WorkloadError;

/// Bytes of a double.
const DOUBLE: u64 = 8;
/// Bytes of a complex number of doubles.
const COMPLEX: u64 = 16;

/// A class of problem sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Sample.
    S,
    /// Workstation.
    W,
    /// Small.
    A,
    /// Four times A.
    B,
    /// Four times B.
    C,
    /// Sixteen times C.
    D,
}

impl Class {
    /// All classes with their letters, from the smallest.
    pub const ALL: [(&str, Self); 6] =
        [("S", Self::S), ("W", Self::W), ("A", Self::A), ("B", Self::B), ("C", Self::C), ("D", Self::D)];

    /// The row of this class in a table of all.
    fn of<T: Copy>(self, table: &[T; 6]) -> T {
        table[self as usize]
    }
}

/// Refuses what is no power of two, or a single rank, which has nobody to talk to.
fn power_of_two(ranks: u32) -> Result<u32, WorkloadError> {
    let good = ranks > 1 && ranks.is_power_of_two();
    let need = "a power of two from 2 on, as this benchmark's decomposition needs";
    good.then_some(ranks).ok_or_else(|| WorkloadError::parameter("number of ranks", &ranks, need))
}

/// A span that grows with the work: `ps` a unit.
fn measured(ps: u64, units: u64) -> raddle_core::Duration {
    raddle_core::Duration::from_ps(ps.saturating_mul(units))
}
