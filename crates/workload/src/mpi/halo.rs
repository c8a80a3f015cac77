//! Halo exchange: neighbours on a grid of ranks exchange the borders of their blocks of data. The patterns
//! of WRF, NAMD, LISO and the flow around an aircraft are reconstructions, since the traces of these programs
//! are not public. Sizes follow from the published mean and largest messages (specifications/cee.md §6.5,
//! Table II) or from the size of a known problem. Computing times are assumptions.

use super::collectives::{Group, recursive_doubling};
use super::{Communication, Step, Steps, check_ranks};
use crate::WorkloadError;
use raddle_core::Duration;
use std::sync::Arc;

/// A halo exchange on a grid of ranks of up to three dimensions. The first dimension varies fastest with the rank.
#[derive(Debug, Clone)]
pub struct Halo {
    /// Number of ranks in each dimension.
    pub grid: [u32; 3],
    /// True if the last rank in a dimension is a neighbour of the first.
    pub wraps: bool,
    /// True if ranks that touch only at an edge or a corner are also neighbours.
    pub corners: bool,
    /// The exchanges of an iteration, in order. Each entry holds the bytes per message for each dimension. A
    /// message uses the value of the first dimension in which the two ranks differ.
    pub exchanges: Arc<[[u64; 3]]>,
    /// Size, in bytes, of the sum over all ranks at the end of an iteration; 0 if there is no sum.
    pub sum: u64,
    /// Number of iterations.
    pub iterations: u32,
    /// Time that a rank computes in an iteration. The time is divided equally among the exchanges. Each part precedes
    /// its exchange.
    pub compute: Duration,
}

/// Number of iterations of a halo exchange. With this many iterations, the start-up is negligible.
const ITERATIONS: u32 = 20;

impl Halo {
    /// Creates a halo exchange with one exchange per iteration between ranks that share a face. Messages have
    /// `bytes` bytes. There is no wrap-around and no computation.
    ///
    /// # Errors
    /// If the grid has fewer than 2 ranks, or more than 2^20.
    pub fn new(grid: [u32; 3], bytes: u64) -> Result<Self, WorkloadError> {
        check_ranks(grid.iter().map(|&size| u128::from(size)).product())?;
        let exchanges = Arc::new([[bytes; 3]]);
        let (iterations, compute) = (ITERATIONS, Duration::ZERO);
        Ok(Self { grid, wraps: false, corners: false, exchanges, sum: 0, iterations, compute })
    }

    /// Models the weather model WRF, in two dimensions. A time step of WRF has many exchanges of single
    /// planes, some exchanges of whole columns, and one exchange of many fields together. With one exchange
    /// of 97 KB, three of 12.1 KB and eleven of 400 B, the mean message is 9.2 KB (Table II: mean 9.3 KB,
    /// largest 97 KB).
    ///
    /// # Errors
    /// If there are fewer than 2 ranks, or more than 2^20.
    pub fn wrf(ranks: u32) -> Result<Self, WorkloadError> {
        let sizes = [&[97_000][..], &[12_100; 3], &[400; 11]].concat();
        let exchanges = sizes.into_iter().map(|bytes| [bytes; 3]).collect();
        let compute = Duration::from_ms(20);
        Ok(Self { exchanges, compute, ..Self::new(balanced::<2>(ranks), 0)? })
    }

    /// Models the solver LISO, in two dimensions. One exchange of 12.1 KB and four exchanges of 2 KB have a
    /// mean of 4 KB (Table II).
    ///
    /// # Errors
    /// If there are fewer than 2 ranks, or more than 2^20.
    pub fn liso(ranks: u32) -> Result<Self, WorkloadError> {
        let exchanges = [12_100, 2_000, 2_000, 2_000, 2_000].map(|bytes| [bytes; 3]);
        let compute = Duration::from_ms(1);
        Ok(Self { exchanges: Arc::new(exchanges), compute, ..Self::new(balanced::<2>(ranks), 0)? })
    }

