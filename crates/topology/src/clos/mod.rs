//! Coordinates in Clos networks of two or three tiers of switches: neighbours, distances and ports.
//!
//! The levels from below are hosts, edge switches, aggregation switches and cores. Ids are assigned level by level, and
//! from left to right within a level. All results are arithmetic on a node's id; there is no table.

use crate::Below;
use raddle_core::{NodeId, PortId};
use std::ops::Range;

/// The sizes of a Clos network. One pod without cores is a leaf-spine; [`ClosSize::fat_tree`] is the k-ary fat-tree.
///
/// An edge switch's ports lead to its hosts, then to its pod's aggregation switches. An aggregation switch's ports lead
/// to its pod's edge switches, then to the cores of its plane. Port i of a core leads to pod i. Plane j joins the j-th
/// aggregation switches of all pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosSize {
    /// Number of pods.
    pub pods: u32,
    /// Edge switches per pod.
    pub edges: u32,
    /// Aggregation switches per pod, which is also the number of planes.
    pub aggregations: u32,
    /// Cores per plane; 0 only if there is one pod.
    pub cores: u32,
    /// Hosts per edge switch.
    pub hosts: u32,
}

impl ClosSize {
    /// Creates a folded Clos of two levels: a single pod whose aggregation switches are the spines.
    #[must_use]
    pub const fn leaf_spine(leaves: u32, hosts_per_leaf: u32, spines: u32) -> Self {
        Self { pods: 1, edges: leaves, aggregations: spines, cores: 0, hosts: hosts_per_leaf }
    }

    /// Returns the k-ary fat-tree of Al-Fares et al. (SIGCOMM 2008): k pods of k switches of k ports, k³/4 hosts.
    #[must_use]
    pub const fn fat_tree(k: u32) -> Self {
        let half = k / 2;
        Self { pods: k, edges: half, aggregations: half, cores: half, hosts: half }
    }
}

/// The numbers of the levels.
const HOST: usize = 0;
const EDGE: usize = 1;
const AGGREGATION: usize = 2;
const CORE: usize = 3;

/// A Clos network's nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clos {
    size: ClosSize,
    /// For each level, the id after the level's last node.
    end: [u32; 4],
    /// Per level, the number of a node's ports that lead down. These are the node's first ports; the other
    /// ports lead up.
    down: [u32; 4],
    up: [u32; 4],
}

/// Ports of a node that lead one hop closer to a destination: first the ports down, then the ports up.
type Ways = [Range<u32>; 2];

impl Clos {
    /// Creates a network of this size. The number of nodes must fit a `u32`.
    #[must_use]
    pub fn new(size: ClosSize) -> Self {
        let ClosSize { pods, edges, aggregations, cores, hosts } = size;
        let mut end = [pods * edges * hosts, pods * edges, pods * aggregations, aggregations * cores];
        for level in EDGE..=CORE {
            end[level] += end[level - 1];
        }
        Self { size, end, down: [0, hosts, edges, pods], up: [1, aggregations, cores, 0] }
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.end[CORE]
    }

    /// Returns the number of hosts, which are the first nodes.
    #[must_use]
    pub fn hosts(&self) -> u32 {
        self.end[HOST]
    }

    /// Returns the node's level: 0 for hosts, 1 for edge switches, 2 for aggregation switches, 3 for cores.
    #[must_use]
    pub fn level(&self, node: NodeId) -> usize {
        self.end[..CORE].iter().filter(|&&end| node.0 >= end).count()
    }

    /// Returns the node's pod; `None` for a core.
    #[must_use]
    pub fn pod_of(&self, node: NodeId) -> Option<u32> {
        let level = self.level(node);
        (level < CORE).then(|| self.pod(node, level))
    }

    /// Returns the nodes of a level: 0 for hosts, 1 for edge switches, 2 for aggregation switches, 3 for cores.
    #[must_use]
    pub fn nodes_of(&self, level: usize) -> Range<u32> {
        level.checked_sub(1).map_or(0, |below| self.end[below])..self.end[level]
    }

    /// Returns the number of ports of a node of this level.
    #[must_use]
    pub fn ports(&self, level: usize) -> u32 {
        self.down[level] + self.up[level]
    }

    /// Returns the ports of a node of this level that lead up. The ports with lower numbers lead down.
    #[must_use]
    pub fn uplinks(&self, level: usize) -> Range<u16> {
        port_id(self.down[level]).0..port_id(self.ports(level)).0
    }

