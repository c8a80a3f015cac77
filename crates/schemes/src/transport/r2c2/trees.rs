//! Broadcast trees (R2C2 §3.2): several shortest-path trees per source. Every node computes the trees without messages.
//!
//! On a torus, tree `t` is a dimension-order tree. It takes the dimensions in cyclic order, beginning with dimension `t
//! / 2` (rounded down, modulo the number of dimensions). With odd `t`, tree `t` is the mirror image of tree `t - 1`. In
//! a torus of `m` dimensions of equal size, trees 0 to `2m - 1` of all sources together load all links equally. A tree
//! has the same shape from every source, so one set of child ports per offset from the source serves all sources.
//!
//! In other topologies, the parent of a node is the neighbour with the smallest hash among the neighbours closer to the
//! source. Nodes with the same candidates choose the same parent, so a broadcast enters few switches. Switches that
//! lead to no host are not in the tree. A tree is built when a node first uses the tree.

use raddle_core::{NodeId, PortId};
use raddle_topology::{Memo, Shape, Topology};
use std::sync::Arc;

/// The broadcast trees of a fabric.
#[derive(Debug)]
pub(crate) struct Trees {
    topology: Arc<Topology>,
    count: u8,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// On a torus: the child ports, indexed by tree and by the node's offset from the source.
    Symmetric { dims: Vec<u32>, coordinates: Vec<[u8; MAX_DIMS]>, children: Vec<PortSet> },
    /// On other topologies, and on tori with more than 8 dimensions or with a dimension of more than 256 nodes: the
    /// child ports of each node, per source and tree.
    General(Memo<(NodeId, usize), PortSet>),
}

/// A set of ports of a node, and an iterator over the set in ascending order. Port numbers are at most 31, the greatest
/// port number that a source route can contain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PortSet(u32);

impl PortSet {
    fn insert(&mut self, port: usize) {
        assert!(port < 32, "a port number must be less than 32");
        self.0 |= 1 << port;
    }

    /// The set that contains only `port`.
    #[must_use]
    pub(crate) fn of(port: PortId) -> Self {
        let mut set = Self::default();
        set.insert(port.index());
        set
    }

    /// True if the set is empty.
    #[must_use]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

#[expect(clippy::copy_iterator, reason = "each iteration consumes a copy of the set")]
impl Iterator for PortSet {
    type Item = PortId;

    fn next(&mut self) -> Option<PortId> {
        if self.is_empty() {
            return None;
        }
        let port = PortId::of(self.0.trailing_zeros() as usize);
        self.0 &= self.0 - 1;
        Some(port)
    }
}

const MAX_DIMS: usize = 8;

impl Trees {
    /// The broadcast trees of a topology, with `count` trees per source.
    #[must_use]
    pub(crate) fn new(topology: &Arc<Topology>, count: u8) -> Self {
        let kind = match topology.shape() {
            Shape::Torus(dims) if dims.len() <= MAX_DIMS && dims.iter().all(|&k| k <= 256) => {
                symmetric(dims, count)
            }
            _ => Kind::General(Memo::default()),
        };
        Self { topology: Arc::clone(topology), count, kind }
    }

    /// Number of trees per source.
    #[must_use]
    pub(crate) fn count(&self) -> u8 {
        self.count
    }