    /// Models the molecular dynamics of NAMD on ApoA1, whose 92,224 atoms are divided evenly among the ranks.
    /// In NAMD, a patch has up to 26 neighbour patches. The patch sends the positions of its atoms to one
    /// half of its neighbours. It sends the forces on the neighbours' atoms to the other half. Both take 24 bytes per
    /// atom. Here both are sent at the same time, and the transform of the long-range forces is omitted.
    ///
    /// # Errors
    /// If there are fewer than 2 ranks, or more than 2^20.
    pub fn namd(ranks: u32) -> Result<Self, WorkloadError> {
        const ATOMS: u64 = 92_224;
        const VECTOR: u64 = 24;
        let grid = balanced::<3>(ranks);
        let bytes = ATOMS.div_ceil(u64::from(ranks.max(1))) * VECTOR;
        let compute = Duration::from_ms(2_000) / u64::from(ranks.max(1));
        Ok(Self { wraps: true, corners: true, compute, ..Self::new(grid, bytes)? })
    }

    /// Models the flow around an aircraft on 160 x 160 x 160 cells. Two layers of cells are sent through each face of a
    /// block. A cell has five doubles. At the end of an iteration, five residuals are summed.
    ///
    /// # Errors
    /// If there are fewer than 2 ranks, or more than 2^20.
    pub fn airbus(ranks: u32) -> Result<Self, WorkloadError> {
        const CELLS: u64 = 160;
        const LAYERS: u64 = 2;
        const CELL: u64 = 5 * 8;
        let grid = balanced::<3>(ranks);
        let block = grid.map(|size| CELLS.div_ceil(u64::from(size.max(1))));
        let face = [block[1] * block[2], block[0] * block[2], block[0] * block[1]];
        let compute = Duration::from_us(block.iter().product());
        let exchanges = Arc::new([face.map(|cells| cells * LAYERS * CELL)]);
        Ok(Self { exchanges, sum: CELL, compute, ..Self::new(grid, 0)? })
    }

    /// Returns the neighbours of a rank. Each neighbour comes with the first dimension in which its direction leads
    /// away from the rank, and with the number of this direction. The numbers of opposite directions add up to 26.
    fn neighbours(&self, rank: u32) -> Vec<(u32, usize, u32)> {
        let [x, y, _] = self.grid;
        let place = [rank % x, rank / x % y, rank / (x * y)];
        let neighbour = |direction: u32| {
            // The offset in each dimension is 0 (previous), 1 (same) or 2 (next).
            let offset = [direction % 3, direction / 3 % 3, direction / 9];
            let apart = offset.iter().filter(|&&step| step != 1).count();
            let axis = offset.iter().position(|&step| step != 1)?;
            let mut there = [0; 3];
            for i in 0..3 {
                let (at, size) = (place[i] + offset[i], self.grid[i]);
                // `at` is the coordinate plus one.
                if !self.wraps && !(1..=size).contains(&at) {
                    return None;
                }
                there[i] = (at + size - 1) % size;
            }
            let peer = there[0] + x * (there[1] + y * there[2]);
            (peer != rank && (apart == 1 || self.corners)).then_some((peer, axis, direction))
        };
        (0..27).filter_map(neighbour).collect()
    }
}

impl Communication for Halo {
    fn ranks(&self) -> u32 {
        self.grid.iter().product()
    }

    fn iterations(&self) -> u32 {
        self.iterations
    }

    fn compute(&self) -> Duration {
        self.compute
    }

    fn iteration(&self, rank: u32, compute: Duration) -> Steps {
        let neighbours = self.neighbours(rank);
        let exchanges = Arc::clone(&self.exchanges);
        let part = compute / exchanges.len() as u64;
        let exchange = move |i: usize| {
            neighbours.iter().fold(Step::computing(part), |step, &(peer, axis, direction)| {
                let bytes = exchanges[i][axis];
                // The tag of a message is the number of its direction.
                step.receiving(peer, bytes, 26 - direction).sending(peer, bytes, direction)
            })
        };
        let steps = (0..self.exchanges.len()).map(exchange);
        let world = Group::world(rank, self.ranks());
        let sum = (self.sum > 0).then(|| recursive_doubling::allreduce(world, self.sum));
        Box::new(steps.chain(sum.into_iter().flatten()))
    }
}

