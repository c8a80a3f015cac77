//! Skeletons of the NAS Parallel Benchmarks 3.4 (MPI). Each skeleton contains only the timed main loop and, in FT and
//! MG, the timed steps next to it. It omits set-up, the untimed first iteration and verification. Partners and sizes
//! follow the benchmarks' own decompositions. Problem sizes and numbers of iterations follow the benchmarks' classes.
//! Computing times are measured and scaled by the work per rank. The measured value is the median over the 64 ranks of
//! a run of class B (BT: class A) on processor cores of the year 2026.

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

/// Bytes of a double-precision number.
const DOUBLE: u64 = 8;
/// Bytes of a complex number in double precision.
const COMPLEX: u64 = 16;

/// A class of problem sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The sample class, the smallest class.
    S,
    /// The workstation class.
    W,
    /// The smallest standard class.
    A,
    /// About four times the size of class A.
    B,
    /// About four times the size of class B.
    C,
    /// About sixteen times the size of class C.
    D,
}

impl Class {
    /// All classes with their letters, from the smallest.
    pub const ALL: [(&str, Self); 6] =
        [("S", Self::S), ("W", Self::W), ("A", Self::A), ("B", Self::B), ("C", Self::C), ("D", Self::D)];

    /// Returns the entry of this class in a table with one entry per class.
    fn of<T: Copy>(self, table: &[T; 6]) -> T {
        table[self as usize]
    }
}

/// Returns an error unless `ranks` is a power of two and at least 2: a single rank has no partner.
fn power_of_two(ranks: u32) -> Result<u32, WorkloadError> {
    let good = ranks > 1 && ranks.is_power_of_two();
    let need = "a power of two of at least 2 for this benchmark";
    good.then_some(ranks).ok_or_else(|| WorkloadError::parameter("number of ranks", &ranks, need))
}

/// Returns the time for `units` units of work, if one unit takes `ps` picoseconds.
fn measured(ps: u64, units: u64) -> raddle_core::Duration {
    raddle_core::Duration::from_ps(ps.saturating_mul(units))
}
