//! The ideal FCT of a flow: its FCT if it were alone on one shortest path.

use raddle_core::{Bytes, Duration, Flow, NodeId, Rate};
use raddle_records::{Framing, Ideal, ideal_cut_through, ideal_store_and_forward};
use raddle_topology::Topology;
use raddle_topology::routing::Routing;
use std::sync::Arc;

/// Computes ideal FCTs on shortest paths of a fabric.
pub(crate) struct Ideals {
    routing: Routing,
    framing: Framing,
    /// Bytes of a packet that a node must receive before the node can forward the packet; `None` for the whole packet.
    lookahead: Option<Bytes>,
    /// True if flows start with a handshake: one packet without payload in each direction.
    handshake: bool,
}

impl Ideals {
    pub(crate) fn new(
        topology: &Arc<Topology>,
        framing: Framing,
        lookahead: Option<Bytes>,
        handshake: bool,
    ) -> Self {
        Self { routing: Routing::new(Arc::clone(topology)), framing, lookahead, handshake }
    }

    /// The rate and the delay of each link along a shortest path that takes the fastest link at each hop. Empty if
    /// there is no path. The line rate of each link is used, even if the experiment has slowed the link down.
    fn best(&self, src: NodeId, dst: NodeId) -> Vec<(Rate, Duration)> {
        let topology = self.routing.topology();
        let (mut at, mut path, mut ports) = (src, Vec::new(), Vec::new());
        loop {
            self.routing.productive(at, dst, &mut ports);
            let links = ports.iter().filter_map(|&port| topology.link_at(at, port));
            let Some(link) = links.max_by_key(|link| link.line_rate) else { return path };
            path.push((link.line_rate, link.delay));
            at = link.to;
        }
    }

    fn one_way(&self, size: Bytes, path: &[(Rate, Duration)]) -> Duration {
        let path = path.iter().copied();
        match self.lookahead {
            None => ideal_store_and_forward(size, self.framing, path),
            Some(lookahead) => ideal_cut_through(size, self.framing, lookahead, path),
        }
    }

    /// The base round-trip time between two hosts: the time that a full packet takes from `src` to `dst`, plus the time
    /// that a packet without payload takes from `dst` to `src`.
    pub(crate) fn round_trip(&self, src: NodeId, dst: NodeId) -> Duration {
        let full = Bytes(self.framing.payload.into());
        self.one_way(full, &self.best(src, dst)) + self.one_way(Bytes(0), &self.best(dst, src))
    }

    pub(crate) fn of(&self, flow: &Flow) -> Ideal {
        let path = self.best(flow.src, flow.dst);
        let hops = u32::try_from(path.len()).expect("the number of hops of a path must fit in 32 bits");
        let line_rate = self.routing.topology().links_from(flow.src).map(|(_, link)| link.line_rate).max();
        let mut fct = self.one_way(flow.size, &path);
        if self.handshake {
            let back = self.best(flow.dst, flow.src);
            fct = fct + self.one_way(Bytes(0), &path) + self.one_way(Bytes(0), &back);
        }
        Ideal { fct, hops, line_rate: line_rate.unwrap_or(Rate::ZERO) }
    }
}

/// For each node, a number that identifies the node's connected component. Two nodes have equal numbers if links
/// connect them, directly or through other nodes.
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