/// Returns a grid of `ranks` ranks in the first `D` dimensions that is close to a square or cube. The longest
/// dimension comes first.
fn balanced<const D: usize>(ranks: u32) -> [u32; 3] {
    let mut grid = [1; 3];
    let mut rest = ranks;
    let mut factors = Vec::new();
    for prime in (2..).take_while(|&prime| prime <= ranks / prime) {
        while rest.is_multiple_of(prime) && rest > 0 {
            factors.push(prime);
            rest /= prime;
        }
    }
    factors.push(rest);
    // Multiply the shortest dimension by each factor, the largest factor first.
    for factor in factors.into_iter().rev() {
        let shortest = (0..D).min_by_key(|&i| grid[i]).unwrap_or_default();
        grid[shortest] *= factor;
    }
    grid.sort_unstable_by_key(|&size| std::cmp::Reverse(size));
    grid
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::testing::{play, sent};

    fn round(halo: &Halo, rank: u32) -> Steps {
        halo.iteration(rank, halo.compute)
    }

    #[test]
    fn every_message_meets_its_receive_at_any_number_of_ranks() {
        for ranks in (2..30).chain([97, 128]) {
            let halos = [Halo::wrf(ranks), Halo::liso(ranks), Halo::namd(ranks), Halo::airbus(ranks)];
            for halo in halos.map(Result::unwrap) {
                assert_eq!(halo.ranks(), ranks);
                play(ranks, |rank| round(&halo, rank));
            }
        }
        assert!(Halo::wrf(1).is_err() && Halo::namd(0).is_err() && Halo::airbus(u32::MAX).is_err());
    }

    #[test]
    fn grids_are_as_near_to_a_square_or_cube_as_their_factors() {
        assert_eq!([balanced::<2>(256), balanced::<2>(128)], [[16, 16, 1], [16, 8, 1]]);
        assert_eq!([balanced::<2>(60), balanced::<2>(7)], [[10, 6, 1], [7, 1, 1]]);
        assert_eq!([balanced::<3>(128), balanced::<3>(1000)], [[8, 4, 4], [10, 10, 10]]);
    }

    #[test]
    fn neighbours_end_at_the_edge_or_wrap_around() {
        let open = Halo::new([3, 3, 1], 10).unwrap();
        let peers = |halo: &Halo, rank| halo.neighbours(rank).iter().map(|n| n.0).collect::<Vec<_>>();
        assert_eq!(peers(&open, 0), [1, 3]);
        assert_eq!(peers(&open, 4), [1, 3, 5, 7]);
        let wraps = Halo { wraps: true, ..open.clone() };
        assert_eq!(peers(&wraps, 0), [6, 2, 1, 3]);
        let corners = Halo { corners: true, ..open };
        assert_eq!(peers(&corners, 0), [1, 3, 4]);
        assert_eq!(peers(&corners, 4), [0, 1, 2, 3, 5, 6, 7, 8]);
    }

    #[test]
    fn messages_across_a_face_are_of_its_size() {
        // A rank in the middle of a grid of 8 x 4 x 4 ranks has 20 x 40 x 40 cells. The sum takes 7 rounds.
        let airbus = Halo::airbus(128).unwrap();
        let middle = 3 + 8 * (1 + 4);
        let faces = 2 * (40 * 40 + 2 * 20 * 40) * 80;
        assert_eq!(sent(round(&airbus, middle)), (6 + 7, faces + 7 * 40));
        assert_eq!(sent(round(&Halo::namd(64).unwrap(), 5)), (26, 26 * 1_441 * 24));
    }
}
