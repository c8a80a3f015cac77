//! Coordinates in extended generalized fat trees: parents and children, common ancestors of hosts, and ports.
//!
//! `XGFT(h; m1..mh; w1..wh)` of Öhring et al., "On Generalized Fat Trees" (IPPS 1995);
//! specifications/cee.md §1.1. Level 0 contains the hosts, and levels 1 to h contain switches. A
//! vertex of level l has the label `<l; p_h..p_{l+1}; u_l..u_1>`. The vertex is one of the tops of
//! a subtree of height l. The subtree digits p name this subtree. The plane digits u distinguish
//! the tops of the subtree. Two vertices of adjacent levels are joined if they agree in all digits
//! that both have. Ids are assigned level by level, hosts first. Within a level, vertices are
//! ordered by the digits of the label, read as one number whose last digit is the lowest. All
//! results are arithmetic on ids; there is no table.

use crate::Below;
use raddle_core::{NodeId, PortId};
use std::ops::Range;

/// The sizes of an extended generalized fat tree with `children.len()` levels of switches.
///
/// The first ports of a switch of level l lead to its children, in the order of the children's subtree digit p_l. The
/// other ports lead to its parents, in the order of the parents' plane digit u_{l+1}. A host's ports lead to its
/// parents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XgftSize {
    /// m1..mh: number of children of a switch of each level, from below.
    pub children: Vec<u32>,
    /// w1..wh: number of parents of a vertex of levels 0 to h - 1. w1 is the number of parents of a host, and w2 is the
    /// number of parents of a switch of level 1. The list has the same length as `children`.
    pub parents: Vec<u32>,
}

impl XgftSize {
    /// Returns the sizes of the k-ary n-tree: k^n hosts under n levels of k^(n-1) switches. Switches below the top
    /// have as many parents as children.
    #[must_use]
    pub fn k_ary_n_tree(k: u32, n: usize) -> Self {
        let parents = (0..n).map(|level| if level == 0 { 1 } else { k });
        Self { children: vec![k; n], parents: parents.collect() }
    }

    /// Returns the number of hosts and switches; saturates at `u64::MAX`.
    #[must_use]
    pub fn node_count(&self) -> u64 {
        let product = |numbers: &[u32]| numbers.iter().fold(1_u64, |all, &n| all.saturating_mul(n.into()));
        let at = |level| product(&self.children[level..]).saturating_mul(product(&self.parents[..level]));
        (0..=self.children.len()).map(at).fold(0, u64::saturating_add)
    }
}

/// The nodes of an extended generalized fat tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xgft {
    size: XgftSize,
    /// The first node of each level, followed by the id after the last node of all.
    first: Vec<u32>,
    /// Number of hosts below a vertex of each level: `m1 * .. * ml`.
    below: Vec<u32>,
    /// Number of tops of a subtree of each level's height: `w1 * .. * wl`.
    planes: Vec<u32>,
}

impl Xgft {
    /// Creates a tree of this size. No number may be zero, and the number of nodes must fit a `u32`.
    #[must_use]
    pub fn new(size: XgftSize) -> Self {
        let products = |numbers: &[u32]| {
            let mut products = vec![1];
            products.extend(numbers.iter().scan(1, |product, &n| {
                *product *= n;
                Some(*product)
            }));
            products
        };
        let (below, planes) = (products(&size.children), products(&size.parents));
        let hosts = below[below.len() - 1];
        let mut first = vec![0];
        for (below, planes) in below.iter().zip(&planes) {
            first.push(first[first.len() - 1] + hosts / below * planes);
        }
        Self { size, first, below, planes }
    }

    /// Returns the tree's sizes.
    #[must_use]
    pub fn size(&self) -> &XgftSize {
        &self.size
    }

