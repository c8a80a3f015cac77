//! Between whom flows run: random pairs, and the patterns of the interconnection-network literature
//! (specs/r2c2.md §2.6; Dally & Towles, §3.2).

use crate::WorkloadError;
use raddle_core::{NodeId, Stream};
use raddle_topology::{Shape, Topology};

/// Between whom flows run. No flow runs from a node to itself: a pattern's fixed points stay silent.
///
/// All but `Uniform` stand for a list of pairs. Random arrivals draw from it at random; regular ones take it in
/// turn, so that as many flows as there are pairs use each pair once.
#[derive(Debug, Clone, PartialEq)]
pub enum Pairs {
    /// Every ordered pair of distinct hosts alike.
    Uniform,
    /// Some of the hosts, chosen at random, each send to one and receive from one of them: a random permutation
    /// without fixed points.
    Permutation {
        /// The share of hosts that take part, more than 0 and at most 1, rounded to whole hosts and at least 2.
        fraction: f64,
    },
    /// On a grid, every node to each of its neighbours.
    NearestNeighbour,
    /// On a grid, `x` to `k - 1 - x` in every dimension.
    BitComplement,
    /// On a grid of equal sizes, coordinates rotated: `(x, y)` to `(y, x)`, `(x, y, z)` to `(y, z, x)`.
    Transpose,
    /// On a grid, just under half way round the first dimension: `x` to `x + ceil(k / 2) - 1`.
    Tornado,
    /// Host number `i` to host number `i + by`, wrapping around.
    Stride {
        /// The distance, in hosts.
        by: usize,
    },
    /// Several hosts, chosen at random, to one.
    Incast {
        /// How many send.
        senders: usize,
        /// Who receives; a random host if `None`.
        receiver: Option<NodeId>,
    },
    /// These.
    Listed(Vec<(NodeId, NodeId)>),
}

impl Pairs {
    /// The pairs of successive flows, for ever: drawn at random, or in turn where there is a list.
    pub(crate) fn draw(
        &self,
        topology: &Topology,
        random: bool,
        mut stream: Stream,
    ) -> Result<impl Iterator<Item = (NodeId, NodeId)>, WorkloadError> {
        let hosts: Vec<NodeId> = topology.hosts().collect();
        if hosts.len() < 2 {
            return Err(WorkloadError::TooFewHosts { hosts: hosts.len() });
        }
        let list = match self {
            Self::Uniform => None,
            _ => Some(self.list(topology, &hosts, &mut stream)?),
        };
        let mut turn = 0;
        Ok(std::iter::repeat_with(move || match &list {
            None => distinct(&hosts, &mut stream),
            Some(list) if random => list[stream.below(list.len() as u64) as usize],
            Some(list) => {
                turn += 1;
                list[(turn - 1) % list.len()]
            }
        }))
    }

    /// Each of the pattern's pairs once, in an order of its own; of `Uniform`, every ordered pair of distinct hosts.
    ///
    /// # Errors
    /// If the fabric has too few hosts, or is not what the pattern is for.
    pub fn each(
        &self,
        topology: &Topology,
        stream: &mut Stream,
    ) -> Result<Vec<(NodeId, NodeId)>, WorkloadError> {
        let hosts: Vec<NodeId> = topology.hosts().collect();
        if hosts.len() < 2 {
            return Err(WorkloadError::TooFewHosts { hosts: hosts.len() });
        }
        if *self == Self::Uniform {
            let from =
                |&src: &NodeId| hosts.iter().filter(move |&&dst| dst != src).map(move |&dst| (src, dst));
            return Ok(hosts.iter().flat_map(from).collect());
        }
        self.list(topology, &hosts, stream)
    }

    /// The pattern's pairs, at least one.
    fn list(
        &self,
        topology: &Topology,
        hosts: &[NodeId],
        stream: &mut Stream,
    ) -> Result<Vec<(NodeId, NodeId)>, WorkloadError> {
        let grid = |pattern| Grid::of(topology, pattern);
        match self {
            Self::Uniform => unreachable!("uniform pairs are drawn, not listed"),
            Self::Permutation { fraction } => permutation(hosts, *fraction, stream),
            Self::NearestNeighbour => {
                let grid = grid("nearest-neighbour")?;
                grid.pairs(topology.links().map(|(_, link)| (link.from, link.to)))
            }
            Self::BitComplement => {
                let grid = grid("bit-complement")?;
                grid.map(topology, |at| at.iter().zip(grid.dims).map(|(x, k)| k - 1 - x).collect())
            }
            Self::Transpose => {
                let grid = grid("transpose")?;
                if grid.dims.iter().any(|&k| k != grid.dims[0]) {
                    return Err(WorkloadError::UnequalDimensions {
                        pattern: grid.pattern,
                        dims: grid.dims.to_vec(),
                    });
                }
                grid.map(topology, |at| at[1..].iter().chain(&at[..1]).copied().collect())
            }
            Self::Tornado => {
                let grid = grid("tornado")?;
                grid.map(topology, |at| {
                    let k = grid.dims[0];
                    let x = (at[0] + k.div_ceil(2) - 1) % k;
                    std::iter::once(x).chain(at[1..].iter().copied()).collect()
                })
            }
            Self::Stride { by } => {
                let to = |i: usize| hosts[(i + by % hosts.len()) % hosts.len()];
                nonempty("stride", hosts.iter().enumerate().map(|(i, &src)| (src, to(i))))
            }
            Self::Incast { senders, receiver } => incast(topology, hosts, *senders, *receiver, stream),
            Self::Listed(pairs) => {
                for &(src, dst) in pairs {
                    check_pair(topology, src, dst)?;
                }
                nonempty("listed", pairs.iter().copied())
            }
        }
    }
}

