//! Throughput of oblivious routing, computed from the load that a traffic pattern puts on the
//! busiest link (Towles and Dally 2002; R2C2 Fig. 2).

use super::{Protocol, Routing};
use crate::{Grid, Shape};
use raddle_core::{LinkId, NodeId};

/// A traffic pattern on a torus in which every node sends one unit of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Each node sends an equal part to each neighbour.
    NearestNeighbour,
    /// Each node sends an equal part to every node, itself included.
    Uniform,
    /// In every dimension of size `k`, a source at coordinate `x` sends to coordinate `k - 1 - x`.
    BitComplement,
    /// The source's coordinates are rotated by one: `(x, y)` sends to `(y, x)`, and `(x, y, z)` to `(y, z, x)`. All
    /// dimensions must have the same size.
    Transpose,
    /// The destination is `k / 2 - 1` steps up in the first dimension, which has `k` nodes.
    Tornado,
    /// For each link, the permutation with the greatest load on this link, found by maximum-weight matching.
    WorstCase,
}

/// Returns the throughput under `pattern` as a fraction of the fabric's capacity. The capacity per node is taken as 8/k
/// of a link's rate, where k is the size of the first dimension. In a k-ary n-cube with even k, this is the ideal
/// throughput of uniform traffic.
///
/// # Panics
/// If the fabric is not a torus, or if the protocol is not defined on it.
#[must_use]
pub fn throughput_fraction(routing: &Routing, protocol: Protocol, pattern: Pattern) -> f64 {
    let Shape::Torus(dims) = routing.topology().shape() else { panic!("the fabric must be a torus") };
    let grid = Grid::new(dims, true);
    let gamma = match pattern {
        Pattern::WorstCase => worst_case(routing, protocol, &grid),
        _ => busiest(routing, protocol, &grid, pattern),
    };
    f64::from(dims[0]) / 8.0 / gamma
}

fn busiest(routing: &Routing, protocol: Protocol, grid: &Grid, pattern: Pattern) -> f64 {
    let mut load = vec![0.0; routing.topology().link_slots()];
    let mut row = Vec::new();
    for src in (0..grid.nodes()).map(NodeId) {
        for (dst, share) in destinations(grid, pattern, src) {
            routing.weights(protocol, src, dst, 0, &mut row);
            for &(link, weight) in &row {
                load[link.index()] += share * f64::from(weight);
            }
        }
    }
    load.into_iter().fold(0.0, f64::max)
}

fn destinations(grid: &Grid, pattern: Pattern, src: NodeId) -> Vec<(NodeId, f64)> {
    let dims = grid.dims();
    let at: Vec<u32> = (0..dims.len()).map(|i| grid.coordinate(src, i)).collect();
    let node = |to: &[u32]| NodeId(to.iter().zip(dims).rev().fold(0, |id, (&x, &k)| id * k + x));
    match pattern {
        Pattern::NearestNeighbour => {
            let links = routing_neighbours(grid, src);
            let share = 1.0 / links.len() as f64;
            links.into_iter().map(|to| (to, share)).collect()
        }
        Pattern::Uniform => (0..grid.nodes()).map(|to| (NodeId(to), 1.0 / f64::from(grid.nodes()))).collect(),
        Pattern::BitComplement => {
            vec![(node(&at.iter().zip(dims).map(|(x, k)| k - 1 - x).collect::<Vec<_>>()), 1.0)]
        }
        Pattern::Transpose => {
            let mut to = at;
            to.rotate_left(1);
            vec![(node(&to), 1.0)]
        }
        Pattern::Tornado => {
            let mut to = at;
            to[0] = (to[0] + dims[0] / 2 - 1) % dims[0];
            vec![(node(&to), 1.0)]
        }
        Pattern::WorstCase => panic!("`WorstCase` uses a different permutation for each link"),
    }
}

fn routing_neighbours(grid: &Grid, node: NodeId) -> Vec<NodeId> {
    let ports = (0..2 * grid.dims().len()).map(raddle_core::PortId::of);
    ports.filter_map(|port| grid.neighbour(node, port)).collect()
}

/// Returns the greatest load that any permutation of the nodes puts on any link.
fn worst_case(routing: &Routing, protocol: Protocol, grid: &Grid) -> f64 {
    let nodes = grid.nodes() as usize;
    // Under most protocols, all nodes are equivalent by translation, so the links of node 0 are enough. If ties depend
    // on parity or paths depend on the flow, the nodes are not equivalent, and all links are needed.
    let links = match protocol {
        Protocol::Dor(super::Tie::Parity) | Protocol::Ecmp => routing.topology().link_slots(),
        _ => routing.topology().port_count(NodeId(0)),
    };
    let mut weights = vec![vec![0.0; nodes * nodes]; links];
    let mut row = Vec::new();
    for src in 0..nodes {
        for dst in 0..nodes {
            routing.weights(protocol, NodeId::of(src), NodeId::of(dst), 0, &mut row);
            for &(LinkId(link), weight) in &row {
                if let Some(weights) = weights.get_mut(link as usize) {
                    weights[src * nodes + dst] += f64::from(weight);
                }
            }
        }
    }
    weights.iter().map(|weights| heaviest_matching(nodes, weights)).fold(0.0, f64::max)
}

/// Returns the weight of the heaviest perfect matching of a complete bipartite graph (Hungarian algorithm,
/// O(n^3)).
fn heaviest_matching(n: usize, weights: &[f64]) -> f64 {
    // Rows and columns are numbered from 1; an augmenting path starts at column 0. Costs are negated
    // weights.
    let mut row_price = vec![0.0; n + 1];
    let mut column_price = vec![0.0; n + 1];
    let mut row_of = vec![0; n + 1];
    for row in 1..=n {
        let mut least = vec![f64::INFINITY; n + 1];
        let mut came_from = vec![0; n + 1];
        let mut done = vec![false; n + 1];
        row_of[0] = row;
        let mut column = 0;
        while row_of[column] != 0 {
            done[column] = true;
            let at = row_of[column];
            let (mut step, mut next) = (f64::INFINITY, 0);
            for other in (1..=n).filter(|&other| !done[other]) {
                let slack = -weights[(at - 1) * n + other - 1] - row_price[at] - column_price[other];
                if slack < least[other] {
                    least[other] = slack;
                    came_from[other] = column;
                }
                if least[other] < step {
                    step = least[other];
                    next = other;
                }
            }
            for other in 0..=n {
                if done[other] {
                    row_price[row_of[other]] += step;
                    column_price[other] -= step;
                } else {
                    least[other] -= step;
                }
            }
            column = next;
        }
        while column != 0 {
            row_of[column] = row_of[came_from[column]];
            column = came_from[column];
        }
    }
    (1..=n).map(|column| weights[(row_of[column] - 1) * n + column - 1]).sum()
}