    /// The ports at which node `at` forwards a broadcast of `source` on tree `tree`.
    #[must_use]
    pub(crate) fn children(&self, source: NodeId, tree: u8, at: NodeId) -> PortSet {
        let tree = usize::from(tree % self.count);
        match &self.kind {
            Kind::Symmetric { dims, coordinates, children } => {
                let (from, to) = (&coordinates[source.index()], &coordinates[at.index()]);
                let mut offset = 0;
                let mut stride = 1;
                for (i, &k) in dims.iter().enumerate() {
                    let (a, b) = (u32::from(from[i]), u32::from(to[i]));
                    offset += stride * if b >= a { b - a } else { b + k - a };
                    stride *= k;
                }
                children[tree * coordinates.len() + offset as usize]
            }
            Kind::General(trees) => {
                trees.get((source, tree), || general(&self.topology, source, tree))[at.index()]
            }
        }
    }
}

fn symmetric(dims: &[u32], count: u8) -> Kind {
    let nodes: u32 = dims.iter().product();
    let coordinates: Vec<[u8; MAX_DIMS]> = (0..nodes)
        .map(|node| {
            let mut rest = node;
            let mut at = [0; MAX_DIMS];
            for (x, &k) in at.iter_mut().zip(dims) {
                *x = u8::try_from(rest % k).expect("a dimension must have at most 256 nodes");
                rest /= k;
            }
            at
        })
        .collect();
    let children = (0..usize::from(count))
        .flat_map(|tree| coordinates.iter().map(move |at| child_ports(dims, tree, *at)))
        .collect();
    Kind::Symmetric { dims: dims.to_vec(), coordinates, children }
}

/// The child ports, in tree `tree`, of the node at offset `at` from the source. The tree continues in the dimension of
/// the hop that reaches the node, and branches into every dimension that comes later in the tree's order. At the
/// source, the tree branches into all dimensions.
fn child_ports(dims: &[u32], tree: usize, at: [u8; MAX_DIMS]) -> PortSet {
    let mirrored = tree % 2 == 1;
    let order: Vec<usize> = (0..dims.len()).map(|i| (tree / 2 + i) % dims.len()).collect();
    let last = order.iter().rposition(|&i| at[i] != 0);
    let mut children = PortSet::default();
    for (place, &i) in order.iter().enumerate() {
        if last.is_some_and(|last| place < last) {
            continue;
        }
        let k = dims[i];
        // The tree reaches `ahead` nodes of the ring in the forward direction, and the rest of the ring in the backward
        // direction.
        let ahead = if mirrored && k > 2 { (k - 1) / 2 } else { k / 2 };
        let x = u32::from(at[i]);
        if x < ahead {
            children.insert(2 * i);
        }
        let behind = (k - x) % k;
        if behind < k - 1 - ahead && (x == 0 || x > ahead) {
            children.insert(2 * i + 1);
        }
    }
    children
}

fn general(topology: &Topology, source: NodeId, tree: usize) -> Vec<PortSet> {
    let mut depth = vec![u32::MAX; topology.node_count()];
    depth[source.index()] = 0;
    let mut order = vec![source];
    let mut next = 0;
    while let Some(&at) = order.get(next) {
        next += 1;
        if at != source && !topology.relays(at) {
            continue;
        }
        for (_, link) in topology.links_from(at) {
            if depth[link.to.index()] == u32::MAX {
                depth[link.to.index()] = depth[at.index()] + 1;
                order.push(link.to);
            }
        }
    }
    let mut children = vec![PortSet::default(); topology.node_count()];
    // Nodes far from the source come first, so that the children of a switch are known before its own parent is chosen.
    for &node in order[1..].iter().rev() {
        if !topology.is_host(node) && children[node.index()].is_empty() {
            continue;
        }
        // The parent is one hop closer to the source. It is found through a link from `node`. The broadcast crosses the
        // reverse of this link.
        let parent = topology
            .links_from(node)
            .filter(|(_, link)| depth[link.to.index()] + 1 == depth[node.index()])
            .filter(|(_, link)| link.to == source || topology.relays(link.to))
            .filter(|(id, _)| topology.link(topology.reverse(*id)).is_some())
            // If several parallel links lead to the parent, a hash of the node and the port chooses the link.
            .min_by_key(|(_, link)| {
                (mix(source, link.to, tree, PortId(0)), mix(source, node, tree, link.to_port))
            })
            .map(|(_, link)| (link.to, link.to_port));
        if let Some((parent, port)) = parent {
            children[parent.index()].insert(port.index());
        }
    }
    children
}

/// A hash of the arguments. All nodes compute the same value.
fn mix(source: NodeId, node: NodeId, tree: usize, port: PortId) -> u64 {
    let key = u64::from(source.0) << 40 ^ u64::from(node.0) << 16 ^ (tree as u64) << 8 ^ u64::from(port.0);
    let mixed = (key ^ key >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::{Duration, Rate};
    use raddle_topology::Builder;

    /// The depth of every node in a tree, and for each port number the number of tree links that leave nodes by this
    /// port.
    fn walk(topology: &Topology, trees: &Trees, source: NodeId, tree: u8) -> (Vec<u32>, Vec<u32>) {
        let mut depth = vec![u32::MAX; topology.node_count()];
        let mut used = vec![0; 64];
        depth[source.index()] = 0;
        let mut order = vec![source];
        let mut next = 0;
        while let Some(&at) = order.get(next) {
            next += 1;
            for port in trees.children(source, tree, at) {
                let to = topology.link_at(at, port).expect("a child port of a tree has a link").to;
                assert_eq!(depth[to.index()], u32::MAX, "each node is reached once");
                depth[to.index()] = depth[at.index()] + 1;
                used[port.index()] += 1;
                order.push(to);
            }
        }
        assert!(topology.hosts().all(|host| depth[host.index()] != u32::MAX), "every host is reached");
        (depth, used)
    }

    fn torus(dims: &[u32]) -> Arc<Topology> {
        let rate = Rate::from_gbps(10);
        Arc::new(raddle_topology::builders::torus(dims, rate, Duration::from_ns(100)).expect("valid dims"))
    }

    #[test]
    fn oracle_o6_trees_reach_every_node_once_by_shortest_paths() {
        for dims in [&[8, 8, 8][..], &[4, 4], &[3, 3, 3], &[5, 2, 4], &[2, 2, 2]] {
            let torus = torus(dims);
            let general = Arc::new(torus.surviving(|_| true));
            for topology in [&torus, &general] {
                let trees = Trees::new(topology, 6);
                for tree in 0..6 {
                    for source in [NodeId(0), NodeId(7)] {
                        let (depth, used) = walk(topology, &trees, source, tree);
                        assert_eq!(used.iter().sum::<u32>() as usize, topology.node_count() - 1);
                        let eccentricity: u32 = dims.iter().map(|k| k / 2).sum();
                        assert_eq!(depth.iter().max(), Some(&eccentricity), "{dims:?} {tree}");
                    }
                }
            }
        }
    }

    #[test]
    fn oracle_o6_one_tree_is_lopsided_and_its_six_images_are_balanced() {
        let topology = torus(&[8, 8, 8]);
        let trees = Trees::new(&topology, 6);
        let (_, used) = walk(&topology, &trees, NodeId(0), 0);
        assert_eq!(used[..6], [4, 3, 32, 24, 256, 192]);
        let mut sum = [0; 6];
        for tree in 0..6 {
            let (_, used) = walk(&topology, &trees, NodeId(300), tree);
            sum.iter_mut().zip(used).for_each(|(sum, used)| *sum += used);
        }
        assert_eq!(sum, [511; 6]);
    }

    #[test]
    fn oracle_o6_a_tree_of_a_folded_clos_has_544_edges() {
        let rate = Rate::from_gbps(10);
        let clos = raddle_topology::builders::folded_clos(32, 16, 16, rate, rate, Duration::from_ns(100));
        let clos = Arc::new(clos.expect("valid sizes"));
        let trees = Trees::new(&clos, 6);
        let mut spines = std::collections::BTreeSet::new();
        for tree in 0..6 {
            for source in [NodeId(0), NodeId(77), NodeId(511)] {
                let (depth, used) = walk(&clos, &trees, source, tree);
                assert_eq!(used.iter().sum::<u32>(), 1 + 15 + 1 + 31 + 31 * 16);
                assert_eq!(depth.iter().filter(|&&depth| depth != u32::MAX).max(), Some(&4));
                spines.extend((544..560).filter(|&spine| depth[spine] != u32::MAX));
            }
        }
        assert!(spines.len() > 6, "sources and trees spread over spines: {spines:?}");
    }

    #[test]
    fn a_tree_avoids_links_that_are_gone_and_uses_parallel_ones_once() {
        let mut builder = Builder::default();
        let nodes: Vec<NodeId> = (0..4).map(|_| builder.host(0)).collect();
        let (rate, delay) = (Rate::from_gbps(10), Duration::ZERO);
        for (a, b) in [(0, 1), (0, 1), (1, 2), (2, 3), (3, 0)] {
            builder.join(nodes[a], nodes[b], rate, delay);
        }
        let topology = Arc::new(builder.build(Shape::General));
        let trees = Trees::new(&topology, 4);
        for tree in 0..4 {
            walk(&topology, &trees, nodes[0], tree);
        }
    }
}