/// Refuses ends that are no hosts, or the same.
pub(crate) fn check_pair(topology: &Topology, src: NodeId, dst: NodeId) -> Result<(), WorkloadError> {
    for node in [src, dst] {
        if node.index() >= topology.node_count() || !topology.is_host(node) {
            return Err(WorkloadError::NotAHost { node: node.0 });
        }
    }
    if src == dst {
        return Err(WorkloadError::SelfFlow { node: src.0 });
    }
    Ok(())
}

/// A uniform pair of distinct hosts.
fn distinct(hosts: &[NodeId], stream: &mut Stream) -> (NodeId, NodeId) {
    let src = stream.below(hosts.len() as u64) as usize;
    let dst = stream.below(hosts.len() as u64 - 1) as usize;
    (hosts[src], hosts[dst + usize::from(dst >= src)])
}

/// A uniform permutation without fixed points of a random subset of the hosts.
fn permutation(
    hosts: &[NodeId],
    fraction: f64,
    stream: &mut Stream,
) -> Result<Vec<(NodeId, NodeId)>, WorkloadError> {
    if !(fraction > 0.0 && fraction <= 1.0) {
        return Err(WorkloadError::parameter("permutation fraction", &fraction, "more than 0 and at most 1"));
    }
    let part = ((hosts.len() as f64 * fraction).round() as usize).max(2);
    let mut senders = hosts.to_vec();
    stream.shuffle(&mut senders);
    senders.truncate(part);
    senders.sort_unstable();
    let mut receivers = senders.clone();
    // A shuffle has no fixed point with probability 1/e, so this ends soon, and keeps the choice uniform.
    while senders.iter().zip(&receivers).any(|(src, dst)| src == dst) {
        stream.shuffle(&mut receivers);
    }
    Ok(senders.into_iter().zip(receivers).collect())
}

fn incast(
    topology: &Topology,
    hosts: &[NodeId],
    senders: usize,
    receiver: Option<NodeId>,
    stream: &mut Stream,
) -> Result<Vec<(NodeId, NodeId)>, WorkloadError> {
    if senders == 0 || senders >= hosts.len() {
        let need = "at least 1, and fewer than there are hosts";
        return Err(WorkloadError::parameter("incast senders", &senders, need));
    }
    let receiver = match receiver {
        Some(node) if node.index() >= topology.node_count() || !topology.is_host(node) => {
            return Err(WorkloadError::NotAHost { node: node.0 });
        }
        Some(node) => node,
        None => hosts[stream.below(hosts.len() as u64) as usize],
    };
    let mut others: Vec<_> = hosts.iter().copied().filter(|&host| host != receiver).collect();
    stream.shuffle(&mut others);
    others.truncate(senders);
    Ok(others.into_iter().map(|src| (src, receiver)).collect())
}

/// The pairs whose ends differ, if there is any.
fn nonempty(
    pattern: &'static str,
    pairs: impl Iterator<Item = (NodeId, NodeId)>,
) -> Result<Vec<(NodeId, NodeId)>, WorkloadError> {
    let pairs: Vec<_> = pairs.filter(|(src, dst)| src != dst).collect();
    if pairs.is_empty() { Err(WorkloadError::NoPairs { pattern }) } else { Ok(pairs) }
}

/// A torus or mesh, for a pattern on its coordinates: `id = x0 + k0 (x1 + k1 (x2 + …))` (specs/r2c2.md §1.1).
struct Grid<'a> {
    dims: &'a [u32],
    pattern: &'static str,
}

impl<'a> Grid<'a> {
    fn of(topology: &'a Topology, pattern: &'static str) -> Result<Self, WorkloadError> {
        match topology.shape() {
            Shape::Torus(dims) | Shape::Mesh(dims) => Ok(Self { dims, pattern }),
            _ => Err(WorkloadError::NotAGrid { pattern }),
        }
    }

    fn pairs(
        &self,
        pairs: impl Iterator<Item = (NodeId, NodeId)>,
    ) -> Result<Vec<(NodeId, NodeId)>, WorkloadError> {
        nonempty(self.pattern, pairs)
    }

    /// Each node with the one that `to` maps its coordinates to.
    fn map(
        &self,
        topology: &Topology,
        to: impl Fn(&[u32]) -> Vec<u32>,
    ) -> Result<Vec<(NodeId, NodeId)>, WorkloadError> {
        self.pairs(topology.nodes().map(|node| (node, self.node(&to(&self.coordinates(node))))))
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

#[cfg(test)]
#[path = "pairs_tests.rs"]
mod tests;
