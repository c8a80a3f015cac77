//! Collective algorithms by name, and programs that run one of them repeatedly.

use super::{Group, binomial, bruck, dissemination, pairwise, recursive_doubling, recursive_halving, ring};
use crate::WorkloadError;
use crate::mpi::check_ranks;
use crate::mpi::step::after;
use crate::mpi::{Communication, Steps};
use raddle_core::Duration;

/// An algorithm for a collective operation.
#[derive(Debug, Clone, Copy)]
pub struct Algorithm {
    /// The name of the collective operation.
    pub operation: &'static str,
    /// The name of the algorithm.
    pub name: &'static str,
    /// True if the algorithm requires the number of ranks to be a power of two.
    pub powers_of_two: bool,
    steps: fn(Group, u64) -> Steps,
}

/// All algorithms. The first algorithm listed for an operation is its default in experiments. The root of each tree is
/// the first rank.
pub const ALGORITHMS: [Algorithm; 15] = [
    algorithm("barrier", "dissemination", |group, _| Box::new(dissemination::barrier(group))),
    algorithm("broadcast", "binomial", |group, bytes| Box::new(binomial::broadcast(group, 0, bytes))),
    algorithm("reduce", "binomial", |group, bytes| Box::new(binomial::reduce(group, 0, bytes))),
    algorithm("gather", "binomial", |group, bytes| Box::new(binomial::gather(group, 0, bytes))),
    algorithm("scatter", "binomial", |group, bytes| Box::new(binomial::scatter(group, 0, bytes))),
    algorithm("allreduce", "recursive_doubling", |group, bytes| {
        Box::new(recursive_doubling::allreduce(group, bytes))
    }),
    algorithm("allreduce", "recursive_halving", |group, bytes| {
        Box::new(recursive_halving::allreduce(group, bytes))
    }),
    algorithm("allreduce", "ring", |group, bytes| Box::new(ring::allreduce(group, bytes))),
    algorithm("allgather", "ring", |group, bytes| Box::new(ring::allgather(group, bytes))),
    algorithm("allgather", "bruck", |group, bytes| Box::new(bruck::allgather(group, bytes))),
    Algorithm {
        powers_of_two: true,
        ..algorithm("allgather", "recursive_doubling", |group, bytes| {
            Box::new(recursive_doubling::allgather(group, bytes))
        })
    },
    algorithm("reduce_scatter", "ring", |group, bytes| Box::new(ring::reduce_scatter(group, bytes))),
    Algorithm {
        powers_of_two: true,
        ..algorithm("reduce_scatter", "recursive_halving", |group, bytes| {
            Box::new(recursive_halving::reduce_scatter(group, bytes))
        })
    },
    algorithm("alltoall", "pairwise", |group, bytes| Box::new(pairwise::alltoall(group, bytes))),
    algorithm("alltoall", "bruck", |group, bytes| Box::new(bruck::alltoall(group, bytes))),
];

const fn algorithm(operation: &'static str, name: &'static str, steps: fn(Group, u64) -> Steps) -> Algorithm {
    Algorithm { operation, name, powers_of_two: false, steps }
}

impl Algorithm {
    /// Returns the algorithms for a collective operation. The first algorithm is the default.
    pub fn of(operation: &str) -> impl Iterator<Item = Self> {
        ALGORITHMS.into_iter().filter(move |algorithm| algorithm.operation == operation)
    }

    /// Returns the steps of one member of `group`. [`Collective::new`] says what `bytes` means.
    pub(in crate::mpi) fn steps(&self, group: Group, bytes: u64) -> Steps {
        (self.steps)(group, bytes)
    }
}

/// A program in which all ranks perform one collective operation repeatedly.
#[derive(Debug, Clone, Copy)]
pub struct Collective {
    algorithm: Algorithm,
    ranks: u32,
    bytes: u64,
}

impl Collective {
    /// Creates a program with one operation per iteration. `bytes` is the number of bytes that each rank
    /// contributes, or that each rank receives from the root. For all-to-all, it is the number of bytes that each rank
    /// sends to every other rank. A barrier ignores `bytes`.
    ///
    /// # Errors
    /// If there are fewer than 2 ranks or more than 2^20, if the algorithm needs a number of ranks that is a power of
    /// two and `ranks` is not, or if `bytes` times `ranks` exceeds 2^60.
    pub fn new(algorithm: Algorithm, ranks: u32, bytes: u64) -> Result<Self, WorkloadError> {
        let refuse = |need| Err(WorkloadError::parameter("number of ranks", &ranks, need));
        check_ranks(ranks.into())?;
        if algorithm.powers_of_two && !ranks.is_power_of_two() {
            return refuse("a power of two for this algorithm");
        }
        if u128::from(bytes) * u128::from(ranks) > 1 << 60 {
            return Err(WorkloadError::parameter(
                "size",
                &bytes,
                "at most 2^60 bytes divided by the number of ranks",
            ));
        }
        Ok(Self { algorithm, ranks, bytes })
    }
}

impl Communication for Collective {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn iterations(&self) -> u32 {
        1
    }

    fn compute(&self) -> Duration {
        Duration::ZERO
    }

    fn iteration(&self, rank: u32, compute: Duration) -> Steps {
        Box::new(after(compute, self.algorithm.steps(Group::world(rank, self.ranks), self.bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::testing::play;
    use crate::mpi::{Skeleton, Step};

    #[test]
    fn all_algorithms_come_to_their_end() {
        for algorithm in ALGORITHMS {
            let collective = Collective::new(algorithm, 8, 1_000).unwrap();
            play(8, |rank| collective.iteration(rank, Duration::ZERO));
            let first = collective.iteration(3, Duration::from_ns(5)).next();
            assert_eq!(first, Some(Step::computing(Duration::from_ns(5))));
            assert!(Skeleton::new(collective).traffic().total().messages >= 7, "{algorithm:?}");
        }
    }

    #[test]
    fn ranks_that_an_algorithm_cannot_have_are_refused() {
        for algorithm in ALGORITHMS {
            assert!(Collective::new(algorithm, 1, 8).is_err());
            assert_eq!(Collective::new(algorithm, 12, 8).is_err(), algorithm.powers_of_two);
            assert!(Collective::new(algorithm, 8, 1 << 57).is_ok());
            assert!(Collective::new(algorithm, 8, (1 << 57) + 1).is_err());
        }
    }
}
