//! Distances in hops, and numbers of shortest paths, between hosts. These values summarize a fabric's size and shape.
//!
//! The numbers come from breadth-first searches from hosts. Each link counts as one hop. Parallel links are separate
//! paths. In an intact torus, Clos network, extended generalized fat tree or BCube, the number of hosts at each
//! distance is the same from every host, so one search is enough. On any fabric, one search is enough for all hosts
//! with a single link to the same switch.

use crate::{Shape, Topology};
use raddle_core::NodeId;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Distances in hops, and numbers of shortest paths, over all ordered pairs of hosts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hops {
    histogram: Vec<u64>,
    /// Number of pairs of distinct hosts, keyed by the number of shortest paths between the two hosts. The
    /// key holds the bits of this number, because positive floats have the same order as their bits.
    paths: BTreeMap<u64, u64>,
    unreachable: Option<(NodeId, NodeId)>,
}

impl Hops {
    /// Measures `topology`. The cost is O(links) on a torus, a Clos network, an extended generalized fat tree or BCube.
    /// On other fabrics the cost is O(links) for each switch that has hosts with a single link, and for each other
    /// host.
    #[must_use]
    pub fn of(topology: &Topology) -> Self {
        let hosts: Vec<NodeId> = topology.hosts().collect();
        let mut search = Search::default();
        let mut hops = Self::default();
        for (src, each) in sources(topology, &hosts) {
            search.run(topology, src);
            for &dst in &hosts {
                let Some(distance) = search.hops[dst.index()] else {
                    hops.unreachable.get_or_insert((src, dst));
                    continue;
                };
                let distance = distance as usize;
                if hops.histogram.len() <= distance {
                    hops.histogram.resize(distance + 1, 0);
                }
                hops.histogram[distance] += each;
                if dst != src {
                    *hops.paths.entry(search.paths[dst.index()].to_bits()).or_insert(0) += each;
                }
            }
        }
        hops
    }

    /// Returns, for each distance in hops, the number of ordered pairs of hosts at this distance. Pairs of a host with
    /// itself are at distance 0.
    #[must_use]
    pub fn histogram(&self) -> &[u64] {
        &self.histogram
    }

    /// Returns the number of hops between the two hosts that are farthest apart; unconnected pairs are ignored.
    #[must_use]
    pub fn diameter(&self) -> usize {
        self.histogram.len().saturating_sub(1)
    }

    /// Returns the mean number of hops over ordered pairs of connected hosts, including pairs of a host with itself;
    /// `None` without hosts.
    #[must_use]
    pub fn mean_with_self(&self) -> Option<f64> {
        self.mean_from(0)
    }

    /// Returns the mean number of hops over ordered pairs of distinct connected hosts; `None` if no two hosts are
    /// connected.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        self.mean_from(1)
    }

    fn mean_from(&self, least: usize) -> Option<f64> {
        let pairs: u64 = self.histogram.iter().skip(least).sum();
        let hops: u64 = self.histogram.iter().enumerate().map(|(d, &pairs)| d as u64 * pairs).sum();
        (pairs > 0).then(|| hops as f64 / pairs as f64)
    }

    /// Returns the mean number of shortest paths over pairs of distinct connected hosts; `None` if no two hosts are
    /// connected.
    #[must_use]
    pub fn mean_paths(&self) -> Option<f64> {
        let pairs: u64 = self.paths.values().sum();
        let paths: f64 = self.paths.iter().map(|(&count, &pairs)| f64::from_bits(count) * pairs as f64).sum();
        (pairs > 0).then(|| paths / pairs as f64)
    }

    /// Returns the median number of shortest paths: the smallest number for which at least half of the pairs of
    /// distinct hosts have at most this number. Unconnected pairs are ignored. `None` if no two hosts are connected.
    #[must_use]
    pub fn median_paths(&self) -> Option<f64> {
        let pairs: u64 = self.paths.values().sum();
        let mut below = 0;
        let median = self.paths.iter().find(|(_, pairs_here)| {
            below += **pairs_here;
            2 * below >= pairs
        });
        median.map(|(&count, _)| f64::from_bits(count))
    }

    /// Returns the greatest number of shortest paths between two distinct hosts; `None` if no two hosts are connected.
    #[must_use]
    pub fn most_paths(&self) -> Option<f64> {
        self.paths.last_key_value().map(|(&count, _)| f64::from_bits(count))
    }

    /// Returns the first pair of unconnected hosts in order of ids; `None` if all hosts are connected.
    #[must_use]
    pub fn unreachable(&self) -> Option<(NodeId, NodeId)> {
        self.unreachable
    }
}

/// Returns hosts from which all distances can be derived, in order of their ids. Each host comes with the number of
/// hosts that have the same distances.
fn sources(topology: &Topology, hosts: &[NodeId]) -> Vec<(NodeId, u64)> {
    if let (Shape::Torus(_) | Shape::Clos(_) | Shape::Xgft(_) | Shape::Bcube(_), Some(&first)) =
        (topology.shape(), hosts.first())
    {
        return vec![(first, hosts.len() as u64)];
    }
    let leaves = topology.leaves();
    let mut sources: Vec<(NodeId, u64)> = Vec::new();
    let mut places = FxHashMap::default();
    for &host in hosts {
        let alike = leaves[host.index()].map_or((host, false), |neighbour| (neighbour, true));
        let place = *places.entry(alike).or_insert(sources.len());
        if place == sources.len() {
            sources.push((host, 0));
        }
        sources[place].1 += 1;
    }
    sources
}

/// A breadth-first search. The next search reuses the memory.
#[derive(Default)]
struct Search {
    /// For each node, the number of hops from the node at which the search begins; `None` for unreached nodes.
    hops: Vec<Option<u32>>,
    /// Number of shortest paths from the node at which the search begins, per node; 0 for unreached nodes.
    paths: Vec<f64>,
    order: Vec<NodeId>,
}

impl Search {
    fn run(&mut self, topology: &Topology, src: NodeId) {
        self.hops.clear();
        self.hops.resize(topology.node_count(), None);
        self.paths.clear();
        self.paths.resize(topology.node_count(), 0.0);
        self.order.clear();
        self.order.push(src);
        self.hops[src.index()] = Some(0);
        self.paths[src.index()] = 1.0;
        let mut next = 0;
        while let Some(&at) = self.order.get(next) {
            next += 1;
            if at != src && !topology.relays(at) {
                continue;
            }
            let farther = self.hops[at.index()].map(|hops| hops + 1);
            for (_, link) in topology.links_from(at) {
                let there = link.to.index();
                if self.hops[there].is_none() {
                    self.hops[there] = farther;
                    self.order.push(link.to);
                }
                if self.hops[there] == farther {
                    self.paths[there] += self.paths[at.index()];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
