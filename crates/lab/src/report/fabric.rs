//! The fabric as the report draws it: nodes in tiers, in a grid or as a graph, and one edge for all links between two
//! drawn nodes.
//!
//! In a fabric that is not a grid and has more than [`MOST_HOSTS`] hosts, one node stands for all hosts that have links
//! only to the same switch. One edge stands for the links of these hosts, and has the load of the busiest of these
//! links.

use crate::observe::uplinks::tiers;
use raddle_core::{LinkId, NodeId};
use raddle_topology::{Shape, Topology};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Hosts are drawn one by one if the fabric has at most this many hosts, or is a grid.
const MOST_HOSTS: usize = 1_024;

/// The drawn nodes and edges of a topology.
pub(super) struct Fabric {
    /// The drawn nodes, in the order of the topology's nodes.
    nodes: Vec<Drawn>,
    /// The ends of each edge, and the directed links for which the edge stands.
    edges: Vec<Edge>,
    layout: &'static str,
    /// Names of the tiers, from the hosts up. The page calls the nodes of other tiers switches.
    tier_names: Vec<&'static str>,
    /// For each node of the topology, the index in `nodes` of the drawn node that stands for it.
    drawn: Vec<usize>,
    dims: Vec<u32>,
}

struct Drawn {
    node: NodeId,
    tier: u32,
    /// Number of hosts that this node stands for; 0 if it stands for itself.
    hosts: usize,
}

struct Edge {
    ends: (usize, usize),
    links: Vec<LinkId>,
}

impl Fabric {
    pub(super) fn of(topology: &Topology) -> Self {
        let tiers = tiers(topology);
        let (layout, dims) = match topology.shape() {
            Shape::Torus(dims) | Shape::Mesh(dims) => ("grid", dims.clone()),
            Shape::Clos(_) | Shape::Xgft(_) => ("tiers", Vec::new()),
            Shape::Bcube(_) | Shape::General if is_tiered(topology, &tiers) => ("tiers", Vec::new()),
            Shape::Bcube(_) | Shape::General => ("graph", Vec::new()),
        };
        let is_large = layout != "grid" && topology.hosts().count() > MOST_HOSTS;
        let mut fabric = Self {
            nodes: Vec::new(),
            edges: Vec::new(),
            layout,
            tier_names: tier_names(topology, &tiers),
            drawn: Vec::with_capacity(topology.node_count()),
            dims,
        };
        let mut groups: BTreeMap<NodeId, usize> = BTreeMap::new();
        for node in topology.nodes() {
            let group = only_switch(topology, node).filter(|_| is_large);
            let drawn = match group.and_then(|switch| groups.get(&switch)) {
                Some(&drawn) => drawn,
                None => {
                    fabric.nodes.push(Drawn { node, tier: tiers[node.index()], hosts: 0 });
                    fabric.nodes.len() - 1
                }
            };
            if let Some(switch) = group {
                groups.insert(switch, drawn);
                fabric.nodes[drawn].hosts += 1;
            }
            fabric.drawn.push(drawn);
        }
        let mut edges: BTreeMap<(usize, usize), Vec<LinkId>> = BTreeMap::new();
        for (id, link) in topology.links() {
            let (from, to) = (fabric.drawn[link.from.index()], fabric.drawn[link.to.index()]);
            edges.entry((from.min(to), from.max(to))).or_default().push(id);
        }
        fabric.edges = edges.into_iter().map(|(ends, links)| Edge { ends, links }).collect();
        fabric
    }

    /// For each edge, the greatest value that `of` gives for the links for which the edge stands, at least 0.
    pub(super) fn busiest(&self, of: impl Fn(LinkId) -> f64) -> impl Iterator<Item = f64> {
        self.edges.iter().map(move |edge| edge.links.iter().map(|&link| of(link)).fold(0.0, f64::max))
    }

    /// The index in `edges` of the edge that stands for each link.
    pub(super) fn edge_of_links(&self) -> BTreeMap<LinkId, usize> {
        let links = self.edges.iter().enumerate();
        links.flat_map(|(number, edge)| edge.links.iter().map(move |&link| (link, number))).collect()
    }

