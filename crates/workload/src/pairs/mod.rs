//! Pairs of senders and receivers: random pairs, the patterns of the interconnection-network literature
//! (specifications/r2c2.md §2.6; specifications/cee.md §6.2; Dally & Towles, §3.2) and the patterns of data centers
//! (specifications/expeditus.md §8.10).

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

/// The pairs of senders and receivers. No flow runs from a node to itself: if a pattern maps a node to itself, the
/// node does not send.
///
/// All patterns except `Uniform`, and `InterPod` if all pods send, are a list of pairs. With one flow per pair, each pair
/// is used once, in random order. Otherwise, arrivals of the kinds `Poisson` and `Load` draw from the list at random. `Fixed` and
/// `AllAtOnce` use the list in order, so each pair is used once if there are as many flows as pairs. With `PerHost`,
/// each sender draws from its own pairs at random. Pod patterns are for Clos networks. The leaves of a leaf-spine count
/// as pods.
#[derive(Debug, Clone, PartialEq)]
pub enum Pairs {
    /// Every ordered pair of distinct hosts with equal probability.
    Uniform,
    /// Every ordered pair of hosts of different pods with equal probability.
    InterPod {
        /// The pods that take part, by number, from 0. There must be at least two different pods. If the list is empty,
        /// all pods take part.
        pods: Vec<u32>,
        /// The pods among them that send. If the list is empty, all of them send.
        from: Vec<u32>,
    },
    /// Every host sends to every other host.
    AllToAll,
    /// A random subset of the hosts, in which each host sends to one other host and receives from one other
    /// host: a random permutation without fixed points.
    Permutation {
        /// The share of hosts that take part, more than 0 and at most 1. The resulting number of hosts is rounded, and
        /// is at least 2.
        fraction: f64,
        /// Number of independently drawn permutations that make up the list.
        times: u32,
    },
    /// Each host sends to one host of another pod and receives from one host of another pod. The pairs are a
    /// random permutation that maps no host to its own pod.
    Bijection,
    /// Each host sends to a random host of another pod. A host may receive from several hosts.
    RandomOtherPod,
    /// Each host sends to a random host in its rack, its pod or another pod (Hedera's staggered pattern). The draw is
    /// repeated `times` times. With `AllAtOnce`, each host then sends its flows to `times` hosts in turn.
    Staggered {
        /// Probability that the receiver is in the same rack.
        edge: f64,
        /// Probability that the receiver is in another rack of the same pod. With the remaining probability,
        /// the receiver is in another pod.
        pod: f64,
        /// Number of independent draws that make up the list.
        times: u32,
    },
    /// On a grid, every node sends to each of its neighbours.
    NearestNeighbour,
    /// The digits of the sender's number are moved or complemented. On a grid, without a radix, [`Digits::Complement`]
    /// and [`Digits::Transpose`] apply to coordinates.
    Digits {
        /// The mapping of the digits.
        pattern: Digits,
        /// The radix of the digits. The number of hosts must be a power of the radix. If `None`, the radix is
        /// `k` for a k-ary tree and 2 for other topologies.
        radix: Option<u32>,
    },
    /// Host number `i` sends to host number `i xor by`. The number of hosts must be a power of two.
    Exchange {
        /// The number `by`, less than the number of hosts.
        by: u32,
    },
    /// A random permutation of the hosts. Hosts that the permutation maps to themselves do not send.
    RandomPermutation,
    /// Each host sends to the host just under half of the way around the list of hosts: host number `i` of `n` sends to
    /// `i + ceil(n / 2) - 1`, modulo `n`. On a grid, coordinate `x` of `k` sends to `x + ceil(k / 2) - 1`, modulo `k`,
    /// in the first dimension.
    Tornado,
    /// Host number `i` sends to host number `i + by`, modulo the number of hosts.
    Stride {
        /// The distance, in hosts.
        by: usize,
    },
    /// A given number of random hosts send to one host.
    Incast {
        /// Number of senders.
        senders: usize,
        /// The receiver; a random host if `None`.
        receiver: Option<NodeId>,
    },
    /// The given pairs.
    Listed(Vec<(NodeId, NodeId)>),
}

/// Maximum number of pairs in a list. A list of this length takes half a gigabyte of memory.
const MOST_PAIRS: usize = 1 << 26;

/// The set from which the pairs of flows are drawn.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// Any two of these hosts that are in different groups. Each group consists of the given number of
    /// consecutive hosts.
    Apart(Arc<[NodeId]>, usize),
    /// One of these pairs. The list is not empty.
    List(Arc<[(NodeId, NodeId)]>),
}

impl Source {
    /// Returns the hosts that may send.
    pub(crate) fn senders(&self) -> Vec<NodeId> {
        self.by_sender().into_iter().map(|(host, _)| host).collect()
    }

    /// Returns the hosts that may send, in order, each with its possible receivers.
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

    /// Returns an endless iterator of the pairs of successive flows. If the source is a list and `random` is false, the
    /// list is used in order, again and again. Otherwise pairs are drawn at random.
    pub(crate) fn draw(
        self,
        random: bool,
        mut stream: Stream,
    ) -> impl Iterator<Item = (NodeId, NodeId)> + Clone {
        let mut turn = 0;
        std::iter::repeat_with(move || match &self {
            Self::Apart(hosts, group) => {
                let src = stream.index(hosts.len());
                (hosts[src], hosts[pods::outside(src, *group, hosts.len(), &mut stream)])
            }
            Self::List(list) if random => list[stream.index(list.len())],
            Self::List(list) => {
                turn += 1;
                list[(turn - 1) % list.len()]
            }
        })
    }

