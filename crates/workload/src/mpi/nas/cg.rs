//! CG: conjugate gradients on a sparse matrix. The matrix is divided into blocks over a grid of ranks. The
//! grid has as many columns as rows, or twice as many.

use super::{Class, DOUBLE, measured, power_of_two};
use crate::WorkloadError;
use crate::mpi::step::after;
use crate::mpi::{Communication, Step, Steps};
use raddle_core::Duration;
use std::iter::once;

/// For each class: rows of the matrix, the benchmark's parameter NONZER, and outer iterations. The computing time
/// assumes (NONZER + 1)^2 stored nonzeros per row.
const CLASSES: [(u32, u64, u32); 6] = [
    (1_400, 7, 15),
    (7_000, 8, 15),
    (14_000, 11, 15),
    (75_000, 13, 75),
    (150_000, 15, 75),
    (1_500_000, 21, 100),
];
/// Number of inner iterations per outer iteration.
const INNER: u32 = 25;
/// Matrix-vector products per outer iteration: one per inner iteration, and one for the residual.
const PRODUCTS: u64 = INNER as u64 + 1;
/// Computing time in ps per stored nonzero and outer iteration. It was measured in class B with 64 ranks: 9.5 ms for
/// 75,000 x 14 x 14 / 64 nonzeros.
const WORK: u64 = 41_500;

/// The tag of the first round of scalar sums.
const SUM: u32 = 100;
/// The tag of round 0 of vector sums. Each round has its own tag.
const VECTOR: u32 = 200;
/// The tag of the exchange with the rank of the transposed block.
const TRANSPOSE: u32 = 300;

/// The skeleton of CG.
#[derive(Debug, Clone, Copy)]
pub struct Cg {
    class: Class,
    grid_rows: u32,
    grid_columns: u32,
}

impl Cg {
    /// Creates the skeleton of CG for a number of ranks that is a power of two.
    ///
    /// # Errors
    /// If the number of ranks is not a power of two of at least 2, or the grid has more columns than the matrix has
    /// rows.
    pub fn new(class: Class, ranks: u32) -> Result<Self, WorkloadError> {
        let grid_rows = 1 << (power_of_two(ranks)?.ilog2() / 2);
        let cg = Self { class, grid_rows, grid_columns: ranks / grid_rows };
        let (rows, ..) = class.of(&CLASSES);
        if cg.grid_columns > rows {
            return Err(WorkloadError::parameter(
                "number of ranks",
                &ranks,
                "small enough that the grid of ranks has no more columns than CG's matrix has rows",
            ));
        }
        Ok(cg)
    }

    /// Returns the size, in bytes, of the vector part that a rank holds after its row of ranks has summed the
    /// vector. This is the part that belongs to the rank's row of the grid. If there are twice as many
    /// columns as rows, two neighbouring ranks hold one half each.
    fn part(self, rank: u32) -> u64 {
        let (rows, ..) = self.class.of(&CLASSES);
        let row = rank / self.grid_columns;
        let size = rows / self.grid_rows + u32::from(row < rows % self.grid_rows);
        let held = match self.grid_columns == self.grid_rows {
            true => size,
            false if rank.is_multiple_of(2) => size.div_ceil(2),
            false => size / 2,
        };
        u64::from(held) * DOUBLE
    }

    /// Returns the partner with which a rank exchanges partial sums in a round. The number of rounds is the number of
    /// bits of a column's index. The partner of round 0 is the most distant.
    fn partner(self, rank: u32, round: u32) -> u32 {
        rank ^ (self.grid_columns >> (round + 1))
    }

    fn rounds(self) -> u32 {
        self.grid_columns.ilog2()
    }

    /// Returns the rank that holds the transpose of the given rank's block. This may be the given
    /// rank itself.
    fn transposed(self, rank: u32) -> u32 {
        let rows = self.grid_rows;
        if self.grid_columns == rows {
            rank % rows * rows + rank / rows
        } else {
            2 * (rank / 2 % rows * rows + rank / 2 / rows) + rank % 2
        }
    }

    /// Returns the steps, one per round, of a sum of scalars over a row of ranks. The scalars have `bytes` bytes.
    fn sum(self, rank: u32, bytes: u64) -> impl Iterator<Item = Step> + Send {
        (0..self.rounds()).map(move |round| {
            let peer = self.partner(rank, round);
            Step::default().receiving(peer, bytes, SUM + round).sending(peer, bytes, SUM + round)
        })
    }

    /// Returns the steps of a matrix-vector product, in which a rank computes for `compute`. The result is
    /// summed over the row of ranks, then exchanged with the rank of the transposed block.
    fn product(self, rank: u32, compute: Duration) -> impl Iterator<Item = Step> + Send {
        let held = self.part(rank);
        let exchanges = (0..self.rounds()).rev().map(move |round| {
            let (peer, tag) = (self.partner(rank, round), VECTOR + round);
            // Each rank sends the part that its partner will hold.
            Step::default().receiving(peer, held, tag).sending(peer, self.part(peer), tag)
        });
        let peer = self.transposed(rank);
        let transpose =
            Step::default().receiving(peer, self.part(peer), TRANSPOSE).sending(peer, held, TRANSPOSE);
        // By measurement, the product takes three quarters of the time, and vector operations take one
        // quarter.
        after(compute * 3 / 4, exchanges.chain(once(transpose)).chain(once(Step::computing(compute / 4))))
    }
}

impl Communication for Cg {
    fn ranks(&self) -> u32 {
        self.grid_rows * self.grid_columns
    }

    fn iterations(&self) -> u32 {
        self.class.of(&CLASSES).2
    }

    fn compute(&self) -> Duration {
        let (rows, nonzeros, _) = self.class.of(&CLASSES);
        let stored = u64::from(rows) * (nonzeros + 1) * (nonzeros + 1);
        measured(WORK, stored / u64::from(self.ranks()))
    }

    fn iteration(&self, rank: u32, compute: Duration) -> Steps {
        let cg = *self;
        let compute = compute / PRODUCTS;
        // In each inner iteration the ranks sum two dot products, one after the other: the search direction times the
        // matrix-vector product, and the new residual times itself.
        let inner = move |_| {
            let sums = cg.sum(rank, DOUBLE).chain(cg.sum(rank, DOUBLE));
            cg.product(rank, compute).chain(sums)
        };
        let residual = cg.product(rank, compute).chain(cg.sum(rank, DOUBLE));
        let norms = cg.sum(rank, 2 * DOUBLE);
        Box::new(cg.sum(rank, DOUBLE).chain((0..INNER).flat_map(inner)).chain(residual).chain(norms))
    }
}
