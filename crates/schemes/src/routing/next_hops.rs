//! The next hops of a node: the ports on shortest paths, according to the failures that the node knows of.
//!
//! Most routings choose among these ports. Packets sent to a failed link are lost until the failure is discovered. From
//! then on, paths are the shortest paths of the surviving fabric.

use raddle_core::{DropReason, LinkId, NodeId, Packet, PortId, Verdict};
use raddle_topology::Topology;
use raddle_topology::routing::{LocalRouting, Routing};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The shortest paths of a fabric, shared by its nodes. One routing is stored for each set of failed links that at
/// least one node routes around.
#[derive(Debug)]
pub struct ShortestPaths {
    topology: Arc<Topology>,
    surviving: Mutex<FxHashMap<Vec<LinkId>, Weak<Routing>>>,
}

impl ShortestPaths {
    /// The shortest paths of this topology.
    #[must_use]
    pub fn new(topology: &Arc<Topology>) -> Arc<Self> {
        Arc::new(Self { topology: Arc::clone(topology), surviving: Mutex::default() })
    }

    /// The topology as built, including links that have failed.
    #[must_use]
    pub fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// The routing of the fabric without the links in `down`.
    fn without(&self, down: &BTreeSet<LinkId>) -> Arc<Routing> {
        let key: Vec<LinkId> = down.iter().copied().collect();
        let mut surviving = self.surviving.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = surviving.get(&key).and_then(Weak::upgrade) {
            return known;
        }
        let topology = if down.is_empty() {
            Arc::clone(&self.topology)
        } else {
            Arc::new(self.topology.surviving(|link| !down.contains(&link)))
        };
        let routing = Arc::new(Routing::new(topology));
        surviving.retain(|_, routing| routing.strong_count() > 0);
        surviving.insert(key, Arc::downgrade(&routing));
        routing
    }
}

/// The next hops of one node.
#[derive(Debug)]
pub struct NextHops {
    /// The routing around the failures that the node knows of; `None` after a failure or a repair until the next
    /// look-up.
    routing: Option<LocalRouting>,
    known: Box<Known>,
}

/// The failures that a node knows of, and the data needed to compute its routing.
#[derive(Debug)]
struct Known {
    node: NodeId,
    paths: Arc<ShortestPaths>,
    down: BTreeSet<LinkId>,
    /// Buffer for the result of [`NextHops::ports`].
    ports: Vec<PortId>,
}

impl Known {
    #[cold]
    fn routing(&self) -> LocalRouting {
        LocalRouting::new(self.paths.without(&self.down), self.node)
    }
}

impl NextHops {
    /// The next hops of `node`.
    #[must_use]
    pub fn new(node: NodeId, paths: &Arc<ShortestPaths>) -> Self {
        let known =
            Box::new(Known { node, paths: Arc::clone(paths), down: BTreeSet::new(), ports: Vec::new() });
        Self { routing: Some(known.routing()), known }
    }

    /// The node.
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.known.node
    }

    /// Links that the node knows to be down.
    #[must_use]
    pub fn down(&self) -> &BTreeSet<LinkId> {
        &self.known.down
    }

    /// The node's routing around the failures that the node knows of.
    #[inline]
    pub fn routing(&mut self) -> &LocalRouting {
        self.routing.get_or_insert_with(|| self.known.routing())
    }

    /// The ports on shortest paths to `to`. Empty if there is no path, or if `to` is the node itself.
    #[inline]
    pub fn ports(&mut self, to: NodeId) -> &[PortId] {
        let routing = self.routing.get_or_insert_with(|| self.known.routing());
        routing.productive(to, &mut self.known.ports);
        &self.known.ports
    }

    /// The verdict for a packet. `pick` receives the routing and the number of next hops, and returns the index of the
    /// next hop that the packet takes. If there is only one next hop, `pick` is not always called.
    ///
    /// # Panics
    /// If `pick` returns an index that is not less than the number of next hops.
    #[inline]
    pub fn forward(&mut self, packet: &Packet, pick: impl FnOnce(&LocalRouting, usize) -> usize) -> Verdict {
        let routing = self.routing();
        if packet.dst() == routing.node() {
            return Verdict::Deliver;
        }
        match routing.choose(packet.dst(), |count| pick(routing, count)) {
            Some(port) => Verdict::Forward(port),
            None => Verdict::Drop(DropReason::NoRoute),
        }
    }

    /// The same routing as [`routing`](Self::routing), or `None` if the routing has not been computed since the last
    /// failure or repair.
    #[inline]
    #[must_use]
    pub fn present(&self) -> Option<&LocalRouting> {
        self.routing.as_ref()
    }

    /// Records that a link anywhere in the fabric went down or came up.
    pub fn link(&mut self, link: LinkId, up: bool) {
        if up {
            self.known.down.remove(&link);
        } else {
            self.known.down.insert(link);
        }
        self.routing = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::{Duration, Rate};
    use raddle_topology::builders::torus;

    #[test]
    fn states_that_no_node_goes_by_are_forgotten() {
        let topology = torus(&[4, 4, 4], Rate::from_gbps(10), Duration::from_ns(100)).expect("a torus");
        let topology = Arc::new(topology);
        let paths = ShortestPaths::new(&topology);
        let mut nodes: Vec<_> = topology.nodes().map(|node| NextHops::new(node, &paths)).collect();
        let links: Vec<LinkId> = topology.links().map(|(id, _)| id).take(20).collect();
        for link in links {
            for up in [false, true] {
                nodes.iter_mut().for_each(|node| node.link(link, up));
                for node in &mut nodes {
                    let to = NodeId((node.node().0 + 1) % 64);
                    assert!(node.routing().choose(to, |_| 0).is_some());
                }
            }
        }
        assert!(paths.surviving.lock().expect("no panic").len() <= 2);
    }
}