    pub(super) fn json(&self) -> Value {
        let node = |drawn: &Drawn| json!([drawn.node.0, drawn.tier, drawn.hosts]);
        let edge = |edge: &Edge| json!([edge.ends.0, edge.ends.1]);
        let is_grouped = self.nodes.iter().any(|drawn| drawn.hosts > 0);
        json!({
            "layout": self.layout,
            "dims": self.dims,
            "tier_names": self.tier_names,
            "nodes": self.nodes.iter().map(node).collect::<Vec<_>>(),
            "edges": self.edges.iter().map(edge).collect::<Vec<_>>(),
            "drawn": is_grouped.then_some(&self.drawn),
        })
    }
}

/// The names of the tiers, from the hosts up. If there are more than three tiers above the hosts, only the tier of the
/// hosts has a name.
fn tier_names(topology: &Topology, tiers: &[u32]) -> Vec<&'static str> {
    let most = tiers.iter().filter(|&&tier| tier != u32::MAX).max();
    match (topology.shape(), most) {
        (Shape::Torus(_) | Shape::Mesh(_), _) => vec!["node"],
        (Shape::Bcube(_), _) => vec!["server", "switch"],
        (_, Some(1)) => vec!["host", "switch"],
        (_, Some(2)) => vec!["host", "leaf", "spine"],
        (_, Some(3)) => vec!["host", "edge switch", "aggregation switch", "core switch"],
        _ => vec!["host"],
    }
}

/// True if each link joins two neighbouring tiers, so that no line of a drawing in tiers runs along a tier.
fn is_tiered(topology: &Topology, tiers: &[u32]) -> bool {
    let mut links = topology.links();
    links.all(|(_, link)| tiers[link.from.index()].abs_diff(tiers[link.to.index()]) == 1)
}

/// The only switch to which a host has links; `None` for a switch, and for a host that has no links, links to several
/// nodes, or links to another host.
fn only_switch(topology: &Topology, node: NodeId) -> Option<NodeId> {
    let mut links = topology.links_from(node);
    let (_, first) = links.next().filter(|_| topology.is_host(node))?;
    (!topology.is_host(first.to) && links.all(|(_, link)| link.to == first.to)).then_some(first.to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use raddle_core::{Duration, Rate};
    use raddle_topology::builders::{self, ClosRates};

    const RATE: Rate = Rate::from_gbps(10);

    #[test]
    fn every_duplex_link_of_a_small_fabric_is_an_edge() {
        let tree = builders::fat_tree(4, ClosRates::all(RATE), Duration::ZERO).expect("a fat-tree");
        let fabric = Fabric::of(&tree);
        assert_eq!((fabric.nodes.len(), fabric.edges.len()), (36, 48));
        assert!(fabric.edges.iter().all(|edge| edge.links.len() == 2));
        assert_eq!(fabric.layout, "tiers");
    }

    #[test]
    fn hosts_of_a_large_fabric_are_drawn_in_groups() {
        let tree = builders::fat_tree(20, ClosRates::all(RATE), Duration::ZERO).expect("a fat-tree");
        let fabric = Fabric::of(&tree);
        let grouped: usize = fabric.nodes.iter().map(|drawn| drawn.hosts).sum();
        assert_eq!((grouped, fabric.nodes.len()), (2_000, 200 + 500));
        let links: usize = fabric.edges.iter().map(|edge| edge.links.len()).sum();
        assert_eq!(links, tree.links().count());
        let edge = fabric.edges.iter().position(|edge| edge.links.len() == 20).expect("hosts of a switch");
        let busy = fabric.edges[edge].links[7];
        let busiest: Vec<f64> = fabric.busiest(|link| f64::from(u8::from(link == busy))).collect();
        assert_eq!((busiest[edge], busiest.iter().sum::<f64>()), (1.0, 1.0));
    }

    #[test]
    fn a_torus_is_a_grid() {
        let torus = builders::torus(&[3, 4, 5], RATE, Duration::ZERO).expect("a torus");
        let fabric = Fabric::of(&torus);
        assert_eq!(
            (fabric.layout, fabric.dims.as_slice(), fabric.edges.len()),
            ("grid", &[3, 4, 5][..], 180)
        );
    }
}
