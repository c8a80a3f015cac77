//! Traffic patterns on the coordinates of a torus or mesh: `id = x0 + k0 (x1 + k1 (x2 + …))` (specifications/r2c2.md
//! §1.1).

use super::nonempty;
use crate::WorkloadError;
use raddle_core::NodeId;
use raddle_topology::{Shape, Topology};

/// A torus or mesh, and the pattern that is computed on it.
struct Grid<'a> {
    dims: &'a [u32],
    pattern: &'static str,
}

type List = Result<Vec<(NodeId, NodeId)>, WorkloadError>;

pub(super) fn nearest_neighbour(topology: &Topology) -> List {
    let grid = Grid::of(topology, "nearest-neighbour")?;
    nonempty(grid.pattern, topology.links().map(|(_, link)| (link.from, link.to)))
}

pub(super) fn bit_complement(topology: &Topology) -> List {
    let grid = Grid::of(topology, "bit-complement")?;
    grid.map(topology, |at| at.iter().zip(grid.dims).map(|(x, k)| k - 1 - x).collect())
}

pub(super) fn transpose(topology: &Topology) -> List {
    let grid = Grid::of(topology, "transpose")?;
    if grid.dims.iter().any(|&k| k != grid.dims[0]) {
        return Err(WorkloadError::UnequalDimensions { pattern: grid.pattern, dims: grid.dims.to_vec() });
    }
    grid.map(topology, |at| at[1..].iter().chain(&at[..1]).copied().collect())
}

pub(super) fn tornado(topology: &Topology) -> List {
    let grid = Grid::of(topology, "tornado")?;
    grid.map(topology, |at| {
        let k = grid.dims[0];
        let x = (at[0] + k.div_ceil(2) - 1) % k;
        std::iter::once(x).chain(at[1..].iter().copied()).collect()
    })
}

impl<'a> Grid<'a> {
    fn of(topology: &'a Topology, pattern: &'static str) -> Result<Self, WorkloadError> {
        match topology.shape() {
            Shape::Torus(dims) | Shape::Mesh(dims) => Ok(Self { dims, pattern }),
            _ => Err(WorkloadError::NotAGrid { pattern }),
        }
    }

    /// Pairs each node with the node at the coordinates that `to` returns.
    fn map(&self, topology: &Topology, to: impl Fn(&[u32]) -> Vec<u32>) -> List {
        let pairs = topology.nodes().map(|node| (node, self.node(&to(&self.coordinates(node)))));
        nonempty(self.pattern, pairs)
    }

    fn coordinates(&self, node: NodeId) -> Vec<u32> {
        let mut rest = node.0;
        self.dims
            .iter()
            .map(|&k| {
                let x = rest % k;
                rest /= k;
                x
            })
            .collect()
    }

    fn node(&self, at: &[u32]) -> NodeId {
        NodeId(at.iter().zip(self.dims).rev().fold(0, |id, (x, k)| id * k + x))
    }
}
