//! The interface of applications whose communication can be generated.

use super::Steps;
use raddle_core::Duration;

/// The communication of a program: the steps of each rank before, in and after the main loop.
pub trait Communication: std::fmt::Debug + Send + Sync {
    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// Number of iterations of the program's main loop.
    fn iterations(&self) -> u32;

    /// Time that a rank computes in an iteration.
    fn compute(&self) -> Duration;

    /// The steps of `rank` before the main loop.
    fn opening(&self, _rank: u32, _compute: Duration) -> Steps {
        Box::new(std::iter::empty())
    }

    /// The steps of `rank` in one iteration, in which it computes for `compute` in total.
    fn iteration(&self, rank: u32, compute: Duration) -> Steps;

    /// The steps of `rank` after the main loop.
    fn closing(&self, _rank: u32) -> Steps {
        Box::new(std::iter::empty())
    }
}
