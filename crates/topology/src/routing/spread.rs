//! The probabilities that a packet crosses each link, if the packet draws a port at each hop among the ports that lead
//! one hop closer to the destination.

use raddle_core::{LinkId, NodeId};
use std::collections::BTreeMap;

/// The rule by which each node divides a probability among its next links. The divided probability is that of a packet
/// reaching the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Split {
    /// Evenly over the ports that lead closer to the destination.
    Ports,
    /// In proportion to the number of shortest paths through each port.
    Paths,
}

/// Lists the links out of a node that lead closer to the destination, with the node at the end of each link.
pub(super) type Closer<'a> = &'a mut dyn FnMut(NodeId, &mut Vec<(LinkId, NodeId)>);

/// Calls `add` for each link on the shortest paths from `src` to `dst`, with the probability that a packet crosses the
/// link.
pub(super) fn spread(
    src: NodeId,
    dst: NodeId,
    split: Split,
    closer: Closer<'_>,
    mut add: impl FnMut(LinkId, f64),
) {
    // For each distance from `src`, the nodes on shortest paths, with the probabilities that a packet reaches them.
    // Every link leads from one level to the next.
    let mut levels: Vec<BTreeMap<NodeId, f64>> = vec![BTreeMap::from([(src, 1.0)])];
    let mut links: Vec<Vec<(NodeId, LinkId, NodeId)>> = Vec::new();
    let mut next = Vec::new();
    while !levels[levels.len() - 1].contains_key(&dst) {
        let mut level = BTreeMap::new();
        let mut crossed = Vec::new();
        for &node in levels[levels.len() - 1].keys() {
            next.clear();
            closer(node, &mut next);
            assert!(!next.is_empty(), "there must be a path from {src} to {dst}");
            crossed.extend(next.iter().map(|&(link, to)| (node, link, to)));
            level.extend(next.iter().map(|&(_, to)| (to, 0.0)));
        }
        links.push(crossed);
        levels.push(level);
    }
    // Number of shortest paths from each node to `dst`. Only `Split::Paths` uses this number.
    let mut paths: Vec<BTreeMap<NodeId, f64>> = levels.clone();
    if split == Split::Paths {
        for level in &mut paths {
            level.values_mut().for_each(|count| *count = 0.0);
        }
        *paths[links.len()].entry(dst).or_default() = 1.0;
        for (depth, crossed) in links.iter().enumerate().rev() {
            for &(from, _, to) in crossed {
                let beyond = paths[depth + 1][&to];
                *paths[depth].entry(from).or_default() += beyond;
            }
        }
    }
    for (depth, crossed) in links.iter().enumerate() {
        for run in crossed.chunk_by(|a, b| a.0 == b.0) {
            let here = levels[depth][&run[0].0];
            for &(from, link, to) in run {
                let share = match split {
                    Split::Ports => here / run.len() as f64,
                    Split::Paths => here * paths[depth + 1][&to] / paths[depth][&from],
                };
                add(link, share);
                *levels[depth + 1].entry(to).or_default() += share;
            }
        }
    }
}
