//! The interface of applications whose communication can be generated.

use super::Steps;
use raddle_core::Duration;

/// The communication of a program: the steps of each rank before, in and after the main loop.
pub trait Communication: std::fmt::Debug + Send + Sync {
    /// Returns the number of ranks.
    fn ranks(&self) -> u32;

    /// Returns the number of iterations of the program's main loop.
    fn iterations(&self) -> u32;

    /// Returns the time that a rank computes in an iteration.
    fn compute(&self) -> Duration;

    /// Returns the steps of `rank` before the main loop. `compute` is the time that the rank computes in an iteration.
    fn opening(&self, _rank: u32, _compute: Duration) -> Steps {
        Box::new(std::iter::empty())
    }

    /// Returns the steps of `rank` in one iteration, in which it computes for `compute` in total.
    fn iteration(&self, rank: u32, compute: Duration) -> Steps;

    /// Returns the steps of `rank` after the main loop.
    fn closing(&self, _rank: u32) -> Steps {
        Box::new(std::iter::empty())
    }
}
