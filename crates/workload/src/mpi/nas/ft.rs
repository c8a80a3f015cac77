//! FT: a three-dimensional Fourier transform. The points are divided into slabs, or into pencils if there are
//! more ranks than planes.

use super::{COMPLEX, Class, measured, power_of_two};
use crate::WorkloadError;
use crate::mpi::collectives::{Group, binomial, pairwise};
use crate::mpi::step::after;
use crate::mpi::{Communication, Steps};
use raddle_core::Duration;

/// For each class: points in each dimension, and iterations.
const CLASSES: [([u64; 3], u32); 6] = [
    ([64, 64, 64], 6),
    ([128, 128, 32], 6),
    ([256, 256, 128], 6),
    ([512, 256, 256], 20),
    ([512, 512, 512], 20),
    ([2048, 1024, 1024], 25),
];
/// Computing time in ps per point and iteration. It was measured in class B with 64 ranks: 18.8 ms for 512 x 256 x 256
/// / 64 points.
const WORK: u64 = 35_800;

/// The skeleton of FT.
#[derive(Debug, Clone, Copy)]
pub struct Ft {
    class: Class,
    /// Number of ranks in a group that transposes planes.
    planes: u32,
    /// Number of ranks in a group that transposes lines.
    lines: u32,
}

impl Ft {
    /// Creates the skeleton of FT for a number of ranks that is a power of two.
    ///
    /// # Errors
    /// If the number of ranks is not a power of two of at least 2, or exceeds the number of lines of the class's grid.
    #[allow(clippy::cast_possible_truncation, reason = "the number of planes is at most `ranks`, a `u32`")]
    pub fn new(class: Class, ranks: u32) -> Result<Self, WorkloadError> {
        let ([_, y, z], _) = class.of(&CLASSES);
        let planes = u64::from(power_of_two(ranks)?).min(z) as u32;
        let lines = ranks / planes;
        if u64::from(lines) > y {
            return Err(WorkloadError::parameter(
                "number of ranks",
                &ranks,
                "at most ny x nz, the number of grid lines along x",
            ));
        }
        Ok(Self { class, planes, lines })
    }

    fn points(self) -> u64 {
        let (points, _) = self.class.of(&CLASSES);
        points.iter().product::<u64>() / u64::from(self.planes * self.lines)
    }

    /// Returns the steps of a transform of all three dimensions: a part of the computation, a transposition,
    /// then the rest. With pencils, the rest includes a second transposition.
    fn transform(self, rank: u32, compute: Duration) -> Steps {
        let Self { planes, lines, .. } = self;
        let bytes = self.points() * COMPLEX;
        let transpose = move |group: Group| pairwise::alltoall(group, bytes / u64::from(group.size()));
        let across = Group::every(lines, rank % lines, planes, rank / lines);
        // By measurement, two fifths of the computation precede the first transposition, and three fifths follow it.
        let (first, rest) = (compute * 2 / 5, compute * 3 / 5);
        if lines == 1 {
            return Box::new(after(first, transpose(across)).chain(after(rest, std::iter::empty())));
        }
        let within = Group::every(1, rank / lines * lines, lines, rank % lines);
        let second = after(rest / 2, transpose(within)).chain(after(rest / 2, std::iter::empty()));
        Box::new(after(first, transpose(across)).chain(second))
    }
}

impl Communication for Ft {
    fn ranks(&self) -> u32 {
        self.planes * self.lines
    }

    fn iterations(&self) -> u32 {
        self.class.of(&CLASSES).1
    }

    fn compute(&self) -> Duration {
        measured(WORK, self.points())
    }

    /// Returns the steps of the forward transform.
    fn opening(&self, rank: u32, compute: Duration) -> Steps {
        self.transform(rank, compute)
    }

    /// Returns the steps of an inverse transform and a checksum.
    fn iteration(&self, rank: u32, compute: Duration) -> Steps {
        let world = Group::world(rank, self.ranks());
        Box::new(self.transform(rank, compute).chain(binomial::reduce(world, 0, COMPLEX)))
    }
}
