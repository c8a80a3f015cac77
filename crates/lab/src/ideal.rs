//! What a flow could hope for if it had the fabric to itself.

use raddle_core::{Bytes, Duration, Flow, NodeId, Rate};
use raddle_records::{Framing, Ideal, ideal_cut_through, ideal_store_and_forward};
use raddle_topology::Topology;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

/// A node that cannot reach the destination.
const UNREACHABLE: u16 = u16::MAX;

/// What flows could hope for on a fabric, by shortest paths: a breadth-first search a destination, kept.
pub(crate) struct Ideals {
    topology: Arc<Topology>,
    framing: Framing,
    /// What a node must have of a packet to pass it on, if not all.
    lookahead: Option<Bytes>,
    /// Hops from each node, by destination.
    hops: RefCell<Vec<Option<Box<[u16]>>>>,
}

impl Ideals {
    pub(crate) fn new(topology: &Arc<Topology>, framing: Framing, lookahead: Option<Bytes>) -> Self {
        let hops = RefCell::new(vec![None; topology.node_count()]);
        Self { topology: Arc::clone(topology), framing, lookahead, hops }
    }

    /// A shortest path, by the fastest link at each hop, as rates and delays. Empty if there is none.
    fn best(&self, src: NodeId, dst: NodeId) -> Vec<(Rate, Duration)> {
        let mut known = self.hops.borrow_mut();
        let hops = known[dst.index()].get_or_insert_with(|| breadth_first(&self.topology, dst));
        let mut path = Vec::new();
        let mut at = src;
        while ![0, UNREACHABLE].contains(&hops[at.index()]) {
            let links = self.topology.links_from(at).map(|(_, link)| link);
            let closer = links.filter(|link| hops[link.to.index()] + 1 == hops[at.index()]);
            let link = closer.max_by_key(|link| link.rate).expect("a node reached over a link");
            path.push((link.rate, link.delay));
            at = link.to;
        }
        path
    }

    pub(crate) fn of(&self, flow: &Flow) -> Ideal {
        let path = self.best(flow.src, flow.dst);
        let hops = u32::try_from(path.len()).expect("fewer hops than nodes");
        let line_rate = self.topology.links_from(flow.src).map(|(_, link)| link.rate).max();
        let fct = match self.lookahead {
            None => ideal_store_and_forward(flow.size, self.framing, path),
            Some(lookahead) => ideal_cut_through(flow.size, self.framing, lookahead, path),
        };
        Ideal { fct, hops, line_rate: line_rate.unwrap_or(Rate::ZERO) }
    }
}

fn breadth_first(topology: &Topology, dst: NodeId) -> Box<[u16]> {
    // Links are duplex, so the way to `dst` is the way from it, reversed.
    let mut hops = vec![UNREACHABLE; topology.node_count()];
    hops[dst.index()] = 0;
    let mut queue = VecDeque::from([dst]);
    while let Some(node) = queue.pop_front() {
        for (_, link) in topology.links_from(node) {
            if hops[link.to.index()] == UNREACHABLE {
                hops[link.to.index()] = hops[node.index()] + 1;
                queue.push_back(link.to);
            }
        }
    }
    hops.into_boxed_slice()
}

/// Which nodes can reach each other: equal numbers can.
pub(crate) fn components(topology: &Topology) -> Vec<u32> {
    let mut component = vec![u32::MAX; topology.node_count()];
    for root in topology.nodes() {
        if component[root.index()] != u32::MAX {
            continue;
        }
        component[root.index()] = root.0;
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            for (_, link) in topology.links_from(node) {
                if component[link.to.index()] == u32::MAX {
                    component[link.to.index()] = root.0;
                    stack.push(link.to);
                }
            }
        }
    }
    component
}
