//! Coordinates on tori and meshes: `id = x0 + k0 * (x1 + k1 * (x2 + …))`.

use raddle_core::{NodeId, PortId};

/// A grid of nodes, with or without wrap-around.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    dims: Vec<u32>,
    strides: Vec<u32>,
    wraps: bool,
}

impl Grid {
    /// Creates a grid with these sizes.
    #[must_use]
    pub fn new(dims: &[u32], wraps: bool) -> Self {
        let mut stride = 1;
        let strides = dims
            .iter()
            .map(|&k| {
                stride *= k;
                stride / k
            })
            .collect();
        Self { dims: dims.to_vec(), strides, wraps }
    }

    /// Returns the size of each dimension.
    #[must_use]
    pub fn dims(&self) -> &[u32] {
        &self.dims
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.dims.iter().product()
    }

    /// Returns true if the ends of each dimension are neighbours.
    #[must_use]
    pub fn wraps(&self) -> bool {
        self.wraps
    }

    /// Returns the coordinate of `node` in dimension `i`.
    #[must_use]
    pub fn coordinate(&self, node: NodeId, i: usize) -> u32 {
        node.0 / self.strides[i] % self.dims[i]
    }

    /// Returns the neighbour of `node` at `port`; `None` if there is none. Port `2i` leads up in dimension i,
    /// and port `2i + 1` leads down. In a wrapping dimension of size two, a single link joins the two nodes,
    /// and it uses port `2i` of both.
    #[must_use]
    pub fn neighbour(&self, node: NodeId, port: PortId) -> Option<NodeId> {
        let i = port.index() / 2;
        let (k, stride) = (self.dims[i], self.strides[i]);
        let x = self.coordinate(node, i);
        let up = port.index().is_multiple_of(2);
        let there = match (up, self.wraps) {
            (_, true) if k == 1 => return None,
            (false, true) if k == 2 => return None,
            (true, true) => (x + 1) % k,
            (false, true) => (x + k - 1) % k,
            (true, false) if x + 1 < k => x + 1,
            (false, false) if x > 0 => x - 1,
            _ => return None,
        };
        Some(NodeId(node.0 - x * stride + there * stride))
    }

    /// Returns the ingress port of a packet that left the previous node by `port`.
    #[must_use]
    pub fn opposite(&self, port: PortId) -> PortId {
        let i = port.index() / 2;
        if self.wraps && self.dims[i] == 2 { port } else { PortId(port.0 ^ 1) }
    }
}
