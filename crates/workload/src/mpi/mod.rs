//! Message-passing programs: collective operations as messages, and the communication skeletons of known programs, for
//! any number of ranks (specifications/cee.md §6.5). The ranks of a skeleton are [`crate::goal`] programs, generated
//! statement by statement as they are read.
//!
//! ```
//! use raddle_workload::mpi::nas::{Cg, Class};
//! use raddle_workload::mpi::{Skeleton, Traffic};
//! let skeleton = Skeleton { iterations: 2, ..Skeleton::new(Cg::new(Class::D, 128)?) };
//! let traffic = skeleton.traffic();
//! assert_eq!(traffic.largest(), 750_000);
//! # Ok::<(), raddle_workload::WorkloadError>(())
//! ```

pub mod collectives;
mod communication;
mod halo;
mod known;
mod lower;
pub mod nas;
mod skeleton;
mod step;
#[cfg(test)]
mod testing;
mod traffic;

pub use communication::Communication;
pub use halo::Halo;
pub use known::{KNOWN, Known};
pub use skeleton::Skeleton;
pub use step::{Message, Step, Steps};
pub use traffic::{Amount, Difference, Traffic};

use crate::WorkloadError;

/// Maximum number of ranks of a generated program.
const MOST_RANKS: u32 = 1 << 20;

/// Returns an error for fewer than 2 ranks or more than [`MOST_RANKS`].
fn check_ranks(ranks: u128) -> Result<(), WorkloadError> {
    if (2..=u128::from(MOST_RANKS)).contains(&ranks) {
        return Ok(());
    }
    Err(WorkloadError::parameter("number of ranks", &ranks, "2 to 1048576"))
}
