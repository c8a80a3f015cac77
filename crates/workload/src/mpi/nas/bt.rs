//! BT: block-tridiagonal solver by multipartition. The ranks form a square of n rows and n columns. Each dimension of
//! the cube of points is cut into n slabs. Each rank has one cell in every slab of every dimension, so all ranks
//! compute during every sweep.

use super::{Class, DOUBLE, measured};
use crate::WorkloadError;
use crate::mpi::step::after;
use crate::mpi::{Communication, Step, Steps};
use raddle_core::Duration;
use std::iter::once;

/// For each class: the number of points per dimension, and the number of time steps.
const CLASSES: [(u32, u32); 6] = [(12, 60), (24, 200), (64, 200), (102, 200), (162, 200), (408, 250)];
/// Computing time in ps per point and time step. It was measured in class A with 64 ranks: 4.6 ms for 64 x 64 x 64 / 64
/// points.
const WORK: u64 = 1_117_000;
/// Measured percentages of a time step's computation: update, right-hand side, forward sweeps, backward
/// sweeps.
const UPDATE: u64 = 6;
const RIGHT_HAND_SIDE: u64 = 11;
const FORWARD: u64 = 69;
const BACKWARD: u64 = 14;

/// Number of variables per point.
const VARIABLES: u64 = 5;
/// Number of coefficients per point, which a forward sweep sends in addition to the variables.
const COEFFICIENTS: u64 = VARIABLES * VARIABLES;
/// Number of layers of points that a cell copies from each of its neighbours.
const LAYERS: u64 = 2;

/// The skeleton of BT.
#[derive(Debug, Clone, Copy)]
pub struct Bt {
    class: Class,
    /// Number of slabs per dimension. It equals the number of ranks per row and per column.
    side: u32,
}

impl Bt {
    /// Creates the skeleton of BT on a square number of ranks.
    ///
    /// # Errors
    /// If the number of ranks is not a square of at least 4, or a cell would have fewer than 3 points per dimension.
    pub fn new(class: Class, ranks: u32) -> Result<Self, WorkloadError> {
        let side = ranks.isqrt();
        if side < 2 || side * side != ranks {
            let need = "a square number, at least 4, for BT";
            return Err(WorkloadError::parameter("number of ranks", &ranks, need));
        }
        if class.of(&CLASSES).0 / side < 3 {
            let need = "small enough that BT's cells have at least 3 points in each dimension";
            return Err(WorkloadError::parameter("number of ranks", &ranks, need));
        }
        Ok(Self { class, side })
    }

    /// Returns the neighbours of a rank, down and up in each dimension, with wrap-around. All cells of the
    /// rank have the same neighbours.
    fn neighbours(self, rank: u32) -> [[u32; 2]; 3] {
        let side = self.side;
        let (column, row) = (rank % side, rank / side);
        let at = |column: u32, row: u32| column % side + side * (row % side);
        let back = side - 1;
        [
            [at(column + back, row), at(column + 1, row)],
            [at(column, row + back), at(column, row + 1)],
            [at(column + 1, row + back), at(column + back, row + 1)],
        ]
    }

    /// Returns, for each dimension, the slab that contains a rank's cell with the number `cell`.
    /// From one cell of the rank to the next, the slab number increases in the first and the third
    /// dimension and decreases in the second.
    fn slabs(self, rank: u32, cell: u32) -> [u32; 3] {
        let side = self.side;
        [(rank % side + cell) % side, (rank / side + side - cell) % side, cell]
    }

    /// Returns the number of bytes that a rank sends up or down a dimension to fill the layers around its
    /// neighbour's cells.
    fn faces(self, rank: u32, axis: usize, up: bool) -> u64 {
        let (points, side) = (self.class.of(&CLASSES).0, self.side);
        let size = |slab: u32| u64::from(points / side + u32::from(slab < points % side));
        let outermost = if up { side - 1 } else { 0 };
        let cells = (0..side).map(|cell| self.slabs(rank, cell)).filter(|slabs| slabs[axis] != outermost);
        let area = |slabs: [u32; 3]| size(slabs[(axis + 1) % 3]) * size(slabs[(axis + 2) % 3]);
        cells.map(area).sum::<u64>() * LAYERS * VARIABLES * DOUBLE
    }

    /// Returns the step in which `rank` sends the layers around its neighbours' cells and receives the layers around
    /// its own cells.
    #[allow(clippy::cast_possible_truncation, reason = "the axis is 0, 1 or 2")]
    fn copy_faces(self, rank: u32) -> Step {
        let neighbours = self.neighbours(rank);
        (0..3).fold(Step::default(), |step, axis| {
            let [down, up] = neighbours[axis];
            let [falling, rising] = [2 * axis as u32, 2 * axis as u32 + 1];
            step.receiving(down, self.faces(down, axis, true), rising)
                .receiving(up, self.faces(up, axis, false), falling)
                .sending(up, self.faces(rank, axis, true), rising)
                .sending(down, self.faces(rank, axis, false), falling)
        })
    }

    /// Returns the steps of a sweep through the slabs of a dimension. In each slab, a rank computes on one cell for the
    /// time `compute`. Then it sends the cell's face of `bytes` bytes to the next rank, except after the last slab.
    fn sweep(
        self,
        [from, to]: [u32; 2],
        bytes: u64,
        tag: u32,
        compute: Duration,
    ) -> impl Iterator<Item = Step> {
        let last = self.side - 1;
        (0..=last).map(move |slab| {
            let step = Step::computing(compute);
            // The data for the next cell arrives while the results of this cell are sent.
            if slab < last { step.sending(to, bytes, tag).receiving(from, bytes, tag) } else { step }
        })
    }

    /// Returns the steps of the solution along a dimension: elimination upwards, then substitution downwards.
    #[allow(clippy::cast_possible_truncation, reason = "the axis is 0, 1 or 2")]
    fn solve(self, rank: u32, axis: usize, compute: Duration) -> impl Iterator<Item = Step> + Send {
        let [down, up] = self.neighbours(rank)[axis];
        // The buffers are sized for the largest cell of the class and are always sent whole.
        let face = u64::from(self.class.of(&CLASSES).0 / self.side + 1).pow(2);
        let part = |share: u64| compute * share / 100 / (3 * u64::from(self.side));
        let forward = face * (COEFFICIENTS + VARIABLES) * DOUBLE;
        let backward = face * VARIABLES * DOUBLE;
        let [eliminate, substitute] = [10 + 2 * axis as u32, 11 + 2 * axis as u32];
        self.sweep([down, up], forward, eliminate, part(FORWARD)).chain(self.sweep(
            [up, down],
            backward,
            substitute,
            part(BACKWARD),
        ))
    }
}

impl Communication for Bt {
    fn ranks(&self) -> u32 {
        self.side * self.side
    }

    fn iterations(&self) -> u32 {
        self.class.of(&CLASSES).1
    }

    fn compute(&self) -> Duration {
        let points = u64::from(self.class.of(&CLASSES).0).pow(3);
        measured(WORK, points / u64::from(self.ranks()))
    }

    fn iteration(&self, rank: u32, compute: Duration) -> Steps {
        let bt = *self;
        let solve = move |axis| bt.solve(rank, axis, compute);
        let update = Step::computing(compute * UPDATE / 100);
        let sweeps = after(compute * RIGHT_HAND_SIDE / 100, (0..3).flat_map(solve));
        Box::new(once(bt.copy_faces(rank)).chain(sweeps).chain(once(update)))
    }
}