    /// Returns the list, or each pair of hosts in different groups once. Returns an error if there are more than 2^26
    /// such pairs.
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

/// The possible receivers of a sender.
#[derive(Debug, Clone)]
pub(crate) enum To {
    /// Any of these hosts outside the sender's group of `group` consecutive hosts. The sender is host number
    /// `at`.
    Apart { hosts: Arc<[NodeId]>, group: usize, at: usize },
    /// Any of these hosts.
    OneOf(Arc<[NodeId]>),
}

impl To {
    /// Draws one of the possible receivers, each with equal probability.
    pub(crate) fn draw(&self, stream: &mut Stream) -> NodeId {
        match self {
            Self::Apart { hosts, group, at } => hosts[pods::outside(*at, *group, hosts.len(), stream)],
            Self::OneOf(hosts) => hosts[stream.index(hosts.len())],
        }
    }
}

impl Pairs {
    /// Returns the pattern's list of pairs, in order. `Uniform` and `InterPod` return every pair that they may draw,
    /// each pair once.
    ///
    /// # Errors
    /// If the fabric has too few hosts, the pattern does not fit the topology, or there are too many pairs.
    pub fn each(
        &self,
        topology: &Topology,
        stream: &mut Stream,
    ) -> Result<Vec<(NodeId, NodeId)>, WorkloadError> {
        self.source(topology, stream)?.each()
    }

    /// Returns the set from which the pattern's pairs are drawn.
    pub(crate) fn source(&self, topology: &Topology, stream: &mut Stream) -> Result<Source, WorkloadError> {
        let hosts: Vec<NodeId> = topology.hosts().collect();
        if hosts.len() < 2 {
            return Err(WorkloadError::TooFewHosts { hosts: hosts.len() });
        }
        let pods = |pattern| Pods::of(topology, pattern);
        let list = match self {
            Self::Uniform => return Ok(Source::Apart(hosts.into(), 1)),
            Self::InterPod { pods: named, from } => {
                let pods = pods("inter-pod")?;
                let apart = Source::Apart(pods.members(named)?.into(), pods.size);
                if from.is_empty() {
                    return Ok(apart);
                }
                pods.sent_from(from, &apart.each()?)?
            }
            Self::AllToAll => Source::Apart(hosts.into(), 1).each()?,
            Self::Permutation { fraction, times } => {
                repeated(*times, hosts.len(), || permutation(&hosts, *fraction, stream))?
            }
            Self::Bijection => pods("bijection")?.bijection(stream),
            Self::RandomOtherPod => pods("random-other-pod")?.random(stream),
            Self::Staggered { edge, pod, times } => {
                let pods = pods("staggered")?;
                repeated(*times, hosts.len(), || pods.staggered(*edge, *pod, stream))?
            }
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

/// Returns an error if an endpoint is not a host, or if both endpoints are the same host.
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

/// Pairs host number `i` with host number `i + by`, modulo the number of hosts.
fn shift(pattern: &'static str, hosts: &[NodeId], by: usize) -> Result<Vec<(NodeId, NodeId)>, WorkloadError> {
    let to = |i: usize| hosts[(i + by % hosts.len()) % hosts.len()];
    nonempty(pattern, hosts.iter().enumerate().map(|(i, &src)| (src, to(i))))
}

/// Draws a uniformly random permutation, without fixed points, of a random subset of the hosts.
#[allow(clippy::cast_possible_truncation, reason = "a cast from float to integer saturates")]
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
    // Shuffles until no receiver equals its sender. A shuffle satisfies this with probability about 1/e, so about three
    // shuffles are enough on average. All permutations without fixed points stay equally likely.
    while senders.iter().zip(&receivers).any(|(src, dst)| src == dst) {
        stream.shuffle(&mut receivers);
    }
    Ok(senders.into_iter().zip(receivers).collect())
}

/// Draws `times` lists of about `hosts` pairs each, and concatenates them.
fn repeated(
    times: u32,
    hosts: usize,
    mut draw: impl FnMut() -> Result<Vec<(NodeId, NodeId)>, WorkloadError>,
) -> Result<Vec<(NodeId, NodeId)>, WorkloadError> {
    let bad = |need| Err(WorkloadError::parameter("number of draws of the pairs", &times, need));
    if times == 0 {
        return bad("at least 1");
    }
    if hosts.saturating_mul(times as usize) > MOST_PAIRS {
        return bad("at most 2^26 divided by the number of hosts");
    }
    let mut pairs = Vec::new();
    for _ in 0..times {
        pairs.extend(draw()?);
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
        let need = "at least 1, and less than the number of hosts";
        return Err(WorkloadError::parameter("number of incast senders", &senders, need));
    }
    let receiver = match receiver {
        Some(node) if node.index() >= topology.node_count() || !topology.is_host(node) => {
            return Err(WorkloadError::NotAHost { node: node.0 });
        }
        Some(node) => node,
        None => hosts[stream.index(hosts.len())],
    };
    let mut others: Vec<_> = hosts.iter().copied().filter(|&host| host != receiver).collect();
    stream.shuffle(&mut others);
    others.truncate(senders);
    Ok(others.into_iter().map(|src| (src, receiver)).collect())
}

/// Returns the pairs whose endpoints differ, or an error if there are none.
fn nonempty(
    pattern: &'static str,
    pairs: impl Iterator<Item = (NodeId, NodeId)>,
) -> Result<Vec<(NodeId, NodeId)>, WorkloadError> {
    let pairs: Vec<_> = pairs.filter(|(src, dst)| src != dst).collect();
    if pairs.is_empty() { Err(WorkloadError::NoPairs { pattern }) } else { Ok(pairs) }
}

#[cfg(test)]
mod tests;
