//! IS: integer sort by buckets. The ranks sum the bucket counts, assign buckets to ranks, and send keys to
//! each other.

use super::keys::histograms;
use super::{Class, measured, power_of_two};
use crate::WorkloadError;
use crate::mpi::collectives::{Algorithm, Group, pairwise, recursive_doubling};
use crate::mpi::step::after;
use crate::mpi::{Communication, Steps};
use raddle_core::Duration;
use std::sync::Arc;

/// Binary logarithms of the number of keys and of the number of buckets, for each class.
const CLASSES: [(u32, u32); 6] = [(16, 9), (20, 10), (23, 10), (25, 10), (27, 10), (31, 10)];
/// Number of iterations, the same for all classes.
const ITERATIONS: u32 = 10;
/// Number of keys looked up for verification. Their counts are sent with the bucket counts.
const TESTED: u64 = 5;
/// Number of bytes of each key, and of each count.
const INTEGER: u64 = 4;
/// Computing time in ps per key and iteration. It was measured in class B with 64 ranks: 2.2 ms for 2^25 / 64 keys.
const WORK: u64 = 4_200;

/// The skeleton of IS.
#[derive(Debug, Clone)]
pub struct Is {
    class: Class,
    ranks: u32,
    /// Bytes that rank `i` sends to rank `j`, at index `i * ranks + j`.
    bytes: Arc<[u64]>,
    /// The algorithm that sums the bucket counts; recursive doubling if `None`.
    sums: Option<Algorithm>,
}

impl Is {
    /// Creates the skeleton of IS for a number of ranks that is a power of two. The keys are drawn as in the benchmark,
    /// which takes about ten seconds for class D.
    ///
    /// # Errors
    /// If the number of ranks is not a power of two of at least 2, or exceeds the number of buckets.
    pub fn new(class: Class, ranks: u32) -> Result<Self, WorkloadError> {
        let (key_bits, bucket_bits) = class.of(&CLASSES);
        if power_of_two(ranks)? > 1 << bucket_bits {
            return Err(WorkloadError::parameter(
                "number of ranks",
                &ranks,
                "at most the number of IS's buckets: 512 in class S, 1024 in the other classes",
            ));
        }
        let histograms = histograms(key_bits, bucket_bits, ranks);
        let owners = share(&histograms, (1 << key_bits) / u64::from(ranks));
        let mut bytes = vec![0; (ranks * ranks) as usize];
        for (row, counts) in bytes.chunks_mut(ranks as usize).zip(&histograms) {
            for (&owner, &count) in owners.iter().zip(counts) {
                row[owner] += u64::from(count) * INTEGER;
            }
        }
        Ok(Self { class, ranks, bytes: bytes.into(), sums: None })
    }

    /// The same skeleton, with this algorithm for all-reduce, or recursive doubling if it is `None`. MPICH sums vectors of more than 2,048
    /// bytes by `recursive_halving`, and the bucket counts take more than that.
    #[must_use]
    pub fn with_sums(self, sums: Option<Algorithm>) -> Self {
        Self { sums, ..self }
    }
}

/// Returns the rank that owns each bucket. Buckets are assigned in order. A rank gets buckets until it and the ranks
/// before it have at least `share` keys per rank. The last rank gets all remaining buckets.
fn share(histograms: &[Vec<u32>], share: u64) -> Vec<usize> {
    let buckets = histograms[0].len();
    let (mut owner, mut keys) = (0, 0);
    let mut owner_of = |bucket: usize| {
        let mine = owner;
        keys += histograms.iter().map(|counts| u64::from(counts[bucket])).sum::<u64>();
        if keys >= (owner as u64 + 1) * share {
            owner += 1;
        }
        mine.min(histograms.len() - 1)
    };
    (0..buckets).map(&mut owner_of).collect()
}

impl Communication for Is {
    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn iterations(&self) -> u32 {
        ITERATIONS
    }

    fn compute(&self) -> Duration {
        measured(WORK, (1 << self.class.of(&CLASSES).0) / u64::from(self.ranks))
    }

    fn iteration(&self, rank: u32, compute: Duration) -> Steps {
        let world = Group::world(rank, self.ranks);
        let buckets: u64 = 1 << self.class.of(&CLASSES).1;
        let size = (buckets + TESTED) * INTEGER;
        let sums: Steps = match self.sums {
            Some(algorithm) => algorithm.steps(world, size),
            None => Box::new(recursive_doubling::allreduce(world, size)),
        };
        let counts = pairwise::alltoall(world, INTEGER);
        let (bytes, ranks) = (Arc::clone(&self.bytes), self.ranks);
        let keys = pairwise::alltoallv(world, move |from, to| bytes[(from * ranks + to) as usize]);
        Box::new(after(compute, sums).chain(counts).chain(keys))
    }
}
