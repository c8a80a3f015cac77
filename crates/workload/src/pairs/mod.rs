//! Between whom flows run: random pairs, the patterns of the interconnection-network literature (specs/r2c2.md §2.6;
//! specs/cee.md §6.2; Dally & Towles, §3.2) and those of data centers (specs/expeditus.md §8.10).

mod digits;
mod grid;
mod pods;

pub use digits::Digits;

use crate::WorkloadError;
use pods::Pods;
use raddle_core::{NodeId, Stream};
use raddle_topology::{Shape, Topology};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Between whom flows run. No flow runs from a node to itself: a pattern's fixed points stay silent.
///
/// All but `Uniform` and `InterPod` stand for a list of pairs. Random arrivals draw from it at random; regular ones take
/// it in turn, so that as many flows as there are pairs use each pair once. Patterns of pods are for Clos networks; a
/// leaf-spine's leaves count as pods.
#[derive(Debug, Clone, PartialEq)]
pub enum Pairs {
    /// Every ordered pair of distinct hosts alike.
    Uniform,
    /// Every ordered pair of hosts of different pods alike.
    InterPod {
        /// The pods that take part, at least 2; all of them if none is named.
        pods: Vec<u32>,
    },
    /// Every host to every other.
    AllToAll,
    /// Some of the hosts, chosen at random, each send to one and receive from one of them: a random permutation
    /// without fixed points.
    Permutation {
        /// The share of hosts that take part, more than 0 and at most 1, rounded to whole hosts and at least 2.
        fraction: f64,
        /// How many such permutations, drawn one by one, make up the list.
        times: u32,
    },
    /// Each host to one of another pod, and each from one: a random permutation that leaves no host in its pod.
    Bijection,
    /// Each host to a random one of another pod; some receive from several.
    RandomOtherPod,
    /// Each host to a random one near or far (Hedera's staggered pattern).
    Staggered {
        /// The probability that it is in the same rack.
        edge: f64,
        /// The probability that it is in another rack of the same pod; else it is in another pod.
        pod: f64,
    },
    /// On a grid, every node to each of its neighbours.
    NearestNeighbour,
    /// Digits of hosts' numbers moved or complemented; on a grid, without a radix, [`Digits::Complement`] and
    /// [`Digits::Transpose`] are of coordinates.
    Digits {
        /// How.
        pattern: Digits,
        /// The digits' radix, of which the number of hosts is a power; that of a k-ary tree, else 2, if `None`.
        radix: Option<u32>,
    },
    /// Host number `i` to host number `i xor by`, of 2^b hosts.
    Exchange {
        /// Less than the number of hosts.
        by: u32,
    },
    /// A random permutation of the hosts, its fixed points silent.
    RandomPermutation,
    /// Just under half way round: number `i` of `n` hosts to `i + ceil(n / 2) - 1`, wrapping around; on a grid, `x` of `k`
    /// to `x + ceil(k / 2) - 1` in the first dimension.
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

/// Most pairs of a list, half a gigabyte of them.
const MOST_PAIRS: usize = 1 << 26;

/// What the pairs of flows are drawn from.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// Any two of these hosts that are not of the same group of so many neighbours in the list.
    Apart(Arc<[NodeId]>, usize),
    /// One of these, at least one.
    List(Arc<[(NodeId, NodeId)]>),
}

impl Source {
    /// The hosts that may send.
    pub(crate) fn senders(&self) -> Vec<NodeId> {
        self.by_sender().into_iter().map(|(host, _)| host).collect()
    }

    /// The hosts that may send, in order, and where to.
    pub(crate) fn by_sender(&self) -> Vec<(NodeId, To)> {
        match self {
            Self::Apart(hosts, group) => hosts
                .iter()
                .enumerate()
                .map(|(at, &host)| (host, To::Apart { hosts: Arc::clone(hosts), group: *group, at }))
                .collect(),
            Self::List(list) => {
                let mut receivers = BTreeMap::<NodeId, Vec<NodeId>>::new();
                for &(src, dst) in &**list {
                    receivers.entry(src).or_default().push(dst);
                }
                receivers.into_iter().map(|(src, receivers)| (src, To::OneOf(receivers.into()))).collect()
            }
        }
    }

    /// The pairs of successive flows, for ever: drawn at random, or in turn where there is a list and `random` is not
    /// asked for.
    pub(crate) fn draw(
        self,
        random: bool,
        mut stream: Stream,
    ) -> impl Iterator<Item = (NodeId, NodeId)> + Clone {
        let mut turn = 0;
        std::iter::repeat_with(move || match &self {
            Self::Apart(hosts, group) => {
                let src = stream.below(hosts.len() as u64) as usize;
                (hosts[src], hosts[pods::outside(src, *group, hosts.len(), &mut stream)])
            }
            Self::List(list) if random => list[stream.below(list.len() as u64) as usize],
            Self::List(list) => {
                turn += 1;
                list[(turn - 1) % list.len()]
            }
        })
    }

