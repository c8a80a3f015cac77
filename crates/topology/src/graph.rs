//! The graph: hosts and switches, joined by duplex links. Each direction of a link has its own egress port.
//!
//! Ports of a node are numbered from 0. A port may have no link (such as at a mesh's edge), so that index arithmetic
//! stays uniform. A directed link is named by its egress port: `LinkId = first_link(node) + port`. Parallel
//! links and different link rates are allowed.

use crate::{Bcube, ClosSize, LinkLayer, XgftSize};
use raddle_core::{Duration, LinkId, NodeId, PortId, Rate};

/// A directed link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The node at the sending end.
    pub from: NodeId,
    /// The egress port at the sending end.
    pub from_port: PortId,
    /// The node at the receiving end.
    pub to: NodeId,
    /// The port at the receiving end, which is also the egress port of the reverse direction.
    pub to_port: PortId,
    /// Rate of data packets, in bits per second.
    pub rate: Rate,
    /// The rate without [slowing](Topology::slowed). Control frames (flow control and congestion notices) are sent at
    /// this rate even if the link is slowed.
    pub line_rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
}

/// The known structure of a topology. Routing uses its symmetry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// Grid of these sizes with wrap-around. Port `2i` leads up in dimension i, and port `2i + 1` leads down. In a
    /// dimension of size two, only port `2i` has a link.
    Torus(Vec<u32>),
    /// Grid of these sizes without wrap-around, with ports as in a torus.
    Mesh(Vec<u32>),
    /// Clos network of two or three tiers of switches; [`crate::clos`] describes the order of its nodes, and
    /// [`ClosSize`] the order of its ports.
    Clos(ClosSize),
    /// Extended generalized fat tree; [`crate::xgft`] describes the order of its nodes, and [`XgftSize`] the order of
    /// its ports.
    Xgft(XgftSize),
    /// BCube; [`crate::bcube`] describes the order of its nodes and ports.
    Bcube(Bcube),
    /// Unknown structure: the topology has failed links, was read from a file, or is of another kind.
    General,
}

/// Tells whether a node forwards packets of other nodes: packets that neither start nor end at the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relay {
    /// The node forwards such packets.
    Yes,
    /// The node forwards such packets, although the file that describes the fabric does not ask for it.
    Unasked,
    /// The node forwards no such packets; no path leads through it.
    No,
}

/// An immutable fabric.
#[derive(Debug, Clone)]
pub struct Topology {
    shape: Shape,
    hosts: Vec<bool>,
    /// For each node, says whether the node forwards packets of other nodes. The list is empty if all nodes forward.
    relays: Vec<Relay>,
    first_link: Vec<u32>,
    links: Vec<Option<Link>>,
    link_layer: LinkLayer,
}

impl Topology {
    /// Returns the same fabric with this link layer. Builders use [`LinkLayer::BARE`].
    #[must_use]
    pub fn with_link_layer(self, link_layer: LinkLayer) -> Self {
        Self { link_layer, ..self }
    }

    /// Returns the link layer's overhead per packet, on all links.
    #[must_use]
    pub fn link_layer(&self) -> LinkLayer {
        self.link_layer
    }

