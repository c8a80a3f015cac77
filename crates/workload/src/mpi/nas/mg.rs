//! MG: multigrid on a cube with wrap-around, divided into blocks. On each level, the ranks exchange the faces
//! of their blocks. On levels with fewer points than ranks in a dimension, some ranks have no points. On the
//! next finer level, these ranks receive data from neighbours that have points on the coarser level.

use super::{Class, DOUBLE, measured, power_of_two};
use crate::WorkloadError;
use crate::mpi::collectives::{Group, recursive_doubling};
use crate::mpi::step::after;
use crate::mpi::{Communication, Step, Steps};
use raddle_core::Duration;

/// For each class: binary logarithm of the points per dimension, and iterations.
const CLASSES: [(u32, u32); 6] = [(5, 4), (7, 4), (8, 4), (8, 20), (9, 20), (10, 50)];
/// Computing time in ps per point of the finest level and iteration. It was measured in class B with 64 ranks: 4.8 ms
/// for 256 x 256 x 256 / 64 points.
const WORK: u64 = 18_400;

/// The skeleton of MG.
#[derive(Debug, Clone, Copy)]
pub struct Mg {
    class: Class,
    /// Number of ranks in each dimension.
    grid: [u32; 3],
}

/// A rank's position in one dimension of a level.
#[derive(Debug, Clone, Copy)]
struct Axis {
    /// Number of planes of the rank's block. Two of these planes are copies of the neighbours' planes.
    planes: u64,
    /// The nearest ranks with points on this level, down and up the dimension, with wrap-around.
    neighbours: [u32; 2],
    /// True if the rank has points on this level.
    present: bool,
    /// True if the rank also has points on the next coarser level, but its neighbours on this level have no points
    /// there.
    gives: bool,
    /// True if the rank has points on this level but none on the next coarser level.
    takes: bool,
}

impl Mg {
    /// Creates the skeleton of MG for a number of ranks that is a power of two.
    ///
    /// # Errors
    /// If the number of ranks is not a power of two of at least 2, or a dimension has more ranks than points.
    pub fn new(class: Class, ranks: u32) -> Result<Self, WorkloadError> {
        let bits = power_of_two(ranks)?.ilog2();
        let x = bits / 3;
        let y = (bits - x) / 2;
        let z = bits - x - y;
        if z > class.of(&CLASSES).0 {
            let need = "small enough that no dimension has more ranks than grid points";
            return Err(WorkloadError::parameter("number of ranks of MG", &ranks, need));
        }
        Ok(Self { class, grid: [1 << x, 1 << y, 1 << z] })
    }

    /// Returns the number of the finest level. On level `k`, a dimension has 2^k points.
    fn finest(self) -> u32 {
        self.class.of(&CLASSES).0
    }

    /// Returns the position of a rank on a level, by dimension. Level 1 is the coarsest.
    fn axes(self, rank: u32, level: u32) -> [Axis; 3] {
        let [x, y, _] = self.grid;
        let place = [rank % x, rank / x % y, rank / (x * y)];
        std::array::from_fn(|axis| {
            let (size, at) = (self.grid[axis], place[axis]);
            // If a dimension has fewer points than ranks, each point belongs to the last rank of a group of `spacing`
            // ranks.
            let spacing = |level: u32| (size >> level).max(1);
            let present = |level: u32| (at + 1).is_multiple_of(spacing(level));
            let points = if present(level) { (1 << level) / u64::from(size / spacing(level)) } else { 0 };
            let neighbour = |steps: u32| {
                let mut there = place;
                there[axis] = (at + steps) % size;
                there[0] + x * (there[1] + y * there[2])
            };
            let below = level - 1;
            let thinner = below > 0 && spacing(below) > 1;
            Axis {
                planes: 2 + points,
                neighbours: [neighbour(size - spacing(level) % size), neighbour(spacing(level))],
                present: present(level),
                gives: thinner && present(below),
                takes: thinner && present(level) && !present(below),
            }
        })
    }