    /// Returns the hosts below `node`, which a packet at `node` reaches without a step up.
    #[must_use]
    pub fn hosts_below(&self, node: NodeId) -> Range<u32> {
        let Below { first, count, .. } = self.below(node);
        first..first + count
    }

    /// Returns the hosts of the pod of `node`. For a core, which has no pod, returns all hosts.
    #[must_use]
    pub fn hosts_of_pod(&self, node: NodeId) -> Range<u32> {
        let level = self.level(node);
        if level == CORE {
            return 0..self.hosts();
        }
        let (pod, hosts) = (self.pod(node, level), self.size.edges * self.size.hosts);
        pod * hosts..(pod + 1) * hosts
    }

    /// Returns the links from `node` upwards. Each link is given by the node's port, the neighbour and the
    /// neighbour's port.
    pub(crate) fn upward(&self, node: NodeId) -> impl Iterator<Item = (PortId, NodeId, PortId)> + '_ {
        let level = self.level(node);
        let there = match level {
            HOST => node.0 % self.size.hosts,
            EDGE => self.edge(node, EDGE) % self.size.edges,
            _ => self.pod(node, level),
        };
        (self.down[level]..self.ports(level))
            .map(move |port| (port_id(port), self.neighbour(node, level, port), port_id(there)))
    }

    fn neighbour(&self, node: NodeId, level: usize, port: u32) -> NodeId {
        let ClosSize { edges, aggregations, cores, hosts, .. } = self.size;
        let up = port.checked_sub(self.down[level]);
        NodeId(match (level, up) {
            (HOST, _) => self.end[HOST] + node.0 / hosts,
            (EDGE, None) => self.edge(node, EDGE) * hosts + port,
            (EDGE, Some(plane)) => self.end[EDGE] + self.pod(node, EDGE) * aggregations + plane,
            (AGGREGATION, None) => self.end[HOST] + self.pod(node, AGGREGATION) * edges + port,
            (AGGREGATION, Some(core)) => self.end[AGGREGATION] + self.plane(node, AGGREGATION) * cores + core,
            _ => self.end[EDGE] + port * aggregations + self.plane(node, CORE),
        })
    }

    /// Returns the number of an edge switch, counted over all pods. `node` is this edge switch (level 1) or
    /// one of its hosts (level 0).
    fn edge(&self, node: NodeId, level: usize) -> u32 {
        if level == HOST { node.0 / self.size.hosts } else { node.0 - self.end[HOST] }
    }

    /// Returns the pod of a node of level 0 to 2.
    fn pod(&self, node: NodeId, level: usize) -> u32 {
        match level {
            AGGREGATION => (node.0 - self.end[EDGE]) / self.size.aggregations,
            _ => self.edge(node, level) / self.size.edges,
        }
    }

    /// Returns the plane of a node of level 2 or 3.
    fn plane(&self, node: NodeId, level: usize) -> u32 {
        match level {
            AGGREGATION => (node.0 - self.end[EDGE]) % self.size.aggregations,
            _ => (node.0 - self.end[AGGREGATION]) / self.size.cores,
        }
    }

    /// Returns the location of hosts as seen from `node`.
    #[allow(clippy::cast_possible_truncation, reason = "the number of ports of a node fits a `u16`")]
    pub(crate) fn below(&self, node: NodeId) -> Below {
        let level = self.level(node);
        let ClosSize { edges, hosts, .. } = self.size;
        let (first, count, each) = match level {
            HOST => (node.0, 1, 1),
            EDGE => (self.edge(node, EDGE) * hosts, hosts, 1),
            AGGREGATION => (self.pod(node, AGGREGATION) * edges * hosts, edges * hosts, hosts),
            _ => (0, self.hosts(), edges * hosts),
        };
        Below {
            hosts: self.hosts(),
            first,
            count,
            each,
            up: port_id(self.down[level]),
            ups: self.up[level] as u16,
        }
    }

    /// Returns the number of hops between two nodes.
    ///
    /// A path is a walk over the levels. A step up from an edge switch chooses the plane. A step down from a
    /// core chooses the pod, and a step down from an aggregation switch chooses the edge switch. The
    /// coordinates in which two nodes differ determine which levels the walk must touch. The distance is the
    /// length of the shortest walk that touches the lowest and the highest of these levels.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "a shortest path has few hops")]
    pub fn distance(&self, from: NodeId, to: NodeId) -> u32 {
        if from == to {
            return 0;
        }
        let (a, b) = (self.level(from), self.level(to));
        let (mut low, mut high) = (a.min(b), a.max(b));
        if high <= AGGREGATION && self.pod(from, a) != self.pod(to, b) {
            high = CORE;
        } else if high <= EDGE && self.edge(from, a) != self.edge(to, b) {
            high = AGGREGATION;
        } else if high == HOST {
            high = EDGE;
        }
        if low >= AGGREGATION && self.plane(from, a) != self.plane(to, b) {
            low = EDGE;
        } else if low == CORE {
            low = AGGREGATION;
        }
        let down_first = (a - low) + (high - b);
        let up_first = (high - a) + (b - low);
        (high - low + down_first.min(up_first)) as u32
    }

    /// Returns the number of hops between the two hosts that are farthest apart: the first and the last host.
    #[must_use]
    pub fn diameter(&self) -> u32 {
        self.distance(NodeId(0), NodeId(self.hosts() - 1))
    }

    /// Returns the ports of `at` that lead one hop closer to `to`.
    #[inline]
    fn ways(&self, at: NodeId, to: NodeId) -> Ways {
        let level = self.level(at);
        if to.0 >= self.hosts() {
            return self.ways_to_switch(at, level, to);
        }
        // The packet goes up to a switch above the host. From there, one port leads down towards the host.
        let (edge, all_up) = (to.0 / self.size.hosts, self.down[level]..self.ports(level));
        let only = |port| [port..port + 1, 0..0];
        match level {
            HOST if at == to => [0..0, 0..0],
            EDGE if self.edge(at, EDGE) == edge => only(to.0 % self.size.hosts),
            AGGREGATION if self.pod(at, AGGREGATION) == edge / self.size.edges => {
                only(edge % self.size.edges)
            }
            CORE => only(edge / self.size.edges),
            _ => [0..0, all_up],
        }
    }

    /// Implements [`Clos::ways`] for a switch as destination. All neighbours above `at` are equally close to `to`,
    /// except at most one neighbour, which shares a coordinate with `to`. A step up therefore leads closer to `to` by
    /// all ports, by only the port of this neighbour, or by none. The same holds for the neighbours below `at`.
    fn ways_to_switch(&self, at: NodeId, level: usize, to: NodeId) -> Ways {
        let (left, there) = (self.distance(at, to), self.level(to));
        let closer = |port| self.distance(self.neighbour(at, level, port), to) < left;
        let below = match level {
            AGGREGATION if there == EDGE => self.edge(to, EDGE) % self.size.edges,
            CORE if there < CORE => self.pod(to, there),
            _ => 0,
        };
        let above = match level {
            EDGE if there >= AGGREGATION => self.plane(to, there),
            AGGREGATION if there == CORE => (to.0 - self.end[AGGREGATION]) % self.size.cores,
            _ => 0,
        };
        let down = self.down[level];
        [(0..down, below), (down..self.ports(level), down + above)].map(|(all, alike)| {
            let other = if alike == all.start { alike + 1 } else { all.start };
            if !all.contains(&alike) || !closer(alike) {
                0..0
            } else if all.contains(&other) && closer(other) {
                all
            } else {
                alike..alike + 1
            }
        })
    }

    /// Calls `visit` with each port of `at` that leads one hop closer to `to`, in ascending order, and the node to
    /// which the port leads.
    pub(crate) fn productive(&self, at: NodeId, to: NodeId, mut visit: impl FnMut(PortId, NodeId)) {
        let level = self.level(at);
        for port in self.ways(at, to).into_iter().flatten() {
            visit(port_id(port), self.neighbour(at, level, port));
        }
    }

    /// Returns one of the ports of [`Clos::productive`]; `None` if there is no such port. `pick` gets the number of
    /// these ports and returns the index of one of them.
    pub(crate) fn choose(&self, at: NodeId, to: NodeId, pick: impl FnOnce(usize) -> usize) -> Option<PortId> {
        let [down, up] = self.ways(at, to);
        let count = down.len() + up.len();
        if count == 0 {
            return None;
        }
        let mut ports = down.chain(up);
        ports.nth(pick(count)).map(port_id)
    }

    /// Returns the number of shortest paths from `from` to `to`.
    pub(crate) fn paths(&self, from: NodeId, to: NodeId) -> f64 {
        if from == to {
            return 1.0;
        }
        let level = self.level(from);
        // All ports up that lead closer to `to` are on equally many shortest paths, so one of these ports is enough.
        // The same holds for the ports down.
        let sides = self.ways(from, to).into_iter().filter(|side| !side.is_empty());
        sides.map(|side| side.len() as f64 * self.paths(self.neighbour(from, level, side.start), to)).sum()
    }
}

fn port_id(port: u32) -> PortId {
    PortId::of(port as usize)
}

#[cfg(test)]
mod tests;
