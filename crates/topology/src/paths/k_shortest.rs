//! The k shortest loopless paths by Yen's algorithm ("Finding the K Shortest Loopless Paths in a Network", Management
//! Science 17(11), 1971). The length of a path is its number of links.
//!
//! Paths with the same number of links are in random order. The order is drawn for each pair of nodes and is the same
//! in every run. If paths over the lowest ports came first, too many pairs would use these ports. Hosts whose only link
//! leads to the same switch share the switch's paths.

use crate::routing::Routing;
use crate::{Memo, Topology};
use raddle_core::{LinkId, NodeId, PortId, Stream};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct KShortest {
    k: usize,
    /// For each node, its only neighbour if the node is a leaf node; otherwise `None`.
    leaves: Vec<Option<NodeId>>,
    /// Greatest number of links of a path; longer paths are left out, except the shortest path.
    most: usize,
    /// For each source and destination, neither a leaf node: the k shortest paths, the shortest first.
    known: Memo<(NodeId, NodeId), Arc<[PortId]>>,
}

impl KShortest {
    pub(super) fn new(topology: &Topology, k: u32) -> Self {
        Self { k: k as usize, leaves: topology.leaves(), most: usize::MAX, known: Memo::default() }
    }

    pub(super) fn leave_out_longer_than(&mut self, most: usize) {
        self.most = most;
    }

    /// Appends to `out` the path that `choice` picks between two connected nodes.
    pub(super) fn path(
        &self,
        routing: &Routing,
        (src, dst): (NodeId, NodeId),
        choice: u32,
        out: &mut Vec<PortId>,
    ) {
        let leaf = |node: NodeId| {
            let neighbour = self.leaves[node.index()]?;
            let (_, link) = routing.topology().links_from(node).next().expect("a leaf must have a link");
            Some((neighbour, link))
        };
        let (first, last) = (leaf(src), leaf(dst));
        let (from, to) = (first.map_or(src, |(at, _)| at), last.map_or(dst, |(at, _)| at));
        let paths = self.known.get((from, to), || self.ranked(routing, from, to));
        let ends = usize::from(first.is_some()) + usize::from(last.is_some());
        // The shortest path can always be chosen, even if it has more than `most` links.
        let short = paths.iter().take_while(|path| path.len() + ends <= self.most).count().max(1);
        out.extend(first.map(|(_, link)| link.from_port));
        out.extend_from_slice(&paths[choice as usize % short]);
        out.extend(last.map(|(_, link)| link.to_port));
    }

    /// Returns the k shortest paths between two nodes, or all paths if there are fewer, the shortest first.
    fn ranked(&self, routing: &Routing, src: NodeId, dst: NodeId) -> Vec<Arc<[PortId]>> {
        if src == dst {
            return vec![Arc::from([])];
        }
        let topology = routing.topology();
        let start = |link: LinkId| topology.link(link).expect("each link of a path must exist").from;
        let stream = Stream::new(u64::from(src.0) << 32 | u64::from(dst.0), 0, "k shortest paths");
        let mut search = Search { routing, dst, stream };
        let mut accepted: Vec<Vec<LinkId>> = Vec::from_iter(search.shortest(src, &[], &[]));
        let mut seen = accepted.iter().cloned().collect::<FxHashSet<_>>();
        // The candidates are ordered by length, then by a random number.
        let mut candidates = BTreeSet::new();
        while accepted.len() < self.k {
            let Some(last) = accepted.last() else { break };
            for (i, &link) in last.iter().enumerate() {
                // A new path that begins with `root` must leave `root` by a link that no accepted path with this
                // beginning takes.
                let root = &last[..i];
                let passed: Vec<NodeId> = root.iter().map(|&link| start(link)).collect();
                let others = accepted.iter().filter(|path| path.starts_with(root));
                let taken: Vec<LinkId> = others.map(|path| path[i]).collect();
                let Some(rest) = search.shortest(start(link), &passed, &taken) else { continue };
                let path = [root, &rest].concat();
                if seen.insert(path.clone()) {
                    candidates.insert((path.len(), search.stream.bits(), path));
                }
            }
            let Some((_, _, next)) = candidates.pop_first() else { break };
            accepted.push(next);
        }
        let port = |&link: &LinkId| topology.link(link).expect("each link of a path must exist").from_port;
        accepted.iter().map(|path| path.iter().map(port).collect()).collect()
    }
}

/// An A* search for shortest paths to one destination that avoid some links and nodes. The search is guided
/// by the distances without this restriction.
struct Search<'a> {
    routing: &'a Routing,
    dst: NodeId,
    stream: Stream,
}

impl Search<'_> {
    /// Returns a shortest path from `src` that does not begin with a link in `taken` and does not visit a node in
    /// `passed`; `None` if there is none.
    fn shortest(&mut self, src: NodeId, passed: &[NodeId], taken: &[LinkId]) -> Option<Vec<LinkId>> {
        let topology = self.routing.topology();
        let mut came_by: FxHashMap<NodeId, Option<LinkId>> = FxHashMap::default();
        // The heap returns the entry with the fewest links in total. Among entries with equal totals, it returns the
        // entry with the fewest links left, and then the entry with the greatest random number.
        let mut open = BinaryHeap::from([(Reverse(0), 0_u32, 0, src, None)]);
        while let Some((_, hops, _, at, by)) = open.pop() {
            if came_by.contains_key(&at) {
                continue;
            }
            came_by.insert(at, by);
            if at == self.dst {
                let back = std::iter::successors(by, |&link| {
                    came_by[&topology.link(link).expect("each link of a path must exist").from]
                });
                let mut path: Vec<LinkId> = back.collect();
                path.reverse();
                return Some(path);
            }
            for (id, link) in topology.links_from(at) {
                if taken.contains(&id) || passed.contains(&link.to) || came_by.contains_key(&link.to) {
                    continue;
                }
                if let Some(left) = self.routing.distance(link.to, self.dst) {
                    let lot = self.stream.bits();
                    open.push((Reverse(hops + 1 + left), hops + 1, lot, link.to, Some(id)));
                }
            }
        }
        None
    }
}