    /// Returns the known structure of the fabric.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the number of nodes: hosts and switches together.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.hosts.len()
    }

    /// Returns all nodes.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.hosts.len()).map(NodeId::of)
    }

    /// Returns true if flows can start and end at `node`.
    #[must_use]
    pub fn is_host(&self, node: NodeId) -> bool {
        self.hosts[node.index()]
    }

    /// Returns the same fabric, but `relays` says for each node whether the node forwards packets of other nodes.
    /// `relays` has one entry per node. Without this call, all nodes forward.
    ///
    /// # Panics
    /// If the length of `relays` is not the number of nodes.
    #[must_use]
    pub(crate) fn with_relays(self, relays: Vec<Relay>) -> Self {
        assert_eq!(relays.len(), self.node_count(), "`relays` must have one entry per node");
        Self { relays, ..self }
    }

    /// Returns true if paths between other nodes may lead through `node`.
    #[must_use]
    #[inline]
    pub fn relays(&self, node: NodeId) -> bool {
        self.relays.get(node.index()) != Some(&Relay::No)
    }

    /// Returns true if some node has several links and does not forward packets of other nodes.
    #[must_use]
    pub fn has_endpoints(&self) -> bool {
        self.nodes().any(|node| !self.relays(node) && self.links_from(node).nth(1).is_some())
    }

    /// Returns true if `node` has several links and forwards packets of other nodes although the fabric's file does not
    /// ask for it.
    #[must_use]
    pub fn relays_unasked(&self, node: NodeId) -> bool {
        self.relays.get(node.index()) == Some(&Relay::Unasked) && self.links_from(node).nth(1).is_some()
    }

    /// Returns the hosts, at which flows can start and end, in order of their ids.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.nodes().filter(|&node| self.is_host(node))
    }

    /// Returns the length of an array indexed by [`LinkId`]. The array also has slots for ports without a link.
    #[must_use]
    pub fn link_slots(&self) -> usize {
        self.links.len()
    }

    /// Returns the number of ports of `node`, with or without a link.
    #[must_use]
    pub fn port_count(&self, node: NodeId) -> usize {
        (self.first_link[node.index() + 1] - self.first_link[node.index()]) as usize
    }

    /// Returns the id of the link that leaves `node` by `port`.
    #[must_use]
    pub fn link_id(&self, node: NodeId, port: PortId) -> LinkId {
        LinkId(self.first_link[node.index()] + u32::from(port.0))
    }

    /// Returns the link with this id; `None` if its port has no link.
    #[must_use]
    pub fn link(&self, id: LinkId) -> Option<&Link> {
        self.links[id.index()].as_ref()
    }

    /// Returns the link that leaves `node` by `port`; `None` if the node has no such port, or if the port has no
    /// link.
    #[must_use]
    pub fn link_at(&self, node: NodeId, port: PortId) -> Option<&Link> {
        // Link ids continue from node to node. A port number that is too large would therefore give the link
        // id of another node.
        let exists = port.index() < self.port_count(node);
        exists.then(|| self.link(self.link_id(node, port))).flatten()
    }

    /// Returns all links with their ids, in order of the ids.
    pub fn links(&self) -> impl Iterator<Item = (LinkId, &Link)> {
        self.links.iter().enumerate().filter_map(|(i, link)| Some((LinkId::of(i), link.as_ref()?)))
    }

    /// Returns the links that leave `node` with their ids, in order of the ports.
    pub fn links_from(&self, node: NodeId) -> impl Iterator<Item = (LinkId, &Link)> {
        let range = self.first_link[node.index()] as usize..self.first_link[node.index() + 1] as usize;
        range.filter_map(|i| Some((LinkId::of(i), self.links[i].as_ref()?)))
    }

    /// Returns the other direction of a link.
    ///
    /// # Panics
    /// If the port has no link.
    #[must_use]
    pub fn reverse(&self, id: LinkId) -> LinkId {
        let link = self.link(id).expect("the port must have a link");
        self.link_id(link.to, link.to_port)
    }

    /// Returns, for each node, the node at the other end of its link if the node is a leaf node, and `None` otherwise.
    /// A leaf node has a single duplex link, and its neighbour forwards packets of other nodes. If two nodes are linked
    /// only to each other, the node with the higher id is the leaf node. All leaf nodes of a neighbour have the same
    /// distance to every other node.
    pub(crate) fn leaves(&self) -> Vec<Option<NodeId>> {
        let mut incoming = vec![0_u32; self.node_count()];
        self.links().for_each(|(_, link)| incoming[link.to.index()] += 1);
        let only_neighbour = |node: NodeId| {
            let mut links = self.links_from(node);
            let (_, link) = links.next()?;
            let back = self.link_at(link.to, link.to_port)?;
            (links.next().is_none() && incoming[node.index()] == 1 && back.to == node).then_some(link.to)
        };
        // If a node's only neighbour does not forward packets of other nodes, no path leads from the node to nodes
        // other than this neighbour. Such a node is not a leaf node.
        let only_neighbour = |node| only_neighbour(node).filter(|&other| self.relays(other));
        let leaf =
            |node| only_neighbour(node).filter(|&other| node > other || only_neighbour(other).is_none());
        self.nodes().map(leaf).collect()
    }

    /// Returns the same fabric with the directed link `id` slowed to `rate` for data.
    ///
    /// # Panics
    /// If the port has no link, if the rate is zero, or if the rate exceeds the line rate.
    #[must_use]
    pub fn slowed(mut self, id: LinkId, rate: Rate) -> Self {
        let link = self.links[id.index()].as_mut().expect("the port must have a link");
        assert!(
            Rate::ZERO < rate && rate <= link.line_rate,
            "the rate must be greater than 0 and at most {} (got {rate})",
            link.line_rate
        );
        link.rate = rate;
        self
    }

    /// Returns the same fabric without the links for which `up` is false. Ids and ports do not change. If a link is
    /// removed, the shape becomes [`Shape::General`].
    #[must_use]
    pub fn surviving(&self, up: impl Fn(LinkId) -> bool) -> Self {
        let mut survivor = self.clone();
        for (i, link) in survivor.links.iter_mut().enumerate() {
            if link.is_some() && !up(LinkId::of(i)) {
                *link = None;
                survivor.shape = Shape::General;
            }
        }
        survivor
    }
}