    /// Returns the number of levels of switches, h.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.size.children.len()
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.first[self.levels() + 1]
    }

    /// Returns the number of hosts, which are the first nodes.
    #[must_use]
    pub fn hosts(&self) -> u32 {
        self.first[1]
    }

    /// Returns the ids of the nodes of a level. Level 0 contains the hosts.
    #[must_use]
    pub fn nodes_of(&self, level: usize) -> Range<u32> {
        self.first[level]..self.first[level + 1]
    }

    /// Returns the node's level, 0 for hosts.
    #[must_use]
    pub fn level(&self, node: NodeId) -> usize {
        self.first[1..=self.levels()].iter().filter(|&&first| node.0 >= first).count()
    }

    /// Returns the number of children of a node of this level; 0 for a host.
    fn children(&self, level: usize) -> u32 {
        level.checked_sub(1).map_or(0, |below| self.size.children[below])
    }

    /// Returns the number of parents of a node of this level; 0 at the top.
    fn parents(&self, level: usize) -> u32 {
        self.size.parents.get(level).copied().unwrap_or(0)
    }

    /// Returns the number of ports of a node of this level.
    #[must_use]
    pub fn port_count(&self, level: usize) -> usize {
        (self.children(level) + self.parents(level)) as usize
    }

    /// Returns the ports of a node of this level that lead up. The ports with lower numbers lead down.
    #[must_use]
    pub fn uplinks(&self, level: usize) -> Range<u16> {
        let first = port_id(self.children(level)).0;
        first..first + port_id(self.parents(level)).0
    }

    /// Returns the node's subtree digits read as one number, and its plane digits read as one number.
    fn place(&self, node: NodeId, level: usize) -> (u32, u32) {
        let index = node.0 - self.first[level];
        (index / self.planes[level], index % self.planes[level])
    }

    fn node(&self, level: usize, (subtree, plane): (u32, u32)) -> NodeId {
        NodeId(self.first[level] + subtree * self.planes[level] + plane)
    }

    /// Returns the subtree digit p_i of a node of level l, for i from l + 1 to h.
    ///
    /// # Panics
    /// If the node has no such digit.
    #[must_use]
    pub fn subtree_digit(&self, node: NodeId, i: usize) -> u32 {
        let level = self.level(node);
        assert!(level < i && i <= self.levels(), "the label of a node at level {level} has no digit p_{i}");
        let (subtree, _) = self.place(node, level);
        subtree / (self.below[i - 1] / self.below[level]) % self.size.children[i - 1]
    }

    /// Returns the plane digit u_i of a node of level l, for i from 1 to l.
    ///
    /// # Panics
    /// If the node has no such digit.
    #[must_use]
    pub fn plane_digit(&self, node: NodeId, i: usize) -> u32 {
        let level = self.level(node);
        assert!(0 < i && i <= level, "the label of a node at level {level} has no digit u_{i}");
        let (_, plane) = self.place(node, level);
        plane / self.planes[i - 1] % self.size.parents[i - 1]
    }

    /// Returns the parent at the node's up port `digit`. `digit` is the parent's highest plane digit.
    ///
    /// # Panics
    /// If the node is at the top.
    #[must_use]
    pub fn parent(&self, node: NodeId, digit: u32) -> NodeId {
        let level = self.level(node);
        let (subtree, plane) = self.place(node, level);
        self.node(level + 1, (subtree / self.size.children[level], plane + digit * self.planes[level]))
    }

    /// Returns the child at the switch's port `digit`. `digit` is the child's lowest subtree digit.
    ///
    /// # Panics
    /// If the node is a host.
    #[must_use]
    pub fn child(&self, switch: NodeId, digit: u32) -> NodeId {
        let level = self.level(switch);
        let (subtree, plane) = self.place(switch, level);
        self.node(level - 1, (subtree * self.children(level) + digit, plane % self.planes[level - 1]))
    }

    /// Returns the port of `switch` that leads to `child`, which must be one of its children.
    #[must_use]
    pub fn port_to(&self, switch: NodeId, child: NodeId) -> PortId {
        port_id(self.subtree_digit(child, self.level(switch)))
    }

    /// Returns the hosts below `node`, which a packet at `node` reaches without a step up.
    #[must_use]
    pub fn hosts_below(&self, node: NodeId) -> Range<u32> {
        let level = self.level(node);
        let first = self.place(node, level).0 * self.below[level];
        first..first + self.below[level]
    }

    /// Returns the location of hosts as seen from `node`.
    #[must_use]
    pub fn below(&self, node: NodeId) -> Below {
        let level = self.level(node);
        let Range { start, end } = self.hosts_below(node);
        let up = self.uplinks(level);
        Below {
            hosts: self.hosts(),
            first: start,
            count: end - start,
            each: self.below[level.saturating_sub(1)],
            up: PortId(up.start),
            ups: up.end - up.start,
        }
    }

    /// Returns the number of tops of a subtree of this height, `w1 * .. * wl`.
    #[must_use]
    pub fn planes(&self, level: usize) -> u32 {
        self.planes[level]
    }

    /// Returns the number of hosts below a switch of this level, `m1 * .. * ml`.
    #[must_use]
    pub fn hosts_each(&self, level: usize) -> u32 {
        self.below[level]
    }

    /// Returns the level of the nearest common ancestors of two hosts; 0 if both are the same host. The
    /// number of links of a shortest path is twice this level.
    #[must_use]
    pub fn common_level(&self, a: NodeId, b: NodeId) -> usize {
        self.below.iter().filter(|&&below| a.0 / below != b.0 / below).count()
    }

    /// Returns the number of shortest paths between two hosts. One path leads through each nearest common
    /// ancestor of the hosts.
    #[must_use]
    pub fn paths(&self, a: NodeId, b: NodeId) -> u32 {
        self.planes[self.common_level(a, b)]
    }
}

fn port_id(port: u32) -> PortId {
    PortId::of(port as usize)
}

#[cfg(test)]
mod tests;