    /// Returns the steps in which a rank computes on a level and then, if it has points there, exchanges the faces of
    /// its block, one dimension after another.
    fn exchange(self, rank: u32, level: u32, compute: Duration) -> impl Iterator<Item = Step> + Send {
        let axes = self.axes(rank, level);
        let present = axes.iter().all(|axis| axis.present);
        let faces = (0..3).filter(move |_| present).map(move |axis: usize| {
            let [down, up] = axes[axis].neighbours;
            // The faces include the copied planes of dimensions that have already been exchanged.
            let bytes = DOUBLE
                * match axis {
                    0 => (axes[1].planes - 2) * (axes[2].planes - 2),
                    1 => axes[0].planes * (axes[2].planes - 2),
                    _ => axes[0].planes * axes[1].planes,
                };
            let [falling, rising] = tags(axis);
            Step::default()
                .receiving(down, bytes, rising)
                .receiving(up, bytes, falling)
                .sending(up, bytes, rising)
                .sending(down, bytes, falling)
        });
        // In an iteration, each level is computed and exchanged three times, except the coarsest level: twice. A level
        // has an eighth of the points of the next finer level. All levels together therefore take about
        // 3 * 8/7 = 24/7 times as long as one computation of the finest level.
        after(compute * 7 / 24 / (1 << (3 * (self.finest() - level))), faces)
    }

    /// Returns the steps in which ranks with points on the next coarser level send interpolated planes to neighbours
    /// without points there.
    fn give(self, rank: u32, level: u32) -> impl Iterator<Item = Step> + Send {
        let axes = self.axes(rank, level);
        (0..3).filter_map(move |axis: usize| {
            let Axis { neighbours: [down, up], gives, takes, .. } = axes[axis];
            let plane = DOUBLE * axes[(axis + 1) % 3].planes * axes[(axis + 2) % 3].planes;
            let [falling, rising] = tags(axis);
            let step = Step::default();
            if gives {
                Some(step.sending(up, 2 * plane, rising).sending(down, plane, falling))
            } else {
                takes.then(|| step.receiving(down, 2 * plane, rising).receiving(up, plane, falling))
            }
        })
    }

    /// Returns the steps of one descent to the coarsest level and back, and of the residual on the finest
    /// level.
    fn cycle(self, rank: u32, compute: Duration) -> impl Iterator<Item = Step> + Send {
        let finest = self.finest();
        let exchange = move |level| self.exchange(rank, level, compute);
        // On the way down: the residual of each level except the finest, then one smoothing on the coarsest
        // level.
        let down = (1..finest).rev().flat_map(exchange).chain(exchange(1));
        // On the way up: interpolation, residual, smoothing.
        let rise = move |level| self.give(rank, level).chain(exchange(level)).chain(exchange(level));
        down.chain((2..=finest).flat_map(rise)).chain(exchange(finest))
    }

    /// Returns the steps that compute the norms of the residual. One norm needs a sum over all ranks, and the other
    /// norm a maximum.
    fn norms(self, rank: u32) -> impl Iterator<Item = Step> + Send {
        let world = Group::world(rank, self.ranks());
        (0..2).flat_map(move |_| recursive_doubling::allreduce(world, DOUBLE))
    }
}

/// Returns the tags of messages that go down and up a dimension.
#[allow(clippy::cast_possible_truncation, reason = "the axis is 0, 1 or 2")]
fn tags(axis: usize) -> [u32; 2] {
    [2 * axis as u32, 2 * axis as u32 + 1]
}

impl Communication for Mg {
    fn ranks(&self) -> u32 {
        self.grid.iter().product()
    }

    fn iterations(&self) -> u32 {
        self.class.of(&CLASSES).1
    }

    fn compute(&self) -> Duration {
        measured(WORK, (1 << (3 * self.finest())) / u64::from(self.ranks()))
    }

    fn opening(&self, rank: u32, compute: Duration) -> Steps {
        Box::new(self.exchange(rank, self.finest(), compute).chain(self.norms(rank)))
    }

    fn iteration(&self, rank: u32, compute: Duration) -> Steps {
        Box::new(self.cycle(rank, compute))
    }

    fn closing(&self, rank: u32) -> Steps {
        Box::new(self.norms(rank))
    }
}
