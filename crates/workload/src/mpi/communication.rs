//! What a skeleton is the skeleton of.

use super::Steps;
use raddle_core::Duration;

/// The communication of a program: what each rank does once, and again and again.
pub trait Communication: std::fmt::Debug + Send + Sync {
    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// How often the program goes round its main loop.
    fn iterations(&self) -> u32;

    /// How long a rank computes in an iteration.
    fn compute(&self) -> Duration;

    /// What `rank` does once before the main loop.
    fn opening(&self, _rank: u32, _compute: Duration) -> Steps {
        Box::new(std::iter::empty())
    }

    /// What `rank` does in an iteration, in which it computes for `compute` in all.
    fn iteration(&self, rank: u32, compute: Duration) -> Steps;

    /// What `rank` does once after the main loop.
    fn closing(&self, _rank: u32) -> Steps {
        Box::new(std::iter::empty())
    }
}