    /// Each pair once.
    pub(crate) fn each(self) -> Result<Vec<(NodeId, NodeId)>, WorkloadError> {
        let (hosts, group) = match self {
            Self::List(list) => return Ok(list.to_vec()),
            Self::Apart(hosts, group) => (hosts, group),
        };
        let pairs = hosts.len().saturating_mul(hosts.len() - group);
        if pairs > MOST_PAIRS {
            return Err(WorkloadError::parameter("number of pairs", &pairs, "at most 2^26"));
        }
        let apart = |from: usize| {
            let hosts = &hosts;
            let others = (0..hosts.len()).filter(move |to| to / group != from / group);
            others.map(move |to| (hosts[from], hosts[to]))
        };
        Ok((0..hosts.len()).flat_map(apart).collect())
    }
}

/// Where a sender's flows go.
#[derive(Debug, Clone)]
pub(crate) enum To {
    /// To any of these hosts that is not of the same group of neighbours as the sender, which is number `at` of them.
    Apart { hosts: Arc<[NodeId]>, group: usize, at: usize },
    /// To one of these.
    OneOf(Arc<[NodeId]>),
}

impl To {
    /// One of them, each alike.
    pub(crate) fn draw(&self, stream: &mut Stream) -> NodeId {
        match self {
            Self::Apart { hosts, group, at } => hosts[pods::outside(*at, *group, hosts.len(), stream)],
            Self::OneOf(hosts) => hosts[stream.below(hosts.len() as u64) as usize],
        }
    }
}

impl Pairs {
    /// Each of the pattern's pairs once, in an order of its own; of `Uniform` and `InterPod`, every one that they may
    /// draw.
    ///
    /// # Errors
    /// If the fabric has too few hosts, or is not what the pattern is for, or there are too many pairs.
    pub fn each(
        &self,
        topology: &Topology,
        stream: &mut Stream,
    ) -> Result<Vec<(NodeId, NodeId)>, WorkloadError> {
        self.source(topology, stream)?.each()
    }

    /// What the pattern's pairs are drawn from.
    pub(crate) fn source(&self, topology: &Topology, stream: &mut Stream) -> Result<Source, WorkloadError> {
        let hosts: Vec<NodeId> = topology.hosts().collect();
        if hosts.len() < 2 {
            return Err(WorkloadError::TooFewHosts { hosts: hosts.len() });
        }
        let pods = |pattern| Pods::of(topology, pattern);
        let list = match self {
            Self::Uniform => return Ok(Source::Apart(hosts.into(), 1)),
            Self::InterPod { pods: named } => {
                let pods = pods("inter-pod")?;
                return Ok(Source::Apart(pods.members(named)?.into(), pods.size));
            }
            Self::AllToAll => Source::Apart(hosts.into(), 1).each()?,
            Self::Permutation { fraction, times } => permutations(&hosts, *fraction, *times, stream)?,
            Self::Bijection => pods("bijection")?.bijection(stream),
            Self::RandomOtherPod => pods("random-other-pod")?.random(stream),
            Self::Staggered { edge, pod } => pods("staggered")?.staggered(*edge, *pod, stream)?,
            Self::NearestNeighbour => grid::nearest_neighbour(topology)?,
            Self::Digits { pattern, radix } => pattern.pairs(topology, &hosts, *radix)?,
            Self::Exchange { by } => digits::exchange(&hosts, *by)?,
            Self::RandomPermutation => {
                let mut receivers = hosts.clone();
                stream.shuffle(&mut receivers);
                nonempty("random-permutation", hosts.into_iter().zip(receivers))?
            }
            Self::Tornado => match topology.shape() {
                Shape::Torus(_) | Shape::Mesh(_) => grid::tornado(topology)?,
                _ => shift("tornado", &hosts, hosts.len().div_ceil(2) - 1)?,
            },
            Self::Stride { by } => shift("stride", &hosts, *by)?,
            Self::Incast { senders, receiver } => incast(topology, &hosts, *senders, *receiver, stream)?,
            Self::Listed(pairs) => {
                for &(src, dst) in pairs {
                    check_pair(topology, src, dst)?;
                }
                nonempty("listed", pairs.iter().copied())?
            }
        };
        Ok(Source::List(list.into()))
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

/// Host number `i` to host number `i + by`, wrapping around.
fn shift(pattern: &'static str, hosts: &[NodeId], by: usize) -> Result<Vec<(NodeId, NodeId)>, WorkloadError> {
    let to = |i: usize| hosts[(i + by % hosts.len()) % hosts.len()];
    nonempty(pattern, hosts.iter().enumerate().map(|(i, &src)| (src, to(i))))
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

/// So many of them, one after another.
fn permutations(
    hosts: &[NodeId],
    fraction: f64,
    times: u32,
    stream: &mut Stream,
) -> Result<Vec<(NodeId, NodeId)>, WorkloadError> {
    if times == 0 {
        return Err(WorkloadError::parameter("number of permutations", &times, "at least 1"));
    }
    if hosts.len().saturating_mul(times as usize) > MOST_PAIRS {
        return Err(WorkloadError::parameter(
            "number of permutations",
            &times,
            "of at most 2^26 pairs in all",
        ));
    }
    let mut pairs = Vec::new();
    for _ in 0..times {
        pairs.extend(permutation(hosts, fraction, stream)?);
    }
    Ok(pairs)
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

#[cfg(test)]
mod tests;