#[cfg(test)]
impl Topology {
    /// Returns the same fabric with an unknown structure.
    pub(crate) fn unshaped(&self) -> Self {
        Self { shape: Shape::General, ..self.clone() }
    }
}

/// Builds a [`Topology`] node by node and link by link.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    hosts: Vec<bool>,
    ports: Vec<u32>,
    duplex: Vec<(NodeId, PortId, NodeId, PortId, Rate, Duration)>,
}

impl Builder {
    /// Adds a host with `ports` ports.
    pub fn host(&mut self, ports: usize) -> NodeId {
        self.node(true, ports)
    }

    /// Adds a switch with `ports` ports.
    pub fn switch(&mut self, ports: usize) -> NodeId {
        self.node(false, ports)
    }

    fn node(&mut self, host: bool, ports: usize) -> NodeId {
        self.hosts.push(host);
        self.ports.push(u32::try_from(ports).expect("the number of ports must fit 32 bits"));
        NodeId::of(self.hosts.len() - 1)
    }

    /// Joins two ports by one link in each direction.
    pub fn link(&mut self, a: (NodeId, PortId), b: (NodeId, PortId), rate: Rate, delay: Duration) {
        self.duplex.push((a.0, a.1, b.0, b.1, rate, delay));
    }

    /// Joins two nodes by one link in each direction. Each node gets a new port for the link.
    pub fn join(&mut self, a: NodeId, b: NodeId, rate: Rate, delay: Duration) {
        let a = (a, self.new_port(a));
        let b = (b, self.new_port(b));
        self.link(a, b, rate, delay);
    }

    fn new_port(&mut self, node: NodeId) -> PortId {
        let ports = &mut self.ports[node.index()];
        *ports += 1;
        PortId::of((*ports - 1) as usize)
    }

    /// Returns the finished fabric.
    ///
    /// # Panics
    /// If two links share a port.
    #[must_use]
    pub fn build(self, shape: Shape) -> Topology {
        let mut first_link = vec![0];
        for ports in &self.ports {
            first_link.push(first_link[first_link.len() - 1] + ports);
        }
        let mut links = vec![None; first_link[first_link.len() - 1] as usize];
        for (a, a_port, b, b_port, rate, delay) in self.duplex {
            for (from, from_port, to, to_port) in [(a, a_port, b, b_port), (b, b_port, a, a_port)] {
                let slot = &mut links[(first_link[from.index()] + u32::from(from_port.0)) as usize];
                assert!(slot.is_none(), "port {from_port} of node {from} must have only one link");
                *slot = Some(Link { from, from_port, to, to_port, rate, line_rate: rate, delay });
            }
        }
        let (hosts, relays) = (self.hosts, Vec::new());
        Topology { shape, hosts, relays, first_link, links, link_layer: LinkLayer::BARE }
    }
}
